"""A Llama-like model of 6.7 billion parameters: one training step with AdamW, its 32 blocks under one scan.

Weights and moments are bf16, the state is donated, each block runs under jax.checkpoint and keeps what its attention returns. Nothing is allocated:
the arguments are shapes, so a laptop captures and plans the step; it runs on an accelerator of 80 GB and more.

    python -m jaxscope samples/python/llama_7b.py:program -o llama_7b.jaxscope --compile --target tpu:v5p
"""
import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name

NAME = "llama_7b"
LAYERS, WIDTH, HEADS, HIDDEN, VOCABULARY = 32, 4096, 32, 11008, 32000
BATCH, LENGTH = 4, 2048
LEARNING_RATE, BETA1, BETA2, EPSILON, DECAY = 3e-4, 0.9, 0.95, 1e-8, 0.1
POLICY = jax.checkpoint_policies.save_only_these_names("attn")


def rms_norm(scale, x):
    h = x.astype(jnp.float32)
    return (h * jax.lax.rsqrt(jnp.square(h).mean(-1, keepdims=True) + 1e-5)).astype(x.dtype) * scale


def rotated(x):
    """Rotary positions: pairs of features turn with the position."""
    length, half = x.shape[1], x.shape[-1] // 2
    angle = jnp.arange(length)[:, None] * 10000.0 ** (-jnp.arange(half) / half)
    cos, sin = jnp.cos(angle)[:, None].astype(x.dtype), jnp.sin(angle)[:, None].astype(x.dtype)
    a, b = jnp.split(x, 2, axis=-1)
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)


def attention(p, x):
    heads = lambda w: (x @ w).reshape(x.shape[0], x.shape[1], HEADS, WIDTH // HEADS)
    q, k, v = rotated(heads(p["q"])), rotated(heads(p["k"])), heads(p["v"])
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / (WIDTH // HEADS) ** 0.5
    causal = jnp.tril(jnp.ones((x.shape[1], x.shape[1]), bool))
    weights = jax.nn.softmax(jnp.where(causal, scores, -1e9).astype(jnp.float32), axis=-1).astype(x.dtype)
    return jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(x.shape) @ p["o"]


def block(p, x):
    x = x + checkpoint_name(attention(p, rms_norm(p["norm1"], x)), "attn")
    h = rms_norm(p["norm2"], x)
    return x + checkpoint_name(jax.nn.silu(h @ p["gate"]) * (h @ p["up"]), "mlp") @ p["down"]


def loss_fn(params, tokens):
    """Mean cross entropy of the next token."""
    x = params["embedding"][tokens]
    one = jax.checkpoint(block, policy=POLICY)
    x, _ = jax.lax.scan(lambda x, p: (one(p, x), None), x, params["blocks"])
    logits = (rms_norm(params["norm"], x) @ params["head"]).astype(jnp.float32)[:, :-1]
    chosen = jnp.take_along_axis(logits, tokens[:, 1:, None], axis=-1)[..., 0]
    return (jax.nn.logsumexp(logits, axis=-1) - chosen).mean()


def adamw(state, grads):
    step = state["step"] + 1
    t = step.astype(jnp.float32)
    rate = LEARNING_RATE * jnp.sqrt(1 - BETA2 ** t) / (1 - BETA1 ** t)
    mix = lambda beta, old, new: (beta * old.astype(jnp.float32) + (1 - beta) * new).astype(old.dtype)
    mu = jax.tree.map(lambda m, g: mix(BETA1, m, g.astype(jnp.float32)), state["mu"], grads)
    nu = jax.tree.map(lambda n, g: mix(BETA2, n, jnp.square(g.astype(jnp.float32))), state["nu"], grads)

    def updated(p, m, n):
        wide = p.astype(jnp.float32)
        return (wide - rate * m.astype(jnp.float32) / (jnp.sqrt(n.astype(jnp.float32)) + EPSILON) - LEARNING_RATE * DECAY * wide).astype(p.dtype)
    return {"params": jax.tree.map(updated, state["params"], mu, nu), "mu": mu, "nu": nu, "step": step}


def train_step(state, tokens):
    loss, grads = jax.value_and_grad(loss_fn)(state["params"], tokens)
    return adamw(state, grads), loss


def weight(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.bfloat16)


def block_weights(*lead):
    square = lambda: weight(*lead, WIDTH, WIDTH)
    return {"norm1": weight(*lead, WIDTH), "norm2": weight(*lead, WIDTH), "q": square(), "k": square(), "v": square(), "o": square(),
            "gate": weight(*lead, WIDTH, HIDDEN), "up": weight(*lead, WIDTH, HIDDEN), "down": weight(*lead, HIDDEN, WIDTH)}


def arguments(blocks):
    params = {"embedding": weight(VOCABULARY, WIDTH), "blocks": blocks, "norm": weight(WIDTH), "head": weight(WIDTH, VOCABULARY)}
    state = {"params": params, "mu": params, "nu": params, "step": jax.ShapeDtypeStruct((), jnp.int32)}
    return state, jax.ShapeDtypeStruct((BATCH, LENGTH), jnp.int32)


def program():
    return {"fn": train_step, "args": arguments(block_weights(LAYERS)), "donate_argnums": (0,)}
