"""`jaxscope donation` of an Equinox program: what each of filter_jit's five `donate` would do, held to what filter_jit does."""
import json
import os
import subprocess
import warnings

import jax
import jax.numpy as jnp
import pytest

import jaxscope

eqx = pytest.importorskip("equinox")


class Model(eqx.Module):
    w: jax.Array
    b: jax.Array
    depth: int = eqx.field(static=True)


def step(model, state, scale, x):
    y = x @ model.w + model.b
    return Model(model.w * 0.9, model.b + y.sum(0), model.depth), {"seen": state["seen"] + 1.0}, (y.sum() * scale).astype(jnp.bfloat16)


def arguments():
    return Model(jnp.ones((4, 8)), jnp.zeros(8), 2), {"seen": jnp.zeros((64, 64)), "log": jnp.ones(3)}, 2.0, jnp.ones((16, 4))


def test_five_ways_to_donate(tmp_path):
    path = tmp_path / "step.jaxscope"
    jaxscope.capture(step, jit="eqx", donate="all-except-first")(*arguments()).save(path)
    out = subprocess.run([os.environ["JAXSCOPE"], "donation", path, "--json"], capture_output=True, text=True, check=True).stdout
    rows = {r["mode"]: r for r in json.loads(out)["modes"]}
    assert list(rows) == ["all", "all-except-first", "warn", "warn-except-first", "none"]
    for mode, row in rows.items():
        args = arguments()
        leaves = [a for a in jax.tree.leaves(args) if eqx.is_array(a)]
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            jax.block_until_ready(eqx.filter_jit(lambda *a: step(*a), donate=mode)(*args))
        gone = [a for a in leaves if a.is_deleted()]
        assert row["reused"] == len(gone), mode
        assert row["saved_bytes"] == sum(a.nbytes for a in gone), mode
        text = [str(w.message) for w in heard if "donated" in str(w.message)]
        assert row["warning"] == "".join(text), mode
        assert row["chosen"] == (mode in ("all-except-first", "warn-except-first")), mode
    assert rows["all"]["planned_peak"] < rows["none"]["planned_peak"]
    # The environment as Python knows it: readline tells the width of the terminal to what is run without one.
    text = subprocess.run([os.environ["JAXSCOPE"], "donation", path], capture_output=True, text=True, check=True, env=dict(os.environ)).stdout
    assert "What each `donate` of filter_jit would do" in text
    assert "all-except-first *" in text
    assert "JAX warns (filter_jit shows it under 'warn' and 'warn-except-first' alone):" in text
