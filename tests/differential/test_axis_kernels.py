"""Numbers too small to be normal: JAX's, element by element."""
import jax.numpy as jnp
import numpy as np
import pytest

from test_kernels import same

R = np.random.RandomState(11)


@pytest.mark.parametrize("threads", [1, 2])
def test_numbers_too_small_to_be_normal_are_zero(cli, tmp_path, threads):
    """XLA's threads flush them, operands and results; ours too, whatever thread it is and however it is fused."""
    x = jnp.asarray(np.concatenate([10.0 ** R.uniform(-45, -30, 150000), [1.5e-38, 1e-40, -3e-39]]).astype(np.float32))

    def f(x, half, big):
        return x * half, x + x, (x == 0).astype(jnp.float32), jnp.exp(-x * big * 100 - 80), (x * half * big).sum(), jnp.cumsum(x[:64] * half)[-1:]
    same(cli, tmp_path, f, (x, jnp.float32(0.5), jnp.float32(1e30)), threads)
