import collections
import functools

import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name

Layer = collections.namedtuple("Layer", "w b")
Params = collections.namedtuple("Params", "hidden out")
Adam = collections.namedtuple("Adam", "mu nu count")
State = collections.namedtuple("State", "params opt")
Batch = collections.namedtuple("Batch", "x y")
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


def program():
    shape = functools.partial(jax.ShapeDtypeStruct, dtype="float32")
    p = Params(Layer(shape((8, 128)), shape((128,))), Layer(shape((128, 4)), shape((4,))))
    state = State(p, Adam(p, p, jax.ShapeDtypeStruct((), "int32", weak_type=True)))
    return dict(fn=train_step, args=(state, Batch(shape((256, 8)), shape((256, 4)))), donate_argnums=(0,))
