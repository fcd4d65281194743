"""Second derivatives, linear algebra, rules of one's own; tests/trace/programs/inference.cpp has them in C++."""
from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
from jax import nn


# ---- newton_regression
def loss(w, x, y):
    logits = jnp.matmul(x, w)
    return jnp.mean(nn.softplus(logits) - y * logits) + 0.01 * jnp.sum(jnp.square(w))


def newton_step(w, x, y):
    g, h = jax.grad(loss)(w, x, y), jax.hessian(loss)(w, x, y)
    return w - jnp.linalg.solve(h, g), jnp.linalg.norm(g)


def newton_regression(run):
    x = jr.normal(jr.key(12), (24, 3))
    y = (x[:, 0] + x[:, 1] > 0).astype("float32")
    run(newton_step, (0,), jnp.zeros(3), x, y)
# ----


# ---- gaussian_process
def kernel(p, a, b):
    return jnp.exp(p["scale"]) * jnp.exp(-0.5 * jnp.square(a[:, None] - b[None, :]) / jnp.exp(p["length"]))


def likelihood(p, x, y):
    k = kernel(p, x, x) + 0.1 * jnp.eye(10)
    lower = jnp.linalg.cholesky(k)
    alpha = jnp.linalg.solve(k, y)
    return 0.5 * jnp.dot(y, alpha) + jnp.sum(jnp.log(jnp.diagonal(lower)))


def fit(p, x, y):
    value, grads = jax.value_and_grad(likelihood)(p, x, y)
    return jax.tree.map(lambda a, g: a - 0.1 * g, p, grads), value


def gaussian_process(run):
    x, zero = jnp.linspace(-1., 1., 10), jnp.zeros(())
    run(fit, (0,), {"length": zero, "scale": zero + 0.5}, x, jnp.sin(3. * x))
# ----


# ---- straight_through
@jax.custom_vjp
def quantise(x):
    return jnp.floor(x * 4.) / 4.


quantise.defvjp(lambda x: (jnp.floor(x * 4.) / 4., None), lambda _, g: (g,))


@jax.custom_jvp
def squash(x):
    return x / jnp.sqrt(1. + x * x)


squash.defjvps(lambda dx, y, x: dx * jnp.power(y / x, 3))


def rounded_loss(w, x):
    return jnp.mean(jnp.square(squash(jnp.matmul(quantise(x), quantise(w)))))


def straight_through(run):
    k = jr.split(jr.key(13))
    run(jax.value_and_grad(jax.checkpoint(rounded_loss), argnums=(0, 1)), (), jr.normal(k[0], (4, 3)), jr.normal(k[1], (5, 4)))
# ----


# ---- mixture
class Mixture(NamedTuple):
    logits: jax.Array
    mean: jax.Array
    spread: jax.Array


def density(m, x):
    z = (x - m.mean) / nn.softplus(m.spread)
    each = nn.log_softmax(m.logits) - 0.5 * z * z - jnp.log(nn.softplus(m.spread))
    return nn.logsumexp(each)


def mixture_step(m, xs):
    loss = lambda p: -jnp.mean(jax.vmap(density, in_axes=(None, 0))(p, xs))
    value, pullback = jax.vjp(loss, m)
    grads, = pullback(1.)
    return jax.tree.map(lambda p, g: p - 0.3 * g, m, grads), value


def mixture(run):
    xs = jnp.concatenate([jr.normal(jr.key(14), (15,)) - 2., 0.5 * jr.normal(jr.key(15), (15,)) + 1.])
    m = Mixture(jnp.zeros(2), jnp.array([-1., 1.]), jnp.ones(2))
    run(mixture_step, (0,), m, xs)
# ----
