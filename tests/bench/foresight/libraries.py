"""Programs of the foresight corpus as Flax, Equinox, Haiku and Optax write them. Parameters come as shapes."""
from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from programs import POLICIES, S, cross_entropy, f32


def _optax(loss: Any, params: Any, *data: Any, tx: Any = None) -> dict[str, Any]:
    import optax
    tx = tx or optax.adamw(1e-3)

    def step(params: Any, state: Any, *data: Any) -> Any:
        value, grads = jax.value_and_grad(loss)(params, *data)
        updates, state = tx.update(grads, state, params)
        return optax.apply_updates(params, updates), state, value
    return {"fn": step, "args": (params, jax.eval_shape(tx.init, params), *data), "donate_argnums": (0, 1)}


def flax_transformer(dtype: Any, policy: str, layers: int = 2, d: int = 768, heads: int = 12, batch: int = 16, length: int = 384, vocab: int = 8192) -> Any:
    import flax.linen as nn

    class Block(nn.Module):
        @nn.compact
        def __call__(self, x: Any) -> Any:
            h = nn.LayerNorm(dtype=dtype)(x)
            x = x + nn.MultiHeadDotProductAttention(heads, dtype=dtype, param_dtype=f32)(h, h, mask=nn.make_causal_mask(jnp.ones(x.shape[:2])))
            h = nn.gelu(nn.Dense(4 * d, dtype=dtype)(nn.LayerNorm(dtype=dtype)(x)))
            return x + nn.Dense(d, dtype=dtype)(h)

    class Model(nn.Module):
        @nn.compact
        def __call__(self, tokens: Any) -> Any:
            embed = nn.Embed(vocab, d, dtype=dtype)
            x = embed(tokens)
            one = Block if policy == "plain" else nn.remat(Block, policy=POLICIES[policy])
            for _ in range(layers):
                x = one()(x)
            return embed.attend(nn.LayerNorm(dtype=dtype)(x))
    model, tokens = Model(), S((batch, length), jnp.int32)
    params = jax.eval_shape(model.init, jax.random.key(0), tokens)
    return _optax(lambda p, t: cross_entropy(model.apply(p, t)[:, :-1], t[:, 1:]), params, tokens)


def flax_cnn(dtype: Any, policy: str, batch: int = 128) -> Any:
    import flax.linen as nn
    import optax

    class Stage(nn.Module):
        width: int

        @nn.compact
        def __call__(self, x: Any) -> Any:
            h = nn.relu(nn.BatchNorm(use_running_average=False, dtype=dtype)(nn.Conv(self.width, (3, 3), dtype=dtype, use_bias=False)(x)))
            return nn.max_pool(h, (2, 2), (2, 2))

    class Model(nn.Module):
        @nn.compact
        def __call__(self, x: Any) -> Any:
            one = Stage if policy == "plain" else nn.remat(Stage, policy=POLICIES[policy])
            for width in (64, 128):
                x = one(width)(x)
            return nn.Dense(100, dtype=dtype)(x.mean((1, 2)))
    model, images = Model(), S((batch, 64, 64, 3), dtype)
    variables = jax.eval_shape(model.init, jax.random.key(0), images)

    def loss(params: Any, images: Any, labels: Any) -> Any:
        logits, _ = model.apply({"params": params, "batch_stats": jax.tree.map(lambda s: jnp.zeros(s.shape), variables["batch_stats"])}, images, mutable=["batch_stats"])
        return cross_entropy(logits, labels)
    return _optax(loss, variables["params"], images, S((batch,), jnp.int32), tx=optax.sgd(0.1, momentum=0.9))


def flax_lstm(dtype: Any, policy: str, batch: int = 128, length: int = 96, d: int = 512) -> Any:
    import flax.linen as nn

    class Model(nn.Module):
        @nn.compact
        def __call__(self, x: Any) -> Any:
            cell = nn.OptimizedLSTMCell if policy == "plain" else nn.remat(nn.OptimizedLSTMCell)
            return nn.Dense(64, dtype=dtype)(nn.RNN(cell(d, dtype=dtype))(nn.Dense(d, dtype=dtype)(x)))
    model, xs = Model(), S((batch, length, 64), dtype)
    params = jax.eval_shape(model.init, jax.random.key(0), xs)
    return _optax(lambda p, x: jnp.square((model.apply(p, x)[:, :-1] - x[:, 1:]).astype(f32)).mean(), params, xs)


def _eqx_shapes(make: Any, dtype: Any) -> tuple[Any, Any]:
    """The arrays of a model as shapes, and the rest of it."""
    import equinox as eqx
    model = eqx.filter_eval_shape(make, jax.random.key(0))
    is_shape = lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct)
    arrays, static = eqx.partition(model, is_shape)
    return jax.tree.map(lambda a: S(a.shape, dtype), arrays), static


def equinox_mlp(dtype: Any, policy: str, batch: int = 8192, d: int = 1536) -> Any:
    import equinox as eqx
    params, static = _eqx_shapes(lambda key: eqx.nn.MLP(256, 256, d, 3, activation=jax.nn.gelu, key=key), dtype)

    def loss(params: Any, x: Any, y: Any) -> Any:
        model = eqx.combine(params, static)
        one = lambda x: jax.vmap(model)(x)
        one = one if policy == "plain" else jax.checkpoint(one, policy=POLICIES[policy])
        return jnp.square((one(x) - y).astype(f32)).mean()
    return _optax(loss, params, S((batch, 256), dtype), S((batch, 256), dtype))


def equinox_attention(dtype: Any, policy: str, batch: int = 32, length: int = 256, d: int = 512) -> Any:
    import equinox as eqx

    class Block(eqx.Module):
        attention: Any
        norms: Any
        hidden: Any

        def __init__(self, key: Any):
            self.attention = eqx.nn.MultiheadAttention(8, d, key=key)
            self.norms = [eqx.nn.LayerNorm(d), eqx.nn.LayerNorm(d)]
            self.hidden = eqx.nn.MLP(d, d, 4 * d, 1, activation=jax.nn.gelu, key=key)

        def __call__(self, x: Any) -> Any:
            h = jax.vmap(self.norms[0])(x)
            x = x + self.attention(h, h, h)
            return x + jax.vmap(self.hidden)(jax.vmap(self.norms[1])(x))
    params, static = _eqx_shapes(lambda key: [Block(k) for k in jax.random.split(key, 2)], dtype)

    def loss(params: Any, x: Any, y: Any) -> Any:
        def whole(x: Any) -> Any:
            for b in eqx.combine(params, static):
                x = b(x) if policy == "plain" else eqx.filter_checkpoint(b, policy=POLICIES[policy])(x)
            return x
        return jnp.square((jax.vmap(whole)(x) - y).astype(f32)).mean()
    return _optax(loss, params, S((batch, length, d), dtype), S((batch, length, d), dtype))


def haiku_resnet(dtype: Any, policy: str, batch: int = 64) -> Any:
    import haiku as hk

    def forward(x: Any) -> Any:
        def block(x: Any, width: int, stride: int) -> Any:
            h = jax.nn.relu(hk.GroupNorm(8)(hk.Conv2D(width, 3, stride, with_bias=False)(x)))
            h = hk.GroupNorm(8)(hk.Conv2D(width, 3, with_bias=False)(h))
            return jax.nn.relu(h + hk.Conv2D(width, 1, stride, with_bias=False)(x))
        for width, stride in ((64, 1), (128, 2)):
            one = lambda x, width=width, stride=stride: block(x, width, stride)
            x = one(x) if policy == "plain" else hk.remat(one)(x)
        return hk.Linear(100)(x.mean((1, 2)))
    model, images = hk.without_apply_rng(hk.transform(forward)), S((batch, 64, 64, 3), dtype)
    params = jax.eval_shape(model.init, jax.random.key(0), images)
    return _optax(lambda p, x, y: cross_entropy(model.apply(p, x), y), params, images, S((batch,), jnp.int32))


def haiku_gru(dtype: Any, policy: str, batch: int = 256, length: int = 64, d: int = 768) -> Any:
    import haiku as hk

    def forward(x: Any) -> Any:
        core = hk.GRU(d)
        hs, _ = hk.dynamic_unroll(core, x, core.initial_state(batch))
        return hk.BatchApply(hk.nets.MLP([2 * d, 64]))(hs)
    model, xs = hk.without_apply_rng(hk.transform(forward)), S((length, batch, 64), dtype)
    params = jax.eval_shape(model.init, jax.random.key(0), xs)

    def loss(p: Any, x: Any) -> Any:
        one = model.apply if policy == "plain" else jax.checkpoint(model.apply, policy=POLICIES[policy])
        return jnp.square((one(p, x)[:-1] - x[1:]).astype(f32)).mean()
    return _optax(loss, params, xs)
