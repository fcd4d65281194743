"""Windows over arrays: random sizes, strides, dilations and paddings, few positions and hundreds, windows that lie in padding or don't fit; sums, extrema
and their gradients (which of equal elements is chosen), by the identity and by an initial value that is only known when the program runs."""
import functools
import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from seed import seed_of_sample
from special_numbers import expect_jax

OPERATIONS = {"max": (lax.max, -9), "min": (lax.min, 9), "add": (lax.add, 0)}
DTYPES = jnp.float32, jnp.float64, jnp.float16, jnp.bfloat16, jnp.int32, jnp.int8, jnp.uint8, jnp.int64


def windows(r: random.Random, long: bool):
    rank = r.choice((1, 2, 3))
    shape = tuple(r.choice((150, 90) if long and d == 0 else (1, 4, 7, 12)) for d in range(rank))
    sizes = tuple(r.choice((17, 24, 70, 100) if long and d == 0 else (1, 2, 3, 5)) for d in range(rank))
    some = lambda *of: tuple(r.choice(of) for _ in range(rank))
    padding = r.choice(("SAME", "VALID", [(r.randrange(3), r.randrange(4)) for _ in range(rank)], [(r.randrange(30), 0) for _ in range(rank)]))
    return shape, functools.partial(lax.reduce_window, window_dimensions=sizes, window_strides=some(1, 1, 2, 3), padding=padding), some(1, 1, 2), some(1, 1, 1, 2)


def program(r: random.Random, name: str, dtype, long: bool):
    combine, start = OPERATIONS[name]
    shape, over, dilation, holes = windows(r, long)
    n = np.random.RandomState(r.randrange(1 << 30))
    x = jnp.asarray(n.randint(0 if jnp.dtype(dtype).kind == "u" else -6, 7, shape)).astype(dtype)
    floating = jnp.issubdtype(dtype, jnp.floating)
    identity = 0 if name == "add" else (-np.inf if name == "max" else np.inf) if floating else getattr(jnp.iinfo(dtype), "min" if name == "max" else "max")

    def f(x, start):
        plain = functools.partial(over, init_value=np.array(identity, jnp.dtype(dtype)), computation=combine)
        out = [plain(x, window_dilation=dilation, base_dilation=holes), over(x, start, combine, window_dilation=dilation, base_dilation=holes)]
        if floating and name != "add":  # sums of gradients are exact: few small whole numbers
            out.append(jax.grad(lambda x: (jnp.where(jnp.isfinite(y := plain(x)), y, 0) * 2).sum())(x))
            out.append(jax.jvp(lambda x: plain(x), (x,), (jnp.round(x / 2),))[1])
        return out
    return f, (x, jnp.asarray(start).astype(dtype) if start >= 0 or jnp.dtype(dtype).kind != "u" else jnp.asarray(2).astype(dtype))


@pytest.mark.parametrize("long", [False, True], ids=["few", "hundreds"])
def test_random_windows(cli, tmp_path, long):
    seed = seed_of_sample()
    r = random.Random(seed)
    for _ in range(24):
        name, dtype = r.choice(list(OPERATIONS)), r.choice(DTYPES)
        if name == "add" and dtype in (jnp.float16, jnp.bfloat16, jnp.int8, jnp.uint8) and long:
            dtype = jnp.float32  # XLA rounds at each step
        with jax.enable_x64(dtype in (jnp.float64, jnp.int64)):
            f, args = program(r, name, dtype, long)
            expect_jax(cli, tmp_path, f, args, signs=False, check=False, what=f"JAXSCOPE_SEED={seed}, {name} of {dtype.__name__}[{args[0].shape}]")


def test_a_reduction_from_an_initial_value(cli, tmp_path):
    x = jnp.asarray(np.random.RandomState(3).randint(-50, 50, (40, 70, 9)).astype(np.float32))

    def f(x, start):
        return [lax.reduce(x, start, c, axes) for c in (lax.max, lax.min) for axes in ((0,), (1, 2), (0, 1, 2))] + [lax.reduce(x[:0], start, lax.max, (0,))]
    for start in (-3.0, 100.0, np.nan):
        expect_jax(cli, tmp_path, f, (x, jnp.float32(start)), signs=False, check=False, what=f"from {start}")
