"""Kernels that read arrays along another dimension than they write: what comes in tiles (jit/graph/tiles.h), of any shape, order and type, is JAX's."""
import os
import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from seed import seed_of_sample

import jaxscope
from test_kernels import array, same

COUNT = int(os.environ.get("JAXSCOPE_COUNT") or (300 if os.environ.get("JAXSCOPE_FULL") else 24))
TYPES = [jnp.float32, jnp.float32, jnp.bfloat16, jnp.float16, jnp.int8, jnp.uint8, jnp.int32, jnp.bool_, jnp.complex64]
LENGTHS = [1, 2, 3, 7, 8, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 100, 130]
MOST = 400_000


def shape_of(rng):
    """Two to five dimensions, most of them odd, of enough elements for tiles."""
    while True:
        shape = [rng.choice(LENGTHS) for _ in range(rng.randint(2, 5))]
        if 4096 <= np.prod(shape) <= MOST:
            return shape


def order_of(rng, rank):
    order = list(range(rank))
    while rank > 1 and order == sorted(order):
        rng.shuffle(order)
    return order


def along_rows(x):  # what depends on a row or a column alone, and counts
    count = lax.broadcasted_iota(jnp.int32, x.shape, 0) + 3 * lax.broadcasted_iota(jnp.int32, x.shape, x.ndim - 1)
    return jnp.where(count % 5 == 0, jnp.zeros_like(x), x)


def softened(x):
    return jax.nn.softmax(x, axis=-1)


def centred(x):
    return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1)


def last_two(x):  # positive terms: a sum that cancels has the errors of its terms
    return jnp.sum(jnp.exp(-x * x), axis=tuple(range(max(0, x.ndim - 2), x.ndim))), jnp.max(x, axis=-1)


def program(rng):
    """A function of one array, the array: transposed once or in two orders, read beside what lies as the result does, reduced, read through broadcasts."""
    shape, dtype = shape_of(rng), rng.choice(TYPES)
    order, floats = order_of(rng, len(shape)), jnp.issubdtype(dtype, jnp.floating)
    other = array(jnp.float32 if dtype == jnp.bool_ else dtype, *[shape[d] for d in order])
    row = array(jnp.float32, shape[order[-1]])
    back = [d for d in range(len(order)) if shape[order[d]] == shape[order[-1]]]
    swap = rng.choice(back)
    ends = [softened, centred, last_two] if dtype == jnp.float32 else []
    end = rng.choice([None, along_rows, *ends])
    add, twice, scaled = rng.random() < 0.5 and dtype != jnp.bool_, rng.random() < 0.3, rng.random() < 0.3 and floats
    cut = rng.random() < 0.2

    def f(x, other, row):
        y = jnp.transpose(x, order)
        if twice:  # another order of the same array, of the same shape
            z = jnp.swapaxes(y, swap, len(order) - 1)
            y = jnp.where(other.real > 0, y, z) if z.shape == y.shape else y
        if add:
            y = y + other
        if scaled:
            y = y * row.astype(y.dtype)
        if cut:
            y = y[..., : y.shape[-1] // 2 + 1]
        return end(y) if end else (y, jnp.logical_not(y) if dtype == jnp.bool_ else -y)
    x = array(jnp.int32, *shape) > 0 if dtype == jnp.bool_ else array(dtype, *shape)
    return f, (x, other, row)


def test_random_orders(cli, tmp_path):
    first = seed_of_sample()
    for seed in range(first, first + COUNT):
        rng = random.Random(seed)
        f, args = program(rng)
        try:
            same(cli, tmp_path, f, args, rng.choice((1, 2)))
        except AssertionError as e:
            raise AssertionError(f"seed {seed}: {e}") from e


@pytest.mark.parametrize("shape, order", [((4096, 33), (1, 0)), ((9, 500), (1, 0)), ((500, 8), (1, 0)), ((2, 65, 3, 129), (0, 3, 2, 1)), ((70, 5, 90), (2, 1, 0)),
                                          ((3, 40, 6, 50), (0, 3, 1, 2)), ((64, 1, 64, 1), (2, 1, 3, 0)), ((17, 4, 19, 5), (2, 3, 0, 1))])
def test_debug_mode_checks_every_tile(cli, tmp_path, shape, order):
    """Guard pages behind every buffer, each computed index held to it."""
    x = array(jnp.float32, *shape)
    f = lambda x: (jnp.transpose(x, order) * 2, jax.nn.softmax(jnp.transpose(x, order), axis=-1))
    path, out = str(tmp_path / "a.jaxscope"), str(tmp_path / "out.npz")
    jaxscope.capture(f, values="all")(x).save(path)
    cli.json("run", path, "--debug", "--outputs", out)
    with np.load(out) as ours:
        np.testing.assert_array_equal(ours["out0"], np.transpose(np.asarray(x), order) * 2)
        np.testing.assert_allclose(ours["out1"], f(x)[1], rtol=1e-5)


@pytest.mark.parametrize("shape", [(100, 65), (300, 65), (700, 65), (64, 8, 40)])
def test_sums_of_everything_and_of_rows(cli, tmp_path, shape):
    """One row of all elements, many rows of few, and partial sums along rows: of a transposed array each is another kernel."""
    f = lambda x: (jnp.sum(jnp.exp(-x.T * x.T)), jnp.max(x.T, -1), x.T.min(), jnp.sum(x.T * x.T, axis=(0, x.ndim - 1)))
    same(cli, tmp_path, f, (array(jnp.float32, *shape),), 2)


def test_in_place_where_it_can_be(cli, tmp_path):
    """The array that lies as the result does gives it its memory, although tiles of another are read beside it."""
    path, out = str(tmp_path / "a.jaxscope"), str(tmp_path / "out.npz")
    x, y = array(jnp.float32, 300, 200), array(jnp.float32, 200, 300)
    f = lambda y, x: y * 2 + x.T
    jaxscope.capture(f, values="all", donate_argnums=0)(y + 0, x).save(path)
    done = cli.json("run", path, "--outputs", out)
    assert done["memory"]["aliased"] == y.nbytes
    with np.load(out) as ours:
        np.testing.assert_array_equal(ours["out0"], np.asarray(y) * 2 + np.asarray(x).T)
