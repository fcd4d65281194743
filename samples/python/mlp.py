"""A two-layer perceptron: one step of stochastic gradient descent, parameters donated. The smallest whole training step."""
import jax
import jax.numpy as jnp

NAME = "mlp"


def predict(params, x):
    hidden = jnp.tanh(x @ params["w1"] + params["b1"])
    return hidden @ params["w2"] + params["b2"]


def loss_fn(params, x, y):
    return jnp.mean(jnp.square(predict(params, x) - y))


def train_step(params, x, y):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), loss


def program():
    k = jax.random.split(jax.random.PRNGKey(0), 4)
    params = {"w1": jax.random.normal(k[0], (8, 16)) / 8 ** 0.5, "b1": jnp.zeros(16),
              "w2": jax.random.normal(k[1], (16, 4)) / 4, "b2": jnp.zeros(4)}
    x, y = jax.random.normal(k[2], (32, 8)), jax.random.normal(k[3], (32, 4))
    return {"fn": train_step, "args": (params, x, y), "donate_argnums": (0,)}
