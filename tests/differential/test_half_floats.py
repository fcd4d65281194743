"""float16 in kernels: all numbers there are, and the float32 around each bound between two of them, bit by bit what JAX gives. Which conversions a
kernel uses depends on the processor."""
import jax
import jax.numpy as jnp
import numpy as np
from special_numbers import expect_jax

ALL = np.arange(1 << 16, dtype=np.uint16)
AROUND = np.concatenate([(ALL.astype(np.uint32) << 16) + low for low in (0, 0xFFF, 0x1000, 0x1001, 0x2FFF, 0x3000, 0x3001, 0x5000, 0x7000)])


def bits(x):
    """Of a NaN only that it is one: which, is nobody's promise."""
    return jnp.where(jnp.isnan(x), 0, jax.lax.bitcast_convert_type(x, {2: jnp.uint16, 4: jnp.uint32}[x.dtype.itemsize])), jnp.isnan(x)


def same(cli, tmp_path, f, *args):
    expect_jax(cli, tmp_path, f, [jnp.asarray(a) for a in args], signs=False, check=False, what="float16")


def test_all_numbers(cli, tmp_path):
    h = ALL.view(np.float16)
    same(cli, tmp_path, lambda h: (bits(h.astype(jnp.float32)), bits(h * jnp.float16(0.5)), bits(-h), h.astype(jnp.int32)), h)
    same(cli, tmp_path, lambda h, g: (bits(h + g), bits(jnp.maximum(h, g)), bits(jnp.where(h > g, h, -g))), h, h[::-1].copy())


def test_rounded_from_float32(cli, tmp_path):
    same(cli, tmp_path, lambda x: bits(x.astype(jnp.float16)), AROUND.view(np.float32))


def test_kernels_of_every_shape(cli, tmp_path):
    """Vectors, their rest, sums along and across, masks, a loop's body."""
    h = (ALL.view(np.float16)[: 3 * 67 * 41].reshape(3, 67, 41) / np.float16(3)).astype(np.float16)
    same(cli, tmp_path, lambda h: (bits(h.T * h.T), bits(h.max(0)), bits(h.min(2)), bits(h[:, ::2, 1:] + jnp.float16(1)), bits(h[0, 0, :5] - h[1, 1, :5])), h)
    same(cli, tmp_path, lambda h: jax.lax.fori_loop(0, 5, lambda i, x: jnp.where(x > 1, x / 2, x + 1).astype(jnp.float16), h[0]), h)
