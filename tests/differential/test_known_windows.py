"""Windows written at places that are known (x.at[1:-1].add(y)): JAX's, with zeros of both signs, NaN
and infinities inside and outside of the window, whatever makes it and wherever the array goes."""
import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from seed import seed_of_sample
from special_numbers import expect_jax, numbers

import jaxscope

DTYPES = jnp.float32, jnp.bfloat16, jnp.float16, jnp.int32, jnp.uint8, jnp.complex64, jnp.bool_
KINDS = "set", "add", "multiply", "min", "max", "subtract"


def program(r: random.Random, seed: int):
    """Two windows over an array, one after the other; have zeros of the result signs that are promised?; arguments."""
    n = np.random.RandomState(seed)
    dtype = r.choice(DTYPES)
    shape = tuple(r.choice((1, 2, 5, 16, 33, 40)) for _ in range(r.randint(1, 3)))
    bounds = [tuple(sorted(r.sample(range(length + 1), 2))) if r.random() < 0.6 and length > 1 else (0, length) for length in shape]
    bounds = [(min(a, 2), max(b, length - 2)) if r.random() < 0.7 else (a, b) for (a, b), length in zip(bounds, shape)]
    window = tuple(slice(a, b) for a, b in bounds)
    plain = tuple(b - a for a, b in bounds)
    kinds = [r.choice(KINDS if dtype not in (jnp.complex64, jnp.bool_) else ("set", "add", "subtract") if dtype != jnp.bool_ else ("set",)) for _ in range(2)]
    made = r.choice(("given", "moved", "divided", "scalar", "summed"))
    updates = r.random() < 0.5
    row = r.random() < 0.3 and len(shape) > 1

    def f(x, y, z):
        for kind in kinds:
            u = y
            if made == "moved" and dtype != jnp.bool_:  # of the array itself, moved by one
                u = x[tuple(slice(max(a - 1, 0), max(a - 1, 0) + b - a) for a, b in bounds)] - z[window] * 2
            elif made == "divided" and jnp.issubdtype(dtype, jnp.floating):
                u = y / z[window]
            elif made == "scalar":
                u = x.dtype.type(3) if dtype != jnp.bool_ else True
            elif made == "summed" and dtype != jnp.bool_:
                u = jnp.maximum(y, 1) + y if dtype != jnp.complex64 else y + y
            if kind == "set" and updates:
                x = jax.lax.dynamic_update_slice(x, jnp.broadcast_to(u, plain), [a for a, b in bounds])
            else:
                x = getattr(x.at[window], kind)(u)
            if row:
                x = x.at[0].set(z[-1])
        return x, x + x if dtype != jnp.bool_ else ~x
    return f, "min" not in kinds and "max" not in kinds, (numbers(n, dtype, shape), numbers(n, dtype, plain), numbers(n, dtype, shape))


@pytest.mark.parametrize("check", [False, True], ids=["", "debug"])
def test_random_windows(cli, tmp_path, check):
    seed = seed_of_sample()
    for k in range(24):
        f, signs, args = program(random.Random(seed * 100 + k), seed % 1000 + k)
        expect_jax(cli, tmp_path, f, args, signs=signs, check=check, what=f"JAXSCOPE_SEED={seed}, program {k}")


def test_windows_that_stencils_write_cost_no_memory_and_few_passes(cli, tmp_path):
    """A field in a loop: two kernels a turn beside the loop, in the carry's memory."""
    def step(u, _):
        v = u.at[1:-1, 1:-1].add(0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]))
        return v * 0.99, None

    def f(u):
        return jax.lax.scan(step, u, None, length=7)[0]
    u = jnp.asarray(np.random.RandomState(3).randn(64, 96).astype(np.float32))
    path = tmp_path / "c.jaxscope"
    jaxscope.capture(f, values="all", donate_argnums=0)(u).save(path)
    report = cli.json("run", str(path), "--profile", "--outputs", str(tmp_path / "out.npz"))
    steps = [k for k in report["profile"]["kernels"] if k["loop"]]
    assert [k["what"].startswith("fusion") for k in steps] == [True], steps
    with np.load(tmp_path / "out.npz") as ours:
        np.testing.assert_allclose(ours["out0"], jax.jit(f)(u), rtol=1e-5, atol=1e-6)
