"""A step that differentiates twice: a generator's loss, which keeps little, and a critic's of six layers, which keeps more."""


def source(rows):
    return f"""
import jax, jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name
def gen(w, x):
    return jnp.sum(jnp.tanh(x @ w) ** 2)
def layer(w, x):
    return checkpoint_name(jnp.tanh(jnp.sin(x @ w) * 2), "act")
def critic(ws, x):
    for w in ws: x = layer(w, x)
    return jnp.mean(x)
def step(gw, cw, x):
    g = jax.grad(gen)(gw, x)
    c = jax.grad(critic)(cw, x)
    return gw - .1 * g, [a - .1 * b for a, b in zip(cw, c)]
def program():
    S = lambda *s: jax.ShapeDtypeStruct(s, jnp.float32)
    return dict(fn=step, args=(S(64, 64), [S(64, 64)] * 6, S({rows}, 64)), donate_argnums=(0, 1))
def undonated():
    return dict(program(), donate_argnums=(2,))
"""
