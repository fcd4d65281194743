"""Programs that fit something by its gradient; tests/trace/programs/training.cpp has them in C++."""
from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
from jax import lax, nn


# ---- linear_momentum
class Model(NamedTuple):
    w: jax.Array
    b: jax.Array


def momentum_loss(m, x, y):
    return jnp.mean(jnp.square(jnp.matmul(x, m.w) + m.b - y))


def momentum_step(model, velocity, x, y):
    value, grads = jax.value_and_grad(momentum_loss)(model, x, y)
    moved = jax.tree.map(lambda v, g: 0.9 * v - 0.05 * g, velocity, grads)
    return jax.tree.map(jnp.add, model, moved), moved, value


def linear_momentum(run):
    k = jr.split(jr.key(0), 3)
    x = jr.normal(k[0], (64, 3))
    y = jnp.matmul(x, jnp.array([1., -2., 0.5])) + 0.1 * jr.normal(k[1], (64,))
    model = Model(jr.normal(k[2], (3,)), jnp.zeros(()))
    run(momentum_step, (0, 1), model, jax.tree.map(jnp.zeros_like, model), x, y)
# ----


# ---- logistic_scan
def logistic_loss(w, x, y):
    logits = jnp.matmul(x, w)
    return jnp.mean(jnp.logaddexp(0., logits) - y * logits)


def fit(w, x, y):
    def step(w, _):
        value, grad = jax.value_and_grad(logistic_loss)(w, x, y)
        return w - 0.5 * grad, value
    return lax.scan(step, w, None, length=20)


def logistic_scan(run):
    k = jr.split(jr.key(1))
    x = jr.normal(k[0], (32, 4))
    y = (x[:, 0] > 0).astype("float32")
    run(fit, (0,), jr.normal(k[1], (4,)), x, y)
# ----


# ---- autoencoder
def encode(p, x):
    h = jnp.tanh(jnp.matmul(x, p["e"]))
    return jnp.matmul(h, p["mean"]), jnp.matmul(h, p["logvar"])


def decode(p, z):
    return nn.sigmoid(jnp.matmul(jnp.tanh(jnp.matmul(z, p["d1"])), p["d2"]))


def elbo(p, x, key):
    mean, logvar = encode(p, x)
    z = mean + jnp.exp(0.5 * logvar) * jr.normal(key, mean.shape)
    y = decode(p, z)
    likelihood = jnp.sum(x * jnp.log(y + 1e-6) + (1 - x) * jnp.log(1 - y + 1e-6), axis=1)
    divergence = 0.5 * jnp.sum(jnp.exp(logvar) + jnp.square(mean) - 1. - logvar, axis=1)
    return jnp.mean(divergence - likelihood), jnp.mean(divergence)


def autoencoder_step(p, x, key):
    value, grads = jax.value_and_grad(elbo, has_aux=True)(p, x, key)
    return jax.tree.map(lambda w, g: w - 0.1 * g, p, grads), value


def autoencoder(run):
    k = jr.split(jr.key(2), 6)
    dense = lambda key, m, n: jr.normal(key, (m, n)) / m ** 0.5
    p = {"e": dense(k[0], 12, 16), "mean": dense(k[1], 16, 2), "logvar": dense(k[2], 16, 2)}
    p["d1"] = dense(k[3], 2, 16)
    p["d2"] = dense(k[4], 16, 12)
    x = jr.uniform(k[5], (20, 12))
    run(autoencoder_step, (0,), p, x, jr.key(3))
# ----


# ---- private_sgd
class Net(NamedTuple):
    w1: jax.Array
    b1: jax.Array
    w2: jax.Array


def private_loss(p, x, y):
    h = nn.relu(jnp.matmul(x, p.w1) + p.b1)
    return jnp.square(jnp.dot(h, p.w2) - y)


def clipped(p, x, y):
    g = jax.grad(private_loss)(p, x, y)
    norm = jnp.sqrt(jnp.sum(jnp.square(g.b1)) + jnp.sum(jnp.square(g.w1)) + jnp.sum(jnp.square(g.w2)))
    return jax.tree.map(lambda a: a / jnp.maximum(1., norm / 0.5), g)


def private_step(p, x, y):
    grads = jax.vmap(clipped, in_axes=(None, 0, 0))(p, x, y)
    return jax.tree.map(lambda w, g: w - 0.2 * jnp.mean(g, axis=0), p, grads)


def private_sgd(run):
    k = jr.split(jr.key(4), 4)
    p = Net(jr.normal(k[0], (5, 8)), jnp.zeros(8), jr.normal(k[1], (8,)))
    run(private_step, (0,), p, jr.normal(k[2], (10, 5)), jr.normal(k[3], (10,)))
# ----
