"""A decoder-only transformer language model: one training step with Adam.

Each of the six blocks runs under jax.checkpoint with a policy that keeps two named values and recomputes the rest in the
backward pass; the loss is differentiated inside the step; the state is donated, so that it is updated in place.

    python -m jaxscope samples/python/transformer_lm.py:program -o transformer_lm.jaxscope --values none
"""
import math

import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name

NAME = "transformer_lm"
LAYERS, WIDTH, HEADS, HIDDEN = 6, 256, 4, 1024
VOCABULARY, LENGTH, BATCH = 512, 128, 4
LEARNING_RATE, BETA1, BETA2, EPSILON = 3e-4, 0.9, 0.95, 1e-8


def layer_norm(p, x):
    mean = x.mean(-1, keepdims=True)
    variance = jnp.square(x - mean).mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * p["scale"] + p["bias"]


def attention(p, x):
    batch, length, width = x.shape
    q, k, v = jnp.split(x @ p["qkv"], 3, axis=-1)
    split = lambda t: t.reshape(batch, length, HEADS, width // HEADS).transpose(0, 2, 1, 3)
    q, k, v = split(q), split(k), split(v)
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(width // HEADS)
    causal = jnp.tril(jnp.ones((length, length), bool))
    weights = jax.nn.softmax(jnp.where(causal, scores, -1e9), axis=-1)
    mixed = jnp.einsum("bhqk,bhkd->bhqd", weights, v)
    return mixed.transpose(0, 2, 1, 3).reshape(batch, length, width) @ p["out"]


def mlp(p, x):
    hidden = checkpoint_name(x @ p["up"] + p["up_bias"], "mlp_in")
    return jax.nn.gelu(hidden) @ p["down"] + p["down_bias"]


def block(p, x):
    x = x + checkpoint_name(attention(p["attention"], layer_norm(p["norm1"], x)), "attn_out")
    return x + mlp(p["mlp"], layer_norm(p["norm2"], x))


def loss_fn(params, tokens):
    """Mean cross entropy of the next token."""
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    x = params["embedding"][inputs] + params["position"]
    policy = jax.checkpoint_policies.save_only_these_names("attn_out", "mlp_in")
    for p in params["blocks"]:
        x = jax.checkpoint(block, policy=policy)(p, x)
    logits = layer_norm(params["norm"], x) @ params["embedding"].T
    log_probabilities = jax.nn.log_softmax(logits)
    return -jnp.take_along_axis(log_probabilities, targets[..., None], axis=-1).mean()


def adam(state, grads):
    step = state["step"] + 1
    t = step.astype(jnp.float32)
    mu = jax.tree.map(lambda m, g: BETA1 * m + (1 - BETA1) * g, state["mu"], grads)
    nu = jax.tree.map(lambda n, g: BETA2 * n + (1 - BETA2) * jnp.square(g), state["nu"], grads)
    rate = LEARNING_RATE * jnp.sqrt(1 - BETA2 ** t) / (1 - BETA1 ** t)
    params = jax.tree.map(lambda p, m, n: p - rate * m / (jnp.sqrt(n) + EPSILON), state["params"], mu, nu)
    return {"params": params, "mu": mu, "nu": nu, "step": step}


def train_step(state, tokens):
    loss, grads = jax.value_and_grad(loss_fn)(state["params"], tokens)
    return adam(state, grads), loss


def init_block(key):
    k = jax.random.split(key, 4)
    dense = lambda key, a, b: jax.random.normal(key, (a, b)) / math.sqrt(a)
    norm = lambda: {"scale": jnp.ones(WIDTH), "bias": jnp.zeros(WIDTH)}
    return {"norm1": norm(), "norm2": norm(),
            "attention": {"qkv": dense(k[0], WIDTH, 3 * WIDTH), "out": dense(k[1], WIDTH, WIDTH)},
            "mlp": {"up": dense(k[2], WIDTH, HIDDEN), "up_bias": jnp.zeros(HIDDEN),
                    "down": dense(k[3], HIDDEN, WIDTH), "down_bias": jnp.zeros(WIDTH)}}


def init_state(key):
    k_embedding, k_position, *k_blocks = jax.random.split(key, LAYERS + 2)
    params = {"embedding": 0.02 * jax.random.normal(k_embedding, (VOCABULARY, WIDTH)),
              "position": 0.02 * jax.random.normal(k_position, (LENGTH, WIDTH)),
              "blocks": [init_block(k) for k in k_blocks],
              "norm": {"scale": jnp.ones(WIDTH), "bias": jnp.zeros(WIDTH)}}
    zeros = lambda: jax.tree.map(jnp.zeros_like, params)
    return {"params": params, "mu": zeros(), "nu": zeros(), "step": jnp.int32(0)}


def program():
    key = jax.random.PRNGKey(0)
    tokens = jax.random.randint(jax.random.fold_in(key, 1), (BATCH, LENGTH + 1), 0, VOCABULARY)
    state = init_state(key)
    return {"fn": train_step, "args": (state, tokens), "donate_argnums": (0,),
            "regions": [{"fn": loss_fn, "args": (state["params"], tokens), "wrt": 0}]}  # for comparing with JAX; captures find it
