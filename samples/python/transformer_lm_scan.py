"""The same language model with its layers in a scan: parameters of all blocks stacked, one rematerialised body.

What the backward pass keeps is then an array with a leading axis of length six for every saved value of the body.
"""
from functools import partial

import jax
import jax.numpy as jnp

from transformer_lm import LAYERS, LENGTH, VOCABULARY, WIDTH, BATCH, adam, block, init_block, layer_norm

NAME = "transformer_lm_scan"


def loss_fn(params, tokens):
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    x = params["embedding"][inputs] + params["position"]

    # Inside a scan the loop itself keeps XLA from merging the recomputation back, so prevent_cse is not needed.
    policy = jax.checkpoint_policies.save_only_these_names("attn_out", "mlp_in")

    @partial(jax.checkpoint, prevent_cse=False, policy=policy)
    def body(x, p):
        return block(p, x), None
    x, _ = jax.lax.scan(body, x, params["blocks"])
    logits = layer_norm(params["norm"], x) @ params["embedding"].T
    log_probabilities = jax.nn.log_softmax(logits)
    return -jnp.take_along_axis(log_probabilities, targets[..., None], axis=-1).mean()


def train_step(state, tokens):
    loss, grads = jax.value_and_grad(loss_fn)(state["params"], tokens)
    return adam(state, grads), loss


def init_state(key):
    k_embedding, k_position, k_blocks = jax.random.split(key, 3)
    params = {"embedding": 0.02 * jax.random.normal(k_embedding, (VOCABULARY, WIDTH)),
              "position": 0.02 * jax.random.normal(k_position, (LENGTH, WIDTH)),
              "blocks": jax.vmap(init_block)(jax.random.split(k_blocks, LAYERS)),
              "norm": {"scale": jnp.ones(WIDTH), "bias": jnp.zeros(WIDTH)}}
    zeros = lambda: jax.tree.map(jnp.zeros_like, params)
    return {"params": params, "mu": zeros(), "nu": zeros(), "step": jnp.int32(0)}


def program():
    key = jax.random.PRNGKey(0)
    tokens = jax.random.randint(jax.random.fold_in(key, 1), (BATCH, LENGTH + 1), 0, VOCABULARY)
    state = init_state(key)
    return {"fn": train_step, "args": (state, tokens), "donate_argnums": (0,),
            "regions": [{"fn": loss_fn, "args": (state["params"], tokens), "wrt": 0}]}
