"""Steps with a checkpoint round the whole loss, as most rows of `policies` are: they came when estimates of these had been found to be far below, and the model had been changed for another transformer's."""
from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.ad_checkpoint import checkpoint_name

from programs import S, adam_step, block, block_params, cross_entropy, f32, norm, remat, sgd_step


def gpt(dtype: Any, policy: str, layers: int = 4, d: int = 768, heads: int = 12, batch: int = 8, length: int = 512, vocab: int = 24576) -> Any:
    """Untied embeddings, learned positions."""
    params = {"embed": S((vocab, d), dtype), "pos": S((length, d), dtype), "blocks": [block_params(d, dtype) for _ in range(layers)], "g": S((d,)), "head": S((d, vocab), dtype)}

    def loss(params: Any, tokens: Any, labels: Any) -> Any:
        x = params["embed"][tokens] + params["pos"]
        for p in params["blocks"]:
            x = block(x, p, heads=heads, causal=True)
        return cross_entropy(norm(x, params["g"]) @ params["head"], labels)
    return adam_step(remat(loss, policy), params, S((batch, length), jnp.int32), S((batch, length), jnp.int32), moments=dtype)


def rotary(dtype: Any, policy: str, layers: int = 5, d: int = 1024, heads: int = 16, hidden: int = 2816, batch: int = 2, length: int = 1024, vocab: int = 8192) -> Any:
    """RMS norms, rotary positions, a gated hidden layer, scores in f32; the next token of each but the last."""
    one = {"n1": S((d,), dtype), "n2": S((d,), dtype), "qkv": S((d, 3 * d), dtype), "o": S((d, d), dtype), "gate": S((d, hidden), dtype), "up": S((d, hidden), dtype), "down": S((hidden, d), dtype)}
    params = {"embed": S((vocab, d), dtype), "blocks": [one] * layers, "n": S((d,), dtype), "head": S((d, vocab), dtype)}

    def rms(x: Any, g: Any) -> Any:
        h = x.astype(f32)
        return (h * lax.rsqrt(jnp.square(h).mean(-1, keepdims=True) + 1e-5)).astype(x.dtype) * g

    def turned(x: Any) -> Any:
        half = x.shape[-1] // 2
        angle = jnp.arange(x.shape[1])[:, None] * 10000.0 ** (-jnp.arange(half) / half)
        cos, sin = jnp.cos(angle)[:, None].astype(x.dtype), jnp.sin(angle)[:, None].astype(x.dtype)
        a, b = jnp.split(x, 2, -1)
        return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1)

    def layer(x: Any, p: Any) -> Any:
        b, t, _ = x.shape
        q, k, v = (a.reshape(b, t, heads, d // heads) for a in jnp.split(rms(x, p["n1"]) @ p["qkv"], 3, -1))
        s = jnp.einsum("bqhd,bkhd->bhqk", turned(q), turned(k), preferred_element_type=f32) * (d // heads) ** -0.5
        s = jnp.where(jnp.tril(jnp.ones((t, t), bool)), s, -1e30)
        a = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(s, -1).astype(x.dtype), v).reshape(b, t, d)
        x = x + checkpoint_name(a @ p["o"], "attn")
        h = rms(x, p["n2"])
        return x + checkpoint_name((jax.nn.silu(h @ p["gate"]) * (h @ p["up"])) @ p["down"], "mlp")

    def loss(params: Any, tokens: Any) -> Any:
        x = params["embed"][tokens]
        for p in params["blocks"]:
            x = layer(x, p)
        return cross_entropy((rms(x, params["n"]) @ params["head"])[:, :-1], tokens[:, 1:])
    return adam_step(remat(loss, policy), params, S((batch, length), jnp.int32), moments=dtype)


def vit(dtype: Any, policy: str, layers: int = 5, d: int = 640, heads: int = 10, batch: int = 48) -> Any:
    params = {"patch": S((768, d), dtype), "cls": S((1, 1, d), dtype), "pos": S((197, d), dtype), "blocks": [block_params(d, dtype) for _ in range(layers)], "g": S((d,)), "head": S((d, 1000), dtype)}

    def loss(params: Any, images: Any, labels: Any) -> Any:
        b = images.shape[0]
        x = images.reshape(b, 14, 16, 14, 16, 3).transpose(0, 1, 3, 2, 4, 5).reshape(b, 196, 768) @ params["patch"]
        x = jnp.concatenate([jnp.broadcast_to(params["cls"], (b, 1, d)), x], 1) + params["pos"]
        for p in params["blocks"]:
            x = block(x, p, heads=heads, causal=False)
        return cross_entropy(norm(x[:, 0], params["g"]) @ params["head"], labels)
    return adam_step(remat(loss, policy), params, S((batch, 224, 224, 3), dtype), S((batch,), jnp.int32))


def mixer(dtype: Any, policy: str, layers: int = 6, d: int = 512, places: int = 256, batch: int = 64) -> Any:
    """Two perceptrons a block: across places, across features."""
    one = {"g1": S((d,)), "g2": S((d,)), "a": S((places, 2 * places), dtype), "b": S((2 * places, places), dtype), "c": S((d, 4 * d), dtype), "e": S((4 * d, d), dtype)}
    params = {"stem": S((192, d), dtype), "blocks": [one] * layers, "head": S((d, 1000), dtype)}

    def layer(x: Any, p: Any) -> Any:
        h = jnp.swapaxes(norm(x, p["g1"]), 1, 2)
        x = x + checkpoint_name(jnp.swapaxes(jax.nn.gelu(h @ p["a"]) @ p["b"], 1, 2), "attn")
        return x + checkpoint_name(jax.nn.gelu(norm(x, p["g2"]) @ p["c"]) @ p["e"], "mlp")

    def loss(params: Any, patches: Any, labels: Any) -> Any:
        x = patches @ params["stem"]
        for p in params["blocks"]:
            x = layer(x, p)
        return cross_entropy(x.mean(1) @ params["head"], labels)
    return sgd_step(remat(loss, policy), params, S((batch, places, 192), dtype), S((batch,), jnp.int32))


WHOLE = [
    ("wholegpt", gpt, {"bf16": "nothing dots names", "f32": "nothing dots names"}, {}),
    ("wholerotary", rotary, {"bf16": "nothing dots names", "f32": "nothing dots names"}, {}),
    ("wholevit", vit, {"bf16": "nothing dots names", "f32": "nothing dots names"}, {}),
    ("wholemixer", mixer, {"bf16": "nothing dots names", "f32": "nothing dots names"}, {}),
]
