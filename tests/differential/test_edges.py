"""Where JAX says something else than one expects, one case each: orders, places, names, constants that are left out."""
import subprocess

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax._src.ad_checkpoint import saved_residuals
from jax._src.interpreters import partial_eval

import jaxscope
from conftest import jaxscope_binary

X = jnp.linspace(0.1, 0.9, 3)


def saved(fn, *args, path, **options):
    jaxscope.capture(fn, **options)(*args).save(str(path / "p.jaxscope"))
    return str(path / "p.jaxscope")


@pytest.mark.parametrize("step, argnums", [("grad:1,0", (1, 0)), ("grad:0,1", (0, 1)), ("value_and_grad:1,0", (1, 0))])
def test_gradients_come_in_the_order_asked(cli, tmp_path, step, argnums):
    def f(a, b):
        return (a["u"] * jnp.sin(b) + a["v"]).sum()
    args = ({"u": X, "v": X + 1}, X * 2)
    transform = jax.grad if step.startswith("grad") else jax.value_and_grad
    found = cli.json("transform", saved(f, *args, path=tmp_path), "--apply", step, "--print")
    assert found["text"].rstrip() == str(jax.make_jaxpr(transform(f, argnums=argnums))(*args))
    tree = jax.tree_util.tree_flatten_with_path(jax.eval_shape(transform(f, argnums=argnums), *args))[0]
    assert [o["path"] for o in found["program"]["outputs"]] == [jax.tree_util.keystr(p) for p, _ in tree]


def test_an_argument_asked_for_twice_is_refused_as_in_jax(cli, tmp_path):
    f = lambda a, b: (a * jnp.sin(b)).sum()
    with pytest.raises(TypeError):
        jax.grad(f, argnums=(1, 1))(X, X + 1)
    done = cli.raw("transform", saved(f, X, X + 1, path=tmp_path), "--apply", "grad:1,1", check=False)
    assert done.returncode == 2 and "expected each argument once, found 1 again" in done.stderr


def test_one_array_given_twice_opens(cli, tmp_path):
    file = saved(lambda a, b: (a * jnp.sin(b)).sum(), X, X, path=tmp_path)
    assert [i["path"] for i in cli.json("inspect", file)["program"]["inputs"]] == ["a", "b"]


@pytest.mark.parametrize("dtype", [jnp.float8_e5m2, jnp.float8_e4m3fn, jnp.float16, jnp.bfloat16], ids=lambda d: d.__name__)
def test_a_narrow_number_is_asked_for_in_several_places(cli, tmp_path, dtype):
    """Of each of eight arrays of one element, which is chosen by itself: the number stood where the first one asked."""
    def f(*xs):
        least, out = jnp.full(xs[0].shape, -3, dtype), None
        for x in xs:
            v = lax.select(x == x, x, least)
            out = v if out is None else lax.max(out, v)
        return out
    args = [jnp.full((1,), k - 4, dtype) for k in range(8)]
    cli.json("run", saved(f, *args, path=tmp_path, values="all"), "--outputs", str(tmp_path / "o.npz"))
    with np.load(tmp_path / "o.npz") as out:
        assert out["out0"].tobytes() == np.asarray(f(*args)).tobytes()


def test_tanh_of_large_numbers_is_one(cli, tmp_path):
    """What is left of 1 - tanh(x)**2 is multiplied with x**3 in the gradient of gelu."""
    x = jnp.concatenate([jnp.linspace(-60.0, 60.0, 97), jnp.array([7.95, 8.0, -8.0, 1e6])])
    fn = lambda x: (1 - jnp.tanh(x) ** 2, jax.vmap(jax.grad(jax.nn.gelu))(x))
    cli.raw("run", saved(fn, x, path=tmp_path, values="all"), "--outputs", str(tmp_path / "o.npz"))
    for (_, ours), theirs in zip(np.load(tmp_path / "o.npz").items(), fn(x), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


ORDERED = {
    "jit": lambda x: jax.jit(lambda x: jnp.sin(x) * jnp.tanh(x))(x).sum(),
    "silu": lambda x: (jax.nn.silu(x) * jnp.cos(x)).sum(),
    "scan": lambda x: lax.scan(lambda c, a: (jnp.sin(c) * jnp.tanh(a + c), jnp.exp(c) * a), x, jnp.ones((2, 3)))[0].sum(),
    "jit in scan": lambda x: lax.scan(lambda c, a: (jax.jit(lambda c: jnp.sin(c) * jnp.tanh(c * a))(c), None), x, jnp.ones((2, 3)))[0].sum(),
    "nested, no tangent": lambda x: (jnp.cos(x) * jax.checkpoint(lambda y: jnp.sin(y) * 2)(lax.stop_gradient(x))).sum(),
}


@pytest.mark.parametrize("name", ORDERED)
def test_residuals_inside_checkpoint_keep_jax_order(cli, tmp_path, name):
    f = jax.checkpoint(ORDERED[name])
    fn = lambda x: f(x)
    text = cli.json("transform", saved(fn, X, path=tmp_path), "--apply", "grad", "--print")["text"].rstrip()
    assert text == str(jax.make_jaxpr(jax.grad(fn))(X))


def test_nodes_without_keys(cli, tmp_path):
    @jax.tree_util.register_pytree_node_class
    class Pair:
        def __init__(self, u, v):
            self.u, self.v = u, v

        def tree_flatten(self):
            return (self.u, self.v), None

        @classmethod
        def tree_unflatten(cls, _, children):
            return cls(*children)

    def f(b):
        return (b.u * jnp.sin(b.v)).sum()
    rows = cli.json("residuals", saved(f, Pair(X, X + 1), path=tmp_path), "--wrt", "all")["residuals"]
    theirs = [s for _, s in saved_residuals(f, Pair(X, X + 1))]
    assert [r["source"] for r in rows][0] == theirs[0] == "from the argument b[0]"


def test_the_users_line_under_a_policy_around_all(cli, tmp_path):
    """JAX's string names the call of jax.checkpoint; the row's own line is where the value is computed."""
    def f(x):
        a = jnp.sin(x)
        b = jax.jit(jnp.tanh)(a)
        return (a * b).sum()
    first = f.__code__.co_firstlineno
    report = cli.json("residuals", saved(f, X, path=tmp_path), "--wrt", "all", "--policy", "everything_saveable")
    lines = {(r["source"].split(" from ")[0], r["line"] - first) for r in report["residuals"] if r["equation"]}
    assert {("output of sin", 1)} <= lines and {n for _, n in lines} <= {1, 2, 3} and ("output of tanh", 2) in {(s.replace("jitted function 'tanh'", "tanh"), n) for s, n in lines}


def test_index_tables_are_kept_at_any_setting(cli, tmp_path):
    table, mask = jnp.array([2, 0, 1]), np.array([True, False, True])

    def f(x):
        return jnp.where(mask, x[table], 0.0) * jnp.linspace(0.5, 1.5, 3)
    file = saved(f, X, path=tmp_path, values="none")
    report = cli.json("run", file)
    kept = [c["aval"] for c in report["made_up_constants"]]
    assert not any(a.startswith(("i32", "bool")) for a in kept), kept
    big = np.arange(3 << 18, dtype=np.int32)[::-1].copy()  # 3 MiB: more than `small` keeps of inputs
    file = saved(lambda i: jnp.asarray(big)[i], jnp.arange(4), path=tmp_path, values="small")
    assert cli.json("run", file)["outputs"][0]["values"] == [int(big[i]) for i in range(4)]


def test_floats_that_are_left_out_are_named(cli, tmp_path):
    weights = jnp.linspace(0.0, 1.0, 300)
    file = saved(lambda x: (weights * x).sum(), jnp.ones(300), path=tmp_path, values="none")
    report = cli.json("run", file)
    assert [(c["aval"], c["bytes"]) for c in report["made_up_constants"]] == [("f32[300]", 1200)]
    assert report["made_up_constants"][0]["source"].startswith("mul from ") and report["made_up_constants"][0]["place"]["line"] > 0
    said = subprocess.run([jaxscope_binary(), "run", file], capture_output=True, text=True).stderr
    assert "1 constant has no values" in said and "f32[300] read by mul" in said


def test_a_loop_shows_what_its_body_holds(cli, tmp_path):
    w = jnp.ones((256, 256)) / 256

    def f(x):
        def step(c, _):
            h = jnp.tanh(c @ w)
            return jnp.sin(h @ w) + c, None
        return lax.scan(step, x, None, length=4)[0].sum()
    fn = jax.grad(f)
    memory = cli.json("plan", saved(fn, jnp.ones((256, 256)), path=tmp_path))["memory"]
    rows = [r for r in memory["at_peak"] if r["role"] != "argument" and r["bytes"] > 4096]
    assert rows and not any(r["aval"].startswith("u8") or r["source"].startswith("scan") for r in rows), rows
    assert all("/jaxpr/" in r["equation"] and r["line"] > 0 for r in rows if r["role"] == "residual"), rows
    assert any(r["aval"].startswith("f32[4,256,256]") and r["role"] == "residual" for r in rows), rows


def constrained(*specs):
    from jax.sharding import AxisType, NamedSharding
    mesh = jax.make_mesh((1, 1), ("x", "y"), axis_types=(AxisType.Auto,) * 2)

    def fn(x):
        for spec in specs:
            x = lax.with_sharding_constraint(jnp.sin(x), NamedSharding(mesh, spec))
        return x
    return fn


def on_one_device(x):
    return lax.with_sharding_constraint(jnp.sin(x), jax.sharding.SingleDeviceSharding(jax.devices()[0]))


P = jax.sharding.PartitionSpec


@pytest.mark.parametrize("fn", [constrained(P("x"), P(None, "y")), constrained(P(("x", "y")), P(P.UNCONSTRAINED, "y"), P()), on_one_device])
def test_a_mapped_constraint_leaves_the_new_axis_open(cli, tmp_path, fn):
    x = jnp.ones((2, 4))
    file = saved(fn, x, path=tmp_path)
    for steps, mapped, shape in ((["vmap@3"], jax.vmap(fn), (3, 2, 4)), (["vmap@3", "vmap@5"], jax.vmap(jax.vmap(fn)), (5, 3, 2, 4))):
        ours = cli.json("transform", file, *(a for s in steps for a in ("--apply", s)), "--print")["text"]
        assert " ".join(ours.split()) == " ".join(str(jax.make_jaxpr(mapped)(jnp.ones(shape))).split())


def test_explicit_types_are_said_to_be_left_out(cli, tmp_path):
    from jax.sharding import AxisType, NamedSharding
    mesh = jax.make_mesh((1,), ("x",), axis_types=(AxisType.Explicit,))
    with jax.set_mesh(mesh):
        file = saved(lambda x: jnp.sin(x).sum(), jax.device_put(X, NamedSharding(mesh, P("x"))), path=tmp_path)
    for command in (["transform", "--apply", "grad", "--print"], ["residuals"]):
        done = cli.raw(command[0], file, *command[1:])
        assert "explicit shardings (f32[" in done.stderr, done.stderr
    on_mesh = saved(constrained(P("x")), X, path=tmp_path)
    assert "reshards" in cli.raw("transform", on_mesh, "--apply", "jvp").stderr
    assert "reshards" not in cli.raw("residuals", on_mesh, check=False).stderr


def bits(x):
    return np.asarray(x).view({2: np.uint16, 4: np.uint32, 8: np.uint64}[np.asarray(x).dtype.itemsize])


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16", "int32", "uint8"])
@pytest.mark.parametrize("k", [3, 9])
def test_top_k_takes_the_total_order(cli, tmp_path, dtype, k):
    """NaNs by sign and payload, zeros by sign; of equal ones the first."""
    with jax.enable_x64(True):
        x = np.asarray([1.0, 7.0, 0.0, 2.0, 0.0, 5.0, 2.0, 3.0, 7.0]).astype(jnp.dtype(dtype))
        if jnp.issubdtype(x.dtype, jnp.floating):
            special = np.asarray([np.nan, 0.0, 0.0, np.inf, np.inf, np.nan]).astype(x.dtype)
            x = np.concatenate([x[:3], special, np.copysign(special, np.asarray(-1, x.dtype))])
            bits(x)[3] += 1  # a larger payload
        f = lambda x: lax.top_k(x, k)
        file, out = saved(f, x, path=tmp_path, values="all"), str(tmp_path / "out.npz")
        values, positions = jax.jit(f)(x)
    cli.raw("run", file, "--outputs", out)
    with np.load(out) as found:
        assert found["out1"].tolist() == positions.tolist()
        ours, theirs = found["out0"].view(values.dtype), np.asarray(values)
    if dtype in ("bfloat16", "float16"):  # XLA computes these as float32 and may quieten a NaN
        assert np.signbit(ours).tolist() == np.signbit(theirs).tolist() and np.array_equal(ours.astype(np.float32), theirs.astype(np.float32), equal_nan=True)
    else:
        assert ours.tobytes() == theirs.tobytes()


def test_complex_convolution_into_a_wider_type(cli, tmp_path):
    """Three real convolutions in the wider type, of sums in the narrower one, as JAX writes them."""
    with jax.enable_x64(True):
        r = np.random.RandomState(0)
        x, w = ((r.randn(*s) + 1j * r.randn(*s)).astype(np.complex64) for s in ((1, 3, 8), (2, 3, 3)))
        f = lambda x, w: lax.conv_general_dilated(x, w, (1,), "SAME", preferred_element_type=jnp.complex128)
        file, out = saved(f, x, w, path=tmp_path, values="all"), str(tmp_path / "out.npz")
        theirs = np.asarray(jax.jit(f)(x, w))
    cli.raw("run", file, "--outputs", out)
    with np.load(out) as found:
        assert np.abs(found["out0"] - theirs).max() < 1e-13


def test_groups_of_devices_are_refused(cli, tmp_path):
    """A psum over an axis of its operand runs as a sum; one that also has groups means something else."""
    text = ("{ lambda ; a:f32[2,3]. let\n    b:f32[3] = psum[axes=(0,) axis_index_groups=%s] a\n  in (b,) }\n")
    plain, grouped = tmp_path / "plain.jaxpr", tmp_path / "grouped.jaxpr"
    plain.write_text(text % "None")
    grouped.write_text(text % "((0, 1),)")
    cli.raw("run", str(plain))
    done = cli.raw("run", str(grouped), check=False)
    assert done.returncode == 3 and "axis_index_groups" in done.stderr and "psum" in done.stderr


@pytest.mark.parametrize("name", ["min", "max"])
def test_scattered_extremes_of_complex_numbers(cli, tmp_path, name):
    """By real parts, then by imaginary ones; several updates of one place."""
    x = np.asarray([1 + 2j, 1 - 1j, 3, -2 + 1j, 0], np.complex64)
    updates = np.asarray([1 + 1j, 2 - 5j, -2 + 3j, 1 - 3j, 1j], np.complex64)
    f = lambda x, u: getattr(x.at[np.asarray([0, 1, 3, 1, 4])], name)(u)
    file, out = saved(f, x, updates, path=tmp_path, values="all"), str(tmp_path / "out.npz")
    cli.raw("run", file, "--outputs", out)
    with np.load(out) as found:
        assert found["out0"].tolist() == np.asarray(jax.jit(f)(x, updates)).tolist()


def test_a_sum_of_booleans_is_their_disjunction(cli, tmp_path):
    from jax._src.lax import windowed_reductions as windows
    r = np.random.RandomState(0)
    source, operand = r.rand(1, 3, 5) > 0.5, r.rand(2, 4, 6) > 0.5
    fn = lambda s, x: windows._select_and_scatter_add(s, x, lax.ge_p, (2, 2, 2), (1, 1, 1), ((0, 0),) * 3)
    out = str(tmp_path / "scattered.npz")
    cli.json("run", saved(fn, source, operand, path=tmp_path), "--outputs", out)
    with np.load(out) as z:
        assert np.array_equal(z["out0"], fn(source, operand)) and z["out0"].any()


@pytest.mark.parametrize("operands", [0, 1])
def test_dce_drops_a_checkpoint_that_only_prints_text(cli, tmp_path, operands):
    """As JAX 0.10.2: one whose print reads a value stays."""
    def fn(v):
        @jax.checkpoint
        def g(v):
            jax.debug.print("hello {}" if operands else "hello", *([v] if operands else []))
            return v * 2
        g(v)
        return jnp.sum(v ** 2)
    args = (jnp.ones(3),)
    theirs = [e.primitive.name for e in partial_eval.dce_jaxpr(jax.make_jaxpr(fn)(*args).jaxpr, [True])[0].eqns]
    file = str(tmp_path / "p.jaxscope")
    jaxscope.capture(fn, values="all")(*args).save(file)
    text = cli.json("transform", file, "--apply", "dce", "--print")["text"]
    assert ("remat2" in text) == ("remat2" in theirs) == bool(operands)


# The most that an element may be off, in units of the last place of the exact result; XLA's own are 1 to 65.
FORMULAS = {"exp": 2, "exp2": 2, "expm1": 5, "log": 2, "log1p": 3, "tanh": 5, "erf": 6}


@pytest.mark.parametrize("length", [200_000, 37, 3])
def test_formulas_of_float32_everywhere(cli, tmp_path, length):
    """Of all magnitudes, at the ends of the range, of NaNs of any payload; and for what is left over behind whole vectors."""
    rng = np.random.default_rng(5)
    least = np.finfo(np.float32).tiny
    ends = [0, -0.0, np.inf, -np.inf, np.nan, 88.72283, 88.72284, -87.33, -87.337, -104, 127.99999, 128, -126, -126.01, -1, -0.99999994, 1.5 * least,
            least / 4, -least / 4, 1.4e38, 1.7e38, 2e38, 3.4e38, 16777216, 33554432]
    x = np.concatenate([np.asarray(ends, np.float32), np.asarray([0x7FFFFFFF, 0x7FC00001, 0xFFFFFFFF], np.uint32).view(np.float32)])
    some = [rng.uniform(-100, 100, length), rng.normal(size=length), np.exp(rng.uniform(-86, 88, length)), -np.exp(rng.uniform(-86, 0, length))]
    x = np.concatenate([x, *(s.astype(np.float32) for s in some)])[:max(length, 40)]
    functions = [getattr(jnp, n, None) or getattr(jax.scipy.special, n) for n in FORMULAS]
    file, out = saved(lambda x: [f(x) for f in functions], x, path=tmp_path, values="all"), str(tmp_path / "out.npz")
    cli.raw("run", file, "--outputs", out)
    flushed = np.where(np.abs(x) < least, np.copysign(0, x), x).astype(np.float64)
    with np.load(out) as found, np.errstate(all="ignore"), jax.enable_x64(True):
        for k, (name, most) in enumerate(FORMULAS.items()):
            ours, exact = found[f"out{k}"], np.asarray(functions[k](flushed))
            same = (np.isnan(ours) & np.isnan(exact)) | (ours == exact.astype(np.float32)) | ((np.abs(ours) < 1.001 * least) & (np.abs(exact) < 1.001 * least))
            wrong = ~same & ~(np.abs(ours - exact) <= most * np.spacing(np.abs(exact.astype(np.float32))))
            assert not wrong.any(), f"{name}({x[wrong][0]!r}) is {ours[wrong][0]!r}, not {exact[wrong][0]!r}"
            assert np.array_equal(np.signbit(ours[exact == 0]), np.signbit(exact[exact == 0])), name
