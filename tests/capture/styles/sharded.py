"""Data and tensor parallel with NamedSharding over 4 host devices, constraints inside, shard_map'd loss."""
CALL = "step"

import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax, jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
import numpy as np
mesh = Mesh(np.array(jax.devices()).reshape(2, 2), ("data", "model"))
sh = lambda *s: NamedSharding(mesh, P(*s))


def loss_fn(p, x, y):
    h = jax.nn.gelu(x @ p["w1"])
    h = jax.lax.with_sharding_constraint(h, sh("data", "model"))
    return jnp.mean((h @ p["w2"] - y) ** 2)
def step(p, x, y):
    l, g = jax.value_and_grad(loss_fn)(p, x, y)
    return jax.tree.map(lambda a, b: a - .1 * b, p, g), l
specs = {"w1": sh(None, "model"), "w2": sh("model", None)}
train_step = jax.jit(step, in_shardings=(specs, sh("data"), sh("data")), out_shardings=(specs, sh()), donate_argnums=0)


def data():
    p = {"w1": jnp.ones((8, 16)) * .1, "w2": jnp.ones((16, 8)) * .1}
    return jax.device_put(p, specs), jax.device_put(jnp.ones((4, 8)), sh("data")), jax.device_put(jnp.zeros((4, 8)), sh("data"))


def program(): return dict(fn=train_step, args=data())


def loss_program(): return loss_fn, data(), {}


if __name__ == "__main__": train_step(*data())
