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
