"""Programs that came to the foresight corpus when the model had been changed for what was seen of the first ones: none of these has been looked at, only compared."""
from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.ad_checkpoint import checkpoint_name

from programs import S, adam_step, batch_norm, block, block_params, conv, cross_entropy, f32, norm, remat, sgd_step


def masked_words(dtype: Any, policy: str, layers: int = 3, d: int = 768, heads: int = 12, batch: int = 16, length: int = 512, vocab: int = 30522, masked: int = 77) -> Any:
    """BERT: post-norm blocks, a head over the masked positions alone, embeddings used twice."""
    params = {"embed": S((vocab, d), dtype), "pos": S((length, d), dtype), "blocks": [block_params(d, dtype) for _ in range(layers)], "w": S((d, d), dtype), "g": S((d,)), "b": S((vocab,))}

    def loss(params: Any, tokens: Any, places: Any, labels: Any) -> Any:
        x = norm(params["embed"][tokens] + params["pos"], params["g"])
        for p in params["blocks"]:
            x = remat(functools.partial(block, heads=heads, causal=False), policy)(x, p)
        picked = jnp.take_along_axis(x, places[..., None], axis=1)
        return cross_entropy(norm(jax.nn.gelu(picked @ params["w"]), params["g"]) @ params["embed"].T + params["b"].astype(dtype), labels)
    return adam_step(loss, params, S((batch, length), jnp.int32), S((batch, masked), jnp.int32), S((batch, masked), jnp.int32))


def dense_net(dtype: Any, policy: str, batch: int = 64, growth: int = 32, layers: int = 6) -> Any:
    """Every layer reads the concatenation of all before it."""
    params = {"stem": S((3, 3, 3, 64), dtype), "head": S((64 + growth * layers, 100), dtype),
              "layers": [{"n": S((2, 64 + growth * k)), "a": S((1, 1, 64 + growth * k, 4 * growth), dtype), "m": S((2, 4 * growth)), "b": S((3, 3, 4 * growth, growth), dtype)} for k in range(layers)]}

    def layer(x: Any, p: Any) -> Any:
        h = conv(jax.nn.relu(batch_norm(x, *p["n"])), p["a"])
        return checkpoint_name(conv(jax.nn.relu(batch_norm(h, *p["m"])), p["b"]), "kept")

    def loss(params: Any, images: Any, labels: Any) -> Any:
        x = conv(images, params["stem"], 2)
        for p in params["layers"]:
            x = jnp.concatenate([x, remat(layer, policy)(x, p)], axis=-1)
        return cross_entropy(x.mean((1, 2)) @ params["head"], labels)
    return sgd_step(loss, params, S((batch, 64, 64, 3), dtype), S((batch,), jnp.int32))


def mobile_net(dtype: Any, policy: str, batch: int = 64, width: int = 32, blocks: int = 3) -> Any:
    """Inverted residuals: wide in between, depthwise, squeeze and excite."""
    params = {"stem": S((3, 3, 3, width), dtype), "head": S((width, 1000), dtype), "blocks": [
        {"up": S((1, 1, width, 6 * width), dtype), "dw": S((3, 3, 1, 6 * width), dtype), "down": S((1, 1, 6 * width, width), dtype), "s": S((6 * width, width), dtype),
         "e": S((width, 6 * width), dtype), "n": S((2, 6 * width)), "m": S((2, width))}] * blocks}

    def one(x: Any, p: Any) -> Any:
        h = jax.nn.silu(batch_norm(conv(x, p["up"]), *p["n"]))
        h = lax.conv_general_dilated(h, p["dw"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=h.shape[-1])
        h = jax.nn.silu(batch_norm(h, *p["n"]))
        gate = jax.nn.sigmoid(jax.nn.silu(h.mean((1, 2)) @ p["s"]) @ p["e"])
        return x + batch_norm(conv(h * gate[:, None, None], p["down"]), *p["m"])

    def loss(params: Any, images: Any, labels: Any) -> Any:
        x = conv(images, params["stem"], 2)
        for p in params["blocks"]:
            x = remat(one, policy)(x, p)
        return cross_entropy(x.mean((1, 2)) @ params["head"], labels)
    return adam_step(loss, params, S((batch, 112, 112, 3), dtype), S((batch,), jnp.int32))


def wave_net(dtype: Any, policy: str, batch: int = 8, length: int = 8192, d: int = 128, layers: int = 8) -> Any:
    """Dilated causal convolutions in one dimension, gated, with skips."""
    params = {"in": S((256, d), dtype), "out": S((d, 256), dtype), "layers": [{"w": S((2, d, 2 * d), dtype), "r": S((d, d), dtype), "s": S((d, d), dtype)}] * layers}

    def loss(params: Any, samples: Any) -> Any:
        x, skip = params["in"][samples[:, :-1]], 0
        for k, p in enumerate(params["layers"]):
            def one(x: Any, p: Any, k: int = k) -> Any:
                h = lax.conv_general_dilated(x, p["w"], (1,), [(2 ** k, 0)], rhs_dilation=(2 ** k,), dimension_numbers=("NWC", "WIO", "NWC"))
                h = jnp.tanh(h[..., :d]) * jax.nn.sigmoid(h[..., d:])
                return x + h @ p["r"], h @ p["s"]
            x, more = remat(one, policy)(x, p)
            skip = skip + more
        return cross_entropy(jax.nn.relu(skip) @ params["out"], samples[:, 1:])
    return adam_step(loss, params, S((batch, length + 1), jnp.int32))


def selective_scan(dtype: Any, policy: str, batch: int = 8, length: int = 512, d: int = 512, n: int = 16, layers: int = 2) -> Any:
    """Mamba: a state for every channel, stepped by a scan over time."""
    params = [{"in": S((d, 2 * d), dtype), "a": S((d, n)), "bc": S((d, 2 * n), dtype), "dt": S((d, d), dtype), "out": S((d, d), dtype), "g": S((d,))}] * layers

    def one(x: Any, p: Any) -> Any:
        h, gate = jnp.split(norm(x, p["g"]) @ p["in"], 2, axis=-1)
        h = jax.nn.silu(h)
        b, c = jnp.split((h @ p["bc"]).astype(f32), 2, axis=-1)
        dt = jax.nn.softplus((h @ p["dt"]).astype(f32))

        def step(state: Any, t: Any) -> Any:
            dt, b, c, h = t
            state = state * jnp.exp(-dt[..., None] * jnp.exp(p["a"])) + dt[..., None] * b[:, None] * h[..., None]
            return state, (state * c[:, None]).sum(-1)
        _, y = lax.scan(step, jnp.zeros((batch, d, n)), jax.tree.map(lambda a: jnp.swapaxes(a, 0, 1), (dt, b, c, h.astype(f32))))
        return x + (jnp.swapaxes(y, 0, 1).astype(x.dtype) * jax.nn.silu(gate)) @ p["out"]

    def loss(params: Any, x: Any, y: Any) -> Any:
        for p in params:
            x = remat(one, policy)(x, p)
        return jnp.square((x - y).astype(f32)).mean()
    return adam_step(loss, params, S((batch, length, d), dtype), S((batch, length, d), dtype))


def recommender(dtype: Any, policy: str, batch: int = 16384, tables: int = 8, rows: int = 100_000, d: int = 64) -> Any:
    """Embeddings of categories, their products with each other, two perceptrons."""
    pairs = (tables + 1) * tables // 2
    params = {"tables": [S((rows, d), dtype)] * tables, "bottom": [S((13, 512), dtype), S((512, d), dtype)], "top": [S((d + pairs, 1024), dtype), S((1024, 512), dtype), S((512, 1), dtype)]}

    def mlp(x: Any, ws: Any) -> Any:
        for k, w in enumerate(ws):
            x = x @ w if k == len(ws) - 1 else jax.nn.relu(x @ w)
        return x

    def loss(params: Any, dense: Any, ids: Any, clicks: Any) -> Any:
        x = mlp(dense, params["bottom"])
        all_of = jnp.stack([x, *(t[ids[:, k]] for k, t in enumerate(params["tables"]))], axis=1)
        crossed = jnp.einsum("bid,bjd->bij", all_of, all_of)
        upper = crossed[:, *jnp.triu_indices(tables + 1, 1)]
        logit = mlp(jnp.concatenate([x, upper], axis=-1), params["top"])[:, 0].astype(f32)
        return (jax.nn.softplus(logit) - clicks * logit).mean()
    return sgd_step(loss, params, S((batch, 13), dtype), S((batch, tables), jnp.int32), S((batch,)))


def radiance(dtype: Any, policy: str, rays: int = 4096, samples: int = 64, width: int = 256, layers: int = 6) -> Any:
    """NeRF: sines of positions, a perceptron with a skip, colours put together along each ray."""
    params = {"in": S((63, width), dtype), "layers": [S((width, width), dtype)] * layers, "skip": S((63, width), dtype), "out": S((width, 4), dtype)}

    def loss(params: Any, origin: Any, direction: Any, depth: Any, colour: Any) -> Any:
        at = origin[:, None] + direction[:, None] * depth[..., None]
        angles = at[..., None] * 2.0 ** jnp.arange(10)
        x = jnp.concatenate([at, jnp.sin(angles).reshape(*at.shape[:-1], 30), jnp.cos(angles).reshape(*at.shape[:-1], 30)], axis=-1).astype(dtype)

        def field(x: Any) -> Any:
            h = jax.nn.relu(x @ params["in"])
            for k, w in enumerate(params["layers"]):
                h = jax.nn.relu(h @ w + (x @ params["skip"] if k == 3 else 0))
            return (h @ params["out"]).astype(f32)
        out = remat(field, policy)(x)
        dense = jax.nn.relu(out[..., 3]) * jnp.diff(depth, append=depth[:, -1:] + 1)
        clear = jnp.exp(-jnp.cumsum(dense, axis=-1) + dense)
        seen = (jax.nn.sigmoid(out[..., :3]) * (clear * (1 - jnp.exp(-dense)))[..., None]).sum(1)
        return jnp.square(seen - colour).mean()
    return adam_step(loss, params, S((rays, 3)), S((rays, 3)), S((rays, samples)), S((rays, 3)))


def graph_attention(dtype: Any, policy: str, nodes: int = 20_000, edges: int = 200_000, d: int = 128, heads: int = 4, layers: int = 2) -> Any:
    """Softmax over the edges that come in."""
    params = [{"w": S((d, d), dtype), "a": S((heads, 2 * d // heads), dtype)}] * layers

    def one(x: Any, p: Any, source: Any, target: Any) -> Any:
        h = (x @ p["w"]).reshape(nodes, heads, d // heads)
        score = jax.nn.leaky_relu((jnp.concatenate([h[source], h[target]], axis=-1) * p["a"]).sum(-1).astype(f32))
        top = jax.ops.segment_max(score, target, nodes)
        weight = jnp.exp(score - top[target])
        weight = (weight / jax.ops.segment_sum(weight, target, nodes)[target]).astype(x.dtype)
        return jax.nn.elu(jax.ops.segment_sum(h[source] * weight[..., None], target, nodes).reshape(nodes, d))

    def loss(params: Any, x: Any, source: Any, target: Any, y: Any) -> Any:
        for p in params:
            x = remat(one, policy)(x, p, source, target)
        return jnp.square((x - y).astype(f32)).mean()
    return adam_step(loss, params, S((nodes, d), dtype), S((edges,), jnp.int32), S((edges,), jnp.int32), S((nodes, d), dtype))


def gated_decoder(dtype: Any, policy: str, layers: int = 4, d: int = 512, heads: int = 8, batch: int = 8, length: int = 512, vocab: int = 32128) -> Any:
    """T5: relative positions as a bias of the scores, gated gelu, RMS norms, its own head."""
    params = {"embed": S((vocab, d), dtype), "head": S((d, vocab), dtype), "bias": S((32, heads)), "blocks": [
        {"g": S((d,)), "m": S((d,)), "q": S((d, d), dtype), "k": S((d, d), dtype), "v": S((d, d), dtype), "o": S((d, d), dtype), "w0": S((d, 1408), dtype), "w1": S((d, 1408), dtype), "w2": S((1408, d), dtype)}] * layers}

    def rms(x: Any, g: Any) -> Any:
        h = x.astype(f32)
        return (h * lax.rsqrt(jnp.square(h).mean(-1, keepdims=True) + 1e-6) * g).astype(x.dtype)

    def one(x: Any, p: Any, bias: Any) -> Any:
        h = rms(x, p["g"])
        q, k, v = ((h @ p[n]).reshape(batch, length, heads, d // heads) for n in "qkv")
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k).astype(f32) + bias
        mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores).astype(x.dtype), v).reshape(batch, length, d)
        x = x + checkpoint_name(mixed @ p["o"], "attn")
        h = rms(x, p["m"])
        return x + checkpoint_name((jax.nn.gelu(h @ p["w0"]) * (h @ p["w1"])) @ p["w2"], "mlp")

    def loss(params: Any, tokens: Any) -> Any:
        at = jnp.arange(length)
        far = jnp.clip(at[:, None] - at, 0, 31)
        bias = jnp.where(at[:, None] >= at, params["bias"][far].transpose(2, 0, 1), -1e9)
        x = params["embed"][tokens[:, :-1]]
        for p in params["blocks"]:
            x = remat(one, policy)(x, p, bias)
        return cross_entropy(rms(x, params["blocks"][0]["g"]) @ params["head"], tokens[:, 1:])
    return adam_step(loss, params, S((batch, length + 1), jnp.int32))


def actor_critic(dtype: Any, policy: str, steps: int = 64, envs: int = 1024, seen: int = 376, actions: int = 17, width: int = 1024) -> Any:
    """PPO: advantages by a scan backwards in time, ratios that are clipped."""
    net = [S((seen, width), dtype), S((width, width), dtype)]
    params = {"actor": [*net, S((width, actions), dtype)], "critic": [*net, S((width, 1), dtype)], "deviation": S((actions,))}

    def mlp(x: Any, ws: Any) -> Any:
        for w in ws[:-1]:
            x = jnp.tanh(x @ w)
        return (x @ ws[-1]).astype(f32)

    def loss(params: Any, x: Any, action: Any, before: Any, reward: Any) -> Any:
        value = remat(mlp, policy)(x, params["critic"])[..., 0]

        def back(later: Any, t: Any) -> Any:
            reward, now, after = t
            later = reward + 0.99 * after - now + 0.99 * 0.95 * later
            return later, later
        fixed = lax.stop_gradient(value)
        _, gain = lax.scan(back, jnp.zeros(envs), (reward, fixed[:-1], fixed[1:]), reverse=True)
        mean = remat(mlp, policy)(x[:-1], params["actor"])
        log = -0.5 * jnp.square((action - mean) / jnp.exp(params["deviation"])).sum(-1) - params["deviation"].sum()
        ratio = jnp.exp(log - before)
        clipped = jnp.minimum(ratio * gain, jnp.clip(ratio, 0.8, 1.2) * gain)
        return -clipped.mean() + 0.5 * jnp.square(value[:-1] - (gain + fixed[:-1])).mean()
    return adam_step(loss, params, S((steps + 1, envs, seen), dtype), S((steps, envs, actions)), S((steps, envs)), S((steps, envs)))


LATER = [
    ("bert", masked_words, {"bf16": "plain nothing", "f32": "plain"}, {}),
    ("densenet", dense_net, {"bf16": "plain nothing"}, {}),
    ("mobilenet", mobile_net, {"bf16": "plain", "f32": "plain"}, {}),
    ("wavenet", wave_net, {"bf16": "plain nothing"}, {}),
    ("mamba", selective_scan, {"bf16": "plain"}, {}),
    ("recommender", recommender, {"f32": "plain"}, {}),
    ("radiance", radiance, {"bf16": "plain nothing", "f32": "plain"}, {}),
    ("graphattention", graph_attention, {"f32": "plain"}, {}),
    ("t5", gated_decoder, {"bf16": "plain names", "f32": "nothing"}, {}),
    ("ppo", actor_critic, {"bf16": "plain", "f32": "plain"}, {}),
]
