"""Reinforcement learning, search, and what is rounded; tests/trace/programs/learning.cpp has them in C++."""
import jax
import jax.numpy as jnp
import jax.random as jr
from jax import lax, nn


# ---- beam_search
def search(w, start):
    def step(state, i):
        tokens, scores = state
        logp = nn.log_softmax(w[tokens[jnp.arange(3), i]])
        best, flat = lax.top_k((scores[:, None] + logp).reshape(-1), 3)
        parent, token = jnp.floor_divide(flat, 5), flat % 5
        tokens = tokens[parent].at[:, i + 1].set(token)
        return (tokens, best), best
    tokens = jnp.zeros((3, 5), jnp.int32).at[:, 0].set(start)
    scores = jnp.array([0., -1e9, -1e9])
    return lax.scan(step, (tokens, scores), jnp.arange(4))


def beam_search(run):
    run(search, (), jr.normal(jr.key(2), (5, 5)), jnp.int32(2))
# ----


# ---- q_learning
def q_values(p, s):
    return jnp.matmul(nn.relu(jnp.matmul(s, p["w1"])), p["w2"])


def td_loss(p, target, s, a, r, s2):
    qa = jnp.take_along_axis(q_values(p, s), a[:, None], axis=1)[:, 0]
    best = jnp.argmax(q_values(p, s2), axis=1)
    value = jnp.take_along_axis(q_values(target, s2), best[:, None], axis=1)[:, 0]
    d = jnp.abs(qa - lax.stop_gradient(r + 0.99 * value))
    return jnp.mean(jnp.where(d < 1, 0.5 * jnp.square(d), d - 0.5))


def q_step(p, target, s, a, r, s2):
    grads = jax.grad(td_loss)(p, target, s, a, r, s2)
    return jax.tree.map(lambda w, g: w - 0.1 * g, p, grads)


def q_learning(run):
    k = jr.split(jr.key(3), 6)
    p = {"w1": jr.normal(k[0], (3, 6)), "w2": jr.normal(k[1], (6, 4))}
    s, s2, a = jr.normal(k[2], (5, 3)), jr.normal(k[3], (5, 3)), jr.randint(k[4], (5,), 0, 4)
    run(q_step, (0,), p, jax.tree.map(lambda w: 0.9 * w, p), s, a, jr.normal(k[5], (5,)), s2)
# ----


# ---- quantised
def ste(x, scale):
    q = jnp.clip(jnp.round(x / scale), -127, 127) * scale
    return x + lax.stop_gradient(q - x)


def quantised_loss(w, x):
    s = jnp.max(jnp.abs(w), axis=0, keepdims=True) / 127.
    wi = jnp.round(w / s).astype(jnp.int8)
    y = lax.dot_general(jnp.round(x).astype(jnp.int8), wi, (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32)
    return jnp.mean(jnp.square(jnp.matmul(x, ste(w, s)))) + jnp.mean(jnp.abs(y.astype(jnp.float32) * s))


def quantised(run):
    k = jr.split(jr.key(4))
    w, x = jr.normal(k[0], (3, 4)), 10. * jr.normal(k[1], (5, 3))
    run(jax.value_and_grad(quantised_loss), (), w, x)
# ----
