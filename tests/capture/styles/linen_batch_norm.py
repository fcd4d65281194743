"""Flax linen with batch norm, TrainState subclass, mutable batch_stats."""
CALL = "train_step"

from typing import Any
import jax, jax.numpy as jnp, optax
import flax.linen as nn
from flax.training import train_state


class Block(nn.Module):
    ch: int
    @nn.compact
    def __call__(self, x, train):
        y = nn.Conv(self.ch, (3, 3), use_bias=False)(x)
        y = nn.relu(nn.BatchNorm(use_running_average=not train, momentum=.9)(y))
        return y + nn.Conv(self.ch, (1, 1))(x)


class Net(nn.Module):
    @nn.compact
    def __call__(self, x, train=True):
        x = Block(8)(x, train)
        x = nn.max_pool(x, (2, 2), (2, 2))
        x = nn.remat(Block, static_argnums=(2,))(8)(x, train)
        x = nn.Dropout(.2, deterministic=not train)(x.mean((1, 2)))
        return nn.Dense(5)(x)


class State(train_state.TrainState):
    batch_stats: Any
net = Net()


@jax.jit
def train_step(state, images, labels, rng):
    def loss_fn(params):
        logits, mut = state.apply_fn({"params": params, "batch_stats": state.batch_stats}, images, train=True, mutable=["batch_stats"], rngs={"dropout": rng})
        return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean(), mut
    (loss, mut), grads = jax.value_and_grad(loss_fn, has_aux=True)(state.params)
    return state.apply_gradients(grads=grads, batch_stats=mut["batch_stats"]), loss


def data():
    x = jax.random.normal(jax.random.key(1), (2, 8, 8, 3))
    v = net.init({"params": jax.random.key(0), "dropout": jax.random.key(2)}, x)
    return State.create(apply_fn=net.apply, params=v["params"], batch_stats=v["batch_stats"], tx=optax.sgd(.1, momentum=.9)), x, jnp.array([1, 3]), jax.random.key(3)


def program():
    return dict(fn=train_step, args=data(), donate_argnums=0)


def loss_program():
    s, x, y, k = data()
    def loss_fn(params):
        logits, mut = s.apply_fn({"params": params, "batch_stats": s.batch_stats}, x, train=True, mutable=["batch_stats"], rngs={"dropout": k})
        return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean(), mut
    return loss_fn, (s.params,), dict(has_aux=True)


if __name__ == "__main__":
    s, *b = data()
    for _ in range(2): s, l = train_step(s, *b)
