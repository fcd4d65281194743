"""Transforms of every length and number of rows, along last and other dimensions: JAX's, element by element."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from test_kernels import same

R = np.random.RandomState(13)
LENGTHS = 1, 2, 3, 4, 6, 10, 31, 34, 37, 62, 64, 74, 128, 194, 360, 1000, 1024


@pytest.mark.parametrize("threads", [1, 3])
def test_real_and_complex_rows(cli, tmp_path, threads):
    rows = (1, 2, 5, 8, 9, 17, 40)
    xs = [jnp.asarray(R.randn(rows[i % len(rows)], n).astype(np.float32)) for i, n in enumerate(LENGTHS)]

    def f(xs):
        out = [g(x) for x in xs for g in (jnp.fft.rfft, jnp.fft.fft, jnp.fft.ifft)]
        out += [jnp.fft.irfft(jnp.fft.rfft(x) * (1 + 2j), x.shape[-1]) for x in xs]
        return out + [jnp.fft.irfft(x + 1j * x[:, ::-1], 2 * x.shape[-1]) for x in xs[1:]]
    same(cli, tmp_path, f, (xs,), threads)


def test_many_dimensions_and_doubles(cli, tmp_path):
    with jax.enable_x64(True):
        x = jnp.asarray(R.randn(3, 12, 10, 14))

        def f(x):
            c = lax.complex(x, x[::-1])
            real = [jnp.fft.rfftn(x, axes=a) for a in ((3,), (2, 3), (1, 2, 3))]
            whole = [jnp.fft.fftn(c, axes=(1, 2, 3)), jnp.fft.ifftn(c, axes=(2, 3)), jnp.fft.fft(c, axis=1), jnp.fft.fftn(c[..., :13], axes=(2, 3))]
            back = [jnp.fft.irfftn(jnp.fft.rfftn(x, axes=(1, 2, 3)), x.shape[1:], axes=(1, 2, 3)), jnp.fft.irfftn(c, (10, 27), axes=(2, 3))]
            return real + whole + back
        same(cli, tmp_path, f, (x,), 2)


def test_small_rows_beside_large_ones(cli, tmp_path):
    """A real row is no part of another one: what is tiny keeps its digits."""
    x = jnp.asarray((R.randn(6, 256) * np.array([1, 1e-12, 1e6, 1e-20, 1, 1e-6])[:, None]).astype(np.float32))
    same(cli, tmp_path, lambda x: [jnp.fft.rfft(x[i:i + 1]) for i in range(6)] + [jnp.fft.rfft(x)[1], jnp.fft.rfft(x)[3]], (x,), 1)


@pytest.mark.parametrize("threads", [1, 3])
def test_few_long_rows(cli, tmp_path, threads):
    """A long row alone is transformed as a square, by columns and rows; its spectrum has places of its own."""
    xs = [jnp.asarray(R.randn(rows, n).astype(np.float32)) for rows, n in ((1, 65536), (1, 44100), (3, 4096), (2, 289), (1, 8191), (1, 510), (34, 512))]

    def f(xs):
        out = [g(x) for x in xs for g in (jnp.fft.rfft, jnp.fft.fft, jnp.fft.ifft)]
        return out + [jnp.fft.irfft(jnp.fft.rfft(x) * (1 - 2j), x.shape[-1]) for x in xs] + [jnp.fft.fft(xs[2].T, axis=0)]
    same(cli, tmp_path, f, (xs,), threads)
    with jax.enable_x64(True):
        ys = [x.astype(np.float64) for x in xs[:5]]
        same(cli, tmp_path, f, (ys,), threads)
