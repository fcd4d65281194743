"""What loops and branches accumulate into numbers: the number's zero tangent is one of the linear function's, and no residual of a jit."""
import jax
import jax.numpy as jnp
import pytest
from jax import lax
from jax._src.ad_checkpoint import saved_residuals

import jaxscope
from nested_programs import renamed
from test_behaviours import made_by_jax
from test_nested_programs import transformed

X = jnp.linspace(0.1, 1, 4)
CP = jax.checkpoint_policies


def summed(x, start=0.0):
    return lax.scan(lambda c, u: (c + jnp.sin(u), None), start, x)[0]


def counted(x):
    def step(i, s):
        n, total, v = s
        return n + 1, total + jnp.sin(v).sum() * n, v * x
    return lax.fori_loop(0, 3, step, (0, 0.0, jnp.ones(4)))[1]


def filtered(x):
    """A hidden Markov model's log likelihood: the usual pair of a number and a vector."""
    def step(s, u):
        log_norm, v = s
        p = v * jnp.exp(u - x.max())
        return (log_norm + jnp.log(p.sum()), jnp.where(p.sum() == 0, 1, p / p.sum())), p
    return lax.scan(step, (0.0, jnp.ones(3) / 3), x)[0][0]


def branched(x):
    return lax.cond(x[0] > 0, lambda: (x.sum(), jnp.float32(1)), lambda: (jnp.float32(2), jnp.sin(x).sum()))


def mapped(x):
    return jax.vmap(lambda a: lax.scan(lambda c, u: (c + u * a, c), 1.0, x)[0])(x).sum()


BODIES = {
    "scan": summed,
    "scan from one": lambda x: summed(x, jnp.float32(1)),
    "scan from an integer": lambda x: lax.scan(lambda s, u: ((s[0] + 1, s[1] + u * s[0]), None), (0, 0.0), x)[0][1],
    "fori_loop": counted,
    "filter": filtered,
    "cond": lambda x: jnp.add(*branched(x)),
    "cond in scan": lambda x: lax.scan(lambda c, u: (c + lax.cond(u > 0.5, lambda: u * u, lambda: 0.0), None), 0.0, x)[0],
    "scan in scan": lambda x: lax.scan(lambda c, u: (c + summed(x * u), None), 0.0, x)[0],
    "vmap": mapped,
}
AROUND = {
    "as it is": lambda f: f,
    "jit": jax.jit,
    "jit in jit": lambda f: lambda x: jax.jit(lambda x: jax.jit(f)(x * 2))(x),
    "checkpoint": lambda f: jax.checkpoint(f, policy=CP.everything_saveable),
    "checkpoint of jit": lambda f: jax.checkpoint(jax.jit(f), policy=CP.dots_saveable),
}


CASES = [(name, around) for name in BODIES for around in AROUND]


@pytest.mark.parametrize("name, around", CASES)
def test_residuals_are_jaxs(cli, tmp_path, name, around):
    inner = AROUND[around](BODIES[name])
    fn, file = lambda x: inner(x) * 1.5, str(tmp_path / "zeros.jaxscope")
    theirs = [a.str_short(short_dtypes=True) for a, source in saved_residuals(fn, X) if source != "from a literal"]
    jaxscope.capture(fn, values="all")(X).save(file)
    assert [r["aval"] for r in cli.json("residuals", file, "--wrt", "all")["residuals"]] == theirs


@pytest.mark.parametrize("name, around", CASES)
def test_gradients_are_jaxs(cli, tmp_path, name, around):
    inner = AROUND[around](BODIES[name])
    fn, file = lambda x: inner(x) * 1.5, str(tmp_path / "zeros.jaxscope")
    jaxscope.capture(fn, values="all")(X).save(file)
    assert renamed(transformed(cli, file, "grad")) == renamed(made_by_jax(jax.grad(fn), X).rstrip())
