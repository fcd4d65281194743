"""NNX with optimizer and metrics, dropout streams."""
CALL = "train_step"

import jax, jax.numpy as jnp, optax
from flax import nnx


class MLP(nnx.Module):
    def __init__(self, rngs):
        self.l1 = nnx.Linear(6, 16, rngs=rngs)
        self.bn = nnx.BatchNorm(16, rngs=rngs)
        self.drop = nnx.Dropout(.1, rngs=rngs)
        self.l2 = nnx.Linear(16, 3, rngs=rngs)
    def __call__(self, x): return self.l2(self.drop(nnx.gelu(self.bn(self.l1(x)))))
model = MLP(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
metrics = nnx.MultiMetric(loss=nnx.metrics.Average("loss"))
X, Y = jnp.ones((4, 6)) * jnp.arange(6.), jnp.array([0, 1, 2, 1])


def loss_fn(model, x, y):
    logits = model(x)
    return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean(), logits


@nnx.jit
def train_step(model, optimizer, metrics, x, y):
    (loss, logits), grads = nnx.value_and_grad(loss_fn, has_aux=True)(model, x, y)
    metrics.update(loss=loss)
    optimizer.update(model, grads)
graph, state = nnx.split((model, optimizer, metrics))


def pure_step(state, x, y):
    m, o, me = nnx.merge(graph, state)
    (loss, logits), grads = nnx.value_and_grad(loss_fn, has_aux=True)(m, x, y)
    me.update(loss=loss)
    o.update(m, grads)
    return nnx.state((m, o, me)), loss


def program(): return dict(fn=pure_step, args=(state, X, Y), donate_argnums=0)


def loss_program():
    return None


if __name__ == "__main__":
    for _ in range(2): train_step(model, optimizer, metrics, X, Y)
