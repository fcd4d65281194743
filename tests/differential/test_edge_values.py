"""Numbers at the edges of their types and arrays without elements: element by element JAX's, with every access watched too."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jaxscope

EDGES = [0, -0.0, 1, -1, 2, 448, np.inf, -np.inf, np.nan, 1e-40, 3e38, 6e-8, 65504]


def ran(cli, tmp_path, fn, *args, inputs=None, flags=()):
    """What the command line's run gives, in the types that JAX's outputs have."""
    path, out = str(tmp_path / "a.jaxscope"), str(tmp_path / "out.npz")
    jaxscope.capture(fn, values="all")(*args).save(path)
    more = ()
    if inputs is not None:
        np.savez(tmp_path / "in.npz", **{f"arg{i}": a for i, a in enumerate(inputs)})
        more = ("--inputs", str(tmp_path / "in.npz"))
    cli.json("run", path, *more, *flags, "--outputs", out)
    types = jax.tree.leaves(jax.eval_shape(fn, *args))
    with np.load(out) as z:
        return [z[f"out{i}"].view(t.dtype) if z[f"out{i}"].dtype.kind == "V" else z[f"out{i}"] for i, t in enumerate(types)]


def equal(found, expected):
    for f, e in zip(found, jax.tree.leaves(expected), strict=True):
        wide = np.float64 if jnp.issubdtype(e.dtype, jnp.floating) else e.dtype
        assert f.dtype == e.dtype
        np.testing.assert_array_equal(f.astype(wide), np.asarray(e).astype(wide))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "float8_e4m3fn", "float8_e5m2"])
def test_neighbours_are_of_the_numbers_own_type(cli, tmp_path, dtype):
    with np.errstate(over="ignore"):
        x, y = (a.ravel().astype(dtype) for a in np.meshgrid(*2 * [np.array(EDGES, np.float64)]))
    equal(ran(cli, tmp_path, lax.nextafter, x, y), jax.jit(lax.nextafter)(x, y))


@pytest.mark.parametrize("debug", [(), ("--debug",)])
@pytest.mark.parametrize("lhs, rhs, numbers", [((17, 0), (17, 0), (((1, 0), (1, 0)), ((), ()))), ((0, 1, 3, 2), (3, 0, 7), (((0, 2), (1, 0)), ((), ()))),
                                               ((5, 200, 0, 3), (5, 3, 0, 300), (((2, 3), (2, 1)), ((0,), (0,)))), ((70, 0), (0,), (((1,), (0,)), ((), ())))])
def test_sums_of_nothing(cli, tmp_path, lhs, rhs, numbers, debug):
    """Beside an empty dimension the other ones that are summed have numbers to read none of."""
    def f(*xs):
        return [lax.dot_general(a, b, numbers) for a, b in zip(xs[::2], xs[1::2])]
    args = [np.zeros(shape, dtype) for dtype in ("float32", "complex64", "int8", "bfloat16") for shape in (lhs, rhs)]
    equal(ran(cli, tmp_path, f, *args, flags=debug), jax.jit(f)(*args))


def test_files_of_float8_e5m2(cli, tmp_path):
    """NumPy writes a type of its own for it, "f1", into captures and into the files that are given."""
    x = np.linspace(-4, 4, 4096).astype("float8_e5m2")
    f = lambda x: (x + x, x.astype(jnp.float32))
    equal(ran(cli, tmp_path, f, x), jax.jit(f)(x))
    y = x[::-1].copy()
    equal(ran(cli, tmp_path, f, x, inputs=[y]), jax.jit(f)(y))


@pytest.mark.parametrize("dtype", ["float8_e4m3b11fnuz", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e4m3fn"])
def test_nan_is_sorted_by_its_sign(cli, tmp_path, dtype):
    """The only NaN of a type without -0 is negative."""
    x = np.random.RandomState(1).randn(300).astype(dtype)
    x[::7], x[::11] = np.nan, 0
    f = lambda x: (jnp.sort(x), jnp.argsort(x), lax.sort((x, x[::-1]), num_keys=2))
    equal(ran(cli, tmp_path, f, x), jax.jit(f)(x))


def test_nan_as_float4(cli, tmp_path):
    x = np.array([np.nan, -np.nan, np.inf, -np.inf, 7, -0.0, 0.3], np.float32)
    f = lambda x: x.astype(jnp.float4_e2m1fn).astype(jnp.float32)
    found, expected = ran(cli, tmp_path, f, x)[0], np.asarray(jax.jit(f)(x))
    assert found.tobytes() == expected.tobytes()


def test_bessel_functions_of_the_largest_numbers(cli, tmp_path):
    with jax.enable_x64(True):
        x = np.array([1e300, 1.7e308, -1.7e308, np.inf, -np.inf, 20.5, np.nan])
        f = lambda x: (lax.bessel_i0e(x), lax.bessel_i1e(x), jax.scipy.special.i0(x))
        for found, expected in zip(ran(cli, tmp_path, f, x), jax.jit(f)(x), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_incomplete_gamma_of_large_numbers(cli, tmp_path):
    """Held to JAX's doubles: its floats are off by a hundredth at 1e5, and by thousands at 1e7."""
    a = np.repeat(np.logspace(0, 6, 13), 7)
    x = a * np.tile([0.9, 0.99, 0.999, 1, 1.001, 1.01, 1.1], 13)
    f = lambda a, x: (lax.igamma(a, x), lax.igammac(a, x))
    a32, x32 = a.astype(np.float32), x.astype(np.float32)
    with jax.enable_x64(True):
        expected = jax.jit(f)(a32.astype(np.float64), x32.astype(np.float64))
    for found, truth in zip(ran(cli, tmp_path, f, a32, x32), expected, strict=True):
        np.testing.assert_allclose(found, truth, rtol=2e-3, atol=1e-6)


def near(found, expected):
    for f, e in zip(found, jax.tree.leaves(expected), strict=True):
        assert f.dtype == e.dtype
        np.testing.assert_allclose(f, np.asarray(e), rtol=2e-5, atol=2e-6)


def test_decompositions_of_what_isnt_finite(cli, tmp_path):
    """LAPACK's implementations differ: Debian's OpenBLAS gives zeros and finite numbers where a NaN was read."""
    a = np.random.RandomState(3).randn(4, 4).astype(np.float32)
    bad = np.stack([a] * 5)
    bad[0, 0, 0] = bad[1, 1, 2] = bad[2, 3, 3] = bad[3, 2, 0] = np.nan
    bad[4, 1, 2] = np.inf
    symmetric = bad @ bad.transpose(0, 2, 1) + 4 * np.eye(4, dtype=np.float32)

    def f(x, s):
        lu = x.at[3].set(x[4].T)  # which row is exchanged beside a NaN is each library's own
        return [lax.linalg.lu(lu), lax.linalg.lu(lu[:, :3]), lax.linalg.qr(x), jnp.linalg.qr(x[:, :, :2]), lax.linalg.cholesky(s), jnp.linalg.det(lu)]
    near(ran(cli, tmp_path, f, bad, symmetric), jax.jit(f)(bad, symmetric))
    indefinite = -np.eye(3, dtype=np.float32)
    near(ran(cli, tmp_path, lax.linalg.cholesky, indefinite), jax.jit(lax.linalg.cholesky)(indefinite))


def test_reductions_and_updates_of_matrices(cli, tmp_path):
    a = np.random.RandomState(4).randn(2, 5, 5).astype(np.float32)
    z = (a + 1j * a.transpose(0, 2, 1)).astype(np.complex64)

    def f(a, z):
        symmetric, hermitian = a + a.transpose(0, 2, 1), z + z.conj().transpose(0, 2, 1)
        product = lambda a, c: lax.linalg.symmetric_product(a, c, alpha=2.0, beta=0.5)
        return [lax.linalg.tridiagonal(symmetric, lower=low) for low in (True, False)] + [
            lax.linalg.tridiagonal(hermitian)[1:3], lax.linalg.tridiagonal(symmetric[:, :1, :1]), lax.linalg.cholesky_update(jnp.triu(a[0]) + 4 * jnp.eye(5), a[1, 0]),
            lax.linalg.cholesky_update(jnp.triu(a[0]), a[1, 0].at[1].set(0)), product(a[:, :, :3], symmetric), jax.vmap(product)(a, symmetric)]
    near(ran(cli, tmp_path, f, a, z), jax.jit(f)(a, z))


def test_ragged_products_with_sizes_for_each_of_a_batch(cli, tmp_path):
    """As vmap of ragged_dot makes them, and what is differentiated under it."""
    r = np.random.RandomState(5)
    x, y, w = (r.randn(*s).astype(np.float32) for s in ((2, 12, 4), (2, 3, 4, 5), (2, 12, 5)))
    sizes = np.array([[3, 5, 4], [1, 7, 2]], np.int32)
    dims = lambda *numbers: lax.RaggedDotDimensionNumbers(*numbers)
    free, summed = dims((((2,), (2,)), ((0,), (0,))), [1], [1]), dims((((1,), (1,)), ((0,), (0,))), [1], [])
    late = dims((((2,), (2,)), ((0,), (0,))), [3], [1])  # sizes for each element of two dimensions, which stand apart

    def f(x, y, w, sizes):
        loss = lambda x, y, s: (lax.ragged_dot(x, y, s) ** 2).sum()
        apart = jnp.transpose(x.reshape(2, 3, 4, 4), (0, 1, 3, 2))
        each = jnp.array([[[1, 2, 1], [0, 4, 0], [2, 2, 0]], [[4, 0, 0], [1, 1, 1], [0, 0, 3]]])
        return [jax.vmap(lax.ragged_dot)(x, y, sizes), jax.vmap(jax.grad(loss, (0, 1)))(x, y, sizes), lax.ragged_dot_general(x, y, sizes, free),
                lax.ragged_dot_general(x, w, sizes, summed), lax.ragged_dot_general(x, y, sizes[0], free), lax.ragged_dot_general(apart, y, each, late)]
    near(ran(cli, tmp_path, f, x, y, w, sizes), jax.jit(f)(x, y, w, sizes))


def test_approximate_top_k_places_equals_as_xla_does(cli, tmp_path):
    """Its sort isn't stable but for the largest of float32, which it finds by top_k; NaNs too."""
    x = np.random.RandomState(6).randint(0, 4, (2, 3, 50)).astype(np.float32)
    x[0, 1, 7], x[1, 2, 9] = np.nan, -np.nan
    finite = np.nan_to_num(x, nan=2)

    def f(x, y):
        largest = [lax.approx_max_k(v, 4) for v in (x, x[0], x[0, 1])]
        return largest + [lax.approx_max_k(y, 2, reduction_dimension=1), lax.approx_max_k(y[0].T, 3, reduction_dimension=0), lax.approx_min_k(y, 4),
                          lax.approx_max_k(y, 4, aggregate_to_topk=False), lax.approx_max_k(y.astype(jnp.float16), 4), lax.approx_min_k(jnp.zeros(20), 4)]
    equal(ran(cli, tmp_path, f, x, finite), jax.jit(f)(x, finite))


def test_numbers_that_no_sum_resolves(cli, tmp_path):
    """lgamma's poles reach over what isn't normal, two keys sort as one does, and igamma of huge numbers is what is lost in XLA."""
    small = np.array([1e-40, -1e-40, 1e-45, 0, -0.0, 2e-38, 1e-39, 1.2e-38, -1.1e-38], np.float32)
    huge = np.array([3e38, 1e30, 1.0], np.float32)

    def f(x, a):
        b = x.astype(jnp.bfloat16)
        return [lax.lgamma(x), lax.sort((b, b[::-1], jnp.arange(b.size)), num_keys=2), lax.sort((x, x[::-1]), num_keys=2), lax.igamma(a, a), lax.igammac(a, a * 1.01)]
    found, expected = ran(cli, tmp_path, f, small, huge), jax.tree.leaves(jax.jit(f)(small, huge))
    equal(found[1:4], expected[1:4])
    near([*found[:1], *found[4:]], [*expected[:1], *expected[4:]])


def test_what_stands_in_a_branch_stops_runs_that_enter_it(cli, tmp_path):
    """`inspect` said that a callback there stops `run`; a run that doesn't come to it has its values."""
    double = lambda v: np.asarray(v) * 2
    call = lambda x: jax.pure_callback(double, jax.ShapeDtypeStruct(x.shape, x.dtype), x)
    f = lambda i, x: (lax.cond(i > 0, call, lambda x: x + 1, x), x)
    stops = lambda fn, *args: (jaxscope.capture(fn)(*args).save(str(tmp_path / "b.jaxscope")),
                               [u["stops"][-1] for u in cli.json("inspect", str(tmp_path / "b.jaxscope"))["program"]["unsupported"]])[1]
    assert stops(f, np.int32(0), np.float32(3)) == ["run-if-entered"]
    equal(ran(cli, tmp_path, f, np.int32(0), np.float32(3)), [np.float32(4), np.float32(3)])
    jaxscope.capture(f, values="all")(np.int32(1), np.float32(3)).save(str(tmp_path / "b.jaxscope"))
    entered = cli.raw("run", str(tmp_path / "b.jaxscope"), check=False)
    assert entered.returncode == 3 and "a branch of cond that the run entered" in entered.stderr
    assert "found 'pure_callback', which calls Python (a check that fails does" in entered.stderr
    assert sorted(stops(lambda i, x: (f(i, x), call(x)), np.int32(0), np.float32(3))) == ["run", "run-if-entered"]


def test_products_of_scaled_blocks(cli, tmp_path):
    """scaled_dot has JAX's values, vmapped too; scaled_matmul is for GPUs, and refused in JAX's words."""
    r = np.random.RandomState(8)
    x, y = (r.randn(*s).astype("float8_e4m3fn") for s in ((2, 8, 64), (2, 64, 16)))
    left, right = (np.exp2(r.randint(-2, 3, s)).astype("float8_e8m0fnu") for s in ((2, 8, 2), (2, 4, 16)))

    def f(x, y, left, right):
        dot = lambda x, y, s, t: lax.scaled_dot(x, y, lhs_scale=s, rhs_scale=t)
        return [dot(x, y, left, right), jax.vmap(dot)(x, y, left, right), lax.scaled_dot(x, y, rhs_scale=right, preferred_element_type=jnp.float32)]
    found, expected = ran(cli, tmp_path, f, x, y, left, right), jax.jit(f)(x, y, left, right)
    for a, e in zip(found, expected, strict=True):
        np.testing.assert_allclose(a.astype(np.float32), np.asarray(e).astype(np.float32), rtol=2e-2, atol=0.2)
    cli.json("transform", str(tmp_path / "a.jaxscope"), "--apply", "vmap@3")
    jaxscope.capture(jax.nn.scaled_matmul)(x, np.swapaxes(y, 1, 2), left, np.swapaxes(right, 1, 2)[..., ::2]).save(str(tmp_path / "m.jaxscope"))
    refused = cli.raw("run", str(tmp_path / "m.jaxscope"), check=False)
    assert refused.returncode == 3 and "rule for primitive 'scaled_matmul' not found for platform cpu" in refused.stderr
