"""The Llama-like step of llama_7b.py with its 32 blocks written out one after the other: gradients don't wait for each other in one stack.

    python -m jaxscope samples/python/llama_7b_unrolled.py:program -o llama_7b_unrolled.jaxscope --compile --target tpu:v5p
"""
import jax
import jax.numpy as jnp
import llama_7b as model

NAME = "llama_7b_unrolled"


def loss_fn(params, tokens):
    """Mean cross entropy of the next token."""
    x = params["embedding"][tokens]
    for p in params["blocks"]:
        x = jax.checkpoint(model.block, policy=model.POLICY)(p, x)
    logits = (model.rms_norm(params["norm"], x) @ params["head"]).astype(jnp.float32)[:, :-1]
    chosen = jnp.take_along_axis(logits, tokens[:, 1:, None], axis=-1)[..., 0]
    return (jax.nn.logsumexp(logits, axis=-1) - chosen).mean()


def train_step(state, tokens):
    loss, grads = jax.value_and_grad(loss_fn)(state["params"], tokens)
    return model.adamw(state, grads), loss


def program():
    return {"fn": train_step, "args": model.arguments([model.block_weights() for _ in range(model.LAYERS)]), "donate_argnums": (0,)}
