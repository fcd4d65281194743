"""Programs that iterate: loops with conditions, branches, random numbers; tests/trace/programs/loops.cpp has them in C++."""
from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
from jax import lax, nn


# ---- k_means
def assign(centres, x):
    return jnp.argmin(jnp.sum(jnp.square(x[:, None] - centres), axis=-1), 1)


def fit(centres, x):
    def improve(_, c):
        member = nn.one_hot(assign(c, x), 3)
        return jnp.matmul(member.T, x) / jnp.maximum(jnp.sum(member, axis=0), 1.)[:, None]
    found = lax.fori_loop(0, 10, improve, centres)
    return found, assign(found, x)


def k_means(run):
    x = jr.normal(jr.key(9), (30, 2))
    run(fit, (0,), x[:3], x)
# ----


# ---- power_iteration
class State(NamedTuple):
    v: jax.Array
    value: jax.Array
    change: jax.Array
    steps: jax.Array


def largest(a, start):
    unfinished = lambda s: jnp.logical_and(s.change > 1e-4, s.steps < 100)

    def body(s):
        w = jnp.matmul(a, s.v)
        v = w / jnp.sqrt(jnp.sum(jnp.square(w)))
        value = jnp.dot(v, jnp.matmul(a, v))
        return State(v, value, jnp.abs(value - s.value), s.steps + 1)
    return lax.while_loop(unfinished, body, State(start, jnp.zeros(()), jnp.ones(()), 0))


def power_iteration(run):
    a = jnp.array([[4., 1., 0.], [1., 3., 1.], [0., 1., 2.]])
    run(largest, (), a, jnp.ones(3))
# ----


# ---- hamiltonian
def energy(q):
    return 0.5 * jnp.sum(jnp.square(q) / jnp.array([1., 4.])) + 0.1 * jnp.sum(jnp.power(q, 4))


def leapfrog(q, p):
    def step(s, _):
        half = s[1] - 0.05 * jax.grad(energy)(s[0])
        moved = s[0] + 0.1 * half
        return (moved, half - 0.05 * jax.grad(energy)(moved)), None
    return lax.scan(step, (q, p), None, length=5)[0]


def sample(q, key):
    def step(at, key):
        k = jr.split(key)
        p = jr.normal(k[0], (2,))
        proposed, momentum = leapfrog(at, p)
        before = energy(at) + 0.5 * jnp.sum(jnp.square(p))
        after = energy(proposed) + 0.5 * jnp.sum(jnp.square(momentum))
        accepted = jnp.log(jr.uniform(k[1])) < before - after
        following = lax.cond(accepted, lambda: proposed, lambda: at)
        return following, accepted
    return lax.scan(step, q, jr.split(key, 8))


def hamiltonian(run):
    run(sample, (0,), jnp.array([0.5, -1.]), jr.key(10))
# ----


# ---- actor_critic
def returns(rewards, last):
    step = lambda g, r: (r + 0.9 * g, r + 0.9 * g)
    return lax.scan(step, last, rewards, reverse=True)[1]


def loss(p, states, actions, rewards):
    h = jnp.tanh(jnp.matmul(states, p["hidden"]))
    values = jnp.matmul(h, p["value"])
    advantage = returns(rewards, jnp.zeros(())) - values
    chances = nn.log_softmax(jnp.matmul(h, p["policy"]))
    chosen = jnp.take_along_axis(chances, actions[:, None], 1)[:, 0]
    entropy = -jnp.mean(jnp.sum(jnp.exp(chances) * chances, axis=1))
    actor = -jnp.mean(chosen * lax.stop_gradient(advantage))
    return actor + 0.5 * jnp.mean(jnp.square(advantage)) - 0.01 * entropy, entropy


def actor_critic(run):
    k = jr.split(jr.key(11), 6)
    p = {"hidden": jr.normal(k[0], (4, 8)) * 0.5, "value": jr.normal(k[1], (8,)), "policy": jr.normal(k[2], (8, 3))}
    states, actions = jr.normal(k[3], (12, 4)), jr.randint(k[4], (12,), 0, 3)
    run(jax.grad(loss, has_aux=True), (), p, states, actions, jr.normal(k[5], (12,)))
# ----
