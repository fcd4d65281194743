"""Train steps whose peaks on a TPU are compared: what XLA's compiler says against what jaxscope estimates.

`FILE.py:NAME` with a name of PROGRAMS. Nothing here allocates: arguments are shapes.
"""
from __future__ import annotations

import functools
import pathlib
import sys
from typing import Any, Callable

import jax
import jax.numpy as jnp
from jax import lax
from jax.ad_checkpoint import checkpoint_name

bf16, f32 = jnp.bfloat16, jnp.float32
POLICIES = {
    "plain": None,
    "nothing": jax.checkpoint_policies.nothing_saveable,
    "dots": jax.checkpoint_policies.dots_with_no_batch_dims_saveable,
    "names": jax.checkpoint_policies.save_only_these_names("attn", "mlp", "kept"),
}
PROGRAMS: dict[str, Callable[[], dict[str, Any]]] = {}


def S(shape: tuple[int, ...], dtype: Any = f32) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, dtype)


def remat(f: Callable, policy: str) -> Callable:
    return f if policy == "plain" else jax.checkpoint(f, policy=POLICIES[policy])


def adam_step(loss: Callable, params: Any, *data: Any, moments: Any = f32) -> dict[str, Any]:
    like = jax.tree_util.tree_map(lambda p: S(p.shape, moments), params)

    def step(state: Any, *data: Any) -> Any:
        params, m, v, t = state
        value, grads = jax.value_and_grad(loss)(params, *data)
        t = t + 1
        m = jax.tree_util.tree_map(lambda a, g: (0.9 * a + 0.1 * g).astype(a.dtype), m, grads)
        v = jax.tree_util.tree_map(lambda a, g: (0.999 * a + 0.001 * jnp.square(g.astype(a.dtype))).astype(a.dtype), v, grads)
        rate = 1e-3 * jnp.sqrt(1 - 0.999 ** t) / (1 - 0.9 ** t)
        params = jax.tree_util.tree_map(lambda p, a, b: (p - rate * a / (jnp.sqrt(b) + 1e-8)).astype(p.dtype), params, m, v)
        return (params, m, v, t), value
    return {"fn": step, "args": ((params, like, like, S(())), *data), "donate_argnums": (0,)}


def sgd_step(loss: Callable, params: Any, *data: Any) -> dict[str, Any]:
    def step(params: Any, *data: Any) -> Any:
        value, grads = jax.value_and_grad(loss)(params, *data)
        return jax.tree_util.tree_map(lambda p, g: p - (0.01 * g).astype(p.dtype), params, grads), value
    return {"fn": step, "args": (params, *data), "donate_argnums": (0,)}


def norm(x: Any, g: Any, b: Any = None) -> Any:
    h = x.astype(f32)
    h = (h - h.mean(-1, keepdims=True)) * lax.rsqrt(h.var(-1, keepdims=True) + 1e-5) * g
    return (h if b is None else h + b).astype(x.dtype)


def attention(x: Any, wqkv: Any, wo: Any, heads: int, causal: bool) -> Any:
    b, t, d = x.shape
    q, k, v = (a.reshape(b, t, heads, d // heads) for a in jnp.split(x @ wqkv, 3, axis=-1))
    s = jnp.einsum("bqhd,bkhd->bhqk", q, k) / (d // heads) ** 0.5
    if causal:
        s = jnp.where(jnp.tril(jnp.ones((t, t), bool)), s, jnp.asarray(-1e9, s.dtype))
    a = jax.nn.softmax(s.astype(f32), axis=-1).astype(x.dtype)
    return checkpoint_name(jnp.einsum("bhqk,bkhd->bqhd", a, v).reshape(b, t, d) @ wo, "attn")


def block(x: Any, p: dict[str, Any], heads: int, causal: bool) -> Any:
    x = x + attention(norm(x, p["g1"], p["b1"]), p["qkv"], p["o"], heads, causal)
    h = norm(x, p["g2"], p["b2"])
    return x + checkpoint_name(jax.nn.gelu(h @ p["up"]) @ p["down"], "mlp")


def block_params(d: int, dtype: Any, lead: tuple[int, ...] = ()) -> dict[str, Any]:
    return {"g1": S((*lead, d)), "b1": S((*lead, d)), "g2": S((*lead, d)), "b2": S((*lead, d)), "qkv": S((*lead, d, 3 * d), dtype),
            "o": S((*lead, d, d), dtype), "up": S((*lead, d, 4 * d), dtype), "down": S((*lead, 4 * d, d), dtype)}


def cross_entropy(logits: Any, labels: Any) -> Any:
    logits = logits.astype(f32)
    return (jax.nn.logsumexp(logits, axis=-1) - jnp.take_along_axis(logits, labels[..., None], axis=-1)[..., 0]).mean()


def gpt(dtype: Any, scanned: bool, policy: str, layers: int = 12, d: int = 768, heads: int = 12, batch: int = 8, length: int = 1024, vocab: int = 32000) -> Any:
    stack = block_params(d, dtype, (layers,)) if scanned else [block_params(d, dtype) for _ in range(layers)]
    params = {"embed": S((vocab, d), dtype), "pos": S((length, d), dtype), "blocks": stack, "g": S((d,))}

    def loss(params: Any, tokens: Any, labels: Any) -> Any:
        x = params["embed"][tokens] + params["pos"]
        one = remat(functools.partial(block, heads=heads, causal=True), policy)
        if scanned:
            x, _ = lax.scan(lambda x, p: (one(x, p), None), x, params["blocks"])
        else:
            for p in params["blocks"]:
                x = one(x, p)
        return cross_entropy(norm(x, params["g"]) @ params["embed"].T, labels)
    return adam_step(loss, params, S((batch, length), jnp.int32), S((batch, length), jnp.int32))


def vit(dtype: Any, policy: str, layers: int = 6, d: int = 512, heads: int = 8, batch: int = 64) -> Any:
    params = {"patch": S((16 * 16 * 3, d), dtype), "pos": S((196, d), dtype), "blocks": [block_params(d, dtype) for _ in range(layers)], "head": S((d, 1000), dtype)}

    def loss(params: Any, images: Any, labels: Any) -> Any:
        b = images.shape[0]
        x = images.reshape(b, 14, 16, 14, 16, 3).transpose(0, 1, 3, 2, 4, 5).reshape(b, 196, 768) @ params["patch"] + params["pos"]
        one = remat(functools.partial(block, heads=heads, causal=False), policy)
        for p in params["blocks"]:
            x = one(x, p)
        return cross_entropy(x.mean(1) @ params["head"], labels)
    return adam_step(loss, params, S((batch, 224, 224, 3), dtype), S((batch,), jnp.int32))


def conv(x: Any, w: Any, stride: int = 1) -> Any:
    return lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def batch_norm(x: Any, g: Any, b: Any) -> Any:
    h = x.astype(f32)
    m, v = h.mean((0, 1, 2)), h.var((0, 1, 2))
    return ((h - m) * lax.rsqrt(v + 1e-5) * g + b).astype(x.dtype)


def resnet(dtype: Any, policy: str, batch: int = 32, width: int = 64, stages: int = 4, blocks: int = 2) -> Any:
    params: dict[str, Any] = {"stem": S((7, 7, 3, width), dtype), "head": S((width * 2 ** (stages - 1), 1000), dtype), "blocks": []}
    before = width
    for s in range(stages):
        for k in range(blocks):
            now = width * 2 ** s
            params["blocks"].append({"a": S((3, 3, before, now), dtype), "b": S((3, 3, now, now), dtype), "ga": S((now,)), "ba": S((now,)), "gb": S((now,)),
                                     "bb": S((now,)), **({"p": S((1, 1, before, now), dtype)} if before != now else {})})
            before = now

    def residual(x: Any, p: Any) -> Any:
        stride = 2 if "p" in p else 1
        h = jax.nn.relu(batch_norm(conv(x, p["a"], stride), p["ga"], p["ba"]))
        h = batch_norm(conv(h, p["b"]), p["gb"], p["bb"])
        return jax.nn.relu(h + (conv(x, p["p"], stride) if "p" in p else x))

    def loss(params: Any, images: Any, labels: Any) -> Any:
        x = lax.reduce_window(conv(images, params["stem"], 2), -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
        for p in params["blocks"]:
            x = remat(residual, policy)(x, p)
        return cross_entropy(x.mean((1, 2)) @ params["head"], labels)
    return sgd_step(loss, params, S((batch, 224, 224, 3), dtype), S((batch,), jnp.int32))


def unet(dtype: Any, policy: str, batch: int = 16, width: int = 64, size: int = 128, levels: int = 3) -> Any:
    """With a time embedding: the noise predictor of a diffusion model."""
    def level(i: int, o: int) -> Any:
        return {"a": S((3, 3, i, o), dtype), "b": S((3, 3, o, o), dtype), "t": S((128, o), dtype), "g": S((o,)), "h": S((o,))}
    widths = [width * 2 ** k for k in range(levels)]
    params = {"in": S((3, 3, 3, width), dtype), "down": [level(widths[max(k - 1, 0)], widths[k]) for k in range(levels)],
              "up": [level(widths[k] + widths[min(k + 1, levels - 1)], widths[k]) for k in range(levels)], "out": S((3, 3, width, 3), dtype)}

    def one(x: Any, t: Any, p: Any) -> Any:
        h = jax.nn.silu(norm(conv(x, p["a"]), p["g"])) + (t @ p["t"])[:, None, None]
        return jax.nn.silu(norm(conv(h, p["b"]), p["h"]))

    def loss(params: Any, images: Any, noise: Any, times: Any) -> Any:
        t = jnp.sin(times[:, None] * jnp.exp(-jnp.arange(128) / 16.0)).astype(dtype)
        alpha = jnp.cos(times)[:, None, None, None].astype(dtype)
        x = conv(alpha * images + (1 - alpha) * noise, params["in"])
        kept = []
        for p in params["down"]:
            x = remat(one, policy)(x, t, p)
            kept.append(x)
            x = x.reshape(x.shape[0], x.shape[1] // 2, 2, x.shape[2] // 2, 2, x.shape[3]).mean((2, 4))
        for p, k in zip(params["up"][::-1], kept[::-1]):
            x = jnp.concatenate([jnp.repeat(jnp.repeat(x, 2, 1), 2, 2), k], -1)
            x = remat(one, policy)(x, t, p)
        return jnp.square((conv(x, params["out"]) - noise).astype(f32)).mean()
    image = S((batch, size, size, 3), dtype)
    return adam_step(loss, params, image, image, S((batch,)))


def lstm(dtype: Any, policy: str, batch: int = 128, length: int = 128, d: int = 512, layers: int = 2) -> Any:
    params = {"embed": S((10000, d), dtype), "cells": [{"w": S((2 * d, 4 * d), dtype), "b": S((4 * d,), dtype)} for _ in range(layers)]}

    def cell(carry: Any, x: Any, p: Any) -> Any:
        h, c = carry
        i, f, g, o = jnp.split(jnp.concatenate([x, h], -1) @ p["w"] + p["b"], 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    def loss(params: Any, tokens: Any) -> Any:
        x = params["embed"][tokens].swapaxes(0, 1)
        for p in params["cells"]:
            zero = jnp.zeros((batch, d), dtype)
            _, x = lax.scan(remat(functools.partial(cell, p=p), policy), (zero, zero), x)
        return cross_entropy(x[:-1] @ params["embed"].T, tokens.T[1:])
    return sgd_step(loss, params, S((batch, length), jnp.int32))


def moe(dtype: Any, policy: str, batch: int = 8, length: int = 1024, d: int = 512, experts: int = 8, layers: int = 4) -> Any:
    params = [{"router": S((d, experts)), "up": S((experts, d, 4 * d), dtype), "down": S((experts, 4 * d, d), dtype), "g": S((d,))} for _ in range(layers)]

    def layer(x: Any, p: Any) -> Any:
        h = norm(x, p["g"])
        gates = jax.nn.softmax(h.astype(f32) @ p["router"], -1)
        weight, chosen = lax.top_k(gates, 2)
        capacity = 2 * h.shape[0] // experts
        hot = jax.nn.one_hot(chosen, experts).sum(1)
        place = ((jnp.cumsum(hot, 0) - 1) * hot).astype(jnp.int32)
        dispatch = (jax.nn.one_hot(place, capacity, dtype=dtype) * hot[..., None].astype(dtype))
        inside = jnp.einsum("tec,td->ecd", dispatch, h)
        out = checkpoint_name(jnp.einsum("ecf,efd->ecd", jax.nn.gelu(jnp.einsum("ecd,edf->ecf", inside, p["up"])), p["down"]), "mlp")
        scale = (jax.nn.one_hot(chosen, experts) * weight[..., None]).sum(1).astype(dtype)
        return x + jnp.einsum("tec,te,ecd->td", dispatch, scale, out)

    def loss(params: Any, x: Any, y: Any) -> Any:
        for p in params:
            x = remat(layer, policy)(x, p)
        return jnp.square((x - y).astype(f32)).mean()
    tokens = S((batch * length // 4, d), dtype)
    return adam_step(loss, params, tokens, tokens)


def mlp(dtype: Any, policy: str, batch: int = 8192, d: int = 2048, layers: int = 8) -> Any:
    params = [{"w": S((d, d), dtype), "b": S((d,), dtype)} for _ in range(layers)]

    def layer(x: Any, p: Any) -> Any:
        return checkpoint_name(jnp.tanh(x @ p["w"] + p["b"]), "kept")

    def loss(params: Any, x: Any, y: Any) -> Any:
        for p in params:
            x = remat(layer, policy)(x, p)
        return jnp.square((x - y).astype(f32)).mean()
    return adam_step(loss, params, S((batch, d), dtype), S((batch, d), dtype))


def accumulation(dtype: Any, policy: str, steps: int = 8) -> Any:
    inner = mlp(dtype, policy, batch=2048, layers=6)
    params = inner["args"][0][0]

    def loss(params: Any, x: Any, y: Any) -> Any:
        for p in params:
            x = remat(lambda x, p: jnp.tanh(x @ p["w"] + p["b"]), policy)(x, p)
        return jnp.square((x - y).astype(f32)).mean()

    def step(params: Any, xs: Any, ys: Any) -> Any:
        def one(total: Any, xy: Any) -> Any:
            g = jax.grad(loss)(params, *xy)
            return jax.tree_util.tree_map(jnp.add, total, g), None
        zero = jax.tree_util.tree_map(jnp.zeros_like, params)
        total, _ = lax.scan(one, zero, (xs, ys))
        return jax.tree_util.tree_map(lambda p, g: p - 0.01 * g / steps, params, total)
    return {"fn": step, "args": (params, S((steps, 2048, 2048), dtype), S((steps, 2048, 2048), dtype)), "donate_argnums": (0,)}


def contrastive(dtype: Any, policy: str, batch: int = 4096, d: int = 1024) -> Any:
    tower = [S((d, 4 * d), dtype), S((4 * d, d), dtype), S((d, 512), dtype)]

    def encode(ws: Any, x: Any) -> Any:
        def body(x: Any) -> Any:
            h = jax.nn.gelu(x @ ws[0])
            return (x + h @ ws[1]) @ ws[2]
        z = remat(body, policy)(x)
        return z / jnp.linalg.norm(z.astype(f32), axis=-1, keepdims=True).astype(dtype)

    def loss(params: Any, images: Any, texts: Any) -> Any:
        logits = 20.0 * encode(params[0], images) @ encode(params[1], texts).T
        labels = jnp.arange(batch)
        return cross_entropy(logits, labels) + cross_entropy(logits.T, labels)
    return adam_step(loss, [tower, tower], S((batch, d), dtype), S((batch, d), dtype))


def gan(dtype: Any, policy: str, batch: int = 64) -> Any:
    gen = {"fc": S((128, 8 * 8 * 256), dtype), "c": [S((3, 3, 256, 128), dtype), S((3, 3, 128, 64), dtype), S((3, 3, 64, 3), dtype)]}
    dis = {"c": [S((3, 3, 3, 64), dtype), S((3, 3, 64, 128), dtype), S((3, 3, 128, 256), dtype)], "fc": S((8 * 8 * 256, 1), dtype)}

    def make(p: Any, z: Any) -> Any:
        x = (z @ p["fc"]).reshape(batch, 8, 8, 256)
        for w in p["c"]:
            x = conv(jnp.repeat(jnp.repeat(jax.nn.relu(x), 2, 1), 2, 2), w)
        return jnp.tanh(x)

    def judge(p: Any, x: Any) -> Any:
        for w in p["c"]:
            x = jax.nn.leaky_relu(conv(x, w, 2))
        return x.reshape(batch, -1) @ p["fc"]

    def step(gen: Any, dis: Any, real: Any, z: Any) -> Any:
        def loss_d(dis: Any) -> Any:
            return (jax.nn.softplus(-remat(judge, policy)(dis, real)) + jax.nn.softplus(remat(judge, policy)(dis, make(gen, z)))).mean()

        def loss_g(gen: Any) -> Any:
            return jax.nn.softplus(-judge(dis, remat(make, policy)(gen, z))).mean()
        d_d, d_g = jax.grad(loss_d)(dis), jax.grad(loss_g)(gen)
        down = lambda p, g: p - 1e-3 * g
        return jax.tree_util.tree_map(down, gen, d_g), jax.tree_util.tree_map(down, dis, d_d)
    return {"fn": step, "args": (gen, dis, S((batch, 64, 64, 3), dtype), S((batch, 128), dtype)), "donate_argnums": (0, 1)}


def _add(name: str, make: Callable, **options: Any) -> None:
    PROGRAMS[name] = functools.partial(make, **options)


for _p in POLICIES:
    _add(f"gpt_bf16_scan_{_p}", gpt, dtype=bf16, scanned=True, policy=_p)
    _add(f"gpt_f32_scan_{_p}", gpt, dtype=f32, scanned=True, policy=_p)
    _add(f"gpt_bf16_{_p}", gpt, dtype=bf16, scanned=False, policy=_p, layers=4)
    _add(f"gpt_f32_{_p}", gpt, dtype=f32, scanned=False, policy=_p, layers=4)
    _add(f"vit_bf16_{_p}", vit, dtype=bf16, policy=_p)
    _add(f"vit_f32_{_p}", vit, dtype=f32, policy=_p)
for _p in ("plain", "nothing"):
    for _t, _d in (("bf16", bf16), ("f32", f32)):
        for _n, _f in (("resnet", resnet), ("unet", unet), ("lstm", lstm), ("moe", moe), ("mlp", mlp), ("accumulation", accumulation),
                       ("contrastive", contrastive), ("gan", gan)):
            _add(f"{_n}_{_t}_{_p}", _f, dtype=_d, policy=_p)



sys.modules.setdefault("programs", sys.modules[__name__])
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import later  # noqa: E402
import libraries  # noqa: E402
import networks  # noqa: E402
import transformers  # noqa: E402
import whole  # noqa: E402
import windows  # noqa: E402

_T = {"bf16": bf16, "f32": f32}
# The corpus proper: name, maker, types with the policies that each is compiled under. It was fixed before any of these was estimated.
_CORPUS: list[tuple[str, Callable, dict[str, str], dict[str, Any]]] = [
    ("llama", transformers.llama, {"bf16": "plain nothing names dots", "f32": "plain names"}, {"scanned": False}),
    ("llamascan", transformers.llama, {"bf16": "plain nothing names dots", "f32": "plain nothing dots"}, {"scanned": True, "layers": 6}),
    ("gptodd", transformers.gpt_sgd, {"bf16": "plain nothing names", "f32": "plain dots"}, {}),
    ("vitscan", transformers.vit_scan, {"bf16": "plain nothing dots", "f32": "plain names"}, {}),
    ("dit", transformers.dit, {"bf16": "plain nothing dots", "f32": "plain"}, {}),
    ("translator", transformers.translator, {"bf16": "plain nothing", "f32": "plain"}, {}),
    ("prefill", transformers.prefill, {"bf16": "plain", "f32": "plain"}, {}),
    ("bottleneck", networks.bottleneck, {"bf16": "plain nothing names", "f32": "plain"}, {}),
    ("convnext", networks.convnext, {"bf16": "plain nothing", "f32": "plain"}, {}),
    ("unetsmall", networks.unet_small, {"bf16": "plain nothing", "f32": "plain"}, {}),
    ("gru", networks.gru, {"bf16": "plain nothing", "f32": "plain nothing"}, {}),
    ("recurrence", networks.recurrence, {"bf16": "plain", "f32": "plain nothing"}, {}),
    ("experts", networks.experts, {"bf16": "plain nothing", "f32": "plain names"}, {}),
    ("gansmall", networks.gan_small, {"bf16": "plain", "f32": "plain nothing"}, {}),
    ("clip", networks.clip, {"bf16": "plain nothing names", "f32": "plain"}, {}),
    ("vae", networks.vae, {"bf16": "plain", "f32": "plain nothing"}, {}),
    ("graph", networks.graph, {"bf16": "plain", "f32": "plain"}, {}),
    ("mixer", networks.mixer, {"bf16": "plain nothing names", "f32": "plain"}, {}),
    ("summed", networks.steps_of_gradient, {"bf16": "plain nothing", "f32": "nothing"}, {}),
    ("flaxtransformer", libraries.flax_transformer, {"bf16": "plain nothing", "f32": "plain dots"}, {}),
    ("flaxcnn", libraries.flax_cnn, {"bf16": "plain", "f32": "nothing"}, {}),
    ("flaxlstm", libraries.flax_lstm, {"bf16": "plain", "f32": "nothing"}, {}),
    ("equinoxmlp", libraries.equinox_mlp, {"bf16": "plain", "f32": "plain nothing"}, {}),
    ("equinoxattention", libraries.equinox_attention, {"bf16": "plain nothing", "f32": "plain"}, {}),
    ("haikuresnet", libraries.haiku_resnet, {"bf16": "plain nothing", "f32": "plain"}, {}),
    ("haikugru", libraries.haiku_gru, {"bf16": "plain", "f32": "plain nothing"}, {}),
]
_CORPUS += later.LATER + whole.WHOLE + windows.WINDOWS
for _n, _f, _types, _options in _CORPUS:
    for _t, _policies in _types.items():
        for _p in _policies.split():
            _add(f"{_n}_{_t}_{_p}", _f, dtype=_T[_t], policy=_p, **_options)
CORPUS = [f"{n}_{t}_{p}" for n, _, types, _ in _CORPUS for t, policies in types.items() for p in policies.split()]


def __getattr__(name: str) -> Callable[[], dict[str, Any]]:
    if name in PROGRAMS:
        return PROGRAMS[name]
    raise AttributeError(name)
