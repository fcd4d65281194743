"""Networks and their gradients, under policies; tests/trace/programs/models.cpp has them in C++."""
from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
from jax import lax, nn
from jax.ad_checkpoint import checkpoint_name

policies = jax.checkpoint_policies


# ---- attention_heads
class Weights(NamedTuple):
    q: jax.Array
    k: jax.Array
    v: jax.Array
    out: jax.Array


def attend(w, x):
    q, k, v = jnp.einsum("td,dhk->thk", x, w.q), jnp.einsum("td,dhk->thk", x, w.k), jnp.einsum("td,dhk->thk", x, w.v)
    scores = jnp.einsum("thk,shk->hts", q, k) / 2.
    causal = jnp.tril(jnp.ones((6, 6), bool))
    weights = nn.softmax(jnp.where(causal, scores, -1e9))
    return jnp.einsum("thk,hkd->td", checkpoint_name(jnp.einsum("hts,shk->thk", weights, v), "mixed"), w.out)


def attention_loss(w, xs):
    saved = jax.checkpoint(attend, policy=policies.save_only_these_names("mixed"))
    return jnp.mean(jnp.square(jax.vmap(saved, in_axes=(None, 0))(w, xs)))


def attention_heads(run):
    k = jr.split(jr.key(5), 5)
    dense = lambda key, shape: jr.normal(key, shape) * 0.3
    w = Weights(dense(k[0], (8, 2, 4)), dense(k[1], (8, 2, 4)), dense(k[2], (8, 2, 4)), dense(k[3], (2, 4, 8)))
    run(jax.value_and_grad(attention_loss), (), w, jr.normal(k[4], (3, 6, 8)))
# ----


# ---- lstm
class Cell(NamedTuple):
    w: jax.Array
    u: jax.Array
    b: jax.Array


class Carry(NamedTuple):
    h: jax.Array
    c: jax.Array


def cell(p, s, x):
    gates = jnp.split(jnp.matmul(x, p.w) + jnp.matmul(s.h, p.u) + p.b, 4, -1)
    c = nn.sigmoid(gates[1]) * s.c + nn.sigmoid(gates[0]) * jnp.tanh(gates[2])
    return Carry(nn.sigmoid(gates[3]) * jnp.tanh(c), c)


def lstm_loss(p, xs, target):
    def step(s, x):
        following = cell(p, s, x)
        return following, following.h
    last, hs = lax.scan(step, Carry(jnp.zeros((4, 8)), jnp.zeros((4, 8))), xs)
    return jnp.mean(jnp.square(hs[-1] - target)) + 0.01 * jnp.mean(jnp.abs(last.c))


def lstm(run):
    k = jr.split(jr.key(6), 4)
    p = Cell(jr.normal(k[0], (3, 32)) * 0.3, jr.normal(k[1], (8, 32)) * 0.3, jnp.zeros(32))
    run(jax.value_and_grad(lstm_loss), (), p, jr.normal(k[2], (7, 4, 3)), jr.normal(k[3], (4, 8)))
# ----


# ---- scanned_layers
class Layer(NamedTuple):
    scale: jax.Array
    up: jax.Array
    down: jax.Array


def layer(x, p):
    mean, var = jnp.mean(x, axis=-1, keepdims=True), jnp.var(x, axis=-1, keepdims=True)
    h = (x - mean) * lax.rsqrt(var + 1e-5) * p.scale
    return x + jnp.matmul(nn.gelu(jnp.matmul(h, p.up)), p.down)


def layers_loss(layers, x):
    step = jax.checkpoint(lambda h, p: (layer(h, p), None), policy=policies.dots_with_no_batch_dims_saveable, prevent_cse=False)
    y, _ = lax.scan(step, x, layers)
    return jnp.mean(jnp.square(y))


def scanned_layers(run):
    k = jr.split(jr.key(7), 3)
    layers = Layer(jnp.ones((3, 8)), jr.normal(k[0], (3, 8, 16)) * 0.3, jr.normal(k[1], (3, 16, 8)) * 0.3)
    run(jax.grad(layers_loss), (), layers, jr.normal(k[2], (5, 8)))
# ----


# ---- residual_network
class Block(NamedTuple):
    first: jax.Array
    second: jax.Array


def conv(x, w):
    return lax.conv_general_dilated(x, w, (1, 1), "SAME")


def block(x, p):
    h = checkpoint_name(nn.relu(conv(x, p.first)), "h")
    return nn.relu(x + conv(h, p.second))


def images_loss(blocks, x, labels):
    for p in blocks:
        x = jax.checkpoint(block, policy=policies.save_only_these_names("h"))(x, p)
    scores = nn.log_softmax(jnp.mean(x, axis=(2, 3)))
    return -jnp.mean(jnp.take_along_axis(scores, labels[:, None], 1))


def residual_network(run):
    k = jr.split(jr.key(8), 5)
    kernel = lambda i: jr.normal(k[i], (4, 4, 3, 3)) * 0.2
    blocks = [Block(kernel(0), kernel(1)), Block(kernel(2), kernel(3))]
    run(jax.value_and_grad(images_loss), (), blocks, jr.normal(k[4], (2, 4, 6, 6)), jnp.array([1, 3]))
# ----
