"""Functions with a transposition of their own, which JAX had until 0.6: captured with it, and transposed by it."""
import importlib.util
import json
import subprocess

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxscope

if importlib.util.find_spec("jax._src.custom_transpose") is None:
    pytest.skip("this JAX has no custom_transpose", allow_module_level=True)
from jax._src.custom_transpose import custom_transpose  # noqa: E402

X, Y = jnp.arange(1.0, 4.0), jnp.linspace(0.5, 2.0, 3)


@custom_transpose
def scaled(r, x):
    return x * r


@scaled.def_transpose
def scaled_t(r, ct):
    return 2.0 * ct * jnp.sin(r)  # not what transposing the body would give


@custom_transpose
def pair(r, xs):
    a, b = xs
    return a * r + b, b


@pair.def_transpose
def pair_t(r, cts):
    c, d = cts
    return c * r * 3.0, c + 5.0 * d


def aval(x):
    return jax.core.ShapedArray(x.shape, x.dtype)


def single(x, y):
    return jnp.sum(scaled(aval(x), y, jnp.sin(x)))


def double(x, y):
    a, b = pair((aval(x), aval(x)), y, (jnp.sin(x), x))
    return jnp.sum(a * b)


@pytest.fixture
def run(binary, tmp_path):
    def run(fn, *words):
        path = tmp_path / "a.jaxscope"
        captured = jaxscope.capture(fn, values="all", differentiate=0)(X, Y)
        captured.save(str(path))
        return subprocess.run([binary, words[0], str(path), *words[1:], "--json"], capture_output=True, text=True)
    return run


@pytest.mark.parametrize("fn", [single, double])
def test_values_and_gradients_are_those_of_jax(run, fn):
    done = run(fn, "run")
    np.testing.assert_allclose(json.loads(done.stdout)["outputs"][0]["values"], fn(X, Y), rtol=1e-6)
    done = run(fn, "run", "--apply", "grad:0")
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(json.loads(done.stdout)["outputs"][0]["values"], jax.grad(fn)(X, Y), rtol=1e-6)


def test_the_rule_is_a_table_entry(run):
    d = json.loads(jaxscope.capture(single)(X, Y).to_json())
    (rule,) = d["custom_rules"]
    assert rule["kind"] == "custom_transpose" and "sin" in [d["strings"][e[0]] for e in d["jaxprs"][rule["jaxpr"]]["eqns"]]


def test_residuals_are_not_differentiated(run):
    done = run(single, "transform", "--apply", "grad:1")
    assert done.returncode == 3 and "JVP of custom transpose with respect to non-symbolic-zero residuals" in done.stderr
    with pytest.raises(NotImplementedError, match="non-symbolic-zero residuals"):
        jax.grad(single, 1)(X, Y)
