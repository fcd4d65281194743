import sys
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

import jaxscope


class Linear(eqx.Module):
    weight: jax.Array
    bias: jax.Array

    def __call__(self, x):
        return jnp.matmul(x, self.weight) + self.bias


class Model(eqx.Module):
    layers: list
    activation: str
    calls: jax.Array

    def __call__(self, x):
        for layer in self.layers[:-1]:
            x = jnp.tanh(layer(x)) if self.activation == "tanh" else jax.nn.silu(layer(x))
        return self.layers[-1](x)


def loss(model, x, y):
    return jnp.mean(jnp.square(model(x) - y))


class Batch(NamedTuple):
    x: jax.Array
    y: jax.Array


def step(batch, model):
    value, grads = eqx.filter_value_and_grad(loss)(model, batch.x, batch.y)
    layers = [jax.tree.map(lambda w, g: w - 0.1 * g, layer, grad) for layer, grad in zip(model.layers, grads.layers)]
    return value, Model(layers, model.activation, model.calls + 1)


def main():
    k = jax.random.split(jax.random.key(0), 5)
    dense = lambda key, m, n: Linear(jax.random.normal(key, (m, n)) / m ** 0.5, jnp.zeros((n,)))
    model = Model([dense(k[0], 8, 64), dense(k[1], 64, 64), dense(k[2], 64, 1)], "silu", jnp.asarray(0))
    x = jax.random.normal(k[3], (128, 8))
    batch = Batch(x, jnp.sum(x, axis=-1, keepdims=True))
    train = eqx.filter_jit(step, donate="all-except-first")
    for i in range(200):
        value, model = train(batch, model)
        if i % 50 == 0:
            print(i, value)
    eqx.tree_pprint(model)
    capture = jaxscope.capture(train)(batch, model)
    print(jaxscope.analyze(capture).donation())
    capture.save(sys.argv[1] if len(sys.argv) > 1 else "filter_jit.jaxscope")


# ---- what the test asks for
def program():
    model = Model([Linear(jnp.ones((m, n)), jnp.zeros(n)) for m, n in ((8, 64), (64, 64), (64, 1))], "silu", jnp.asarray(0))
    return dict(fn=eqx.filter_jit(step, donate="all-except-first"), args=(Batch(jnp.ones((128, 8)), jnp.ones((128, 1))), model))


if __name__ == "__main__":
    main()
