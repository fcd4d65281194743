"""Explicitly sharded types: how a mesh cuts what is derived, reshards of numbers, shardings that transposition gives."""
import jax
import jax.numpy as jnp
import pytest
from jax import lax
from jax._src.ad_checkpoint import saved_residuals
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

import jaxscope
from test_behaviours import made_by_jax
from test_nested_programs import transformed

MESH = jax.make_mesh((1, 1), ("x", "y"), axis_types=(AxisType.Explicit,) * 2)
PARTLY = jax.make_mesh((1, 1), ("x", "y"), axis_types=(AxisType.Explicit, AxisType.Auto))


def cut(shape, *spec):
    return jax.device_put(jnp.linspace(-1, 1, 64)[:shape[0] * shape[1]].reshape(shape), NamedSharding(MESH, P(*spec)))


A, B, D, N = cut((8, 4), "x", "y"), cut((8, 4), "x", None), cut((4, 8), None, "y"), cut((8, 4), None, None)
V = jax.device_put(jnp.linspace(0.1, 1, 8), NamedSharding(MESH, P("x")))


@jax.custom_vjp
def sine(x):
    return jnp.sin(x)


@jax.custom_jvp
def cosine(x):
    return jnp.cos(x)


sine.defvjp(lambda x: (sine(x), x), lambda x, ct: (ct * jnp.cos(x),))
cosine.defjvp(lambda x, dx: (cosine(x[0]), -jnp.sin(x[0]) * dx[0]))
PROGRAMS = {
    "custom rules": (lambda a: jax.checkpoint(lambda x: sine(cosine(x)))(a).sum(), (A,)),
    "element-wise": (lambda a, b: (jnp.tanh(a) * jnp.exp(b) + jnp.abs(a) ** 2).sum(), (A, A)),
    "maximum": (lambda a, b: jnp.maximum(a, b).sum(), (A, A)),
    "where": (lambda a, b: jnp.where(a > 0, a * b, jnp.sin(b)).sum(), (A, A)),
    "where a number": (lambda a: jnp.where(a > 0, jnp.sin(a), 0.0).sum(), (A,)),
    "broadcast": (lambda v, a: (v[:, None] * a).sum(), (V, A)),
    "reshape": (lambda b: jnp.sin(b).reshape(8, 2, 2).sum(), (B,)),
    "transpose": (lambda a: (a.T * jnp.sin(a.T)).sum(), (A,)),
    "reductions": (lambda a: jnp.sin(a.mean(0)).sum() + a.max(1).sum(), (A,)),
    "softmax": (lambda b: (jax.nn.softmax(b, axis=-1) ** 2).sum(), (B,)),
    "products": (lambda b, d, v: jnp.tanh(b @ d + v[:, None]).sum(), (B, D, V)),
    "product with a sharding": (lambda b, d: jnp.einsum("ij,jk->ik", b, d, out_sharding=P("x", "y")).sum(), (B, D)),
    "not cut": (lambda n: jax.nn.logsumexp(n, axis=0).sum(), (N,)),
    "scan": (lambda a: lax.scan(lambda c, _: (jnp.sin(c) * a, None), a, None, length=3)[0].sum(), (A,)),
    "cond": (lambda a, b: lax.cond(b.sum() > 0, jnp.sin, lambda x: x * 2, a).sum(), (A, B)),
    "checkpoint": (lambda a: jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)))(a).sum(), (A,)),
    "jit": (lambda a: jax.jit(lambda x: jnp.sin(x) * x)(a).sum(), (A,)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_and_residuals(cli, tmp_path, name):
    same_as_jax(cli, tmp_path, MESH, *PROGRAMS[name])


def test_axes_that_are_the_partitioners_are_in_no_type(cli, tmp_path):
    def fn(a):
        h = lax.with_sharding_constraint(jnp.sin(a), NamedSharding(PARTLY, P(None, "y")))
        return jnp.sin(h).sum()
    same_as_jax(cli, tmp_path, PARTLY, fn, (jax.device_put(jnp.ones((8, 4)), NamedSharding(PARTLY, P("x"))),))


def same_as_jax(cli, tmp_path, mesh, fn, args):
    file, wrt = str(tmp_path / "explicit.jaxscope"), tuple(range(len(args)))
    with jax.set_mesh(mesh):
        jaxscope.capture(fn, values="all")(*args).save(file)
        theirs = [a.str_short(short_dtypes=True) for a, source in saved_residuals(fn, *args) if source != "from a literal"]
        text = made_by_jax(jax.grad(fn, argnums=wrt), *args).rstrip()
    assert [r["aval"] for r in cli.json("residuals", file, "--wrt", "all")["residuals"]] == theirs
    assert " ".join(transformed(cli, file, "grad:" + ",".join(map(str, wrt))).split()) == " ".join(text.split())
