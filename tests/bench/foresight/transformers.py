"""Transformers of the foresight corpus, few layers and wide: their compilation takes a minute, their peaks hundreds of MiB."""
from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.ad_checkpoint import checkpoint_name

from programs import S, adam_step, attention, bf16, block, block_params, cross_entropy, f32, norm, remat, sgd_step


def llama(dtype: Any, scanned: bool, policy: str, layers: int = 2, d: int = 1024, heads: int = 8, hidden: int = 2816, batch: int = 4, length: int = 1024,
          vocab: int = 16384) -> Any:
    """RMS norms, rotary positions, two key heads, a gated hidden layer."""
    lead = (layers,) if scanned else ()
    size, groups = d // heads, 2
    one = {"n1": S((*lead, d), dtype), "n2": S((*lead, d), dtype), "q": S((*lead, d, d), dtype), "kv": S((*lead, d, 2 * groups * size), dtype), "o": S((*lead, d, d), dtype),
           "gate": S((*lead, d, hidden), dtype), "up": S((*lead, d, hidden), dtype), "down": S((*lead, hidden, d), dtype)}
    params = {"embed": S((vocab, d), dtype), "blocks": one if scanned else [one] * layers, "n": S((d,), dtype), "head": S((d, vocab), dtype)}

    def rms(g: Any, x: Any) -> Any:
        h = x.astype(f32)
        return (h * lax.rsqrt(jnp.square(h).mean(-1, keepdims=True) + 1e-5)).astype(x.dtype) * g

    def rotate(x: Any) -> Any:
        half = x.shape[-1] // 2
        angle = jnp.arange(x.shape[1])[:, None] * 10000.0 ** (-jnp.arange(half) / half)
        cos, sin = jnp.cos(angle)[:, None].astype(x.dtype), jnp.sin(angle)[:, None].astype(x.dtype)
        a, b = jnp.split(x, 2, -1)
        return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1)

    def layer(x: Any, p: Any) -> Any:
        b, t, _ = x.shape
        h = rms(p["n1"], x)
        q = rotate((h @ p["q"]).reshape(b, t, heads, size)).reshape(b, t, groups, heads // groups, size)
        k, v = jnp.split((h @ p["kv"]).reshape(b, t, 2 * groups, size), 2, 2)
        s = jnp.einsum("bqghd,bkgd->bghqk", q, rotate(k)) * size ** -0.5
        s = jnp.where(jnp.tril(jnp.ones((t, t), bool)), s.astype(f32), -1e30)
        a = jnp.einsum("bghqk,bkgd->bqghd", jax.nn.softmax(s, -1).astype(x.dtype), v).reshape(b, t, d)
        x = x + checkpoint_name(a @ p["o"], "attn")
        h = rms(p["n2"], x)
        return x + checkpoint_name(jax.nn.silu(h @ p["gate"]) * (h @ p["up"]), "mlp") @ p["down"]

    def loss(params: Any, tokens: Any) -> Any:
        x = params["embed"][tokens]
        one = remat(layer, policy)
        if scanned:
            x, _ = lax.scan(lambda x, p: (one(x, p), None), x, params["blocks"])
        else:
            for p in params["blocks"]:
                x = one(x, p)
        return cross_entropy((rms(params["n"], x) @ params["head"])[:, :-1], tokens[:, 1:])
    return adam_step(loss, params, S((batch, length), jnp.int32), moments=dtype)


def gpt_sgd(dtype: Any, policy: str, layers: int = 2, d: int = 640, heads: int = 10, batch: int = 12, length: int = 512, vocab: int = 50257) -> Any:
    """Sizes that don't fill tiles: heads of 64, an odd vocabulary; labels one hot."""
    params = {"embed": S((vocab, d), dtype), "blocks": [block_params(d, dtype)] * layers, "g": S((d,))}

    def loss(params: Any, tokens: Any) -> Any:
        x = params["embed"][tokens[:, :-1]]
        one = remat(functools.partial(block, heads=heads, causal=True), policy)
        for p in params["blocks"]:
            x = one(x, p)
        logits = (norm(x, params["g"]) @ params["embed"].T).astype(f32)
        return -(jax.nn.log_softmax(logits) * jax.nn.one_hot(tokens[:, 1:], vocab)).sum(-1).mean()
    return sgd_step(loss, params, S((batch, length + 1), jnp.int32))


def vit_scan(dtype: Any, policy: str, layers: int = 8, d: int = 768, heads: int = 12, batch: int = 48) -> Any:
    """197 tokens: one of them stands for the class."""
    params = {"patch": S((16, 16, 3, d), dtype), "cls": S((1, 1, d), dtype), "pos": S((197, d), dtype), "blocks": block_params(d, dtype, (layers,)), "head": S((d, 1000), dtype)}

    def loss(params: Any, images: Any, labels: Any) -> Any:
        x = lax.conv_general_dilated(images, params["patch"], (16, 16), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")).reshape(images.shape[0], 196, d)
        x = jnp.concatenate([jnp.broadcast_to(params["cls"], (images.shape[0], 1, d)), x], 1) + params["pos"]
        one = remat(functools.partial(block, heads=heads, causal=False), policy)
        x, _ = lax.scan(lambda x, p: (one(x, p), None), x, params["blocks"])
        return cross_entropy(x[:, 0] @ params["head"], labels)
    return adam_step(loss, params, S((batch, 224, 224, 3), dtype), S((batch,), jnp.int32))


def dit(dtype: Any, policy: str, layers: int = 2, d: int = 512, heads: int = 8, batch: int = 32, tokens: int = 256) -> Any:
    """A diffusion transformer: the time scales and shifts each block."""
    blocks = [{**block_params(d, dtype), "ada": S((d, 4 * d), dtype)}] * layers
    params = {"in": S((16, d), dtype), "time": S((256, d), dtype), "blocks": blocks, "out": S((d, 16), dtype)}

    def layer(x: Any, p: Any, t: Any) -> Any:
        s1, b1, s2, b2 = jnp.split((jax.nn.silu(t) @ p["ada"])[:, None], 4, -1)
        x = x + attention(norm(x, p["g1"]) * (1 + s1) + b1, p["qkv"], p["o"], heads, False)
        return x + checkpoint_name(jax.nn.gelu((norm(x, p["g2"]) * (1 + s2) + b2) @ p["up"]) @ p["down"], "mlp")

    def loss(params: Any, latents: Any, noise: Any, times: Any) -> Any:
        angle = times[:, None] * jnp.exp(-jnp.arange(128) / 16.0)
        t = jnp.concatenate([jnp.sin(angle), jnp.cos(angle)], -1).astype(dtype) @ params["time"]
        alpha = jnp.cos(times)[:, None, None].astype(dtype)
        x = (alpha * latents + (1 - alpha) * noise) @ params["in"]
        for p in params["blocks"]:
            x = remat(layer, policy)(x, p, t)
        return jnp.square((x @ params["out"] - noise).astype(f32)).mean()
    data = S((batch, tokens, 16), dtype)
    return adam_step(loss, params, data, data, S((batch,)))


def translator(dtype: Any, policy: str, layers: int = 3, d: int = 512, heads: int = 8, batch: int = 32, length: int = 256, vocab: int = 8000) -> Any:
    """An encoder and a decoder that looks at it, both scanned; dropout from a key."""
    stack = block_params(d, dtype, (layers,))
    params = {"embed": S((vocab, d), dtype), "enc": stack, "dec": {**stack, "cross": S((layers, d, 3 * d), dtype), "co": S((layers, d, d), dtype)}}

    def look(x: Any, y: Any, p: Any) -> Any:
        split = lambda a: a.reshape(*a.shape[:2], heads, -1)
        q, (k, v) = x @ p["cross"][:, :d], jnp.split(y @ p["cross"][:, d:], 2, -1)
        s = jnp.einsum("bqhd,bkhd->bhqk", split(q), split(k)) * (d // heads) ** -0.5
        return x + jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(s.astype(f32)).astype(x.dtype), split(v)).reshape(x.shape) @ p["co"]

    def loss(params: Any, source: Any, target: Any, key: Any) -> Any:
        keep = jax.random.bernoulli(jax.random.wrap_key_data(key), 0.9, (batch, length, d))
        y = jnp.where(keep, params["embed"][source] / 0.9, 0).astype(dtype)
        inside = remat(functools.partial(block, heads=heads, causal=False), policy)
        y, _ = lax.scan(lambda y, p: (inside(y, p), None), y, params["enc"])
        outside = remat(lambda x, y, p: look(block(x, p, heads, True), y, p), policy)
        x, _ = lax.scan(lambda x, p: (outside(x, y, p), None), params["embed"][target[:, :-1]], params["dec"])
        return cross_entropy(x @ params["embed"].T, target[:, 1:])
    return adam_step(loss, params, S((batch, length), jnp.int32), S((batch, length + 1), jnp.int32), S((2,), jnp.uint32))


def prefill(dtype: Any, policy: str, layers: int = 8, d: int = 1024, heads: int = 16, batch: int = 4, length: int = 2048, vocab: int = 32000) -> Any:
    """No gradient: a prompt read into a cache of keys and values, logits of its last token."""
    params = {"embed": S((vocab, d), dtype), "blocks": block_params(d, dtype, (layers,))}

    def step(params: Any, cache: Any, tokens: Any) -> Any:
        x = params["embed"][tokens]

        def one(x: Any, pc: Any) -> Any:
            p, (ck, cv) = pc
            q, k, v = (a.reshape(batch, length, heads, d // heads) for a in jnp.split(norm(x, p["g1"], p["b1"]) @ p["qkv"], 3, -1))
            ck, cv = lax.dynamic_update_slice(ck, k, (0, 0, 0, 0)), lax.dynamic_update_slice(cv, v, (0, 0, 0, 0))
            s = jnp.where(jnp.tril(jnp.ones((length, length), bool)), jnp.einsum("bqhd,bkhd->bhqk", q, k).astype(f32) / 8, -1e30)
            x = x + jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(s, -1).astype(dtype), v).reshape(x.shape) @ p["o"]
            return x + jax.nn.gelu(norm(x, p["g2"], p["b2"]) @ p["up"]) @ p["down"], (ck, cv)
        x, cache = lax.scan(one, x, (params["blocks"], cache))
        return cache, (x[:, -1] @ params["embed"].T).astype(f32)
    kept = S((layers, batch, length + 512, heads, d // heads), dtype)
    return {"fn": step, "args": (params, (kept, kept), S((batch, length), jnp.int32)), "donate_argnums": (1,)}
