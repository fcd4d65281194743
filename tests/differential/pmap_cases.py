"""The cases of tests/devices/pmap_driver.cpp in JAX and Equinox, on eight forced host devices; prints what the driver prints."""
import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
import warnings  # noqa: E402

import equinox as eqx  # noqa: E402
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax import lax, pmap  # noqa: E402


class Scaled(eqx.Module):
    w: jax.Array
    times: int = 2

    def __call__(self, x):
        return x * self.w * self.times


def ramp(*shape):
    return jnp.sin(jnp.arange(float(np.prod(shape, dtype=int))) * 0.7).reshape(shape)


def on_devices(x):
    return pmap(lambda v: v * 1.0)(x)


def values(tree):
    lines = []
    for a in jax.tree.leaves(tree):
        a = np.asarray(a)
        lines.append(f"{a.dtype} ({', '.join(map(str, a.shape))}{',' if a.ndim == 1 else ''}) " + " ".join(repr(float(v)) for v in a.ravel()))
    return "\n".join(lines)


def refused(f):
    try:
        f()
    except Exception as e:  # any: its text is what is compared
        return str(e)
    return "no error"


def gone(f, x):
    f(x)
    return str(x.is_deleted())


def step(p, b):
    g = lax.pmean(jax.grad(lambda q: jnp.mean((b["x"] @ q[0] + q[1] - b["y"]) ** 2))(p), "batch")
    return p[0] - 0.1 * g[0], p[1] - 0.1 * g[1]


def after(f, x, *rest, **named):
    f(*rest, **named)
    return str(x.is_deleted())


def read_after(x):
    pmap(plus_one, donate_argnums=0)(x)
    return refused(lambda: x + 1)


same, plus_one, add = lambda x: x, lambda x: x + 1, lambda x, y: x + y
share = lambda x: x / lax.psum(x, "i")  # noqa: E731
wave = pmap(lambda x: jnp.sin(x) * lax.psum(x, "i"), axis_name="i")
four = lambda x, y: (x, x * y, lax.psum(x, "i"), jnp.sum(y))  # noqa: E731
jaxpr = jax.make_jaxpr
C = ramp(4, 2)
twelve = dict(axis_name="i", in_axes=(0, None), out_axes=(1, 0, None, None))


def donated_by_name():
    x = on_devices(ramp(8, 2))
    return after(pmap(lambda a, y: y + 1, donate_argnums=1), x, ramp(8, 2), y=x)


def donated(f, *shape):
    x = on_devices(ramp(*shape))
    return gone(f, x)


def not_read():
    x = on_devices(ramp(8, 2))
    return after(pmap(lambda a, b: b * 2.0, donate_argnums=0), x, x, ramp(8, 2))


def behind_static():
    x = on_devices(ramp(8, 2))
    return after(pmap(lambda n, y: y * n, static_broadcasted_argnums=0, donate_argnums=1), x, 2, x)


CASES = {
    "squares": lambda: values(pmap(lambda x: x * x)(ramp(8))),
    "shares": lambda: values(pmap(share, axis_name="i")(ramp(4))),
    "axes": lambda: values(pmap(lambda x, y: (x @ y, y.sum()), in_axes=(1, None), out_axes=(1, 0))(ramp(2, 4, 3), ramp(3, 5))),
    "trees": lambda: values(pmap(step, axis_name="batch", in_axes=(None, 0), out_axes=None)((ramp(2), jnp.float32(0.5)), {"x": ramp(8, 3, 2), "y": ramp(8, 3)})),
    "members": lambda: values(pmap(lambda m, x: m["a"] * x + m["b"], in_axes=({"a": 0, "b": None}, 1))({"a": ramp(2, 3), "b": ramp(3)}, ramp(3, 2))),
    "integers": lambda: values(pmap(lambda x: (lax.psum(x, "i"), lax.pmax(x, "i"), lax.axis_index("i"), x % 3), axis_name="i")(jnp.arange(8))),
    "gathers": lambda: values(pmap(lambda x: (lax.all_gather(x, "i"), lax.psum_scatter(lax.all_gather(x, "i", tiled=True), "i", tiled=True), lax.pmin(x, "i")), axis_name="i")(ramp(4, 2))),
    "scalars": lambda: values(pmap(lambda x, s: x * s, in_axes=(0, None))(ramp(3), 2.5)),
    "by name": lambda: values(pmap(add)(ramp(4, 2), y=ramp(4, 2))),
    "static": lambda: values(pmap(lambda x, n, y: x * n + y, in_axes=(0, None, 1), static_broadcasted_argnums=1)(ramp(4, 2), 3, ramp(2, 4))),
    "loop": lambda: values(pmap(lambda x: lax.fori_loop(0, 3, lambda i, c: jnp.sin(c) + lax.pmean(c, "i"), x), axis_name="i")(ramp(4, 3))),
    "closed over": lambda: values(pmap(lambda x: x + ramp(2))(ramp(4, 2))),
    "one device": lambda: values(pmap(share, axis_name="i")(ramp(1, 3))),
    "none for all": lambda: values(pmap(lambda x: lax.psum(x, "i"), axis_name="i", out_axes=None)(ramp(4, 2))),
    "results from the end": lambda: values(pmap(lambda x: x * 1.0, out_axes=-1)(ramp(4, 5))),
    "vmap inside": lambda: values(pmap(jax.vmap(lambda x: x / lax.psum(x, ("i", "j")), axis_name="j"), axis_name="i")(ramp(2, 3))),
    "vmap around": lambda: values(jax.vmap(pmap(share, axis_name="i"))(ramp(2, 4))),
    "jit around": lambda: values(jax.jit(lambda x: pmap(share, axis_name="i")(x) * 2 + x)(ramp(4))),
    "grad around": lambda: values(jax.grad(lambda x: wave(x).sum())(ramp(4))),
    "grad inside": lambda: values(pmap(jax.grad(lambda x: jnp.sin(x) * lax.psum(x, "i")), axis_name="i")(ramp(4))),
    "jvp": lambda: values(jax.jvp(wave, (ramp(4),), (ramp(4) + 1,))),
    "checkpoint": lambda: values(jax.grad(lambda x: pmap(jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)) * lax.pmean(x, "i")), axis_name="i")(x).sum())(ramp(4, 2))),
    "filtered": lambda: (lambda r: values(r[0]) + "\n" + str(r[1]))(eqx.filter_pmap(lambda x, n: (x * n, n), out_axes=(0, None))(ramp(4, 2), 3)),
    "filtered by name": lambda: values(eqx.filter_pmap(add, in_axes=dict(y=None))(ramp(4, 2), ramp(2))),
    "filtered model": lambda: values(eqx.filter_pmap(Scaled(ramp(2), 3))(ramp(4, 2))),
    "filtered size": lambda: values(eqx.filter_pmap(lambda x: x + lax.axis_index("i"), axis_name="i", in_axes=None, axis_size=4)(ramp(2))),
    "filtered axes": lambda: values(eqx.filter_pmap(four, **twelve)(ramp(4, 2), ramp(2))),
    "jaxpr": lambda: str(jaxpr(pmap(lambda a, b: (jnp.sin(a) * b, lax.psum(a, "i")), axis_name="i", in_axes=(0, None), donate_argnums=0))(ramp(4, 2), ramp())),
    "jaxpr without a name": lambda: str(jaxpr(pmap(lambda x: jnp.sin(x)))(ramp(4, 2))),
    "jaxpr of axes": lambda: str(jaxpr(pmap(lambda x: (jnp.sin(x), x), in_axes=1, out_axes=(1, 0)))(ramp(2, 4, 3))),
    "jaxpr of axes from the end": lambda: str(jaxpr(pmap(lambda x: x * 1.0, in_axes=-2, out_axes=-1))(ramp(4, 5))),
    "jaxpr of a constant": lambda: str(jaxpr(pmap(lambda x: x + jnp.arange(2.0) + C[0]))(ramp(4, 2))),
    "jaxpr filtered": lambda: str(jaxpr(eqx.filter_pmap(four, donate="all", **twelve))(ramp(4, 2), ramp(2))),
    "jaxpr under vmap": lambda: str(jaxpr(jax.vmap(pmap(lambda x: lax.psum(jnp.sin(x), "i"), axis_name="i")))(ramp(2, 4))),
    "donated": lambda: donated(pmap(plus_one, donate_argnums=0), 8, 2),
    "donated over four": lambda: donated(pmap(plus_one, donate_argnums=0), 4, 2),
    "donated from one device": lambda: gone(pmap(plus_one, donate_argnums=0), ramp(8, 2)),
    "donated to another place": lambda: donated(pmap(plus_one, out_axes=1, donate_argnums=0), 8, 2),
    "donated and not usable": lambda: donated(pmap(lambda x: x.sum(), donate_argnums=0), 8, 2),
    "donated and not read": not_read,
    "donated by name": donated_by_name,
    "donated behind a static one": behind_static,
    "read after donation": lambda: read_after(on_devices(ramp(8, 2))),
    "filter all": lambda: donated(eqx.filter_pmap(plus_one, donate="all"), 8, 2),
    "filter none": lambda: donated(eqx.filter_pmap(plus_one, donate="none"), 8, 2),
    "filter warn": lambda: donated(eqx.filter_pmap(lambda x: x.sum(), donate="warn"), 8, 2),
    "where it lies": lambda: str(pmap(plus_one, axis_name="i", out_axes=1)(ramp(4, 2)).sharding),
    "static and donated": lambda: refused(lambda: pmap(add, static_broadcasted_argnums=1, donate_argnums=1)),
    "both static and donated": lambda: refused(lambda: pmap(add, static_broadcasted_argnums=(0, 1), donate_argnums=(1, 0))),
    "nothing mapped": lambda: refused(lambda: pmap(same, in_axes=None)(ramp(8, 2))),
    "no arguments": lambda: refused(lambda: pmap(lambda: 1.0)()),
    "a number mapped": lambda: refused(lambda: pmap(same)(1.0)),
    "a scalar mapped": lambda: refused(lambda: pmap(same)(jnp.zeros(()))),
    "static beyond": lambda: refused(lambda: pmap(same, static_broadcasted_argnums=1)(ramp(8))),
    "nine": lambda: refused(lambda: pmap(same)(ramp(9, 2))),
    "nine named": lambda: refused(lambda: pmap(share, axis_name="i")(ramp(9))),
    "nine traced": lambda: refused(lambda: jaxpr(pmap(same))(ramp(9, 2))),
    "sixteen": lambda: refused(lambda: pmap(same)(ramp(16, 2))),
    "sizes differ": lambda: refused(lambda: pmap(add)(ramp(4, 2), ramp(3, 2))),
    "sizes differ traced": lambda: refused(lambda: jaxpr(pmap(lambda p, y: p["a"] + y, axis_name="i"))({"a": ramp(4, 2), "b": ramp(5)}, ramp(3, 2))),
    "twice the size": lambda: refused(lambda: pmap(add)(ramp(4, 2), ramp(8, 2))),
    "wrong axis_size": lambda: refused(lambda: pmap(same, axis_size=3)(ramp(4, 2))),
    "axis beyond": lambda: refused(lambda: pmap(same, in_axes=2)(ramp(4, 2))),
    "axis beyond a later one": lambda: refused(lambda: pmap(add, axis_name="i", in_axes=(0, 1))(ramp(4, 2), ramp(4))),
    "axis beyond traced": lambda: refused(lambda: jaxpr(pmap(add, axis_name="i", in_axes=(0, 1)))(ramp(4, 2), ramp(4))),
    "result's axis beyond": lambda: refused(lambda: pmap(plus_one, out_axes=3)(ramp(4, 2))),
    "axes of one argument": lambda: refused(lambda: pmap(add, in_axes=(0,))(ramp(4, 2), ramp(4, 2))),
    "axes and names": lambda: refused(lambda: pmap(add, in_axes=(0, 0))(ramp(4, 2), y=ramp(4, 2))),
    "axes of another dict": lambda: refused(lambda: pmap(lambda m: m["a"], in_axes=({"b": 0},))({"a": ramp(4, 2)})),
    "lies along another axis": lambda: refused(lambda: pmap(same, in_axes=1)(on_devices(ramp(8, 8)))),
    "lies over other devices": lambda: refused(lambda: pmap(same, in_axes=1)(on_devices(ramp(4, 8)))),
    "no axis": lambda: refused(lambda: pmap(lambda x: lax.psum(x, "j"), axis_name="i")(ramp(4))),
    "empty": lambda: refused(lambda: pmap(same)(ramp(0, 2))),
    "filter foo": lambda: refused(lambda: eqx.filter_pmap(same, donate="foo")),
    "filter keywords": lambda: refused(lambda: eqx.filter_pmap(same)(x=ramp(8, 2))),
    "filter nothing mapped": lambda: refused(lambda: eqx.filter_pmap(same, in_axes=None)(ramp(2))),
    "filter strange name": lambda: refused(lambda: eqx.filter_pmap(add, in_axes=dict(z=None))(ramp(4, 2), ramp(2))),
    "filter axis beyond": lambda: refused(lambda: eqx.filter_pmap(same, out_axes=5)(ramp(4, 2))),
    "filter sizes": lambda: refused(lambda: eqx.filter_pmap(add)(ramp(4, 2), ramp(3, 1))),
}

if __name__ == "__main__":
    for name, run in CASES.items():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            text = run()
        for w in caught:
            text += f"\nwarning {w.message}"
        print(f"{name}\n{text}\n==")
