"""Programs over four forced host devices for runs on processes: `mpi_programs.py FOLDER` writes NAME.jaxscope. A process of its own, as the number of devices is
fixed when JAX starts."""
import os
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import numpy as np  # noqa: E402
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P  # noqa: E402

import jaxscope  # noqa: E402

GRID = Mesh(np.array(jax.devices()).reshape(2, 2), ("x", "y"))
LINE = Mesh(np.array(jax.devices()), ("line",))
RNG = np.random.default_rng(5)
A = jnp.asarray(RNG.standard_normal((8, 6)), jnp.float32)
W = jnp.asarray(RNG.standard_normal((6, 6)), jnp.float32)


def moves(a):
    """Every collective, over one axis and over both, of several dtypes."""
    def body(a):
        half, whole = a.astype(jnp.bfloat16), jnp.round(a * 10).astype(jnp.int32)
        return (lax.psum(half, "x"), lax.psum(half, ("x", "y")), lax.pmax(whole, ("x", "y")), lax.all_gather(a > 0, "y"), lax.psum_scatter(jnp.tile(a, (2, 1)), "y", tiled=True),
                lax.ppermute(a, "x", [(0, 1)]), lax.all_to_all(jnp.tile(whole, (2, 1)), "x", 0, 1, tiled=True), lax.axis_index(("x", "y")) + whole)
    return jax.shard_map(body, mesh=GRID, in_specs=P(("x", "y")), out_specs=(P("y"), P(), P(), P("x"), P("x"), P(("x", "y")), P(("x", "y")), P(("x", "y"))), check_vma=False)(a)


def loss(w, a):
    h = jnp.tanh(lax.with_sharding_constraint(a, NamedSharding(GRID, P("x"))) @ lax.with_sharding_constraint(w, NamedSharding(GRID, P(None, "y"))))
    return jnp.mean(jnp.square(h @ w.T - a)) + jnp.sort(h.sum(0))[2]


def step(w, a):
    value, g = jax.value_and_grad(loss)(w, a)
    return w - 0.1 * g, value


def loops(a):
    """Devices agree on a while loop and on a branch by what they were sent."""
    def body(a):
        a = lax.while_loop(lambda c: lax.psum(jnp.abs(c).sum(), "line") > 1.0, lambda c: c * 0.7 + lax.pmean(c, "line") * 0.1, a)
        a = lax.cond(lax.pmax(a.sum(), "line") > 0, lambda v: v + lax.psum(v, "line"), lambda v: v, a)
        return lax.scan(lambda c, r: (c + lax.psum(r, "line"), lax.pmin(c, "line")), a[0], a)
    return jax.shard_map(body, mesh=LINE, in_specs=P("line"), out_specs=(P("line"), P("line")), check_vma=False)(a)


def apart(a):
    """Who meets along one axis agrees there; rows of processes go their own ways. Axes in another order than the mesh's."""
    def body(a):
        a = lax.while_loop(lambda c: lax.psum(jnp.abs(c).sum(), "y") > 1.0, lambda c: c * 0.7 + lax.pmean(c, "y") * 0.1, a + lax.axis_index("x"))
        a = lax.cond(lax.axis_index("x") > 0, lambda v: v + lax.psum(v, "y"), lambda v: v, a)
        return lax.ppermute(a, ("y", "x"), [(0, 1), (1, 2), (2, 3), (3, 0)])
    return jax.shard_map(body, mesh=GRID, in_specs=P(("x", "y")), out_specs=P(("x", "y")), check_vma=False)(a)


def spin(a):
    """Works for minutes."""
    def body(a):
        return lax.fori_loop(0, 100_000_000, lambda i, c: lax.psum(c, "line") * 0.25, a)
    return jax.shard_map(body, mesh=LINE, in_specs=P("line"), out_specs=P("line"), check_vma=False)(a)


def uneven(a):
    return lax.with_sharding_constraint(a[:7] * 2.0, NamedSharding(LINE, P("line"))) + 1.0, a.sum(0)


def alone(a):
    return a * 2.0


if __name__ == "__main__":
    for f, args in ((moves, (A,)), (step, (W, A)), (loops, (A,)), (apart, (A,)), (spin, (A,)), (uneven, (A,)), (alone, (A,))):
        jaxscope.capture(f)(*args).save(os.path.join(sys.argv[1], f.__name__ + ".jaxscope"))
