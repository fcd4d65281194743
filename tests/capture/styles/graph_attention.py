"""Message passing with segment sums, edge softmax (GAT), jitted with static num_nodes."""
CALL = "train_step"

import jax, jax.numpy as jnp, functools


def gat(p, x, s, r, n):
    h = x @ p["w"]
    e = jax.nn.leaky_relu(h[s] @ p["as"] + h[r] @ p["ar"], .2)
    m = jax.ops.segment_max(e, r, n)
    w = jnp.exp(e - m[r])
    w = w / jax.ops.segment_sum(w, r, n)[r]
    return jax.nn.elu(jax.ops.segment_sum(w[:, None] * h[s], r, n))


def loss_fn(ps, g, num_nodes):
    h = g["x"]
    for p in ps: h = gat(p, h, g["s"], g["r"], num_nodes)
    lp = jax.nn.log_softmax(h)
    return -(lp[jnp.arange(num_nodes), g["y"]] * g["mask"]).sum() / g["mask"].sum()


@functools.partial(jax.jit, static_argnums=2)
def train_step(ps, g, num_nodes):
    l, gr = jax.value_and_grad(loss_fn)(ps, g, num_nodes)
    return jax.tree.map(lambda p, g: p - .1 * g, ps, gr), l


def data():
    k = jax.random.split(jax.random.key(0), 6)
    mk = lambda k, i, o: {"w": jax.random.normal(k, (i, o)) * .3, "as": jnp.ones(o) * .1, "ar": jnp.ones(o) * -.1}
    s = jnp.concatenate([jnp.arange(10), (jnp.arange(10) * 3) % 10])
    r = jnp.concatenate([jnp.arange(10), (jnp.arange(10) + 1) % 10])
    return [mk(k[0], 4, 8), mk(k[1], 8, 3)], {"x": jax.random.normal(k[2], (10, 4)), "s": s, "r": r, "y": jnp.arange(10) % 3, "mask": jnp.ones(10)}, 10


def program(): return dict(fn=train_step, args=data())


def loss_program():
    p, g, n = data()
    return (lambda ps, g: loss_fn(ps, g, n)), (p, g), {}


if __name__ == "__main__": train_step(*data())
