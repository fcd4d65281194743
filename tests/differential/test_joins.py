"""Parts of arrays put together in another order (jnp.roll, padding, halves that change places, differences with an end), each with little
work on the way: JAX's, whether one loop does it all or not, along any dimension and over several threads."""
import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from seed import seed_of_sample
from special_numbers import expect_jax, numbers

import jaxscope

DTYPES = jnp.float32, jnp.float32, jnp.bfloat16, jnp.float16, jnp.int32, jnp.uint8, jnp.complex64, jnp.bool_


def part(x, axis, first, end):
    return jax.lax.slice_in_dim(x, first, end, axis=axis)


def opposite(x):
    return ~x if x.dtype == jnp.bool_ else -x


def difference(x, y):
    return x ^ y if x.dtype == jnp.bool_ else x - y


def moved(r: random.Random, axis, length):
    """A function of x and z, both of one shape; its result has that shape, too."""
    cut, by = r.randint(0, length), r.randint(-length, length)
    around = [r.randint(0, min(3, length)) for _ in range(2)]

    def padded(x, z):
        y = jnp.pad(x, [(around[0], around[1]) if d == axis else (0, 0) for d in range(x.ndim)], mode=mode)
        return part(y, axis, 0, length) if cut % 2 else part(y, axis, y.shape[axis] - length, y.shape[axis])
    mode = r.choice(("constant", "edge", "wrap") if length else ("constant",))

    def many(x, z):
        y = jnp.stack([jnp.roll(x, by, axis), opposite(z), *(jnp.roll(z, (k, -by), (0, axis)) for k in range(4)), jnp.flip(x, axis)])
        return y[cut % 7]  # no maximum: of large arrays XLA's loses NaN
    return r.choice((
        many,
        lambda x, z: jnp.roll(x, by, axis),
        lambda x, z: jnp.roll(x, (by, 1), (axis, 0)),
        lambda x, z: jnp.concatenate([opposite(part(x, axis, cut, length)), part(x, axis, 0, cut)], axis),
        lambda x, z: jnp.concatenate([part(x, axis, 0, cut), jnp.flip(part(z, axis, cut, length), axis)], axis),
        lambda x, z: jnp.concatenate([difference(part(x, axis, 1, length), part(x, axis, 0, length - 1)), part(z, axis, 0, min(1, length))], axis),
        lambda x, z: jnp.concatenate([part(z, axis, k, k + 1) for k in range(min(5, length))] + [part(x, axis, min(5, length), length)], axis),
        lambda x, z: jnp.stack([x, opposite(z), x])[cut % 3],
        lambda x, z: jnp.stack([part(x, axis, 0, length // 2), opposite(part(x, axis, length - length // 2, length))], -1).reshape(-1)[:1].sum().astype(x.dtype) * z,
        lambda x, z: part(jnp.concatenate([x, opposite(z)], axis), axis, cut, cut + length),
        padded))


def program(r: random.Random, seed: int, longest: int):
    n = np.random.RandomState(seed)
    dtype = r.choice(DTYPES)
    shape = tuple(r.choice((1, 2, 5, 16, 33, 70)) for _ in range(r.randint(1, 3)))
    if r.random() < 0.25:
        shape = (r.choice((longest, longest + 1)),)
    steps = []
    for _ in range(r.randint(1, 4)):
        axis = r.randrange(len(shape))
        steps.append((moved(r, axis, shape[axis]), moved(r, axis, shape[axis]), r.random() < 0.5))

    def f(x, z):
        for one, other, work in steps:
            x = difference(one(x, z), other(z, x)) if work else one(x, z)
        return x, opposite(x)
    # Gradients are sums, of which XLA chooses the order: whole numbers have one result.
    differentiated = dtype == jnp.float32 and r.random() < 0.5
    args = numbers(n, dtype, shape), numbers(n, dtype, shape)
    if not differentiated:
        return f, args
    args = tuple(jnp.asarray(n.randint(-9, 9, shape).astype(np.float32)) for _ in range(2))
    return jax.grad(lambda x, z: (f(x, z)[0] * z).sum(), argnums=(0, 1)), args


@pytest.mark.parametrize("check", [False, True], ids=["", "debug"])
def test_random_joins(cli, tmp_path, check):
    seed = seed_of_sample()
    for k in range(24):
        f, args = program(random.Random(seed * 100 + k), seed % 1000 + k, 3000 if check else 70000)
        expect_jax(cli, tmp_path, f, args, signs=False, check=check, what=f"JAXSCOPE_SEED={seed}, program {k}")


def test_a_stencil_of_rolls_is_one_kernel(cli, tmp_path):
    def f(u):
        return u + 0.1 * (jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1) - 4 * u)
    u = jnp.asarray(np.random.RandomState(3).randn(200, 300).astype(np.float32))
    path = tmp_path / "c.jaxscope"
    jaxscope.capture(f, values="all")(u).save(path)
    report = cli.json("run", str(path), "--profile", "--outputs", str(tmp_path / "out.npz"))
    assert len(report["profile"]["kernels"]) == 1, report["profile"]["kernels"]
    with np.load(tmp_path / "out.npz") as ours:
        np.testing.assert_allclose(ours["out0"], jax.jit(f)(u), rtol=1e-5, atol=1e-5)
