"""Functions with a rule for vmap: they print, run, and batch in Python as in JAX; what needs the rule is refused by name."""
import json
import re
import subprocess

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxscope


@jax.custom_batching.custom_vmap
def f(x, y):
    return jnp.sin(x) * y


@f.def_vmap
def f_rule(axis_size, in_batched, x, y):
    return jnp.cos(x) * y, True  # not what batching the body would give


X, Y = jnp.arange(3.0), jnp.ones(3)


@pytest.fixture
def run(binary, tmp_path):
    def run(fn, *words):
        path = tmp_path / "a.jaxscope"
        jaxscope.capture(fn, values="all")(X, Y).save(str(path))
        return subprocess.run([binary, words[0], str(path), *words[1:]], capture_output=True, text=True)
    return run


@pytest.mark.parametrize("fn", [f, jax.vmap(f), lambda x, y: jax.jvp(f, (x, y), (y, x))], ids=["plain", "batched", "jvp"])
def test_prints_and_runs_as_in_jax(run, fn):
    if jax.__version__ == "0.10.2":
        want = re.sub("0x[0-9a-fX]{6,}", "0x_", str(jax.make_jaxpr(fn)(X, Y)))
        assert run(fn, "print").stdout.strip() == want.strip()
    done = run(fn, "run", "--json")
    assert done.returncode == 0, done.stderr
    for out, w in zip(json.loads(done.stdout)["outputs"], jax.tree.leaves(fn(X, Y))):
        np.testing.assert_allclose(out["values"], w, rtol=1e-6)


def test_what_needs_the_rule_is_refused(run):
    done = run(f, "transform", "--apply", "vmap")
    assert done.returncode == 3 and "f_rule" in done.stderr and "batch in Python" in done.stderr
    done = run(lambda x, y: jnp.sum(f(x, y)), "residuals")
    assert done.returncode == 3 and "JAX can't linearize a custom_vmap function either" in done.stderr
    if jax.__version__ == "0.10.2":
        with pytest.raises(ValueError, match="Linearization failed"):
            jax.grad(lambda x: jnp.sum(f(x, Y)))(X)
