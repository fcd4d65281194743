"""Mixture of experts by ragged products: rows sorted by expert, group sizes counted, balance loss."""
NAME = "moe_ragged"
REQUIRES = ['jax==0.10.2']

from functools import partial
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax

def arr(seed, *shape, dtype=np.float32):
    return jnp.asarray(np.random.RandomState(seed).standard_normal(shape).astype(dtype))

def fn(p, x):
    g = jax.nn.softmax(x @ p['r'])
    w, e = lax.top_k(g, 2)
    w = w / w.sum(-1, keepdims=True)
    flat = e.reshape(-1); o = jnp.argsort(flat)
    xs = jnp.repeat(x, 2, 0)[o]
    gs = jnp.bincount(flat, length=p['w1'].shape[0])
    h = lax.ragged_dot(jax.nn.silu(lax.ragged_dot(xs, p['w1'], gs)), p['w2'], gs)
    y = jnp.zeros_like(h).at[o].set(h).reshape(*w.shape, -1)
    f = jnp.mean(jax.nn.one_hot(e, g.shape[-1]), (0, 1))
    return jnp.sum((y * w[..., None]).sum(1) ** 2) + .01 * jnp.sum(f * g.mean(0))

def program():
    return dict(fn=fn, args=(dict(r=arr(0, 6, 4), w1=arr(1, 4, 6, 8) * .3, w2=arr(2, 4, 8, 6) * .3), arr(3, 10, 6)), differentiate=0)
