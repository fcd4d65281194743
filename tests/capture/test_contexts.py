"""What equations carry besides parameters: captured, shown, and kept by transformations as JAX keeps it."""
import json
import subprocess
from collections import Counter

import jax
import jax.numpy as jnp
import pytest

import jaxscope
from jaxscope import compat

try:
    from jax.experimental.compute_on import compute_on
except ImportError:
    compute_on = None
try:
    from jax.experimental.xla_metadata import set_xla_metadata
except ImportError:
    set_xla_metadata = None

NEW = jax.__version__ == "0.10.2"
X = jnp.arange(1.0, 5.0)


def on_host():
    return compute_on("device_host")


def tagged():
    return set_xla_metadata(a="b", n=3)


def sequential_bits():
    return jax.threefry_partitionable(not jax.config.jax_threefry_partitionable)


def in_mesh():
    mesh = jax.make_mesh((1,), ("i",))
    return jax.sharding.use_mesh(mesh) if hasattr(jax.sharding, "use_mesh") else jax.set_mesh(mesh)


CONTEXTS = {"compute type": (on_host, compute_on is not None), "metadata": (tagged, set_xla_metadata is not None),
            "partitionability": (sequential_bits, True)}
CONTEXTS = {name: context for name, (context, there) in CONTEXTS.items() if there}
forward = jax.custom_jvp(lambda x: jnp.sin(x) * 2)
forward.defjvp(lambda p, t: (forward(p[0]), jnp.cos(p[0]) * t[0]))
backward = jax.custom_vjp(lambda x: jnp.sin(x) * 3)
backward.defvjp(lambda x: (backward(x), jnp.cos(x)), lambda r, g: (g * r,))


def plain(context):
    def f(x):
        with context():
            y = jnp.sin(x) * x
        return jnp.sum(y * x)
    return f


def with_rules(context):
    def f(x):
        with context():
            y = backward(forward(x))
        return jnp.sum(y * x)
    return f


def in_calls(context):
    def inner(x):
        with context():
            x = jnp.sin(x)
        return jnp.cos(x)
    return lambda x: jnp.sum(jax.lax.scan(lambda c, _: (jax.checkpoint(inner)(jax.jit(inner)(c)), None), x, None, length=2)[0])


def of_capture(document):
    """(primitive, context) of every equation, those of jaxprs as often as they are called."""
    d, out, todo = document, Counter(), [document["program"]["jaxpr"]]

    def jaxprs(v):
        if isinstance(v, dict) and not "rule" in v:
            for k, x in v.items():
                yield from [x] if k in ("jaxpr", "closed_jaxpr") and isinstance(x, int) else jaxprs(x)
        elif isinstance(v, list):
            for x in v:
                yield from jaxprs(x)
    while todo:
        for e in d["jaxprs"][todo.pop()]["eqns"]:
            c = d["contexts"][e[5]]
            out[d["strings"][e[0]], c["compute_type"], c["threefry_partitionable"], bool(c["metadata"])] += 1
            todo += [n for v in d["params"][e[3]].values() for n in jaxprs(v)]
    return out


def of_jax(closed):
    out, todo = Counter(), [closed.jaxpr]
    while todo:
        for e in todo.pop().eqns:
            out[e.primitive.name, e.ctx.compute_type, e.ctx.threefry_partitionable, bool(getattr(e.ctx, "xla_metadata", None))] += 1
            todo += [j for v in e.params.values() for j in compat.sub_jaxprs(v)]
    return out


@pytest.mark.parametrize("name", CONTEXTS)
@pytest.mark.parametrize("program", [plain, in_calls])
def test_captured_as_jax_has_them(name, program):
    fn = program(CONTEXTS[name])
    assert of_capture(json.loads(jaxscope.capture(fn)(X).to_json())) == of_jax(jax.make_jaxpr(fn)(X))


def transformed(binary, path, tmp_path, *steps):
    out = tmp_path / "out.jaxscope"
    words = [w for s in steps for w in ("--apply", s)]
    done = subprocess.run([binary, "transform", path, *words, "-o", str(out), "--json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    raw = out.read_bytes()
    return json.loads(raw if raw[:1] == b"{" else pytest.importorskip("zstandard").ZstdDecompressor().decompressobj().decompress(raw))


@pytest.mark.skipif(not NEW, reason="transformations are those of JAX 0.10.2")
@pytest.mark.parametrize("name", CONTEXTS)
@pytest.mark.parametrize("program", [plain, with_rules, in_calls])
def test_kept_as_jax_keeps_them(binary, tmp_path, name, program):
    fn = program(CONTEXTS[name])
    path = str(tmp_path / "in.jaxscope")
    jaxscope.capture(fn, differentiate=0)(X).save(path)
    assert of_capture(transformed(binary, path, tmp_path, "grad")) == of_jax(jax.make_jaxpr(jax.grad(fn))(X))
    assert of_capture(transformed(binary, path, tmp_path, "vmap@3")) == of_jax(jax.make_jaxpr(jax.vmap(fn))(jnp.ones((3, 4))))


@pytest.mark.parametrize("name", CONTEXTS)
def test_shown(binary, tmp_path, name):
    path = str(tmp_path / "in.jaxscope")
    jaxscope.capture(plain(CONTEXTS[name]))(X).save(path)
    text = subprocess.run([binary, "inspect", path], capture_output=True, text=True).stdout
    (row,) = json.loads(subprocess.run([binary, "inspect", path, "--json"], capture_output=True, text=True).stdout)["program"]["contexts"]
    assert row["equations"] == 2 and "2 equations" in text
    if name == "compute type":
        assert row["compute_type"] == "device_host" and "computed on device_host" in text
    elif name == "metadata":
        assert row["metadata"] == "a=b, n=3" and "with XLA metadata a=b, n=3" in text
    else:
        assert row["threefry_partitionable"] is not jax.config.jax_threefry_partitionable and "threefry_partitionable=" in text


@pytest.mark.skipif(not hasattr(jax, "make_mesh") or not (hasattr(jax.sharding, "use_mesh") or hasattr(jax, "set_mesh")), reason="no meshes in contexts")
def test_meshes(binary, tmp_path):
    path = str(tmp_path / "in.jaxscope")
    with in_mesh():
        jaxscope.capture(lambda x: jnp.sin(x) * x)(X).save(path)
    (row,) = json.loads(subprocess.run([binary, "inspect", path, "--json"], capture_output=True, text=True).stdout)["program"]["contexts"]
    assert row["equations"] == 2 and "'i': 1" in row["mesh"]


def test_flags_in_force(binary, tmp_path):
    path = str(tmp_path / "in.jaxscope")
    with jax.numpy_dtype_promotion("strict"), jax.default_matmul_precision("float32"):
        jaxscope.capture(lambda x: x @ x)(X).save(path)
    report = json.loads(subprocess.run([binary, "inspect", path, "--json"], capture_output=True, text=True).stdout)
    flags = {f["name"]: f["value"] for f in report["program"]["flags"]}
    assert flags["jax_numpy_dtype_promotion"] == "strict" and flags["jax_default_matmul_precision"] == "float32" and flags["jax_enable_x64"] == "False"
