"""Weak types (Python's numbers) in derived programs: where JAX converts, and where it doesn't, by text."""
import jax
import jax.numpy as jnp
import pytest
from jax import lax

import jaxscope
from nested_programs import renamed
from test_nested_programs import text_of_jax, transformed

V = jnp.linspace(0.1, 1.0, 4)


def carried(v):
    c, ys = lax.scan(lambda c, a: (c * a, c), 1.0, v)
    return ys.sum() + c


def carried_and_added(v):
    c, ys = lax.scan(lambda c, a: (c * a, c + a), 1.0, v)
    return ys.sum() + c


def in_fori_loop(v):
    return lax.fori_loop(0, 4, lambda i, c: c * v[i], 1.0)


def of_a_weak_argument(s):
    c, ys = lax.scan(lambda c, a: (c * a, c + 1), s, jnp.arange(3.0))
    return ys.sum() + c


def beside_integers(v):
    c, ys = lax.scan(lambda c, a: ((c[0] + 1, c[1] * a[1]), c[1] + a[0]), (0, 1.0), (jnp.arange(4), v))
    return ys.sum() * c[1]


def a_weak_sequence(v):
    ys = lax.scan(lambda c, a: (c + a, a * 2), 0.0, jnp.broadcast_to(2.5 * v[0], (3,)))[1]
    return ys.sum()


def chosen(v, c):
    return jnp.where(v > 0.5, c, 1).sum() + v.sum()


def in_a_jit(s):
    return jnp.sum(jax.jit(lambda c: jnp.broadcast_to(c * 2, (3,)))(s))


def stacked_with_a_number(s):
    return jnp.max(jnp.stack([s, s * 2, 1.0]))


def gelu(s):
    return jax.jit(lambda c: jax.nn.gelu(c, approximate=False))(s)


PROGRAMS = [(carried, (V,)), (carried_and_added, (V,)), (in_fori_loop, (V,)), (of_a_weak_argument, (2.0,)), (beside_integers, (V,)), (a_weak_sequence, (V,)),
            (chosen, (V, 2.5)), (in_a_jit, (2.5,)), (stacked_with_a_number, (2.5,)), (gelu, (2.5,))]


@pytest.mark.parametrize("fn, args", PROGRAMS, ids=[f.__name__ for f, _ in PROGRAMS])
def test_gradients(cli, tmp_path, fn, args):
    file = str(tmp_path / "p.jaxscope")
    jaxscope.capture(fn, values="all")(*args).save(file)
    wrt = tuple(range(len(args)))
    theirs = text_of_jax(jax.grad(fn, argnums=wrt), *args)
    assert renamed(transformed(cli, file, "grad:" + ",".join(map(str, wrt)))) == renamed(theirs)


def test_branches_under_vmap_stop_gradients_of_integers_too(cli, tmp_path):
    def fn(x, k):
        return lax.switch(k, [lambda x, k: jnp.sin(x) * k, lambda x, k: x + k], x, k)
    args = jnp.float32(0.4), jnp.int32(1)
    file = str(tmp_path / "p.jaxscope")
    jaxscope.capture(fn, values="all")(*args).save(file)
    theirs = text_of_jax(jax.vmap(fn), *(jnp.stack([a] * 3) for a in args))
    assert renamed(transformed(cli, file, "vmap@3")) == renamed(theirs)
