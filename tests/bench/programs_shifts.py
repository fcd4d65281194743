"""Stencils by jnp.roll and padding, fields stacked, halves that change places, filters and images: where parts of arrays are put together in another
order. Written blind, beside some that showed what was missing. Each builder returns (fn, args, donate_argnums)."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, nn

_R = np.random.RandomState


def _n(r, *s, scale=1.0):
    return jnp.asarray((r.standard_normal(s) * scale).astype(np.float32))


def _laplacian(x):
    return jnp.roll(x, 1, 0) + jnp.roll(x, -1, 0) + jnp.roll(x, 1, 1) + jnp.roll(x, -1, 1) - 4 * x


def laplacian_of_rolls():
    """One step of a large field."""
    return lambda u: u + 0.1 * _laplacian(u), (_n(_R(800), 2048, 2048),), ()


def _gray_scott(u, v, steps):
    def step(s, _):
        u, v = s
        uvv = u * v * v
        return (u + 0.16 * _laplacian(u) - uvv + 0.035 * (1 - u), v + 0.08 * _laplacian(v) + uvv - 0.1 * v), None
    return lax.scan(step, (u, v), None, length=steps)[0]


def gray_scott():
    """Fifty steps of two fields that react."""
    r = _R(801)
    return lambda u, v: _gray_scott(u, v, 50), (_n(r, 256, 256), _n(r, 256, 256)), ()


def gray_scott_grad():
    """By the fields that it began with."""
    r = _R(802)
    return jax.grad(lambda u, v: _gray_scott(u, v, 50)[0].sum(), (0, 1)), (_n(r, 128, 128), _n(r, 128, 128)), ()


def _upwind(c, u, v):
    def step(c, _):
        fx, fy = jnp.where(u > 0, jnp.roll(c, 1, 0), c) * u, jnp.where(v > 0, jnp.roll(c, 1, 1), c) * v
        return c - 0.1 * (jnp.roll(fx, -1, 0) - fx + jnp.roll(fy, -1, 1) - fy), None
    return lax.scan(step, c, None, length=50)[0]


def upwind_advection():
    """Fluxes of what comes from where the wind blows from."""
    r = _R(803)
    return _upwind, (_n(r, 256, 256), _n(r, 256, 256, scale=0.3), _n(r, 256, 256, scale=0.3)), ()


def upwind_advection_grad():
    """By the wind."""
    r = _R(804)
    return jax.grad(lambda c, u, v: (_upwind(c, u, v) ** 2).sum(), (1, 2)), (_n(r, 128, 128), _n(r, 128, 128, scale=0.3), _n(r, 128, 128, scale=0.3)), ()


def burgers_in_one_dimension():
    """A line of a million points, twenty steps."""
    def step(x, _):
        right, left = jnp.roll(x, -1), jnp.roll(x, 1)
        return x - 0.1 * x * (right - left) + 0.01 * (left + right - 2 * x), None
    return lambda x: lax.scan(step, x, None, length=20)[0], (_n(_R(805), 1 << 20, scale=0.1),), ()


def bilateral_filter():
    """Twenty-five neighbours, weighted by distance and likeness."""
    def f(x):
        total = weights = 0.0
        for i in range(-2, 3):
            for j in range(-2, 3):
                y = jnp.roll(x, (i, j), (0, 1))
                w = jnp.exp(-(i * i + j * j) / 4 - (y - x) ** 2 / 0.1)
                total, weights = total + w * y, weights + w
        return total / weights
    return f, (_n(_R(806), 384, 384),), ()


def median_filter():
    """The fifth of nine neighbours."""
    return lambda x: jnp.sort(jnp.stack([jnp.roll(x, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)]), 0)[4], (_n(_R(807), 256, 256),), ()


def _haar(x):
    out = []
    for _ in range(6):
        even, odd = x[..., ::2], x[..., 1::2]
        out.append((even - odd) * 0.5 ** 0.5)
        x = (even + odd) * 0.5 ** 0.5
    return jnp.concatenate([x] + out[::-1], -1)


def wavelets_grad():
    """Of six levels of Haar's wavelets."""
    return jax.grad(lambda x: (_haar(x) ** 4).sum()), (_n(_R(808), 256, 8192),), ()


def rotary_heads_grad():
    """Rotary embeddings of queries by halves and of keys by pairs, and their scores' gradient."""
    r = _R(809)
    q, k = _n(r, 4, 512, 8, 64), _n(r, 4, 512, 8, 64)
    angles = jnp.arange(512.0)[:, None] * 10000 ** (-jnp.arange(32.0) / 32)

    def f(q, k):
        c, s = jnp.cos(angles)[None, :, None], jnp.sin(angles)[None, :, None]
        a, b = q[..., :32], q[..., 32:]
        q = jnp.concatenate([a * c - b * s, b * c + a * s], -1)
        a, b = k[..., ::2], k[..., 1::2]
        k = jnp.stack([a * c - b * s, b * c + a * s], -1).reshape(k.shape)
        return (nn.silu(q) * k).sum()
    return jax.grad(f, (0, 1)), (q, k), ()


def filter_bank():
    """Wavelets of one signal: a few dozen long filters."""
    r = _R(810)
    return lambda x, w: jax.vmap(lambda f: jnp.convolve(x, f, mode="same"))(w), (_n(r, 40_000), _n(r, 48, 65)), ()


def random_kernels_of_series():
    """Features of time series: dilated filters, their largest answers and how many are positive."""
    r = _R(811)

    def f(x, w):
        out = []
        for dilation in (1, 2, 4, 8):
            y = lax.conv_general_dilated(x[:, None], w[:, None], (1,), "SAME", rhs_dilation=(dilation,))
            out += [y.max(-1), (y > 0).mean(-1)]
        return jnp.concatenate(out, -1)
    return f, (_n(r, 16, 1500), _n(r, 84, 33)), ()


PROGRAMS = {f.__name__: f for f in [
    laplacian_of_rolls, gray_scott, gray_scott_grad, upwind_advection, upwind_advection_grad, burgers_in_one_dimension, bilateral_filter, median_filter, wavelets_grad,
    rotary_heads_grad, filter_bank, random_kernels_of_series]}
