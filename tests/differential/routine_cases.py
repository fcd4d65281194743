"""Programs of primitives that run as routines of the executor: {name: (function, arguments)}, to be run, differentiated and mapped."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

RNG = np.random.RandomState(7)


def numbers(shape, dtype=np.float64, low=-1.0, high=1.0):
    x = RNG.uniform(low, high, shape)
    if np.issubdtype(dtype, np.complexfloating):
        x = x + 1j * RNG.uniform(low, high, shape)
    return x.astype(dtype)


def fft_cases():
    complex_of = {np.float32: np.complex64, np.float64: np.complex128}
    for n, real in ((1, np.float32), (8, np.float32), (13, np.float64), (60, np.float32), (74, np.float64), (97, np.float32)):
        z = numbers((2, n), complex_of[real])
        yield f"fft_{n}_{real.__name__}", jnp.fft.fft, (z,)
        yield f"ifft_{n}_{real.__name__}", jnp.fft.ifft, (z,)
        yield f"rfft_{n}_{real.__name__}", jnp.fft.rfft, (numbers((2, n), real),)
        yield f"irfft_{n}_{real.__name__}", lambda x, n=n: jnp.fft.irfft(x, n), (z[:, :n // 2 + 1],)
    for kind in ("fftn", "ifftn", "rfftn", "irfftn"):
        dtype = np.float32 if kind == "rfftn" else np.complex64
        yield f"{kind}_several", lambda x, kind=kind: getattr(jnp.fft, kind)(x, axes=(-3, -2, -1)), (numbers((2, 3, 5, 6), dtype),)
    yield "fft_axis", lambda x: jnp.fft.fft(x, axis=0), (numbers((6, 4), np.complex128),)


def special_cases():
    for dtype in (np.float64, np.float32, jnp.bfloat16):
        kind = jnp.dtype(dtype).name
        a = np.asarray([0.01, 0.5, 1.0, 2.5, 7.0, 30.0, 150.0, 0.3, 3.0], dtype)
        x = np.asarray([0.02, 0.9, 1.0, 0.3, 9.0, 28.0, 170.0, 12.0, 0.01], dtype)
        unit = np.asarray([0.1, 0.5, 0.9, 0.3, 0.01, 0.999, 0.7, 0.2, 0.6], dtype)
        yield f"igamma_{kind}", lax.igamma, (a, x)
        yield f"igammac_{kind}", lax.igammac, (a, x)
        yield f"igamma_grad_a_{kind}", lambda a, x: lax.igamma_grad_a(a, lax.stop_gradient(x)), (a, x)
        yield f"betainc_{kind}", lambda x, a=a, b=x: lax.betainc(a, b, x), (unit,)
        wide = np.asarray([-300.0, -19.9, -2.0, -1e-3, 0.0, 1e-6, 0.7, 20.1, 90.0], dtype)
        yield f"i0e_{kind}", lax.bessel_i0e, (wide,)
        yield f"i1e_{kind}", lax.bessel_i1e, (wide,)
        if dtype != jnp.bfloat16:
            yield f"zeta_{kind}", lambda s, q: lax.zeta(lax.stop_gradient(s), lax.stop_gradient(q)), (1 + a, x)
            yield f"polygamma_{kind}", lambda x: lax.polygamma(jnp.asarray([0, 1, 2, 3, 4, 5, 1, 2, 3], x.dtype), x), (a,)
    edges = np.asarray([0.0, -1.0, np.inf, np.nan, 1.0, 2.0, 0.0, 5.0, np.inf, -2.5])
    other = np.asarray([0.0, 1.0, 1.0, 1.0, 0.0, np.inf, 2.0, -1.0, np.inf, 3.0])
    for name, f in (("igamma", lax.igamma), ("igammac", lax.igammac), ("zeta", lax.zeta), ("polygamma", lax.polygamma),
                    ("grad_a", lax.igamma_grad_a)):
        yield f"edges_{name}", lambda a, x, f=f: f(lax.stop_gradient(a), lax.stop_gradient(x)), (edges, other)
    yield "edges_betainc", lambda a, b, x: lax.betainc(*map(lax.stop_gradient, (a, b, x))), (edges, other, np.linspace(-0.1, 1.1, 10))


def linalg_cases():
    for dtype in (np.float32, np.complex128):
        kind, a = np.dtype(dtype).name, numbers((2, 4, 4), dtype)
        values = lambda x: lax.linalg.eig(x, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0]
        yield f"eigvals_{kind}", lambda x, f=values: jnp.sum(f(x) ** 3, -1), (a,)
        yield f"eig_{kind}", lambda x: lax.linalg.eig(lax.stop_gradient(x)), (a,)
        # Vectors of norm 1 may have any phase: LAPACK's builds choose differently.
        yield f"schur_{kind}", lambda x: tuple(jnp.abs(v) for v in lax.linalg.schur(lax.stop_gradient(x))), (a,)
        yield f"lu_batch_{kind}", lambda x: lax.linalg.lu(x)[0], (numbers((2, 3, 4, 3), dtype),)
        yield f"lu_wide_{kind}", lambda x: lax.linalg.lu(x)[0], (numbers((2, 3, 5), dtype),)
        d = numbers((2, 5), dtype, 2, 3)
        yield f"tridiagonal_{kind}", lax.linalg.tridiagonal_solve, (numbers((2, 5), dtype), d, numbers((2, 5), dtype), numbers((2, 5, 3), dtype))
        yield f"tridiagonal_shared_{kind}", lambda b, d=d: lax.linalg.tridiagonal_solve(d[0] / 4, d[0], d[0] / 3, b), (numbers((5, 3), dtype),)


def random_cases():
    for impl in ("threefry2x32", "rbg", "unsafe_rbg"):
        key = jax.random.key(3, impl=impl)
        yield f"{impl}_split", lambda k: jax.random.key_data(jax.random.split(k, (2, 3))), (key,)
        yield f"{impl}_fold", lambda k, i: jax.random.key_data(jax.random.fold_in(k, i)), (key, np.uint32(5))
        yield f"{impl}_seed", lambda s, impl=impl: jax.random.key_data(jax.random.key(s, impl=impl)), (np.uint32(12),)
        for dtype in (np.uint8, np.uint16, np.uint32, np.uint64):
            yield f"{impl}_bits_{np.dtype(dtype).name}", lambda k, d=dtype: jax.random.bits(k, (3, 5), d), (key,)
        yield f"{impl}_keys", lambda k: jax.vmap(lambda k: jax.random.bits(k, (3,)))(jax.random.split(k, 4)), (key,)
        for dtype in (np.float32,):
            alpha = np.asarray([0.05, 0.6, 1.0, 3.0, 40.0], dtype)
            yield f"{impl}_gamma_{np.dtype(dtype).name}", lambda a, k=key: jax.random.gamma(k, a), (alpha,)
            yield f"{impl}_loggamma_{np.dtype(dtype).name}", lambda a, k=key: jax.random.loggamma(k, a), (alpha,)
    state = np.asarray([1, 2, 2 ** 32 - 3, 4], np.uint32)
    for algorithm in (lax.RandomAlgorithm.RNG_DEFAULT, lax.RandomAlgorithm.RNG_THREE_FRY):
        for shape in ((), (3, 5), (4, 6)):
            for dtype in (np.uint8, np.uint32, np.uint64):
                yield (f"generator_{algorithm.name}_{shape}_{np.dtype(dtype).name}",
                       lambda s, shape=shape, d=dtype, a=algorithm: lax.rng_bit_generator(s, shape, d, a), (state,))


def other_cases():
    for k, f in (("max", lax.approx_max_k), ("min", lax.approx_min_k)):
        yield f"approx_{k}", lambda x, f=f: f(x, 3), (numbers((2, 300), np.float32),)
        yield f"approx_{k}_axis", lambda x, f=f: f(x, 2, reduction_dimension=0), (numbers((7, 2, 3)),)
        yield f"approx_{k}_all", lambda x, f=f: f(x, 2, aggregate_to_topk=False), (numbers((2, 300), np.float32),)
    z = np.asarray([1 + 2j, 1 - 1j, np.nan + 1j, 2, 3j], np.complex64)
    yield "max_complex", lambda x, y: lax.max(lax.stop_gradient(x), lax.stop_gradient(y)), (z, z[::-1].copy())
    yield "min_complex", lambda x, y: lax.min(lax.stop_gradient(x), lax.stop_gradient(y)), (z, z[::-1].copy())


CASES = {name: (f, args) for family in (fft_cases, special_cases, linalg_cases, random_cases, other_cases) for name, f, args in family()}
