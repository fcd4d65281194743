"""Programs as people write them who know JAX: generative models, reinforcement learning, filtering, decoding; tests/trace/programs/further.cpp
has them in C++."""
from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
from jax import lax, nn


# ---- diffusion_step
def denoise(p, x, t):
    frequencies = jnp.exp(-jnp.log(100.) * jnp.arange(4) / 4.)
    angles = t[:, None] * frequencies[None]
    time = jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], -1)
    h = nn.silu(jnp.matmul(jnp.concatenate([x, time], -1), p["w1"]) + p["b1"])
    return jnp.matmul(h, p["w2"]) + p["b2"]


def diffusion_loss(p, x, key):
    keys = jr.split(key)
    betas = jnp.linspace(1e-4, 0.02, 20)
    kept = jnp.cumprod(1. - betas)
    t = jr.randint(keys[0], (16,), 0, 20)
    noise = jr.normal(keys[1], (16, 2))
    a = kept[t][:, None]
    noisy = jnp.sqrt(a) * x + jnp.sqrt(1. - a) * noise
    return jnp.mean(jnp.square(denoise(p, noisy, t) - noise))


def diffusion_train_step(p, x, key):
    value, grads = jax.value_and_grad(diffusion_loss)(p, x, key)
    return jax.tree.map(lambda a, g: a - 0.1 * g, p, grads), value


def diffusion_step(run):
    k = jr.split(jr.key(21), 3)
    p = {"w1": jr.normal(k[0], (10, 12)) * 0.3, "b1": jnp.zeros(12), "w2": jr.normal(k[1], (12, 2)) * 0.3, "b2": jnp.zeros(2)}
    run(diffusion_train_step, (0,), p, jr.normal(k[2], (16, 2)), jr.key(4))
# ----


# ---- ppo_loss
class Policy(NamedTuple):
    body: jax.Array
    actor: jax.Array
    critic: jax.Array


class Batch(NamedTuple):
    seen: jax.Array
    actions: jax.Array
    old_logp: jax.Array
    advantages: jax.Array
    returns: jax.Array


def policy_loss(p, b):
    h = jnp.tanh(jnp.matmul(b.seen, p.body))
    logits = jnp.matmul(h, p.actor)
    values = jnp.squeeze(jnp.matmul(h, p.critic), -1)
    logp = nn.log_softmax(logits)
    chosen = logp[jnp.arange(8), b.actions]
    advantage = (b.advantages - b.advantages.mean()) / (jnp.std(b.advantages) + 1e-8)
    ratio = jnp.exp(chosen - b.old_logp)
    clipped = jnp.clip(ratio, 0.8, 1.2)
    gain = jnp.minimum(ratio * advantage, clipped * advantage)
    entropy = -jnp.sum(jnp.exp(logp) * logp, -1)
    return -jnp.mean(gain) + 0.5 * jnp.mean(jnp.square(values - b.returns)) - 0.01 * jnp.mean(entropy)


def ppo_loss(run):
    k = jr.split(jr.key(22), 6)
    p = Policy(jr.normal(k[0], (4, 8)), jr.normal(k[1], (8, 3)), jr.normal(k[2], (8, 1)))
    b = Batch(jr.normal(k[3], (8, 4)), jr.randint(k[4], (8,), 0, 3), jnp.full((8,), -1.1), jr.normal(k[5], (8,)), jnp.ones(8))
    run(jax.value_and_grad(policy_loss), (), p, b)
# ----


# ---- kalman_filter
class Model(NamedTuple):
    dynamics: jax.Array
    emission: jax.Array
    process: jax.Array
    noise: jax.Array


class Belief(NamedTuple):
    mean: jax.Array
    cov: jax.Array


def log_likelihood(m, ys):
    def step(b, y):
        mean = m.dynamics @ b.mean
        cov = m.dynamics @ b.cov @ m.dynamics.T + m.process
        r = y - m.emission @ mean
        s = m.emission @ cov @ m.emission.T + m.noise
        gain = jnp.linalg.solve(s, m.emission @ cov).T
        fit = -0.5 * (jnp.dot(r, jnp.linalg.solve(s, r)) + jnp.log(s[0, 0] * s[1, 1]) + jnp.log(2. * jnp.pi))
        return Belief(mean + gain @ r, cov - gain @ m.emission @ cov), fit

    return lax.scan(step, Belief(jnp.zeros(2), jnp.eye(2)), ys)[1].sum()


def kalman_filter(run):
    m = Model(jnp.array([[1., 0.1], [0., 0.9]]), jnp.array([[1., 0.], [0.5, 1.]]), 0.1 * jnp.eye(2), 0.2 * jnp.eye(2))
    run(jax.value_and_grad(log_likelihood), (), m, jr.normal(jr.key(23), (12, 2)))
# ----


# ---- variational_autoencoder
class Dense(NamedTuple):
    w: jax.Array
    b: jax.Array

    def __call__(self, x):
        return jnp.matmul(x, self.w) + self.b


class Vae(NamedTuple):
    encoder: Dense
    mean: Dense
    log_var: Dense
    decoder: Dense


def vae_loss(m, x, key):
    def one(row, k):
        h = nn.relu(m.encoder(row))
        mean, log_var = m.mean(h), m.log_var(h)
        logits = m.decoder(mean + jnp.exp(0.5 * log_var) * jr.normal(k, mean.shape))
        yes, no = nn.log_sigmoid(logits), nn.log_sigmoid(-logits)
        fit = -jnp.sum(row * yes + (1. - row) * no)
        return fit + 0.5 * jnp.sum(jnp.exp(log_var) + jnp.square(mean) - 1. - log_var)

    return jnp.mean(jax.vmap(one)(x, jr.split(key, 6)))


def vae_step(m, x, key):
    grads = jax.grad(vae_loss)(m, x, key)
    return jax.tree.map(lambda a, g: a - 0.01 * g, m, grads)


def variational_autoencoder(run):
    k = jr.split(jr.key(24), 5)
    dense = lambda key, n, m: Dense(jr.normal(key, (n, m)) * 0.2, jnp.zeros(m))
    m = Vae(dense(k[0], 10, 8), dense(k[1], 8, 3), dense(k[2], 8, 3), dense(k[3], 3, 10))
    run(vae_step, (0,), m, jr.uniform(k[4], (6, 10)), jr.key(5))
# ----


# ---- pendulum
def field(y, length):
    return jnp.stack([y[1], -9.81 / length * jnp.sin(y[0]) - 0.1 * y[1]])


def runge_kutta(y, length, h):
    k1 = field(y, length)
    k2 = field(y + 0.5 * h * k1, length)
    k3 = field(y + 0.5 * h * k2, length)
    k4 = field(y + h * k3, length)
    return y + h / 6. * (k1 + 2. * k2 + 2. * k3 + k4)


def misfit(length, start, measured):
    def step(y, seen):
        next = lax.fori_loop(0, 5, lambda _, z: runge_kutta(z, length, 0.01), y)
        return next, jnp.square(next[0] - seen)

    return jnp.mean(lax.scan(step, start, measured)[1])


def pendulum(run):
    measured = 0.5 * jnp.cos(jnp.linspace(0., 1., 10))
    run(jax.value_and_grad(misfit), (), jnp.asarray(1.), jnp.array([0.5, 0.]), measured)
# ----


# ---- viterbi
def decode(start, moves, emits, seen):
    def forward(score, y):
        all = score[:, None] + moves
        best = jnp.max(all, 0) + emits[:, y]
        return best, jnp.argmax(all, 0)

    def back(state, row):
        return row[state], row[state]

    first_score = start + emits[:, seen[0]]
    score, source = lax.scan(forward, first_score, seen[1:])
    last = jnp.argmax(score)
    first, path = lax.scan(back, last, source, reverse=True)
    return jnp.concatenate([path, last[None]]), jnp.max(score)


def viterbi(run):
    k = jr.split(jr.key(25), 4)
    seen = jr.randint(k[3], (9,), 0, 5)
    table = lambda key, shape: nn.log_softmax(jr.normal(key, shape))
    run(decode, (), table(k[0], (3,)), table(k[1], (3, 3)), table(k[2], (3, 5)), seen)
# ----
