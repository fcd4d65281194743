"""Attention in windows, between convolutions, and from few latents over a long input. They came when the model stood; one of them was read since (held_out.py)."""
from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.ad_checkpoint import checkpoint_name

from programs import S, adam_step, f32, remat


def norm(x: Any, g: Any) -> Any:
    """In the type of x, as people write it by hand."""
    centred = x - x.mean(-1, keepdims=True)
    return (centred * lax.rsqrt((centred ** 2).mean(-1, keepdims=True) + 1e-5) * g).astype(x.dtype)


def attended(q: Any, k: Any, v: Any, heads: int) -> Any:
    b, n, d = q.shape
    q, k, v = (a.reshape(b, a.shape[1], heads, d // heads) for a in (q, k, v))
    probabilities = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k) / (d // heads) ** 0.5, -1)
    return jnp.einsum("bhqk,bkhd->bqhd", probabilities, v).reshape(b, n, d)


def chosen(logits: Any, labels: Any) -> Any:
    return -jnp.take_along_axis(jax.nn.log_softmax(logits.astype(f32)), labels[..., None], -1).mean()


def step(loss: Any, params: Any, dtype: Any, *data: Any) -> dict[str, Any]:
    """Parameters in f32, computed with in `dtype`."""
    return adam_step(lambda p, *data: loss(jax.tree_util.tree_map(lambda x: x.astype(dtype), p), *data), params, *data)


def conformer(dtype: Any, policy: str, layers: int = 6, d: int = 512, heads: int = 8, batch: int = 16, length: int = 512) -> Any:
    """Half a perceptron, attention, a depthwise convolution over time."""
    one = {"g": S((d,)), "up": S((d, 4 * d)), "down": S((4 * d, d)), "qkv": S((d, 3 * d)), "o": S((d, d)), "gated": S((d, 2 * d)), "depth": S((31, 1, d)), "point": S((d, d))}

    def layer(p: Any, x: Any) -> Any:
        x = x + 0.5 * jax.nn.silu(norm(x, p["g"]) @ p["up"]) @ p["down"]
        x = x + checkpoint_name(attended(*jnp.split(norm(x, p["g"]) @ p["qkv"], 3, -1), heads), "attn") @ p["o"]
        a, b = jnp.split(x @ p["gated"], 2, -1)
        h = lax.conv_general_dilated(a * jax.nn.sigmoid(b), p["depth"], (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC"), feature_group_count=d)
        return x + jax.nn.silu(norm(h, p["g"])) @ p["point"]

    def loss(params: Any, sound: Any, labels: Any) -> Any:
        x = sound.astype(dtype) @ params["stem"]
        for p in params["layers"]:
            x = remat(layer, policy)(p, x)
        return chosen(x @ params["head"], labels)
    return step(loss, {"stem": S((80, d)), "layers": [one] * layers, "head": S((d, 1000))}, dtype, S((batch, length, 80)), S((batch, length), jnp.int32))


def swin(dtype: Any, policy: str, batch: int = 32, side: int = 56, window: int = 7) -> Any:
    """Attention in windows of 49 places, every second time shifted; three sizes of image."""
    sizes = (96, 192, 384)
    one = lambda d: {"g": S((d,)), "qkv": S((d, 3 * d)), "o": S((d, d)), "up": S((d, 4 * d)), "down": S((4 * d, d))}

    def layer(p: Any, x: Any, shift: int) -> Any:
        b, n, _, d = x.shape
        h = jnp.roll(norm(x, p["g"]), (-shift, -shift), (1, 2)) if shift else norm(x, p["g"])
        h = h.reshape(b, n // window, window, n // window, window, d).transpose(0, 1, 3, 2, 4, 5).reshape(-1, window * window, d)
        h = attended(*jnp.split(h @ p["qkv"], 3, -1), d // 32) @ p["o"]
        h = h.reshape(b, n // window, n // window, window, window, d).transpose(0, 1, 3, 2, 4, 5).reshape(b, n, n, d)
        x = x + (jnp.roll(h, (shift, shift), (1, 2)) if shift else h)
        return x + jax.nn.gelu(norm(x, p["g"]) @ p["up"]) @ p["down"]

    def loss(params: Any, patches: Any, labels: Any) -> Any:
        x = patches.astype(dtype) @ params["stem"]
        for size, of_size in enumerate(params["layers"]):
            for k, p in enumerate(of_size):
                x = remat(lambda p, x, shift=3 * k: layer(p, x, shift), policy)(p, x)
            if size < 2:
                b, n, _, d = x.shape
                x = x.reshape(b, n // 2, 2, n // 2, 2, d).transpose(0, 1, 3, 2, 4, 5).reshape(b, n // 2, n // 2, 4 * d) @ params["merge"][size]
        return chosen(x.mean((1, 2)) @ params["head"], labels)
    params = {"stem": S((48, 96)), "layers": [[one(d)] * 2 for d in sizes], "merge": [S((4 * d, 2 * d)) for d in sizes[:2]], "head": S((384, 1000))}
    return step(loss, params, dtype, S((batch, side, side, 48)), S((batch,), jnp.int32))


def perceiver(dtype: Any, policy: str, layers: int = 4, d: int = 512, latents: int = 256, batch: int = 8, length: int = 8192) -> Any:
    """Latents that read a long input, then each other."""
    one = {"g": S((d,)), "up": S((d, 4 * d)), "down": S((4 * d, d)), **{n: S((d, d)) for n in ("q", "k", "v", "o", "own q", "own k", "own v", "own o")}}

    def layer(p: Any, x: Any, read: Any) -> Any:
        x = x + attended(norm(x, p["g"]) @ p["q"], read @ p["k"], read @ p["v"], 8) @ p["o"]
        h = norm(x, p["g"])
        x = x + attended(h @ p["own q"], h @ p["own k"], h @ p["own v"], 8) @ p["own o"]
        return x + jax.nn.gelu(norm(x, p["g"]) @ p["up"]) @ p["down"]

    def loss(params: Any, read: Any, labels: Any) -> Any:
        read = read.astype(dtype) @ params["stem"]
        x = jnp.broadcast_to(params["latents"], (batch, latents, d))
        for p in params["layers"]:
            x = remat(layer, policy)(p, x, read)
        return chosen(x.mean(1) @ params["head"], labels)
    params = {"stem": S((64, d)), "latents": S((latents, d)), "layers": [one] * layers, "head": S((d, 100))}
    return step(loss, params, dtype, S((batch, length, 64)), S((batch,), jnp.int32))


WINDOWS = [
    ("conformer", conformer, {"bf16": "plain nothing", "f32": "names"}, {}),
    ("swin", swin, {"bf16": "plain", "f32": "nothing"}, {}),
    ("perceiver", perceiver, {"bf16": "plain", "f32": "plain"}, {}),
]
