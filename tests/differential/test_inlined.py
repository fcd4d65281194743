"""What a jit(inline=True) of the user's computes and returns nowhere: JAX differentiates the call as a jit, which drops it, and leaves it where
nothing is differentiated."""
import functools

import jax
import jax.numpy as jnp
import pytest
from jax import lax

import jaxscope
from nested_programs import renamed
from test_behaviours import made_by_jax
from test_nested_programs import transformed

inline = functools.partial(jax.jit, inline=True)
X = jnp.linspace(0.1, 0.9, 4)


@inline
def both(x):
    return jnp.sin(x) * 2, jnp.cos(x)


@inline
def wasteful(x):
    jnp.exp(x) * 3
    return x * 2


@inline
def of_both(x):
    first, _ = both(x)
    return first + jnp.tanh(x)


@inline
def reports(x):
    jax.debug.print("{}", jnp.exp(x).sum())
    return x * 3


PROGRAMS = {
    "unused inside": lambda x: wasteful(x).sum(),
    "an unused result": lambda x: both(x)[0].sum(),
    "an unused result of an inner one": lambda x: of_both(x).sum(),
    "no result used": lambda x: (of_both(x), x.sum())[1],
    "under vmap": lambda x: jax.vmap(lambda x: of_both(x) + wasteful(x))(x).sum(),
    "in a jit": lambda x: jax.jit(lambda x: of_both(x) + wasteful(x))(x).sum(),
    "in a scan": lambda x: lax.scan(lambda c, _: (of_both(c) + wasteful(c), None), x, None, length=2)[0].sum(),
    "in a checkpoint": lambda x: jax.checkpoint(lambda x: of_both(x) + wasteful(x))(x).sum(),
    "with an effect": lambda x: reports(x).sum(),
    "unused outside as well": lambda x: (jnp.exp(x) * 3, wasteful(x).sum())[1],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_texts_are_jaxs(cli, tmp_path, name):
    fn, file = PROGRAMS[name], str(tmp_path / "inlined.jaxscope")
    jaxscope.capture(fn, values="all")(X).save(file)
    theirs = {"grad": made_by_jax(jax.grad(fn), X), "jvp": made_by_jax(lambda x, dx: jax.jvp(fn, (x,), (dx,)), X, X)}
    if name != "with an effect":
        theirs["vmap@3"] = made_by_jax(jax.vmap(fn), jnp.stack([X] * 3))
    for step, text in theirs.items():
        assert renamed(transformed(cli, file, step)) == renamed(text.rstrip()), step
    assert renamed(cli.json("print", file)["text"].rstrip()) == renamed(made_by_jax(fn, X).rstrip())
