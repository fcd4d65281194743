"""The Python API, the pytest plugin and the notebook's magic, with the program jaxscope itself behind them."""
import json
import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

import jaxscope
from jaxscope.errors import CaptureError

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("JAXSCOPE", str(ROOT / "build" / "release" / "jaxscope"))
pytestmark = pytest.mark.skipif(not os.path.exists(PROGRAM), reason="the program jaxscope isn't built")


def loss(w, x):
    return jnp.sin(jnp.sin(x @ w)).sum()


ARGS = (jnp.ones((8, 4)), jnp.ones((16, 8)))


def test_dataclasses_hold_what_the_command_line_says():
    a = jaxscope.analyze(loss, ARGS, differentiate=0)
    r = a.residuals()
    assert r.total_bytes == sum(row.bytes for row in r.rows) > 0 and any(row.line for row in r.rows)
    assert a.residuals(policy="nothing_saveable").total_bytes < r.total_bytes
    m = a.memory()
    assert m.planned_peak == m.arguments + m.outputs - m.aliased + m.temporaries and m.at_peak
    rows = a.policies("save_only_these_names(h)")
    assert rows[0].policy == "as it is" and rows[-1].policy == "save_only_these_names(h)" and not rows[-1].problem
    with pytest.raises(CaptureError, match="expected a policy"):
        a.residuals(policy="nothing")
    assert a.residuals(wrt=0) == a.residuals(wrt="0") and a.residuals(wrt=[0, 1]) == a.residuals(wrt="0,1")
    with pytest.raises(CaptureError, match="expected an argument of loss from 0 to 1, found 9"):
        a.residuals(wrt=9)
    d = jaxscope.analyze(lambda s, b: (s + 1, b.sum()), (jnp.ones(3), jnp.ones(4)), donate_argnums=(0, 1)).donation()
    assert [leaf.used for leaf in d.donated] == [True, False] and "float32[4]" in d.warning


def test_assertions_say_where_and_what_to_do():
    jaxscope.assert_peak(loss, ARGS, limit="1M", differentiate=0)
    with pytest.raises(AssertionError, match="the planned peak is .* above the limit of 100 B"):
        jaxscope.assert_peak(loss, ARGS, limit=100, differentiate=0)
    with pytest.raises(AssertionError, match=r"test_analysis.py:\d+: the backward pass keeps"):
        jaxscope.assert_residuals(loss, ARGS, limit=600, differentiate=0)
    with pytest.raises(AssertionError, match="'h'"):
        jaxscope.assert_residuals(loss, ARGS, must_save=["h"], differentiate=0)
    jaxscope.assert_no_unused_donation(lambda s: s + 1, (jnp.ones(3),), donate_argnums=0)
    with pytest.raises(AssertionError, match="donated"):
        jaxscope.assert_no_unused_donation(lambda s: s.sum(), (jnp.ones(3),), donate_argnums=0)
    with pytest.raises(TypeError, match="needs limit"):
        jaxscope.assert_residuals(loss, ARGS)


def test_a_finished_capture_is_asked_as_well(tmp_path):
    captured = jaxscope.capture(loss, differentiate=0)(*ARGS)
    path = captured.save(str(tmp_path / "x.jaxscope"))
    assert jaxscope.analyze(captured).residuals() == jaxscope.analyze(path).residuals()
    with pytest.raises(TypeError, match="a capture is finished"):
        jaxscope.analyze(path, ARGS)


def test_the_plugin(tmp_path):
    (tmp_path / "test_it.py").write_text("""import jax.numpy as jnp
def step(w):
    return jnp.sin(w).sum()
def test_small(jaxscope_memory):
    jaxscope_memory.assert_peak(step, (jnp.ones(8),), limit="1M")
def test_large(jaxscope_memory):
    jaxscope_memory.assert_peak(step, (jnp.ones(8),), limit=1)
def test_two(jaxscope_memory):
    jaxscope_memory.assert_peak(step, (jnp.ones(8),), limit="1M")
    jaxscope_memory.assert_peak(other, (jnp.ones(8),), limit="1M")
def other(w):
    return jnp.cos(w).sum()
""")
    env = {**os.environ, "JAXSCOPE": PROGRAM, "PYTHONPATH": str(ROOT / "app" / "capture"), "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "jaxscope.pytest_plugin", "--jaxscope-figures", "f.json", "test_it.py"],
                          cwd=tmp_path, env=env, capture_output=True, text=True)
    assert "1 failed, 2 passed" in done.stdout and "the planned peak is" in done.stdout and "jaxscope: memory" in done.stdout, done.stdout
    figures = json.loads((tmp_path / "f.json").read_text())
    rows = figures["programs"]
    assert [(p["test"].removeprefix("test_it.py::test_"), p["name"]) for p in rows] == [("small", "step"), ("large", "step"), ("two", "step"), ("two", "other")]
    assert all(p["planned_peak"] > 0 and p["file"] == "" for p in rows)  # of no file: a check knows them by their names
    (tmp_path / "one.json").write_text(json.dumps({**figures, "programs": rows[:1]}))
    jaxscope.capture(jnp.sin, name="step")(jnp.ones(8)).save(str(tmp_path / "train.jaxscope"))
    checked = subprocess.run([PROGRAM, "check", "train.jaxscope", "--baseline", "one.json", "--max-peak-growth", "5"], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_magic(capsys):
    from jaxscope.asking.magic import run
    space = {"loss": jax.grad(loss), "ARGS": ARGS, "x": ARGS[1]}
    run("residuals loss(ARGS[0], x)", space)
    assert "Residuals of loss" in capsys.readouterr().out
    run("loss(*ARGS)", space)
    assert "Memory of jaxscope's CPU JIT" in capsys.readouterr().out
    with pytest.raises(CaptureError, match="and a call such as step"):
        run("loss", space)
    with pytest.raises(CaptureError, match="found 'polices loss.*; did you mean policies"):
        run("polices loss(ARGS[0], x)", space)

    class Shell:
        user_ns = space

        def register_magic_function(self, function, kind, name):
            self.found = (kind, name)
            function("inspect loss(*ARGS)")

    shell = Shell()
    jaxscope.load_ipython_extension(shell)
    assert shell.found == ("line", "jaxscope") and "Program" in capsys.readouterr().out
