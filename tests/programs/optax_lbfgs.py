"""L-BFGS with its zoom line search: loops in loops over many small values, whose fused kernels may come to wait for each other."""
NAME = "optax_lbfgs"
REQUIRES = ['jax==0.10.2', 'optax==0.2.8']

from functools import partial
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax

def arr(seed, *shape, dtype=np.float32):
    return jnp.asarray(np.random.RandomState(seed).standard_normal(shape).astype(dtype))

import optax
def f(x): return jnp.sum((x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
tx = optax.lbfgs(memory_size=3)
def fn(x, s):
    v, g = optax.value_and_grad_from_state(f)(x, state=s)
    u, s = tx.update(g, s, x, value=v, grad=g, value_fn=f)
    return optax.apply_updates(x, u), s, v

def program():
    x = arr(0, 5)
    return dict(fn=fn, args=(x, tx.init(x)), donate_argnums=(0, 1))
