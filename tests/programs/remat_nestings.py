"""Checkpoints in scans, scans in checkpoints, under vmap, cond and jit, each with a policy of its own."""
NAME = "remat_nestings"
REQUIRES = ['jax==0.10.2']

from functools import partial
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax

def arr(seed, *shape, dtype=np.float32):
    return jnp.asarray(np.random.RandomState(seed).standard_normal(shape).astype(dtype))

from jax.ad_checkpoint import checkpoint_name
P = jax.checkpoint_policies
def layer(w, x):
    h = checkpoint_name(jnp.sin(x @ w), 'h')
    return checkpoint_name(jnp.tanh(h) * h, 'o')

def fn(ws, x):
    inner = jax.checkpoint(layer, policy=P.save_only_these_names('h'), prevent_cse=False)
    def body(c, w):
        return jax.checkpoint(lambda c, w: inner(w, inner(w, c)), policy=P.save_any_names_but_these('o'))(c, w), None
    y = jax.checkpoint(lambda c: lax.scan(body, c, ws)[0], policy=P.dots_with_no_batch_dims_saveable)(x)
    y = lax.scan(lambda c, w: (jax.checkpoint(layer, policy=P.save_from_both_policies(P.dots_saveable, P.save_only_these_names('o')))(w, c), None), y, ws)[0]
    y = jax.checkpoint(jax.vmap(inner, in_axes=(None, 0)), policy=P.save_and_offload_only_these_names(names_which_can_be_saved=['h'], names_which_can_be_offloaded=['o'], offload_src='device', offload_dst='pinned_host'))(ws[0], y)
    y = jax.checkpoint(lambda y: lax.cond(y.sum() > 0, lambda y: layer(ws[1], y), lambda y: y, y))(y)
    y = jax.checkpoint(jax.jit(lambda y: inner(ws[2], y)))(y)
    return jnp.sum(y ** 2)

def program():
    return dict(fn=fn, args=(arr(0, 3, 4, 4) * .4, arr(1, 5, 4)), differentiate=0)
