"""Arrays with zeros of both signs, NaN and infinities among few other numbers, and their comparison."""
import jax.numpy as jnp
import numpy as np


def numbers(r, dtype, shape):
    if dtype == jnp.bool_:
        return jnp.asarray(r.rand(*shape) < 0.5)
    if jnp.issubdtype(dtype, jnp.integer):
        return jnp.asarray(r.randint(0, 9, shape).astype(dtype))
    x = (r.randint(-6, 7, shape) / 2).astype(np.float32)
    special = r.rand(*shape)
    for k, v in enumerate((0.0, -0.0, np.inf, -np.inf, np.nan)):
        x[(special > k * 0.03) & (special < (k + 1) * 0.03)] = v
    x = jnp.asarray(x).astype(dtype)
    return x + 1j * jnp.asarray((r.randint(-6, 7, shape) / 2).astype(np.float32)) if dtype == jnp.complex64 else x


def same_numbers(got, want, signs):
    """Equal but for the last digit of what is rounded; `signs`: those of zeros, too (which of two is the least is nobody's promise)."""
    got, want = np.asarray(got), np.asarray(want)
    if got.dtype.kind == "V":
        got = got.view(want.dtype)
    if want.dtype.kind in "biu":
        return np.array_equal(got, want)
    digits = 2e-2 if want.dtype == jnp.bfloat16 else 2e-3 if want.dtype == np.float16 else 2e-6
    if want.dtype.kind != "c":
        got, want = got.astype(np.float32), want.astype(np.float32)
        if signs and not np.array_equal(np.signbit(got[want == 0]), np.signbit(want[want == 0])):
            return False
    with np.errstate(invalid="ignore"):
        return np.allclose(got, want, rtol=digits, atol=0, equal_nan=True)
