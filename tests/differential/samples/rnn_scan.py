import functools
import sys
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jax.ad_checkpoint import print_saved_residuals

import jaxscope


class Cell(NamedTuple):
    w_in: Any
    w_state: Any
    bias: Any


def step(p, h, x):
    gates = jnp.matmul(x, p.w_in) + jnp.matmul(h, p.w_state) + p.bias
    update, candidate = jax.nn.sigmoid(gates[:, 0:64]), jnp.tanh(gates[:, 64:128])
    return (1 - update) * h + update * candidate


def loss(p, xs, target):
    body = jax.checkpoint(lambda h, x: (step(p, h, x), h))
    last, states = jax.lax.scan(body, jnp.zeros((16, 64)), xs)
    return jnp.mean(jnp.square(last - target)) + 1e-3 * jnp.mean(jnp.square(states))


def main():
    k = jax.random.split(jax.random.key(0), 4)
    p = Cell(jax.random.normal(k[0], (32, 128)) / 32. ** 0.5, jax.random.normal(k[1], (64, 128)) / 8., jnp.zeros((128,)))
    xs, target = jax.random.normal(k[2], (100, 16, 32)), jax.random.normal(k[3], (16, 64))
    gradient = jax.jit(jax.value_and_grad(loss))
    for i in range(20):
        value, grads = gradient(p, xs, target)
        p = jax.tree.map(lambda w, g: w - 0.5 * g, p, grads)
        if i % 5 == 0:
            print(i, value)
    print_saved_residuals(loss, p, xs, target)
    jaxscope.capture(jax.value_and_grad(loss))(p, xs, target).save(sys.argv[1] if len(sys.argv) > 1 else "rnn_scan.jaxscope")


# ---- what the test asks for
def program():
    shape = functools.partial(jax.ShapeDtypeStruct, dtype="float32")
    p = Cell(w_in=shape((32, 128)), w_state=shape((64, 128)), bias=shape((128,)))
    return dict(fn=jax.value_and_grad(loss), args=(p, shape((100, 16, 32)), shape((16, 64))))


if __name__ == "__main__":
    main()
