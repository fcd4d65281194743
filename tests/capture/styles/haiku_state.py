"""Haiku with state (batch norm, EMA counter)."""
CALL = "update"

import jax, jax.numpy as jnp, haiku as hk, optax, functools


def net(x, is_training):
    x = hk.Conv2D(4, 3)(x)
    x = hk.BatchNorm(True, True, .9)(x, is_training)
    x = jax.nn.relu(x)
    c = hk.get_state("count", (), init=jnp.zeros)
    hk.set_state("count", c + 1)
    return hk.Linear(3)(hk.Flatten()(x))
model = hk.transform_with_state(net)
tx = optax.rmsprop(1e-3)


def loss_fn(params, state, rng, x, y):
    logits, state = model.apply(params, state, rng, x, True)
    l2 = .5 * sum(jnp.sum(jnp.square(p)) for p in jax.tree.leaves(params))
    return -jnp.mean(jnp.sum(jax.nn.one_hot(y, 3) * jax.nn.log_softmax(logits), -1)) + 1e-4 * l2, state


@functools.partial(jax.jit, donate_argnums=(0, 1, 2))
def update(params, state, opt_state, rng, x, y):
    grads, state = jax.grad(loss_fn, has_aux=True)(params, state, rng, x, y)
    up, opt_state = tx.update(grads, opt_state)
    return optax.apply_updates(params, up), state, opt_state


def data():
    x = jnp.ones((2, 6, 6, 1)) * jnp.arange(2.)[:, None, None, None]
    p, s = model.init(jax.random.PRNGKey(0), x, True)
    return p, s, tx.init(p), jax.random.PRNGKey(1), x, jnp.array([0, 2])


def program(): return dict(fn=update, args=data())


def loss_program():
    p, s, o, r, x, y = data()
    return loss_fn, (p, s, r, x, y), dict(has_aux=True)


if __name__ == "__main__":
    p, s, o, r, x, y = data()
    for _ in range(3): p, s, o = update(p, s, o, r, x, y)
