"""Which jaxprs JAX holds as one object where custom rules call what the program calls too: the texts with their `let`s."""
import jax
import jax.numpy as jnp
import pytest
from jax import lax

import jaxscope
from test_behaviours import made_by_jax
from test_nested_programs import transformed

X, PLACES = jnp.linspace(0.1, 1, 4), jnp.array([1, 1])
twice = jax.jit(lambda v: jnp.sin(v) * 2)


@jax.custom_jvp
def helped(x):
    return jnp.cos(x)


@helped.defjvp
def _(p, t):
    return helped(*p), twice(p[0]) * twice(p[0] * 2) * t[0]


@jax.custom_jvp
def added(x):
    return jnp.cos(x)


@added.defjvp
def _(p, t):
    return added(*p), twice(p[0]).at[PLACES].add(2.0) * t[0]


def loop(step, x):
    return lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, step(s[1])), (0, lax.stop_gradient(x)))[1]


BODIES = {
    "in a loop": lambda x: (helped(x) * loop(lambda v: twice(twice(v)), x)).sum(),
    "beside it": lambda x: (helped(x) * lax.stop_gradient(twice(x)) * lax.stop_gradient(twice(x))).sum(),
    "scatter": lambda x: (added(x) * loop(lambda v: twice(v).at[PLACES].add(1.0), x))[PLACES].sum(),
}
AROUND = {"as it is": lambda f: f, "jit": lambda f: lambda x: jax.jit(f)(x), "scan": lambda f: lambda x: lax.scan(lambda c, _: (c * f(c), None), x, None, length=2)[0].sum()}


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("body", BODIES)
def test_what_rules_call(cli, tmp_path, body, around):
    fn, file = AROUND[around](BODIES[body]), str(tmp_path / "shared.jaxscope")
    jaxscope.capture(fn, values="all")(X).save(file)
    assert transformed(cli, file, "grad") == made_by_jax(jax.grad(fn), X).rstrip()


FIRST, SECOND = jnp.arange(4.0) + 1, jnp.arange(4.0) + 2


@pytest.mark.parametrize("around", AROUND)
def test_constants_stand_in_the_order_in_which_they_are_first_read(cli, tmp_path, around):
    """What an inner jit holds is read by the outer one as a residual alone, when all else is done."""
    inner = jax.jit(lambda v: v * FIRST)
    fn, file = AROUND[around](lambda x: jax.jit(lambda v: (inner(v) * SECOND).sum())(x)), str(tmp_path / "constants.jaxscope")
    jaxscope.capture(fn, values="all")(X).save(file)
    assert transformed(cli, file, "grad") == made_by_jax(jax.grad(fn), X).rstrip()
