import functools
import sys
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

import jaxscope


class Params(NamedTuple):
    first: Any
    second: Any
    w: Any
    b: Any


class State(NamedTuple):
    params: Any
    momentum: Any


class Batch(NamedTuple):
    images: Any
    labels: Any


def logits(p, images):
    h = jax.nn.relu(lax.conv(images, p.first, (1, 1), "SAME"))
    h = jax.nn.relu(lax.conv(h, p.second, (2, 2), "SAME"))
    return jnp.matmul(jnp.mean(h, axis=(2, 3)), p.w) + p.b


def loss_fn(p, batch):
    scores = jax.nn.log_softmax(logits(p, batch.images))
    return -jnp.mean(jnp.sum(scores * batch.labels, axis=1))


loss = jax.checkpoint(loss_fn, policy=jax.checkpoint_policies.dots_saveable)


def train_step(s, batch):
    value, grads = jax.value_and_grad(loss)(s.params, batch)
    momentum = jax.tree.map(lambda m, g: 0.9 * m + g, s.momentum, grads)
    params = jax.tree.map(lambda p, m: p - 0.05 * m, s.params, momentum)
    return State(params, momentum), value


def main():
    k = jax.random.split(jax.random.key(0), 5)
    params = Params(jax.random.normal(k[0], (8, 1, 3, 3)) * 0.3, jax.random.normal(k[1], (16, 8, 3, 3)) * 0.1,
                    jax.random.normal(k[2], (16, 10)) * 0.2, jnp.zeros(10))
    state = State(params, jax.tree.map(jnp.zeros_like, params))
    labels = jax.random.uniform(k[4], (32, 10))
    batch = Batch(jax.random.normal(k[3], (32, 1, 12, 12)), labels / jnp.sum(labels, axis=1, keepdims=True))
    step = jax.jit(train_step, donate_argnums=0)
    for i in range(100):
        state, value = step(state, batch)
        if i % 20 == 0:
            print(i, value)
    capture = jaxscope.capture(train_step, donate_argnums=0)(state, batch)
    print(jaxscope.analyze(capture).donation())
    capture.save(sys.argv[1] if len(sys.argv) > 1 else "conv_net.jaxscope")


# ---- what the test asks for
def program():
    shape = functools.partial(jax.ShapeDtypeStruct, dtype="float32")
    p = Params(shape((8, 1, 3, 3)), shape((16, 8, 3, 3)), shape((16, 10)), shape((10,)))
    return dict(fn=train_step, args=(State(p, p), Batch(shape((32, 1, 12, 12)), shape((32, 10)))), donate_argnums=(0,))


if __name__ == "__main__":
    main()
