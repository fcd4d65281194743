"""What real JAX prints, of this version and with every option of `pretty_print`, is read, printed, and what was printed reads back as itself.

Under 0.10.2 the plain text comes out character for character (but for the order inside a frozenset).
"""
import functools
import json
import pathlib
import re
import subprocess

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import missing
from jax import lax
from jax.ad_checkpoint import checkpoint_name

X, M = np.arange(3, dtype=np.float32), np.ones((3, 4), np.float32)
PROGRAMS = {}


def program(*args):
    def add(f):
        PROGRAMS[f.__name__] = (f, args)
        return f
    return add


@jax.custom_jvp
def sine(x):
    return jnp.sin(x)


sine.defjvp(lambda p, t: (sine(*p), t[0] * jnp.cos(p[0])))


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def scaled(n, x):
    return x * n


scaled.defvjp(lambda n, x: (x * n, None), lambda n, _, g: (g * n,))


def new_ref(x):
    if hasattr(jax, "new_ref"):
        return jax.new_ref(x)
    return jax._src.core.mutable_array(x)


@program(X)
def literals(x):
    return x * jnp.nan + float("inf") - float("-inf") * 1e-45 + (-0.0), x * np.array([1, 2, np.nan], np.float32), x + np.float32(1e-6)


@program(np.ones(3, np.complex64))
def complex_literals(x):
    return x * (1 + 2j) + 1j - complex("nan") + complex(0, float("inf")) + complex(-0.0, -0.0)


@program(np.ones(3, bool), np.arange(3))
def integer_literals(b, i):
    return (b & True) | False, i << 3, i // 3, i + np.int8(3).astype(np.int32)


@program(X, 2)
def control_flow(x, i):
    total = x.sum()
    return (lax.cond(x[0] > 0, jnp.sin, lambda y: jnp.cos(y) * 2, x), lax.switch(i, [lambda y: y, lambda y: y * 2, jnp.abs], x),
            lax.while_loop(lambda s: s[0] < total, lambda s: (s[0] + 1, s[1] * total), (0.0, x)),
            lax.scan(lambda c, y: (c + y, c * y), x, x[:, None] * x, reverse=True, unroll=2))


@program(X)
def custom_rules(x):
    return jax.value_and_grad(lambda y: (sine(scaled(3, y)) + sine(y)).sum())(x)


@program(X)
def linearized_calls(x):
    y, f = jax.linearize(lambda z: scaled(2, jnp.sin(z)), x)
    return y, f(x), jax.jvp(jax.checkpoint(lambda z: scaled(2, sine(z))), (x,), (x,))


@program(X)
def policies(x):
    policy = jax.checkpoint_policies
    chosen = [policy.dots_saveable, policy.save_only_these_names("a b", "c'd", "e]", "x=3"),
              policy.save_from_both_policies(policy.dots_saveable, policy.everything_saveable), lambda *_, **__: True,
              policy.save_and_offload_only_these_names(names_which_can_be_saved=["a"], names_which_can_be_offloaded=["b"],
                                                       offload_src="device", offload_dst="pinned_host")]
    return [jax.checkpoint(lambda y: checkpoint_name(jnp.sin(jnp.sin(y)), "it's a"), policy=p)(x) for p in chosen]


@program(X)
def hosts(x):
    jax.debug.print("x={x} [not closed }} ' \" {{", x=x)
    jax.debug.print("two\nlines\tand tab, ü → {}", x)
    y = jax.pure_callback(lambda a: a, jax.ShapeDtypeStruct((3,), np.float32), x)
    return y, jax.experimental.io_callback(lambda a: a, jax.ShapeDtypeStruct((3,), np.float32), x, ordered=True)


@program(np.eye(4, dtype=np.float32))
def linear_algebra(a):
    return (jnp.linalg.solve(a, a[0]), lax.custom_linear_solve(lambda v: a @ v, a[0], lambda mv, v: v, symmetric=True), jnp.linalg.svd(a),
            jnp.linalg.qr(a), jnp.linalg.eigh(a), jnp.linalg.cholesky(a), jax.scipy.sparse.linalg.cg(lambda v: a @ v, a[0])[0])


@program(0)
def keys(seed):
    a, b = jax.random.split(jax.random.key(seed))
    other = jax.random.wrap_key_data(jnp.zeros(4, jnp.uint32), impl="unsafe_rbg")
    return (jax.random.normal(b, (2,)), jax.random.bits(jax.random.key(1, impl="rbg"), (2,)), jax.random.key_data(jax.random.fold_in(a, 3)), other,
            jax.random.permutation(a, 5), jax.random.gamma(a, 2.0), jax.random.uniform(jax.random.PRNGKey(3)))


@program(M)
def arrays(x):
    return (x[1], x[:, ::2], x[jnp.array([0, 2])], x.at[0].set(1), x.at[0, jnp.array([1])].max(3), jnp.take(x, jnp.array([5]), mode="fill"),
            jnp.sort(x), lax.top_k(x, 2), jnp.searchsorted(x[0], 3.0), jnp.cumsum(x, 1), x.argmax(1), lax.reduce(x, 0.0, lambda a, b: a * b + 1, (0,)),
            lax.reduce_window(x, 0.0, lax.add, (2, 2), (1, 1), "SAME"), jnp.fft.irfft(jnp.fft.rfft(x)), jnp.pad(x, 1), jnp.zeros((0, 3)).sum())


@program(M)
def products(x):
    half = x.astype(jnp.bfloat16)
    return (x @ x.T, jnp.dot(x, x.T, precision="highest"), lax.dot(half, half.T, precision=(lax.Precision.HIGH, lax.Precision.DEFAULT)),
            lax.dot_general(x, x, (((1,), (1,)), ((), ())), preferred_element_type=jnp.float32),
            lax.conv_general_dilated(x[None, :, :, None], x[:, :3, None, None], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")))


@program(M)
def dtypes(x):
    names = ("float16", "bfloat16", "int8", "uint8", "int4", "uint4", "float8_e4m3fn", "float8_e5m2", "bool", "complex64")
    return [x.astype(d) for d in names], [x.astype(d) + np.array(1, d) for d in names[:4]]


@program(M)
def calls(x):
    @functools.partial(jax.jit, static_argnums=1, donate_argnums=0)
    def f(a, n):
        return a * n
    big = jax.jit(lambda y: functools.reduce(lambda z, _: jnp.sin(jnp.cos(z)), range(6), y))
    return f(x, 3), f(x, 4), jax.jit(lambda a, b: (a, a), keep_unused=True)(x, x), big(big(x)), jax.named_call(jnp.sin, name="a <b>")(x)


@program(X)
def scopes(x):
    with jax.named_scope("layer # 1 (a)"):
        return jax.vmap(jax.grad(lambda a, b: jnp.sin(a) * b))(x, x)


@program(M)
def collectives(x):
    return jax.vmap(lambda y: (lax.psum(y, "i"), lax.all_gather(y, "i"), lax.axis_index("i")), axis_name="i")(x)


@program(np.ones((8, 4), np.float32))
def sharded(x):
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]).reshape(1, 1), ("x", "y"))
    spec = jax.sharding.PartitionSpec
    shard_map = getattr(jax, "shard_map", None)
    if shard_map is None:
        from jax.experimental.shard_map import shard_map
    f = shard_map(lambda a: (lax.psum(a * 2, "y"), a), mesh=mesh, in_specs=spec("x", "y"), out_specs=(spec("x", None), spec("x", "y")))
    named = jax.sharding.NamedSharding(mesh, spec(("x", "y")))
    return f(lax.with_sharding_constraint(x, named)), jax.device_put(x, named)


@program(X, 1)
def references(x, i):
    r = new_ref(x)
    r[0] = 1.0
    r[...] += x
    a, b = r[i], r[1:]
    r[i] = b[0]
    return a, b, r[...], r[jnp.array([0, 1])]


def kernel():
    from jax.experimental import pallas as pl

    def body(x, y, out):
        i = pl.program_id(0)
        out[...] = x[...] + y[...] * i

        @pl.when(i == 0)
        def _():
            out[0, :] = jnp.zeros(4)
    spec = {} if jax.__version__ == "0.4.30" else {"in_specs": [pl.BlockSpec((2, 4), lambda i: (i, 0))] * 2,
                                                   "out_specs": pl.BlockSpec((2, 4), lambda i: (i, 0))}
    return pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct((8, 4), jnp.float32), grid=(4,), interpret=True, **spec)


@program(np.ones((8, 4), np.float32), np.ones((8, 4), np.float32))
def kernels(x, y):
    return kernel()(x, y)


def symbolic():
    from jax import export
    b, = export.symbolic_shape("b")
    return jax.make_jaxpr(lambda x: (jnp.sin(x).sum(0), x.reshape(-1), x[1:], jnp.concatenate([x, x])))(jax.ShapeDtypeStruct((b, 4), np.float32))


def explicitly_sharded():
    mesh = jax.make_mesh((1, 1), ("x", "y"), axis_types=(jax.sharding.AxisType.Explicit,) * 2)
    spec = jax.sharding.PartitionSpec
    x = jax.device_put(M, jax.sharding.NamedSharding(mesh, spec("x", "y")))
    with jax.set_mesh(mesh) if hasattr(jax, "set_mesh") else jax.sharding.use_mesh(mesh):
        return jax.make_jaxpr(lambda a: (jnp.sin(a), a.sum(0), a * 2))(x)


MADE = {"symbolic": symbolic, "explicitly_sharded": explicitly_sharded}
OPTIONS = {"plain": {}, "sources": {"source_info": True}, "stacks": {"source_info": True, "name_stack": True}, "stacks alone": {"name_stack": True},
           "coloured": {"use_color": True}, "every parameter": {"custom_pp_eqn_rules": False}, "effects": {"print_effects": True}}
TOO_NEW = {"0.4.30": {"explicitly_sharded", "policies", "kernels"}}
REFUSED = {"0.4.30": {"sharded"}, "0.6.2": {"sharded"}}  # shard_map as older versions wrote it, by name and line


def texts():
    """{(program, option): text}."""
    jaxprs = {}
    for name in [*PROGRAMS, *MADE]:
        if name in TOO_NEW.get(jax.__version__, ()):
            continue
        if name in MADE:
            jaxprs[name] = MADE[name]()
        else:
            f, args = PROGRAMS[name]
            jaxprs[name] = jax.make_jaxpr(f)(*args)
    out = {}
    for name, jaxpr in jaxprs.items():
        for option, given in OPTIONS.items():
            out[name, option] = jaxpr.pretty_print(**{"use_color": False, **given})
        out[name, "crlf"] = "\ufeff" + str(jaxpr).replace("\n", "\r\n") + "\r\n"
        if name == "hosts":  # a text of two lines is one value: what the log writes between them can't be told from it
            continue
        out[name, "log"] = "step 0\n" + "".join(f"[rank 0] {line}\n" for line in str(jaxpr).splitlines()) + "step 1\n"
    return out


def as_printed(text: str) -> str:
    text = re.sub(r"0x[0-9a-fA-FX]{6,}", "0x_", text)
    return re.sub(r"frozenset\(\{(.*?)\}\)", lambda m: "frozenset({" + ", ".join(sorted(m[1].split(", "))) + "})", text).strip()


def test_texts_are_fixpoints(binary, tmp_path):
    driver = pathlib.Path(binary).parent / "tests" / "capture_driver"
    if not driver.exists():
        missing("the test drivers are not built")
    wanted, files = texts(), []
    for i, text in enumerate(wanted.values()):
        files.append(tmp_path / f"{i}.jaxpr")
        files[-1].write_bytes(text.encode())
    done = subprocess.run([driver], input="".join(f"{f}\n" for f in files), capture_output=True, text=True, timeout=120, check=True)
    wrong, plain = [], {}
    for (name, option), text, line in zip(wanted, wanted.values(), done.stdout.splitlines(), strict=True):
        found = json.loads(line)
        plain.setdefault(name, found.get("text"))
        if name in REFUSED.get(jax.__version__, ()) and "expected shard_map as JAX 0.10 writes it" in found.get("error", ""):
            continue
        if "error" in found:
            wrong.append(f"{name}, {option}: {found['error']}")
        elif found["again"] is not None:
            wrong.append(f"{name}, {option}:\n{found['text']}\nreads back as\n{found['again']}")
        elif found["text"] != plain[name] and option not in ("every parameter", "effects"):
            wrong.append(f"{name}, {option}: printed otherwise than the plain text:\n{found['text']}")
        elif option == "plain" and jax.__version__ == "0.10.2" and as_printed(found["text"]) != as_printed(text):
            wrong.append(f"{name}: JAX prints\n{text}\nand jaxscope\n{found['text']}")
    assert not wrong, f"{len(wrong)} of {len(wanted)}\n" + "\n".join(wrong)[:6000]
