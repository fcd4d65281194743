"""A two-layer perceptron over eight devices: data-parallel by four, tensor-parallel by two. The mesh has no devices, so that any machine captures it."""
import jax
import jax.numpy as jnp
from jax.sharding import AbstractMesh, NamedSharding, PartitionSpec as P

NAME = "mlp_sharded"
MESH = AbstractMesh((4, 2), ("data", "model"))


def predict(params, x):
    hidden = jnp.tanh(x @ params["w1"] + params["b1"])
    hidden = jax.lax.with_sharding_constraint(hidden, NamedSharding(MESH, P("data", "model")))
    return hidden @ params["w2"] + params["b2"]


def loss_fn(params, x, y):
    return jnp.mean(jnp.square(predict(params, x) - y))


def train_step(params, x, y):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), loss


def program():
    def array(shape, *spec):
        return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=NamedSharding(MESH, P(*spec)))
    params = {"w1": array((256, 1024), None, "model"), "b1": array((1024,), "model"), "w2": array((1024, 128), "model", None), "b2": array((128,))}
    return {"fn": train_step, "args": (params, array((512, 256), "data"), array((512, 128), "data")), "donate_argnums": (0,)}
