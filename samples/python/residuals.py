"""One function to differentiate, no training step around it: what `jaxscope residuals` and `policies` are about."""
import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name

NAME = "residuals"


def layer(w, x):
    return checkpoint_name(jnp.sin(x @ w), "layer_out")


def loss(weights, x):
    for w in weights:
        x = jax.checkpoint(layer, policy=jax.checkpoint_policies.dots_saveable)(w, x)
    return jnp.sum(jax.nn.silu(x))


def program():
    k = jax.random.split(jax.random.PRNGKey(0), 4)
    weights = [jax.random.normal(q, (16, 16)) / 4 for q in k[:3]]
    return {"fn": loss, "args": (weights, jax.random.normal(k[3], (8, 16))), "differentiate": (0,)}
