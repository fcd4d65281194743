"""Writes captures of programs that print over four devices, and what JAX printed: sharded_prints.py FOLDER."""
import contextlib
import io
import json
import os
import pathlib
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "app" / "capture"))

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
from jax.sharding import NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

import jaxscope  # noqa: E402

MESH = jax.make_mesh((2, 2), ("a", "b"), axis_types=(jax.sharding.AxisType.Auto,) * 2)


def local(x):
    jax.debug.print("local {}", x)
    y = jax.lax.psum(x, "a")
    jax.debug.print("at {} {}", jax.lax.axis_index("a"), y)

    def body(c, _):
        jax.debug.print("c {}", c)
        return c + 1.0, None
    c, _ = jax.lax.scan(body, x.sum(), None, length=2)

    def meets(c, _):
        jax.debug.print("m {}", c)
        return jax.lax.pcast(jax.lax.psum(c, "b"), "b", to="varying"), None
    c, _ = jax.lax.scan(meets, jax.lax.pcast(c, "b", to="varying"), None, length=2)
    # As many turns as each device likes: nobody waits for the others.
    jax.lax.while_loop(lambda c: c < 9, lambda c: (jax.debug.print("w {}", c), c + 2)[1], x[0])
    return x + jax.lax.psum(c, "b")


def both(x):
    jax.debug.print("before {}", x)
    y = jax.shard_map(local, mesh=MESH, in_specs=P("a"), out_specs=P("a"))(x)
    jax.debug.print("after {}", y)
    y = jax.lax.with_sharding_constraint(y * 2, NamedSharding(MESH, P("b")))
    jax.debug.print("cut {} {}", y, y.sum())
    z, _ = jax.lax.scan(lambda c, a: (jax.debug.print("sum {}", c), (c + a, None))[1], y.sum(), y)
    jax.debug.callback(lambda v: None, z)
    return y + z


def parts(x):
    jax.debug.print("part {}", x * 2, partitioned=True)
    return x * 2


def last(x):
    return jax.shard_map(lambda x: (jax.debug.print("only {}", x), x)[1], mesh=MESH, in_specs=P("a"), out_specs=P("a"))(x)


def ordered(x):
    jax.debug.print("first {}", x, ordered=True)
    return x * 2


def main(folder: pathlib.Path):
    x = jax.device_put(jnp.arange(4.0), NamedSharding(MESH, P("a")))
    said = {}
    for fn in (both, parts, last, ordered):
        jaxscope.capture(fn, values="all")(x).save(str(folder / f"{fn.__name__}.jaxscope"))
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            try:
                jax.jit(fn)(x).block_until_ready()
                jax.effects_barrier()
            except ValueError as e:
                said[fn.__name__] = str(e)
                continue
        said[fn.__name__] = out.getvalue().splitlines()
    (folder / "said.json").write_text(json.dumps(said))


main(pathlib.Path(sys.argv[1]))
