"""`python -m jaxscope.targets.ask`, which the command line asks of programs that it made."""
import json
import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import pytest
from conftest import ROOT

import jaxscope
from jaxscope.targets.asker import Asker


def ask(folder, targets, *options, path=str(ROOT / "app" / "capture")):
    program = folder / "p.jaxscope"
    if not program.exists():
        jaxscope.capture(lambda x: jnp.sin(x).sum())(jnp.ones(8)).save(str(program))
    asked = {"targets": targets, "target_python": None, "timeout": None, "programs": [{"label": "as it is", "file": str(program)}]}
    return subprocess.run([sys.executable, *options, "-m", "jaxscope.targets.ask"], input=json.dumps(asked), capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": path, "XDG_CACHE_HOME": str(folder), "JAX_PLATFORMS": "cpu"})


def test_a_python_without_jax_ends_without_a_word(tmp_path):
    """The command line says it in a line of its own."""
    done = ask(tmp_path, ["cpu"], "-S")
    assert (done.returncode, done.stdout, done.stderr) == (127, "", "")


def test_a_jax_that_can_not_be_used_is_refused_in_a_line(tmp_path):
    (tmp_path / "jax.py").write_text("import nothing_of_this_name\n")
    done = ask(tmp_path, ["cpu"], path=os.pathsep.join([str(tmp_path), str(ROOT / "app" / "capture")]))
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert json.loads(done.stdout)["refused"] == f"--python: {sys.executable} can't import JAX: No module named 'nothing_of_this_name'"
    (tmp_path / "jax.py").write_text("__version__ = '0.1.0'\n")
    done = ask(tmp_path, ["cpu"], path=os.pathsep.join([str(tmp_path), str(ROOT / "app" / "capture")]))
    assert done.returncode == 2 and "or later is needed, found 0.1.0" in json.loads(done.stdout)["refused"]


def test_a_target_that_is_none(tmp_path):
    done = ask(tmp_path, ["tpu:v9z"])
    assert done.returncode == 2 and json.loads(done.stdout)["refused"].startswith("--xla: expected one of v2, v3")


@pytest.mark.skipif(jax.__version_info__ < (0, 10), reason="captures are rebuilt with JAX 0.10")
def test_what_it_says(tmp_path, monkeypatch):
    done = ask(tmp_path, ["cpu"])
    (row,) = map(json.loads, done.stdout.splitlines())
    said = row["facts"]["memory_analysis"]
    assert row["facts"]["version"] == jax.lib.__version__ and not row["kept"]
    assert said["peak_memory_in_bytes"] == said["argument_size_in_bytes"] + said["output_size_in_bytes"] - said["alias_size_in_bytes"] + said["temp_size_in_bytes"]
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    problem = Asker(str(tmp_path / "p.jaxscope"), "/nowhere/python", None).answer("tpu:v5p", "x")
    assert problem == {"problem": "/nowhere/python can't be run: No such file or directory"}  # the target's name stands beside it
