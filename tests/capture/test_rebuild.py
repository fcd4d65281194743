"""`jaxscope.load`: a capture as a JAX function again gives what the program gave, and what can't be handed back is refused by name and line."""
import json
import os
import random
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import PROGRAMS, ROOT, ahead
from seed import seed_of_sample

import jaxscope

pytestmark = pytest.mark.skipif(jax.__version_info__ < (0, 10), reason="captures are written with the parameters of JAX 0.10 (test_api.py)")
ALL = sorted(PROGRAMS.glob("*.py")) + sorted((ROOT / "samples" / "python").glob("*.py"))
OVER_DEVICES = {"mlp_sharded", "named_sharding_tensor_parallel", "shard_map_data_parallel"}
PATHS = {p.stem: p for p in ALL if p.stem not in OVER_DEVICES}
NAMES = sorted(PATHS) if os.environ.get("JAXSCOPE_FULL") else sorted(random.Random(seed_of_sample()).sample(sorted(PATHS), 5))


def rebuilt(name, folder):
    env = dict(os.environ, PYTHONPATH=str(ROOT / "app" / "capture"))
    done = subprocess.run([sys.executable, str(ROOT / "tests" / "capture" / "rebuild_driver.py"), str(PATHS[name]), str(folder / "p.jaxscope")],
                          env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


programs = ahead("test_a_program_gives_the_same", rebuilt)


@pytest.mark.parametrize("name", NAMES)
def test_a_program_gives_the_same(programs, name):
    found = programs(name)
    if "ModuleNotFoundError" in found.get("refused", ""):
        pytest.skip(found["refused"])
    assert "refused" not in found and found["same"], found
    assert found["worst"] < 1e-5 and found["results"] > 0 and (name == "debug_prints") == bool(found["notes"]), found


def loss(w, x):
    h = jnp.tanh(x @ w["a"])
    return jnp.sum(jax.nn.softmax(h @ w["b"]) ** 2)


@pytest.fixture
def example():
    w = {"a": np.linspace(-1, 1, 48, dtype=np.float32).reshape(6, 8), "b": np.linspace(1, -2, 40, dtype=np.float32).reshape(8, 5)}
    return w, np.linspace(0, 3, 18, dtype=np.float32).reshape(3, 6)


def transformed(binary, path, *steps):
    out = path.with_name("derived.jaxscope")
    done = subprocess.run([binary, "transform", str(path), *(s for step in steps for s in ("--apply", step)), "-o", str(out)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return out


def test_what_jaxscope_derived_runs_in_jax(binary, tmp_path, example, monkeypatch):
    """The gradient under a policy, rematerialised and split by us, compiled and run by JAX: JAX's own numbers."""
    w, x = example
    path = tmp_path / "loss.jaxscope"
    jaxscope.capture(loss, differentiate=0)(w, x).save(path)
    monkeypatch.setenv("JAXSCOPE", binary)
    for policy in ("nothing_saveable", "dots_saveable", "offload_dot_with_no_batch_dims('device', 'pinned_host')"):
        step = jaxscope.load(transformed(binary, path, f"checkpoint:{policy}", "value_and_grad:0"))
        assert any(e.primitive.name == "remat2" for e in step.jaxpr.eqns) and step.in_paths == ["w['a']", "w['b']", "x"]
        if "offload" in policy:
            continue  # this machine's CPU has no second memory to run it in
        value, grads = jax.value_and_grad(loss)(w, x)
        got = jax.jit(step)(w["a"], w["b"], x)
        for g, want in zip(got, [value, grads["a"], grads["b"]], strict=True):
            np.testing.assert_allclose(g, want, rtol=2e-6, atol=1e-6)
    mapped = jaxscope.load(transformed(binary, path, "vmap:0@2"))
    many = [np.stack([a, a * 0.5]) for a in (w["a"], w["b"], x)]
    with pytest.raises(TypeError, match=r"expected float32\[2,6,8\] for w\['a'\], found float32\[6,8\]"):
        mapped(w["a"], *many[1:])
    with pytest.raises(TypeError, match="expected 3 leaves, found 1"):
        mapped(many[0])
    np.testing.assert_allclose(mapped(*many)[0], jax.vmap(lambda a, b, x: loss({"a": a, "b": b}, x))(*many), rtol=2e-6)


def test_packed_captures_need_no_package(binary, tmp_path, example, monkeypatch):
    path = tmp_path / "loss.jaxscope"
    jaxscope.capture(loss)(*example).save(path, compress=False)
    packed = transformed(binary, path)
    assert packed.read_bytes()[:4] == b"\x28\xb5\x2f\xfd"
    for module in ("compression", "compression.zstd", "zstandard"):
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setenv("JAXSCOPE", binary)
    w, x = example
    np.testing.assert_allclose(jaxscope.load(packed)(w["a"], w["b"], x)[0], loss(w, x), rtol=2e-6)


@pytest.mark.parametrize("text, says", [
    ("", "is no capture"), ("{}", "it is no capture of jaxscope's"), (None, "cannot read"),
])
def test_what_is_no_capture(tmp_path, text, says):
    path = tmp_path / "x.jaxscope"
    if text is not None:
        path.write_text(text)
    with pytest.raises(jaxscope.CaptureError, match=says):
        jaxscope.load(path)


def test_what_python_alone_could_say(tmp_path):
    path = tmp_path / "x.jaxscope"

    def calls_back(x):
        return jax.pure_callback(lambda v: v, jax.ShapeDtypeStruct(x.shape, x.dtype), x) + 1
    jaxscope.capture(calls_back)(jnp.ones(3)).save(path)
    with pytest.raises(jaxscope.CaptureError, match=r"'pure_callback' at .*test_rebuild.py:\d+:\d+ \(.*calls_back\): it calls code that a capture doesn't hold"):
        jaxscope.load(path)
    sharded = ROOT / "samples" / "captures" / "mlp_sharded.jaxscope"
    with pytest.raises(jaxscope.CaptureError, match=r"'reshard' at mlp_sharded.py:\d+:\d+ .*several devices"):
        jaxscope.load(sharded)


def test_constants_without_values_are_said(tmp_path):
    table = np.arange(6, dtype=np.float32)
    path = tmp_path / "x.jaxscope"
    jaxscope.capture(lambda x: x * jnp.asarray(table), values="none")(jnp.ones(6)).save(path)
    assert any("have no values" in n for n in jaxscope.load(path).notes)
