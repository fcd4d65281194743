"""Networks of the foresight corpus that aren't transformers."""
from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.ad_checkpoint import checkpoint_name

from programs import S, adam_step, batch_norm, conv, cross_entropy, f32, norm, remat, sgd_step


def bottleneck(dtype: Any, policy: str, batch: int = 64, width: int = 64, blocks: int = 2) -> Any:
    """A ResNet's first stage: 1x1, 3x3, 1x1, at 56x56."""
    params = {"stem": S((7, 7, 3, width), dtype), "head": S((4 * width, 1000), dtype), "blocks": [
        {"a": S((1, 1, 4 * width if k else width, width), dtype), "b": S((3, 3, width, width), dtype), "c": S((1, 1, width, 4 * width), dtype), "n": S((2, width)), "m": S((2, 4 * width)),
         **({} if k else {"p": S((1, 1, width, 4 * width), dtype)})} for k in range(blocks)]}

    def residual(x: Any, p: Any) -> Any:
        h = jax.nn.relu(batch_norm(conv(x, p["a"]), *p["n"]))
        h = jax.nn.relu(batch_norm(conv(h, p["b"]), *p["n"]))
        return jax.nn.relu(checkpoint_name(batch_norm(conv(h, p["c"]), *p["m"]), "kept") + (conv(x, p["p"]) if "p" in p else x))

    def loss(params: Any, images: Any, labels: Any) -> Any:
        x = lax.reduce_window(jax.nn.relu(conv(images, params["stem"], 2)), -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
        for p in params["blocks"]:
            x = remat(residual, policy)(x, p)
        return cross_entropy(x.mean((1, 2)) @ params["head"], labels)
    return sgd_step(loss, params, S((batch, 224, 224, 3), dtype), S((batch,), jnp.int32))


def convnext(dtype: Any, policy: str, batch: int = 64, d: int = 192, blocks: int = 2) -> Any:
    """Depthwise 7x7, then a hidden layer of four times the width."""
    params = {"in": S((4, 4, 3, d), dtype), "head": S((d, 1000), dtype), "blocks": [
        {"dw": S((7, 7, 1, d), dtype), "g": S((d,)), "up": S((d, 4 * d), dtype), "down": S((4 * d, d), dtype)}] * blocks}

    def one(x: Any, p: Any) -> Any:
        h = lax.conv_general_dilated(x, p["dw"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=d)
        return x + checkpoint_name(jax.nn.gelu(norm(h, p["g"]) @ p["up"]) @ p["down"], "mlp")

    def loss(params: Any, images: Any, labels: Any) -> Any:
        x = lax.conv_general_dilated(images, params["in"], (4, 4), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        for p in params["blocks"]:
            x = remat(one, policy)(x, p)
        return cross_entropy(x.mean((1, 2)) @ params["head"], labels)
    return adam_step(loss, params, S((batch, 128, 128, 3), dtype), S((batch,), jnp.int32))


def unet_small(dtype: Any, policy: str, batch: int = 32, width: int = 64, size: int = 64) -> Any:
    """A diffusion model's noise predictor: two levels, a time embedding, group norms, a skip."""
    params = {"in": S((3, 3, 3, width), dtype), "a": S((3, 3, width, width), dtype), "down": S((3, 3, width, 2 * width), dtype), "b": S((3, 3, 2 * width, 2 * width), dtype),
              "up": S((3, 3, 3 * width, width), dtype), "out": S((3, 3, width, 3), dtype), "t": S((128, width), dtype), "t2": S((128, 2 * width), dtype)}

    def group_norm(x: Any) -> Any:
        b, h, w, c = x.shape
        y = x.astype(f32).reshape(b, h * w, 8, c // 8)
        y = (y - y.mean((1, 3), keepdims=True)) * lax.rsqrt(y.var((1, 3), keepdims=True) + 1e-5)
        return y.reshape(x.shape).astype(x.dtype)

    def level(x: Any, w: Any, t: Any) -> Any:
        return conv(jax.nn.silu(group_norm(x)), w) + t[:, None, None]

    def loss(params: Any, images: Any, noise: Any, times: Any) -> Any:
        t = jnp.sin(times[:, None] * jnp.exp(-jnp.arange(128) / 16.0)).astype(dtype)
        alpha = jnp.cos(times)[:, None, None, None].astype(dtype)
        x = conv(alpha * images + (1 - alpha) * noise, params["in"])
        kept = x = remat(level, policy)(x, params["a"], t @ params["t"])
        x = conv(x, params["down"], 2)
        x = remat(level, policy)(x, params["b"], t @ params["t2"])
        x = jnp.concatenate([jax.image.resize(x, (batch, size, size, 2 * width), "nearest"), kept], -1)
        x = remat(level, policy)(x, params["up"], t @ params["t"])
        return jnp.square((conv(jax.nn.silu(x), params["out"]) - noise).astype(f32)).mean()
    image = S((batch, size, size, 3), dtype)
    return adam_step(loss, params, image, image, S((batch,)))


def gru(dtype: Any, policy: str, batch: int = 256, length: int = 100, d: int = 512) -> Any:
    params = {"in": S((64, d), dtype), "w": S((2 * d, 2 * d), dtype), "c": S((2 * d, d), dtype), "out": S((d, 64), dtype)}

    def cell(h: Any, x: Any, p: Any) -> Any:
        z, r = jnp.split(jax.nn.sigmoid(jnp.concatenate([x, h], -1) @ p["w"]), 2, -1)
        return (1 - z) * h + z * jnp.tanh(jnp.concatenate([x, r * h], -1) @ p["c"])

    def loss(params: Any, xs: Any) -> Any:
        one = remat(functools.partial(cell, p=params), policy)

        def step(h: Any, x: Any) -> Any:
            h = one(h, x)
            return h, h
        _, hs = lax.scan(step, jnp.zeros((batch, d), dtype), xs[:-1] @ params["in"])
        return jnp.square((hs @ params["out"] - xs[1:]).astype(f32)).mean()
    return adam_step(loss, params, S((length, batch, 64), dtype))


def recurrence(dtype: Any, policy: str, batch: int = 16, length: int = 1024, d: int = 512, layers: int = 2) -> Any:
    """Gated linear recurrences by associative_scan, as state space models have them."""
    params = [{"w": S((d, 2 * d), dtype), "o": S((d, d), dtype), "g": S((d,))}] * layers

    def one(x: Any, p: Any) -> Any:
        gate, value = jnp.split(norm(x, p["g"]) @ p["w"], 2, -1)
        a = jax.nn.sigmoid(gate.astype(f32))
        _, h = lax.associative_scan(lambda l, r: (l[0] * r[0], r[0] * l[1] + r[1]), (a, (1 - a) * value.astype(f32)), axis=1)
        return x + h.astype(x.dtype) @ p["o"]

    def loss(params: Any, x: Any, y: Any) -> Any:
        for p in params:
            x = remat(one, policy)(x, p)
        return jnp.square((x - y).astype(f32)).mean()
    return sgd_step(loss, params, S((batch, length, d), dtype), S((batch, length, d), dtype))


def experts(dtype: Any, policy: str, tokens: int = 4096, d: int = 768, count: int = 8) -> Any:
    """A switch layer: each token to one expert, sorted into places by scatter and taken back by gather."""
    params = {"router": S((d, count)), "up": S((count, d, 4 * d), dtype), "down": S((count, 4 * d, d), dtype), "g": S((d,))}

    def layer(x: Any, p: Any) -> Any:
        h = norm(x, p["g"])
        gates = jax.nn.softmax(h.astype(f32) @ p["router"], -1)
        chosen = gates.argmax(-1)
        capacity = tokens // count * 5 // 4
        place = (jnp.cumsum(jax.nn.one_hot(chosen, count, dtype=jnp.int32), 0) - 1)[jnp.arange(tokens), chosen]
        inside = jnp.zeros((count, capacity, d), dtype).at[chosen, place].set(h, mode="drop")
        hidden = checkpoint_name(jax.nn.gelu(jnp.einsum("ecd,edf->ecf", inside, p["up"])), "mlp")
        out = jnp.einsum("ecf,efd->ecd", hidden, p["down"])
        back = out.at[chosen, place].get(mode="fill", fill_value=0)
        return x + back * gates.max(-1, keepdims=True).astype(dtype)

    def loss(params: Any, x: Any, y: Any) -> Any:
        x = remat(layer, policy)(x, params)
        return jnp.square((x - y).astype(f32)).mean()
    return adam_step(loss, params, S((tokens, d), dtype), S((tokens, d), dtype))


def gan_small(dtype: Any, policy: str, batch: int = 128) -> Any:
    gen = {"fc": S((64, 8 * 8 * 128), dtype), "a": S((3, 3, 128, 64), dtype), "b": S((3, 3, 64, 3), dtype)}
    dis = {"a": S((4, 4, 3, 64), dtype), "b": S((4, 4, 64, 128), dtype), "fc": S((8 * 8 * 128, 1), dtype)}

    def make(p: Any, z: Any) -> Any:
        x = jax.nn.relu(z @ p["fc"]).reshape(batch, 8, 8, 128)
        x = jax.nn.relu(lax.conv_transpose(x, p["a"], (2, 2), "SAME"))
        return jnp.tanh(lax.conv_transpose(x, p["b"], (2, 2), "SAME"))

    def judge(p: Any, x: Any) -> Any:
        x = jax.nn.leaky_relu(conv(x, p["a"], 2))
        return jax.nn.leaky_relu(conv(x, p["b"], 2)).reshape(batch, -1) @ p["fc"]

    def step(gen: Any, dis: Any, real: Any, z: Any) -> Any:
        g_dis = jax.grad(lambda d: (jax.nn.softplus(-remat(judge, policy)(d, real)) + jax.nn.softplus(remat(judge, policy)(d, make(gen, z)))).mean())(dis)
        g_gen = jax.grad(lambda g: jax.nn.softplus(-judge(dis, remat(make, policy)(g, z))).mean())(gen)
        down = lambda p, g: p - (1e-3 * g).astype(p.dtype)
        return jax.tree_util.tree_map(down, gen, g_gen), jax.tree_util.tree_map(down, dis, g_dis)
    return {"fn": step, "args": (gen, dis, S((batch, 32, 32, 3), dtype), S((batch, 64), dtype)), "donate_argnums": (0, 1)}


def clip(dtype: Any, policy: str, batch: int = 2048, d: int = 768) -> Any:
    """Two towers of one hidden layer and all their pairs."""
    tower = {"up": S((d, 4 * d), dtype), "down": S((4 * d, d), dtype), "out": S((d, 256), dtype), "g": S((d,))}

    def encode(p: Any, x: Any) -> Any:
        h = x + checkpoint_name(jax.nn.gelu(norm(x, p["g"]) @ p["up"]), "mlp") @ p["down"]
        z = h @ p["out"]
        return z / jnp.linalg.norm(z.astype(f32), axis=-1, keepdims=True).astype(dtype)

    def loss(params: Any, images: Any, texts: Any) -> Any:
        one = remat(encode, policy)
        logits = jnp.exp(params["t"]) * (one(params["a"], images) @ one(params["b"], texts).T).astype(f32)
        at = jnp.arange(batch)
        return -(jax.nn.log_softmax(logits)[at, at] + jax.nn.log_softmax(logits.T)[at, at]).mean()
    return adam_step(loss, {"a": tower, "b": tower, "t": S(())}, S((batch, d), dtype), S((batch, d), dtype))


def vae(dtype: Any, policy: str, batch: int = 4096, size: int = 1024, hidden: int = 2048) -> Any:
    params = {"a": S((size, hidden), dtype), "b": S((hidden, 128), dtype), "c": S((64, hidden), dtype), "d": S((hidden, size), dtype)}

    def loss(params: Any, x: Any, key: Any) -> Any:
        mean, log = jnp.split(remat(lambda x: jax.nn.softplus(x @ params["a"]) @ params["b"], policy)(x).astype(f32), 2, -1)
        z = mean + jnp.exp(log / 2) * jax.random.normal(jax.random.wrap_key_data(key), mean.shape)
        y = remat(lambda z: jax.nn.softplus(z @ params["c"]) @ params["d"], policy)(z.astype(dtype)).astype(f32)
        return (jnp.maximum(y, 0) - y * x + jnp.log1p(jnp.exp(-jnp.abs(y)))).sum(-1).mean() + 0.5 * (jnp.exp(log) + mean ** 2 - 1 - log).sum(-1).mean()
    return adam_step(loss, params, S((batch, size), dtype), S((2,), jnp.uint32))


def graph(dtype: Any, policy: str, nodes: int = 40000, edges: int = 200000, d: int = 128) -> Any:
    """Messages along edges, summed at their ends."""
    params = [{"m": S((2 * d, d), dtype), "u": S((2 * d, d), dtype)}] * 2

    def layer(x: Any, p: Any, ends: Any) -> Any:
        m = jax.nn.relu(jnp.concatenate([x[ends[0]], x[ends[1]]], -1) @ p["m"])
        return jax.nn.relu(jnp.concatenate([x, jax.ops.segment_sum(m, ends[1], nodes)], -1) @ p["u"])

    def loss(params: Any, x: Any, ends: Any, y: Any) -> Any:
        for p in params:
            x = remat(layer, policy)(x, p, ends)
        return jnp.square((x - y).astype(f32)).mean()
    return sgd_step(loss, params, S((nodes, d), dtype), S((2, edges), jnp.int32), S((nodes, d), dtype))


def mixer(dtype: Any, policy: str, batch: int = 64, tokens: int = 196, d: int = 512, layers: int = 2) -> Any:
    params = [{"t1": S((tokens, 256), dtype), "t2": S((256, tokens), dtype), "c1": S((d, 4 * d), dtype), "c2": S((4 * d, d), dtype), "g": S((2, d))}] * layers

    def one(x: Any, p: Any) -> Any:
        h = jax.nn.gelu(norm(x, p["g"][0]).swapaxes(1, 2) @ p["t1"]) @ p["t2"]
        x = x + checkpoint_name(h.swapaxes(1, 2), "attn")
        return x + checkpoint_name(jax.nn.gelu(norm(x, p["g"][1]) @ p["c1"]), "mlp") @ p["c2"]

    def loss(params: Any, x: Any, y: Any) -> Any:
        for p in params:
            x = remat(one, policy)(x, p)
        return jnp.square((x - y).astype(f32)).mean()
    return adam_step(loss, params, S((batch, tokens, d), dtype), S((batch, tokens, d), dtype))


def steps_of_gradient(dtype: Any, policy: str, steps: int = 4, batch: int = 2048, d: int = 1024, layers: int = 3) -> Any:
    """Gradients of several parts of a batch summed in a loop, then one step of Adam."""
    params = [{"w": S((d, d), dtype), "b": S((d,), dtype)}] * layers

    def loss(params: Any, xs: Any, ys: Any) -> Any:
        def part(total: Any, xy: Any) -> Any:
            x, y = xy
            for p in params:
                x = jax.nn.silu(x @ p["w"] + p["b"])
            return total + jnp.square((x - y).astype(f32)).mean(), None
        return lax.scan(remat(part, policy), jnp.zeros(()), (xs, ys))[0] / steps
    return adam_step(loss, params, S((steps, batch, d), dtype), S((steps, batch, d), dtype))
