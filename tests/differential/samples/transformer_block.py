import collections
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax.ad_checkpoint import checkpoint_name

BATCH, LENGTH, HEADS, WIDTH = 4, 64, 4, 128
Block = collections.namedtuple("Block", "qkv out up down scale1 scale2")


def rms_norm(x, scale):
    return x * jax.lax.rsqrt(jnp.mean(jnp.square(x), axis=-1, keepdims=True) + 1e-6) * scale


def heads(x):
    return jnp.transpose(jnp.reshape(x, (BATCH, LENGTH, HEADS, WIDTH // HEADS)), (0, 2, 1, 3))


def attention(p, x):
    qkv = jnp.split(jnp.matmul(x, p.qkv), 3, -1)
    scores = jnp.matmul(heads(qkv[0]), jnp.swapaxes(heads(qkv[1]), -1, -2)) / np.sqrt(WIDTH // HEADS).item()
    weights = jax.nn.softmax(jnp.where(jnp.tril(jnp.ones((LENGTH, LENGTH), bool)), scores, -1e9))
    mixed = jnp.transpose(jnp.matmul(weights, heads(qkv[2])), (0, 2, 1, 3))
    return checkpoint_name(jnp.matmul(jnp.reshape(mixed, (BATCH, LENGTH, WIDTH)), p.out), "attention")


def block(p, x):
    x = x + attention(p, rms_norm(x, p.scale1))
    h = checkpoint_name(jnp.matmul(rms_norm(x, p.scale2), p.up), "hidden")
    return x + jnp.matmul(jax.nn.gelu(h), p.down)


def program():
    policy = jax.checkpoint_policies.save_only_these_names("attention", "hidden")
    checkpointed = jax.checkpoint(block, policy=policy)
    loss = lambda p, x: jnp.mean(jnp.square(checkpointed(p, x)))
    shape = functools.partial(jax.ShapeDtypeStruct, dtype="float32")
    p = Block(qkv=shape((WIDTH, 3 * WIDTH)), out=shape((WIDTH, WIDTH)), up=shape((WIDTH, 4 * WIDTH)), down=shape((4 * WIDTH, WIDTH)),
             scale1=shape((WIDTH,)), scale2=shape((WIDTH,)))
    return dict(fn=jax.value_and_grad(loss), args=(p, shape((BATCH, LENGTH, WIDTH))))
