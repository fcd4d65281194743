"""Gradient accumulation by scan over microbatches, mixed precision, remat per layer."""
CALL = "train_step"

import jax, jax.numpy as jnp
from functools import partial
from jax.ad_checkpoint import checkpoint_name


def layer(h, p):
    a = checkpoint_name(h @ p["w1"], "ffn")
    return h + jax.nn.gelu(a) @ p["w2"], None
def loss(params, x, y):
    p16 = jax.tree.map(lambda a: a.astype(jnp.bfloat16), params)
    body = jax.checkpoint(layer, policy=jax.checkpoint_policies.save_only_these_names("ffn"))
    h, _ = jax.lax.scan(body, x.astype(jnp.bfloat16), p16)
    return jnp.mean((h.astype(jnp.float32) - y) ** 2)


@partial(jax.jit, donate_argnums=(0, 1), static_argnames=("micro",))
def train_step(params, mom, x, y, micro=2):
    xs, ys = (a.reshape(micro, -1, *a.shape[1:]) for a in (x, y))
    def acc(carry, b):
        l, g = jax.value_and_grad(loss)(params, *b)
        return (carry[0] + l, jax.tree.map(jnp.add, carry[1], g)), None
    (l, g), _ = jax.lax.scan(acc, (0., jax.tree.map(jnp.zeros_like, params)), (xs, ys))
    mom = jax.tree.map(lambda m, g: .9 * m + g / micro, mom, g)
    return jax.tree.map(lambda p, m: p - .01 * m, params, mom), mom, l / micro


def data():
    k = jax.random.split(jax.random.key(0), 2)
    p = {"w1": jax.random.normal(k[0], (3, 8, 16)) * .1, "w2": jax.random.normal(k[1], (3, 16, 8)) * .1}
    return p, jax.tree.map(jnp.zeros_like, p), jnp.ones((4, 8)), jnp.zeros((4, 8))


def program(): return dict(fn=train_step, args=data(), kwargs=dict(micro=2))


def loss_program():
    p, _, x, y = data()
    return loss, (p, x[:2], y[:2]), {}


if __name__ == "__main__":
    p, m, x, y = data()
    p, m, l = train_step(p, m, x, y, micro=2)
