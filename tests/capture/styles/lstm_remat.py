"""LSTM by scan with remat, truncated lengths, custom_vjp gradient clipping in the middle, Ref-free."""
CALL = "step"

import jax, jax.numpy as jnp
from functools import partial


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def clip_grad(c, x): return x
clip_grad.defvjp(lambda c, x: (x, None), lambda c, _, g: (jnp.clip(g, -c, c),))


def cell(p, carry, xm):
    x, m = xm
    h, c = carry
    i, f, g, o = jnp.split(x @ p["wx"] + h @ p["wh"] + p["b"], 4, -1)
    c2 = jax.nn.sigmoid(f + 1) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    h2 = clip_grad(.1, jax.nn.sigmoid(o) * jnp.tanh(c2))
    keep = lambda a, b: jnp.where(m[:, None], a, b)
    return (keep(h2, h), keep(c2, c)), h2


def loss_fn(p, xs, lens):
    mask = jnp.arange(xs.shape[0])[:, None] < lens
    init = (jnp.zeros((xs.shape[1], 8)),) * 2
    f = jax.checkpoint(partial(cell, p), policy=jax.checkpoint_policies.dots_with_no_batch_dims_saveable, prevent_cse=False)
    _, hs = jax.lax.scan(f, init, (xs, mask))
    return jnp.mean((hs @ p["out"] - xs) ** 2 * mask[..., None])


@partial(jax.jit, donate_argnames="params")
def step(params, xs, lens):
    g = jax.grad(loss_fn)(params, xs, lens)
    return {k: params[k] - .1 * g[k] for k in params}


def data():
    k = jax.random.split(jax.random.key(0), 4)
    return {"wx": jax.random.normal(k[0], (3, 32)) * .3, "wh": jax.random.normal(k[1], (8, 32)) * .3, "b": jnp.zeros(32), "out": jax.random.normal(k[2], (8, 3))}, jax.random.normal(k[3], (7, 2, 3)), jnp.array([7, 4])


def program(): return dict(fn=step, args=data())


def loss_program():
    p, x, l = data()
    return loss_fn, (p, x, l), {}


if __name__ == "__main__": step(*data())
