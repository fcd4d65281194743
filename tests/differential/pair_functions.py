"""Functions with derivatives of their own that the pairs of tests/trace/pairs/custom_rules.cpp name."""
from functools import partial

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
