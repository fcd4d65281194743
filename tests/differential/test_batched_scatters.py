"""Scatters of a few windows in each of many batches: gradients of take_along_axis, updates under vmap. Every combination, small types, windows of one
number and more, places outside of the array; over several threads, too."""
import itertools
import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from seed import seed_of_sample
from special_numbers import expect_jax, numbers

KINDS = "set", "add", "mul", "min", "max"
DTYPES = jnp.float32, jnp.float64, jnp.bfloat16, jnp.float16, jnp.int32, jnp.uint8, jnp.int8, jnp.complex64, jnp.bool_


def program(r: random.Random, kind, dtype):
    """One update of each of `batches` arrays; `wide`: of the window, `deep`: dimensions that the indices choose in."""
    n = np.random.RandomState(r.randrange(1 << 30))
    batches, rows, deep, wide = r.choice((1, 7, 300, 9000)), r.choice((1, 2, 5)), r.choice((1, 2)), r.choice((1, 1, 2, 3, 5, 40))
    shape = tuple(r.choice((2, 5, 9)) for _ in range(deep)) + ((wide,) if wide > 1 else ())
    at = [jnp.asarray(n.randint(-12, 12, (batches, rows)).astype(r.choice((np.int32, np.uint8, np.int32)))) for _ in range(deep)]
    if kind == "set":  # which of two stays is nobody's promise
        at = [jnp.asarray(np.stack([n.permutation(max(rows, shape[0]))[:rows] for _ in range(batches)]).astype(np.int32))] + at[1:]
    mode = r.choice((None, "drop", "clip", "fill")) if kind != "set" else "drop"
    updates = numbers(n, dtype, (batches, rows) + shape[deep:])
    array = numbers(n, dtype, (batches,) + shape)

    def f(array, updates, at):
        return jax.vmap(lambda a, u, i: getattr(a.at[tuple(i)], kind)(u, mode=mode))(array, updates, at)
    return f, (array, updates, at)


@pytest.mark.parametrize("check", [False, True], ids=["", "debug"])
def test_each_kind_and_type(cli, tmp_path, check):
    seed = seed_of_sample()
    r = random.Random(seed)
    some = [(k, d) for k, d in itertools.product(KINDS, DTYPES)
            if not (d == jnp.complex64 and k in ("min", "max")) and not (d == jnp.bool_ and k in ("add", "mul"))]
    for kind, dtype in r.sample(some, 8 if check else 20):
        with jax.enable_x64(dtype == jnp.float64):
            f, args = program(r, kind, dtype)
            expect_jax(cli, tmp_path, f, args, signs=False, check=check, what=f"JAXSCOPE_SEED={seed}, {kind} of {dtype.__name__}")


def test_gradients_of_what_is_taken_along_an_axis(cli, tmp_path):
    n = np.random.RandomState(5)
    for shape, axis in (((700, 4, 12), -1), ((6, 3000), 1), ((50, 7, 9), 1), ((9, 40), 0)):
        x = jnp.asarray(n.randint(-9, 9, shape).astype(np.float32))
        taken = tuple(3 if d == axis % len(shape) else size for d, size in enumerate(shape))
        i, w = (jnp.asarray(n.randint(-4, 14, taken).astype(t)) for t in (np.int32, np.float32))
        f = jax.grad(lambda x: (jnp.where(jnp.isnan(y := jnp.take_along_axis(x, i, axis)), 0, y) * w).sum())
        expect_jax(cli, tmp_path, f, (x,), signs=False, check=False, what=f"{shape} along {axis}")
