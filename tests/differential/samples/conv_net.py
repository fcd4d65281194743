import collections
import functools

import jax
import jax.numpy as jnp
from jax import lax

Params = collections.namedtuple("Params", "first second w b")
State = collections.namedtuple("State", "params momentum")
Batch = collections.namedtuple("Batch", "images labels")


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


def program():
    shape = functools.partial(jax.ShapeDtypeStruct, dtype="float32")
    p = Params(shape((8, 1, 3, 3)), shape((16, 8, 3, 3)), shape((16, 10)), shape((10,)))
    return dict(fn=train_step, args=(State(p, p), Batch(shape((32, 1, 12, 12)), shape((32, 10)))), donate_argnums=(0,))
