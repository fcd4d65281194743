# SPDX-License-Identifier: Apache-2.0
"""Programs whose pictures tools/pictures.sh takes beside those of the samples: train steps as others write them, with Flax and Optax.

jaxscope capture tools/pictured_programs.py:conv_vae -o conv_vae.jaxscope
"""
import functools

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax


def program(model, loss, optimizer, *batch):
    """A step that consumes its parameters and the optimizer's state, with the shapes of what it is called with."""
    loss = functools.partial(loss, model)
    params = jax.eval_shape(model.init, jax.random.key(0), *batch)

    def train_step(params, state, *batch):
        value, grads = jax.value_and_grad(loss)(params, *batch)
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), state, value

    return {"fn": train_step, "args": (params, jax.eval_shape(optimizer.init, params), *batch), "donate_argnums": (0, 1)}


# ---- a convolutional variational autoencoder


class ConvVae(nn.Module):
    features: int = 32
    latent: int = 64

    @nn.compact
    def __call__(self, images):
        x = images
        for scale in (1, 2, 4):
            x = nn.gelu(nn.GroupNorm(num_groups=8)(nn.Conv(self.features * scale, (3, 3), strides=2)(x)))
        shape = x.shape
        mean, log_var = jnp.split(nn.Dense(2 * self.latent)(x.reshape(shape[0], -1)), 2, axis=-1)
        z = mean + jnp.exp(0.5 * log_var) * jax.random.normal(jax.random.key(7), mean.shape)
        x = nn.gelu(nn.Dense(shape[1] * shape[2] * shape[3])(z)).reshape(shape)
        for scale in (2, 1, 1):
            x = nn.gelu(nn.ConvTranspose(self.features * scale, (3, 3), strides=(2, 2))(x))
        return nn.Conv(3, (3, 3))(x), mean, log_var


def vae_loss(model, params, images):
    logits, mean, log_var = model.apply(params, images)
    reconstruction = optax.sigmoid_binary_cross_entropy(logits, images).sum((1, 2, 3))
    divergence = -0.5 * (1 + log_var - mean**2 - jnp.exp(log_var)).sum(-1)
    return (reconstruction + divergence).mean()


def conv_vae():
    return program(ConvVae(), vae_loss, optax.adam(1e-3), jax.ShapeDtypeStruct((64, 64, 64, 3), jnp.float32))


# ---- GPT-2 of Flax


class GptBlock(nn.Module):
    heads: int

    @nn.compact
    def __call__(self, x):
        mask = nn.make_causal_mask(x[..., 0])
        x = x + nn.MultiHeadDotProductAttention(self.heads, name="attn")(nn.LayerNorm(name="ln_1")(x), mask=mask)
        h = nn.Dense(4 * x.shape[-1], name="c_fc")(nn.LayerNorm(name="ln_2")(x))
        return x + nn.Dense(x.shape[-1], name="c_proj")(nn.gelu(h))


class Gpt2(nn.Module):
    vocabulary: int = 8192
    width: int = 256
    layers: int = 6
    heads: int = 8

    @nn.compact
    def __call__(self, tokens):
        embed = nn.Embed(self.vocabulary, self.width, name="wte")
        x = embed(tokens) + nn.Embed(tokens.shape[1], self.width, name="wpe")(jnp.arange(tokens.shape[1]))
        for layer in range(self.layers):
            x = GptBlock(self.heads, name=f"h_{layer}")(x)
        return embed.attend(nn.LayerNorm(name="ln_f")(x))


def next_token_loss(model, params, tokens):
    logits = model.apply(params, tokens)[:, :-1]
    return optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:]).mean()


def gpt2():
    return program(Gpt2(), next_token_loss, optax.adamw(3e-4), jax.ShapeDtypeStruct((4, 256), jnp.int32))


# ---- an ordinary differential equation with a learned right side


class Field(nn.Module):
    @nn.compact
    def __call__(self, y):
        return nn.Dense(y.shape[-1])(nn.tanh(nn.Dense(256)(nn.tanh(nn.Dense(256)(y)))))


def trajectory(field, params, y0, steps=64, dt=0.05):
    def rk4(y, _):
        f = lambda v: field.apply(params, v)
        k1 = f(y)
        k2 = f(y + dt / 2 * k1)
        k3 = f(y + dt / 2 * k2)
        k4 = f(y + dt * k3)
        y = y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return y, y

    return jax.lax.scan(rk4, y0, None, length=steps)[1]


def ode_loss(field, params, y0):
    path = trajectory(field, params, y0)
    return ((path[-1] - y0) ** 2).mean() + 1e-3 * (path**2).mean()


def ode():
    return program(Field(), ode_loss, optax.sgd(1e-2, momentum=0.9), jax.ShapeDtypeStruct((128, 16), jnp.float32))


# ---- a vision transformer in bfloat16 whose blocks are one scan, each a checkpoint


class VitBlock(nn.Module):
    width: int

    @nn.compact
    def __call__(self, x, _):
        layer = functools.partial(nn.LayerNorm, dtype=jnp.bfloat16)
        x = x + nn.MultiHeadDotProductAttention(6, dtype=jnp.bfloat16, name="attn")(layer(name="ln1")(x))
        h = nn.Dense(4 * self.width, dtype=jnp.bfloat16, name="up")(layer(name="ln2")(x))
        return x + nn.Dense(self.width, dtype=jnp.bfloat16, name="down")(nn.gelu(h)), None


class Vit(nn.Module):
    width: int = 192
    layers: int = 12
    classes: int = 100

    @nn.compact
    def __call__(self, images):
        x = nn.Conv(self.width, (16, 16), strides=16, dtype=jnp.bfloat16, name="patches")(images)
        x = x.reshape(x.shape[0], -1, self.width)
        x = x + self.param("positions", nn.initializers.normal(0.02), (1, x.shape[1], self.width)).astype(x.dtype)
        block = nn.remat(VitBlock, policy=jax.checkpoint_policies.dots_with_no_batch_dims_saveable, prevent_cse=False)
        blocks = nn.scan(block, variable_axes={"params": 0}, split_rngs={"params": True}, length=self.layers)
        x, _ = blocks(self.width, name="blocks")(x, None)
        return nn.Dense(self.classes, name="head")(x.mean(1).astype(jnp.float32))


def label_loss(model, params, images):
    return optax.softmax_cross_entropy_with_integer_labels(model.apply(params, images), jnp.zeros(images.shape[0], jnp.int32)).mean()


def scanned_vit():
    return program(Vit(), label_loss, optax.adamw(1e-3), jax.ShapeDtypeStruct((16, 224, 224, 3), jnp.float32))
