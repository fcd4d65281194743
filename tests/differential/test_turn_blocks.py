"""Scans whose turns multiply what they read with what stays, or add products to a carry: a block of turns is one product then (see
jit/graph/turn_blocks.h), and nobody may see it in the results. Random cells, lengths with and without divisors, both directions,
gradients, maps, rematerialisation; float64 shows what rounding would hide."""
import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from seed import seed_of_sample

import jaxscope

HIGHEST = lax.Precision.HIGHEST


def dot(a, b, **kw):
    return jnp.matmul(a, b, precision=HIGHEST, **kw)


def cell_of(r: random.Random, wide: int):
    """One turn: a function of the parameters, the carry (a state and two sums) and what is read; returns the carry and two results."""
    reads = r.choice((
        lambda p, x: dot(x, p["w"]),
        lambda p, x: dot(x, p["w"]) + dot(x, p["v"]) * 0.5,
        lambda p, x: dot(jnp.flip(x, -1), p["w"]),
        lambda p, x: dot(x.reshape(-1, wide), p["w"]).reshape(x.shape[:-1] + (wide,)),
        lambda p, x: dot(p["w"].T, x.T).T,
        lambda p, x: dot(x, p["w"] * 0.7 + p["v"].T),
        lambda p, x: jnp.concatenate([dot(x, p["w"][:, : wide // 2]), dot(x, p["v"][:, wide // 2 :])], -1)))
    turns = r.choice((
        lambda p, h, z: jnp.tanh(z + dot(h, p["u"]) + p["b"]),
        lambda p, h, z: jax.nn.sigmoid(z) * h + (1 - jax.nn.sigmoid(z)) * jnp.sin(dot(h, p["u"])),
        lambda p, h, z: 0.5 * h + jnp.where(z > 0, z, 0.1 * h) * jnp.sin(p["b"]),
        lambda p, h, z: lax.cond(z.sum() > 0, lambda: jnp.tanh(z + h), lambda: 0.3 * z - h * jnp.sin(p["b"]))))
    sums = r.choice((
        lambda s, x, h: s + dot(x.T, h),
        lambda s, x, h: dot(h.T, x) + s,
        lambda s, x, h: s + dot(x.T, h).T,
        lambda s, x, h: s + dot(x.T, x),
        lambda s, x, h: s + dot(x.T, h) * 0.5,
        lambda s, x, h: 0.9 * s + dot(x.T, h),  # asks for it in every turn
        lambda s, x, h: s + dot(h.T, h)))
    other = r.choice((lambda t, x, h: t + h.sum(0), lambda t, x, h: t + x.sum(0), lambda t, x, h: 0.5 * t + 0.3 * h.mean(0) * jnp.cos(t), lambda t, x, h: jnp.maximum(t, h.max(0))))
    gives = r.choice((lambda z, h, s: (h, z), lambda z, h, s: (z * h, s.sum()), lambda z, h, s: (h.T, h[:1])))

    def cell(p, carry, x):
        h, s, t = carry
        z = reads(p, x)
        new = turns(p, h, z)
        s = sums(s, x, r_state(h, new))
        return (new, s, other(t, x, new)), gives(z, new, s)
    before = r.random() < 0.5

    def r_state(old, new):
        return old if before else new
    return jax.checkpoint(cell) if r.random() < 0.25 else cell


def program(r: random.Random, seed: int, dtype):
    n = np.random.RandomState(seed)
    length, rows, wide = r.choice((16, 17, 24, 30, 40, 62, 96, 100, 3, 1)), r.choice((1, 4, 9, 16)), r.choice((40, 64))
    of = lambda *shape: jnp.asarray(n.standard_normal(shape) / np.sqrt(wide), dtype)
    p = dict(w=of(wide, wide), v=of(wide, wide), u=of(wide, wide) * 0.3, b=of(wide))  # what a turn does to the state dies out
    xs, begin = of(length, rows, wide) * 4, (of(rows, wide), of(wide, wide), of(wide))
    cell, reverse = cell_of(r, wide), r.random() < 0.5

    def run(p, xs):
        carry, ys = lax.scan(lambda c, x: cell(p, c, x), begin, xs, reverse=reverse)
        return carry, ys
    mapped, differentiated = r.random() < 0.25, r.random() < 0.6
    f = run
    if mapped:
        xs = jnp.stack([xs, xs * 0.5 + 0.1])
        over = r.random() < 0.5
        p = {k: jnp.stack([v, v * 0.9]) for k, v in p.items()} if over else p
        f = jax.vmap(run, in_axes=(0 if over else None, 0))
    if differentiated:
        weights = [jnp.asarray(n.standard_normal(a.shape), dtype) for a in jax.tree.leaves(jax.eval_shape(f, p, xs))]
        whole = f
        f = jax.value_and_grad(lambda p, xs: sum((w * y).sum() for w, y in zip(weights, jax.tree.leaves(whole(p, xs)))), argnums=(0, 1))
    return f, (p, xs)


def expect_equal(cli, folder, f, args, digits, *flags, what):
    jaxscope.capture(f, values="all")(*args).save(folder / "p.jaxscope")
    report = cli.json("run", str(folder / "p.jaxscope"), "--outputs", str(folder / "out.npz"), *flags)
    with np.load(folder / "out.npz") as ours:
        for i, want in enumerate(jax.tree.leaves(jax.jit(f)(*args))):
            got, want = np.asarray(ours[f"out{i}"], np.float64), np.asarray(want, np.float64)
            scale = np.sqrt(np.mean(want**2)) + 1e-30 if want.size else 1
            assert np.allclose(got, want, rtol=digits, atol=digits * scale), f"{what}, result {i}: {np.abs(got - want).max() / scale}"
    return report


@pytest.mark.parametrize("flags", [(), ("--threads", "1"), ("--debug",)], ids=["", "one_thread", "debug"])
def test_random_cells(cli, tmp_path, flags):
    seed = seed_of_sample()
    for k in range(4 if flags else 10):
        r = random.Random(f"{seed} {k} {flags}")
        with jax.enable_x64(True):
            f, args = program(r, seed % 1000 + k, jnp.float64)
            expect_equal(cli, tmp_path, f, args, 1e-9, *flags, what=f"JAXSCOPE_SEED={seed}, program {k} of {flags}")
        f, args = program(r, seed % 1000 + k, jnp.float32)
        expect_equal(cli, tmp_path, f, args, 2e-3, *flags, what=f"JAXSCOPE_SEED={seed}, program {k} of {flags} in float32")


def rnn(length, rows, wide):
    n = np.random.RandomState(1)
    of = lambda *shape: jnp.asarray(n.standard_normal(shape) / np.sqrt(wide), jnp.float32)

    def loss(p, xs):
        def cell(h, x):
            h = jnp.tanh(x @ p["w"] + h @ p["u"] + p["b"])
            return h, h
        return (lax.scan(cell, jnp.zeros((rows, wide)), xs)[1] ** 2).mean()
    return jax.value_and_grad(loss), (dict(w=of(wide, wide), u=of(wide, wide), b=of(wide)), of(length, rows, wide))


def calls_of_products(report):
    return sorted(k["calls"] for k in report["profile"]["kernels"] if k["what"] == "dot_general")


def test_products_of_a_recurrent_net_are_those_of_blocks(cli, tmp_path):
    """x @ w and both gradients of weights; h @ u and the gradient that goes on to the turn before stay what they are. The gradient of b is
    a sum of what is there for the block."""
    report = expect_equal(cli, tmp_path, *rnn(96, 8, 64), 1e-4, "--profile", what="rnn")
    blocks, turns = set(calls_of_products(report)[:3]), calls_of_products(report)[3:]
    assert turns == [96, 96] and len(blocks) == 1 and blocks.pop() <= 12
    assert not any("reduce_sum" in k["what"] and k["calls"] == 96 for k in report["profile"]["kernels"])
    # What a block needs is small beside what the turns keep.
    stacks = 4 * 96 * 8 * 64 * 4
    assert report["memory"]["temporaries"] < stacks + (1 << 18)


def test_a_length_without_divisors_has_no_blocks(cli, tmp_path):
    report = expect_equal(cli, tmp_path, *rnn(97, 8, 64), 1e-4, "--profile", what="rnn")
    assert calls_of_products(report) == [97] * 5
