import functools
import sys
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name, print_saved_residuals

import jaxscope


class Layer(NamedTuple):
    w: Any
    b: Any


class Params(NamedTuple):
    hidden: Any
    out: Any


class Adam(NamedTuple):
    mu: Any
    nu: Any
    count: Any


class State(NamedTuple):
    params: Any
    opt: Any


class Batch(NamedTuple):
    x: Any
    y: Any
RATE = 1e-3


def loss_fn(p, batch):
    with jax.named_scope("mlp"):
        h = jnp.tanh(jnp.matmul(batch.x, p.hidden.w) + p.hidden.b)
        h = checkpoint_name(h, "hidden")
        return jnp.mean(jnp.square(jnp.matmul(h, p.out.w) + p.out.b - batch.y))


loss = jax.checkpoint(loss_fn, policy=jax.checkpoint_policies.save_only_these_names("hidden"))


def train_step(s, batch):
    value, grads = jax.value_and_grad(loss)(s.params, batch)
    mu, nu, count = s.opt
    count = count + 1
    mu = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mu, grads)
    nu = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, nu, grads)
    c1, c2 = 1 - jnp.power(0.9, count), 1 - jnp.power(0.999, count)
    params = jax.tree.map(lambda p, m, v: p - RATE * (m / c1) / (jnp.sqrt(v / c2) + 1e-8), s.params, mu, nu)
    return State(params, Adam(mu, nu, count)), value


def main():
    k = jax.random.split(jax.random.key(0), 4)
    dense = lambda key, m, n: Layer(jax.random.normal(key, (m, n)) / m ** 0.5, jnp.zeros((n,)))
    params = Params(dense(k[0], 8, 128), dense(k[1], 128, 4))
    state = State(params, Adam(jax.tree.map(jnp.zeros_like, params), jax.tree.map(jnp.zeros_like, params), 0))
    batch = Batch(jax.random.normal(k[2], (256, 8)), jax.random.normal(k[3], (256, 4)))
    step = jax.jit(train_step, donate_argnums=0)
    for i in range(1000):
        state, value = step(state, batch)
        if i % 100 == 0:
            print(i, value)
    print(jax.make_jaxpr(loss_fn)(state.params, batch))
    print_saved_residuals(loss, state.params, batch)
    capture = jaxscope.capture(train_step, donate_argnums=0)(state, batch)
    print(jaxscope.analyze(capture).donation())
    capture.save(sys.argv[1] if len(sys.argv) > 1 else "mlp_adam.jaxscope")


# ---- what the test asks for
def program():
    shape = functools.partial(jax.ShapeDtypeStruct, dtype="float32")
    p = Params(Layer(shape((8, 128)), shape((128,))), Layer(shape((128, 4)), shape((4,))))
    state = State(p, Adam(p, p, jax.ShapeDtypeStruct((), "int32", weak_type=True)))
    return dict(fn=train_step, args=(state, Batch(shape((256, 8)), shape((256, 4)))), donate_argnums=(0,))


if __name__ == "__main__":
    main()
