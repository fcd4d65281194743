"""Loops and branches under vmap whose conditions differ between examples, collectives over named axes of vmap, library calls mapped."""
NAME = "vmap_named_axes"
REQUIRES = ['jax==0.10.2']

from functools import partial
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax

def arr(seed, *shape, dtype=np.float32):
    return jnp.asarray(np.random.RandomState(seed).standard_normal(shape).astype(dtype))

def fn(x, y):
    a = jax.vmap(lambda u, v: u @ v, in_axes=(0, None), out_axes=1)(x, y)
    b = jax.vmap(lambda u: u - lax.pmean(u, 'i') + lax.axis_index('i'), axis_name='i')(x)
    c = jax.vmap(jax.vmap(lambda u: lax.psum(u, ('i', 'j')), axis_name='j'), axis_name='i')(x)
    d = jax.vmap(lambda u: lax.all_gather(u, 'k'), axis_name='k')(y)
    e = jax.vmap(lambda u: lax.ppermute(u, 'k', [(0, 1), (1, 2), (2, 0)]), axis_name='k')(x)
    f = jax.vmap(lambda i: lax.dynamic_slice(y, (i, 0), (1, 2)))(jnp.arange(3))
    g = jax.vmap(lambda u, k: lax.cond(k, jnp.sin, jnp.cos, u))(x, x[:, 0] > 0)
    h = jax.vmap(lambda u: lax.while_loop(lambda s: s.sum() < 5, lambda s: s + 1, u))(x)
    i = jax.vmap(jnp.linalg.solve)(jnp.stack([jnp.eye(4) + .1] * 3), x)
    j = jax.vmap(lambda u: jnp.zeros(5).at[jnp.argsort(u)].set(u[0]))(x)
    k = jax.vmap(partial(jnp.interp, xp=jnp.arange(4.), fp=jnp.arange(4.) ** 2))(x)
    return a, b, c, d, e, f, g, h, i, j, k

def program():
    return dict(fn=fn, args=(arr(0, 3, 4), arr(1, 4, 4)))
