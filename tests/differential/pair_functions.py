"""Functions with derivatives of their own that the pairs of tests/trace/pairs/custom_rules.cpp name."""
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

rows = np.array([True, False, True])
truth = np.array(True)
cells = np.arange(12).reshape(3, 4) % 3 == 0


@jax.custom_jvp
def cj(t):
    return jnp.sin(t)


@cj.defjvp
def cj_jvp(primals, tangents):
    (t,), (dt,) = primals, tangents
    return jnp.sin(t), 2.0 * jnp.cos(t) * dt


@jax.custom_vjp
def cv(t, u):
    return jnp.sin(t) * u


def cv_fwd(t, u):
    return jnp.sin(t) * u, (jnp.cos(t), t, u)


def cv_bwd(res, g):
    c, t, u = res
    return c * g * u, jnp.sin(t) * g


cv.defvjp(cv_fwd, cv_bwd)


@jax.custom_vjp
def cvn(t, u):
    return jnp.sin(t) * u


def cvn_fwd(t, u):
    return jnp.sin(t) * u, u


def cvn_bwd(u, g):
    return g * u, None


cvn.defvjp(cvn_fwd, cvn_bwd)


@jax.custom_vjp
def cvw(t):
    return jnp.sin(t)


def cvw_fwd(t):
    y = jnp.sin(t)
    return y, t


def cvw_bwd(t, g):
    return (t[:2],)


cvw.defvjp(cvw_fwd, cvw_bwd)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def cvk(f, t):
    return f(t)


def cvk_fwd(f, t):
    return f(t), t


def cvk_bwd(f, t, g):
    return (f(t) * g,)


cvk.defvjp(cvk_fwd, cvk_bwd)


@jax.custom_jvp
def crec(t):
    return jnp.sin(t)


@crec.defjvp
def crec_jvp(primals, tangents):
    (t,), (dt,) = primals, tangents
    return crec(t), crec(t) * dt


@jax.custom_jvp
def cjs(t, u):
    return t * u


cjs.defjvps(lambda dt, y, t, u: dt * u * 3.0, lambda du, y, t, u: du * t * 5.0)


cg = jax.custom_gradient(lambda t: (t**2, lambda g: g * t))


@jax.custom_gradient
def cg2(t, u):
    s = jnp.sin(t)
    return s * u, lambda g: (g * u, g * s * 3.0)


def without_jit(f, *args):
    with jax.disable_jit():
        return f(*args)


@eqx.filter_custom_jvp
def fj(x, y):
    return jnp.sin(x) * y


@fj.def_jvp
def fj_jvp(primals, tangents):
    (x, y), (dx, dy) = primals, tangents
    out = jnp.sin(x) * y
    if dy is None:
        return out, 2.0 * dx * y
    if dx is None:
        return out, 3.0 * dy
    return out, dx * y + dy


@eqx.filter_custom_jvp
def fj2(x, y):
    return jnp.sin(x), y * 2.0


@fj2.def_jvp
def fj2_jvp(primals, tangents):
    (x, y), (dx, dy) = primals, tangents
    return (jnp.sin(x), y * 2.0), (None if dx is None else 5.0 * dx, dy)


@eqx.filter_custom_vjp
def fv(pair):
    return jnp.sin(pair[0]) * pair[1]


@fv.def_fwd
def fv_fwd(perturbed, pair):
    out = jnp.sin(pair[0]) * pair[1]
    return out, jnp.cos(pair[0]) if perturbed[0] else None


@fv.def_bwd
def fv_bwd(residual, g, perturbed, pair):
    return None if residual is None else residual * g, 3.0 * g if perturbed[1] else None


@eqx.filter_custom_vjp
def fv2(pair):
    return jnp.sin(pair[0]), pair[1] * 2.0


@fv2.def_fwd
def fv2_fwd(perturbed, pair):
    return (jnp.sin(pair[0]), pair[1] * 2.0), None


@fv2.def_bwd
def fv2_bwd(residual, g, perturbed, pair):
    return None if g[0] is None else 5.0 * g[0], None if g[1] is None else 7.0 * g[1]


class Linear(eqx.Module):
    weight: jax.Array
    bias: jax.Array | None


class Norm(eqx.Module):
    scale: jax.Array
    axis: int
    eps: float = 1e-05
    affine: bool = True
    name: str = "norm"


class Mlp(eqx.Module):
    layers: list
    norm: Norm
    extra: dict


def lin():
    return Linear(jnp.arange(4.0).reshape(2, 2), jnp.ones(2))


def bare():
    return Linear(jnp.ones((2, 2)), None)


def norm():
    return Norm(jnp.ones(3), -1)


def mlp():
    return Mlp([lin(), bare()], norm(), {"a": jnp.arange(3), "b": jnp.zeros(2)})


def ints():
    return {"f": jnp.arange(2.0), "i": jnp.arange(2)}


def pformat(tree, **options):
    return eqx.tree_pformat(tree, **options)
