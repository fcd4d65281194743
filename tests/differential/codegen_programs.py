"""Random programs of what generated code addresses memory with: gathers, scatters, slices, pads and their fusion, with hostile indices.

`Program(seed)` is the same program for the same seed. All numbers are multiples of one half within +-64, so that every operation is exact and results are
held to JAX bit by bit. Values have one of few shapes, so that JAX compiles each operation once for all programs.
"""
import random

import jax.numpy as jnp
import numpy as np
from jax import lax

SHAPES = [(7,), (4, 5), (2, 3, 4)]
LARGE = (96, 640)  # above what is shared among threads
HOSTILE = [-(2**31), 2**31 - 1, -1, 0, 1, 2, 3, 4, 5, 6, 7, -2, -7, -8, 40, 10**6, -(10**6), 639, 640]
MODES = ["fill", "clip", "drop"]


def bounded(x):
    return jnp.clip(x, -64.0, 64.0)


class Program:
    """Steps over pools of floats and of hostile integers, all of one shape."""

    def __init__(self, seed: int):
        r = self.random = random.Random(seed)
        self.shape = LARGE if r.random() < 0.06 else r.choice(SHAPES)
        self.steps = [r.choice(STEPS) for _ in range(r.randint(3, 7))]
        self.seed = seed

    def inputs(self):
        rng = np.random.RandomState(self.seed)
        x, y = (np.float32(rng.randint(-20, 20, self.shape)) / 2 for _ in range(2))
        return x, y, rng.choice(np.array(HOSTILE, np.int64), self.shape).astype(np.int32)

    def __call__(self, x, y, i):
        r, floats = random.Random(self.seed + 1), [x, y]
        for step in self.steps:
            out, i = step(r, r.choice(floats), floats[-1], i)
            floats.append(bounded(jnp.reshape(out, self.shape).astype(jnp.float32)))
        return floats[-1], floats[-2] + floats[0], i


def axis_of(r, x):
    return r.randrange(x.ndim)


def arithmetic(r, x, y, i):
    op = r.choice([jnp.add, jnp.subtract, jnp.maximum, jnp.minimum, lambda a, b: jnp.where(a > b, a, -b), lambda a, b: jnp.abs(a) - b])
    return op(x, y), i


def product(r, x, y, i):
    return bounded(jnp.floor(x)) * jnp.sign(y), i


def to_index(r, x, y, i):
    """Indices that the program computes, from floats too."""
    return x, r.choice([lambda: i + jnp.int32(1), lambda: -i, lambda: x.astype(jnp.int32), lambda: i * jnp.int32(3), lambda: jnp.where(y > 0, i, -i),
                        lambda: i.astype(jnp.int8).astype(jnp.int32), lambda: i.astype(jnp.uint8).astype(jnp.int32)])()


def gathered(r, x, y, i):
    """x[i] along one axis, the indices outside of it too."""
    a = axis_of(r, x)
    at = jnp.ravel(i)[: x.shape[a]]
    narrow = jnp.int8 if x.shape[a] < 128 else jnp.int16  # take needs the axis' length in the indices' type
    at = r.choice([lambda: at, lambda: at.astype(jnp.uint32), lambda: at.astype(narrow)])()
    return jnp.take(x, at, axis=a, mode=r.choice(["fill", "clip", "wrap"]), fill_value=3.0), i


def along(r, x, y, i):
    return jnp.take_along_axis(x, i, axis_of(r, x), mode=r.choice(["fill", "clip"]), fill_value=-2.0), i


def scattered(r, x, y, i):
    a = axis_of(r, x)
    at = (slice(None),) * a + (jnp.ravel(i)[: x.shape[a]],)
    ref = x.at[at]
    return r.choice([lambda m: ref.add(y, mode=m), lambda m: ref.min(y, mode=m), lambda m: ref.max(y, mode=m), lambda m: ref.set(0.5, mode=m)])(r.choice(MODES)), i


def sliced(r, x, y, i):
    start = [i.ravel()[k] for k in range(x.ndim)]
    sizes = [max(1, n - 1) for n in x.shape]
    part = lax.dynamic_slice(x, start, sizes)
    if r.random() < 0.5:
        return lax.dynamic_update_slice(y, part, start[::-1]), i
    return jnp.pad(part, [(0, n - s) for n, s in zip(x.shape, sizes)], constant_values=1.5), i


def padded(r, x, y, i):
    """Negative, positive and interior padding that ends at the old shape."""
    low, inner = r.randint(-2, 2), r.randint(0, 1)
    config = [(low, n - (n + low + (n - 1) * inner), inner) for n in x.shape]
    return lax.pad(x, jnp.float32(r.choice([0.0, -1.0])), config), i


def turned(r, x, y, i):
    x = jnp.transpose(x, r.sample(range(x.ndim), x.ndim)) if r.random() < 0.6 else x
    return jnp.flip(x, axis_of(r, x)) if r.random() < 0.5 else x, i


def joined(r, x, y, i):
    a = axis_of(r, x)
    both = jnp.concatenate([x, y], a)
    return lax.slice_in_dim(both, r.randint(0, x.shape[a]), None, axis=a)[tuple(slice(0, n) for n in x.shape)] if r.random() < 0.5 else lax.slice_in_dim(both, 0, None, 2, a), i


def rolled(r, x, y, i):
    a = axis_of(r, x)
    ends = [lambda: jnp.roll(x, r.randint(-3, 3), a), lambda: jnp.concatenate([y[tuple(slice(0, 1) if d == a else slice(None) for d in range(x.ndim))], x], a),
            lambda: -jnp.roll(jnp.roll(x, 1, a), r.randint(-2, 2), 0), lambda: jnp.pad(x, 1, mode=r.choice(["edge", "wrap"]))]
    return r.choice(ends)()[tuple(slice(0, n) for n in x.shape)], i


def stacked(r, x, y, i):
    planes = [x, y, jnp.roll(x, 1, 0), -y, jnp.flip(x, axis_of(r, x)), bounded(x + y), rolled(r, y, x, i)[0]]
    whole = jnp.stack(r.sample(planes, r.randint(2, len(planes))), r.choice([0, -1]))
    return (whole[r.randint(0, 1)] if whole.shape[1:] == x.shape else whole[..., 1]) if r.random() < 0.6 else whole.reshape((-1, *x.shape))[1], i


def reduced(r, x, y, i):
    a = axis_of(r, x)
    total = r.choice([jnp.sum, jnp.max, jnp.min])(x, axis=a, keepdims=True)
    return bounded(total) + jnp.zeros_like(y) if r.random() < 0.7 else y - bounded(total), i


def found(r, x, y, i):
    a = axis_of(r, x)
    return jnp.expand_dims(r.choice([jnp.argmax, jnp.argmin])(x, axis=a), a) + y, i


def running(r, x, y, i):
    return r.choice([lax.cummax, lax.cummin, lambda v, a: lax.cumsum(v, a, reverse=True)])(x, axis_of(r, x)), i


def one_hot(r, x, y, i):
    n = x.shape[-1]
    return x + (i[..., :1] == jnp.arange(n)).astype(jnp.float32), i


def branched(r, x, y, i):
    return lax.switch(i.ravel()[r.randrange(3)], [lambda a, b: a + b, lambda a, b: a - b, lambda a, b: jnp.maximum(a, b)], x, y), i


def looped(r, x, y, i):
    """A loop whose body reads and writes at indices that leave the array."""
    def body(k, c):
        part = lax.dynamic_slice_in_dim(c, i.ravel()[0] + k, 1, 0)
        return bounded(lax.dynamic_update_slice_in_dim(c, part + 0.5, k - 1, 0))
    return lax.fori_loop(0, 3, body, x), i


STEPS = [arithmetic, arithmetic, product, to_index, to_index, gathered, gathered, along, scattered, scattered, sliced, sliced, padded, turned, turned, joined, rolled, rolled, stacked,
         reduced, found, running, one_hot, branched, looped]
