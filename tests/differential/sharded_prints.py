"""Writes a capture of a program that prints on each of four devices: sharded_prints.py FOLDER."""
import os
import pathlib
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "app" / "capture"))

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

import jaxscope  # noqa: E402


def on_each(x):
    jax.debug.print("local {}", x)
    return jax.lax.psum(x, "a")


mesh = jax.make_mesh((4,), ("a",), axis_types=(jax.sharding.AxisType.Auto,))
fn = jax.shard_map(on_each, mesh=mesh, in_specs=P("a"), out_specs=P())
jaxscope.capture(fn, values="all")(jnp.arange(8.0)).save(str(pathlib.Path(sys.argv[1]) / "prints.jaxscope"))
