"""Numbers too small to be normal: JAX's, element by element; and outputs that are made in place take no second copy."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxscope
from test_kernels import same

R = np.random.RandomState(11)


@pytest.mark.parametrize("threads", [1, 2])
def test_numbers_too_small_to_be_normal_are_zero(cli, tmp_path, threads):
    """XLA's threads flush them, operands and results; ours too, whatever thread it is and however it is fused."""
    x = jnp.asarray(np.concatenate([10.0 ** R.uniform(-45, -30, 150000), [1.5e-38, 1e-40, -3e-39]]).astype(np.float32))

    def f(x, half, big):
        return x * half, x + x, (x == 0).astype(jnp.float32), jnp.exp(-x * big * 100 - 80), (x * half * big).sum(), jnp.cumsum(x[:64] * half)[-1:]
    same(cli, tmp_path, f, (x, jnp.float32(0.5), jnp.float32(1e30)), threads)


def test_what_an_output_is_made_of_stands_in_it(cli, tmp_path):
    """The gradient of a table is zeros, then sums of rows: in the output's own memory, as XLA has it."""
    def f(table, i, w):
        return jax.grad(lambda t: (jnp.tanh(t[i]) * w).sum())(table), jnp.cumsum(jnp.sort(table[:, 0]) * 2)
    args = jnp.asarray(R.randn(5000, 32).astype(np.float32)), jnp.asarray(R.randint(0, 5000, 1000)), jnp.asarray(R.randn(1000, 32).astype(np.float32))
    same(cli, tmp_path, f, args, 2)
    path = str(tmp_path / "a.jaxscope")
    jaxscope.capture(f, values="all")(*args).save(path)
    memory = cli.json("plan", path)["memory"]
    xla = jax.jit(f).lower(*args).compile().memory_analysis().temp_size_in_bytes
    assert memory["temporaries"] <= max(xla, 1000 * 32 * 4 * 1.25 + 5000 * 16)
