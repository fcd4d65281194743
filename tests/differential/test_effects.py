"""What JAX allows inside checkpoints, branches and loops is a list of effects; we refuse what it refuses, in its words."""
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import io_callback

import jaxscope

X = jnp.linspace(0.1, 1.0, 3)


def called_back(x, ordered=True):
    y = io_callback(lambda v: np.asarray(v), jax.ShapeDtypeStruct(x.shape, x.dtype), lax.stop_gradient(x), ordered=ordered)
    return jnp.sin(x) + lax.stop_gradient(y)


def printed(x, ordered=True):
    jax.debug.print("x {}", x, ordered=ordered)
    return jnp.sin(x)


def in_checkpoint(f):
    return lambda x: jax.checkpoint(lambda x: jnp.sum(f(x) * x))(x)


def in_checkpoint_of_jit(f):
    return lambda x: jax.checkpoint(lambda x: jnp.sum(jax.jit(f)(x) * x))(x)


def refusal(fn, *args):
    """What JAX says, without the objects whose addresses it prints; None where it refuses nothing."""
    try:
        jax.make_jaxpr(fn)(*args)
    except Exception as e:
        return re.split(r"\[?<", str(e))[0]
    return None


@pytest.mark.parametrize("ordered", [True, False], ids=["ordered", "unordered"])
@pytest.mark.parametrize("wrap", [in_checkpoint, in_checkpoint_of_jit], ids=lambda f: f.__name__)
@pytest.mark.parametrize("effect", [called_back, printed], ids=lambda f: f.__name__)
def test_gradient_of_a_checkpoint(cli, tmp_path, effect, wrap, ordered):
    f = wrap(lambda x: effect(x, ordered))
    file = str(tmp_path / "f.jaxscope")
    jaxscope.capture(f)(X).save(file)
    wanted = refusal(jax.grad(f), X)
    assert (wanted is None) == (effect is printed)
    for command in (["residuals", file], ["transform", file, "--apply", "grad:0"]):
        done = cli.raw(*command, check=False)
        assert done.returncode == (0 if wanted is None else 3), done.stderr
        assert wanted is None or wanted in done.stderr


@pytest.mark.parametrize("ordered", [True, False], ids=["ordered", "unordered"])
def test_vmap_of_branches_and_loops(cli, tmp_path, ordered):
    """The callback's own operand isn't mapped: nothing but the branch or loop around it can refuse."""
    def branch(x):
        return lax.cond(x[0] > 0, lambda: called_back(jnp.ones(3), ordered), lambda: jnp.zeros(3)) + x

    def loop(x):
        return lax.while_loop(lambda c: c[0] < x[0], lambda c: (c[0] + 1, called_back(c[1], ordered)), (0.0, jnp.ones(3)))[1] + x
    for f in (branch, loop):
        file = str(tmp_path / f"{f.__name__}.jaxscope")
        jaxscope.capture(f)(X).save(file)
        wanted = refusal(jax.vmap(f), jnp.stack([X, X]))
        assert wanted
        done = cli.raw("transform", file, "--apply", "vmap@2", check=False)
        assert done.returncode == 3 and wanted in done.stderr, (wanted, done.stderr)
