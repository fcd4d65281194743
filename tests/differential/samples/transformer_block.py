import functools
import sys
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax._src.ad_checkpoint import saved_residuals
from jax.ad_checkpoint import checkpoint_name, print_saved_residuals

import jaxscope

policies = jax.checkpoint_policies
BATCH, LENGTH, HEADS, WIDTH = 4, 64, 4, 128


class Block(NamedTuple):
    qkv: Any
    out: Any
    up: Any
    down: Any
    scale1: Any
    scale2: Any


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


def loss_under(policy):
    checkpointed = jax.checkpoint(block, policy=policy)
    return lambda p, x: jnp.mean(jnp.square(checkpointed(p, x)))


def main():
    k = jax.random.split(jax.random.key(0), 5)
    dense = lambda key, m, n: jax.random.normal(key, (m, n)) / m ** 0.5
    p = Block(dense(k[0], WIDTH, 3 * WIDTH), dense(k[1], WIDTH, WIDTH), dense(k[2], WIDTH, 4 * WIDTH), dense(k[3], 4 * WIDTH, WIDTH),
              jnp.ones((WIDTH,)), jnp.ones((WIDTH,)))
    x = jax.random.normal(k[4], (BATCH, LENGTH, WIDTH))
    for name in ("everything_saveable", "dots_saveable", "nothing_saveable"):
        policy = getattr(policies, name)
        residuals = saved_residuals(loss_under(policy), p, x)
        value, gradient = jax.value_and_grad(loss_under(policy))(p, x)
        print(f"{name}: loss {value}, {len(residuals)} residuals")
    names = policies.save_only_these_names("attention", "hidden")
    print_saved_residuals(loss_under(names), p, x)
    capture = jaxscope.capture(jax.value_and_grad(loss_under(names)))(p, x)
    capture.save(sys.argv[1] if len(sys.argv) > 1 else "transformer_block.jaxscope")


# ---- what the test asks for
def program():
    loss = loss_under(policies.save_only_these_names("attention", "hidden"))
    shape = functools.partial(jax.ShapeDtypeStruct, dtype="float32")
    p = Block(qkv=shape((WIDTH, 3 * WIDTH)), out=shape((WIDTH, WIDTH)), up=shape((WIDTH, 4 * WIDTH)), down=shape((4 * WIDTH, WIDTH)),
             scale1=shape((WIDTH,)), scale2=shape((WIDTH,)))
    return dict(fn=jax.value_and_grad(loss), args=(p, shape((BATCH, LENGTH, WIDTH))))


if __name__ == "__main__":
    main()
