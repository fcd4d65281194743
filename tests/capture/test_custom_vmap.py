"""Functions with a rule for vmap: they print, run, and batch in Python as in JAX; what needs the rule is refused by name."""
import json
import re
import subprocess
import sys

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
    for out, w in zip(json.loads(done.stdout)["outputs"], jax.tree.leaves(fn(X, Y)), strict=True):
        np.testing.assert_allclose(out["values"], w, rtol=1e-6)


def test_vmap_uses_the_rule_of_its_size(run):
    text = run(f, "transform", "--apply", "vmap@8", "--print").stdout
    if jax.__version__ == "0.10.2":
        assert text.strip() == str(jax.make_jaxpr(jax.vmap(f))(jnp.ones((8, 3)), jnp.ones((8, 3))))
    assert "cos" in text and "sin" not in text


def test_what_needs_another_rule_is_refused(run):
    done = run(f, "transform", "--apply", "vmap@5")
    assert done.returncode == 3 and "f_rule" in done.stderr and "capture again with --axis-size 5" in done.stderr
    done = run(lambda x, y: jnp.sum(f(x, y)), "residuals")
    assert done.returncode == 3 and "Linearization failed to produce known values" in done.stderr
    if jax.__version__ == "0.10.2":
        with pytest.raises(ValueError, match="Linearization failed"):
            jax.grad(lambda x: jnp.sum(f(x, Y)))(X)


def test_the_size_of_the_axis_is_an_option(binary, tmp_path):
    program, out = tmp_path / "p.py", tmp_path / "p.jaxscope"
    program.write_text("import jax, jax.numpy as jnp\n"
                       "@jax.custom_batching.custom_vmap\ndef f(x):\n    return jnp.sin(x)\n"
                       "@f.def_vmap\ndef rule(n, batched, x):\n    return jnp.cos(x) / n, True\n")
    done = subprocess.run([binary, "capture", f"{program}:f", "--args", "(jnp.ones(3),)", "--axis-size", "5,7", "-o", str(out), "--python", sys.executable],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for n in (5, 7):
        done = subprocess.run([binary, "transform", str(out), "--apply", f"vmap@{n}", "--print"], capture_output=True, text=True)
        assert f"{float(n)}" in done.stdout and "cos" in done.stdout
    done = subprocess.run([binary, "transform", str(out), "--apply", "vmap@8", "--print"], capture_output=True, text=True)
    assert done.returncode == 3 and "--axis-size 8" in done.stderr
