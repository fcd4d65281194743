"""Mutable references inside a program are discharged wherever they stand: what is captured runs and differentiates as in JAX."""
import json
import subprocess

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxscope

if not hasattr(jax, "new_ref"):
    pytest.skip("this JAX has no jax.new_ref", allow_module_level=True)
X = jnp.arange(1.0, 5.0)


def mutating(x):
    r = jax.new_ref(x)
    r[0] = 2.0 * r[1]
    r[...] += x
    return jnp.sin(r[...])


@jax.custom_vjp
def with_rule(x):
    return mutating(x)


with_rule.defvjp(lambda x: (mutating(x), x), lambda x, g: (g * mutating(x),))


@jax.jit
def writes(r, x):
    r[...] = jnp.sin(x) * 2
    return x


def passed_on(x):
    r = jax.new_ref(jnp.zeros(4))
    return writes(r, x) * r[...]


PROGRAMS = {
    "plain": mutating, "jit": jax.jit(mutating), "scan": lambda x: jax.lax.scan(lambda c, _: (mutating(c), None), x, None, length=2)[0],
    "remat": jax.checkpoint(mutating), "cond": lambda x: jax.lax.cond(x[0] > 0, mutating, jnp.sin, x), "rule": with_rule,
    "vmap": lambda x: jax.vmap(mutating)(jnp.stack([x, x])), "grad": jax.grad(lambda x: jnp.sum(jax.jit(mutating)(x))), "passed on": passed_on,
    "run_state": lambda x: __import__("jax._src.state.discharge", fromlist=["x"]).run_state(lambda r: r.__setitem__(0, r[1] * 2.0))(x)}
NOT_DIFFERENTIATED_BY_JAX = {"passed on", "run_state", "grad"}


@pytest.mark.parametrize("name", PROGRAMS)
def test_runs_and_differentiates(binary, tmp_path, name):
    fn = PROGRAMS[name]
    total = lambda x: jnp.sum(fn(x))
    path = str(tmp_path / "a.jaxscope")
    captured = jaxscope.capture(total, values="all", differentiate=0)(X)
    assert not [a for a in json.loads(captured.to_json())["avals"] if isinstance(a, dict)] and not captured.warnings
    captured.save(path)

    def run(*steps):
        done = subprocess.run([binary, "run", path, *steps, "--json"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["outputs"][0]["values"]
    np.testing.assert_allclose(run(), total(X), rtol=1e-5)
    if name not in NOT_DIFFERENTIATED_BY_JAX:
        np.testing.assert_allclose(run("--apply", "grad"), jax.grad(total)(X), rtol=1e-5)


def test_inside_a_region(binary, tmp_path):
    path = str(tmp_path / "a.jaxscope")
    scale = jnp.full(4, 3.0)
    jaxscope.capture(lambda x: jax.grad(lambda y: jnp.sum(jax.jit(mutating)(y) * scale))(x), values="all")(X).save(path)
    done = subprocess.run([binary, "residuals", path, "--json"], capture_output=True, text=True)
    assert done.returncode == 0 and json.loads(done.stdout)["total_bytes"] > 0, done.stderr
