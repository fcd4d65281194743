"""`policies --xla`: what XLA itself says of each row's step. `cpu` is asked, which every JAX has; a script stands for the TPU's compiler (tests/capture/test_targets.py)."""
import json
import os
import signal
import subprocess
import sys
import time

import pytest
from conftest import BINARY

PROGRAM = """
LAYERS = 4
import jax, jax.numpy as jnp
def loss(w, x):
    for _ in range(LAYERS):
        x = jnp.tanh(x @ w)
    return x.sum()
def step(w, x):
    value, g = jax.value_and_grad(loss)(w, x)
    return w - 0.1 * g, value
def program():
    return {"fn": step, "args": (jnp.ones((64, 64)), jnp.ones((256, 64))), "donate_argnums": (0,)}
"""


@pytest.fixture
def step(cli, monkeypatch):
    pytest.importorskip("jax")
    monkeypatch.setenv("XDG_CACHE_HOME", str(cli.folder / "cache"))
    monkeypatch.setenv("JAXSCOPE_PYTHON", sys.executable)
    (cli.folder / "step.py").write_text(PROGRAM)
    cli.ok("capture", "step.py:program", "-o", "step.jaxscope", "--compile")
    return "step.jaxscope"


def figures(report):
    assert {len(r["compiled"]) for r in report["policies"]} == {1}
    return {r["policy"]: r["compiled"][0] for r in report["policies"]}


def test_the_step_as_it_is_has_the_figures_of_the_user_s_own(cli, step, schema):
    report = cli.json("policies", step, "--no-run", "--xla", "cpu")
    schema.validate(report)
    found = figures(report)
    assert set(found) >= {"as it is", "nothing_saveable", "dots_saveable", "everything_saveable"}
    own = json.loads(cli.ok("inspect", step, "--json"))["program"]["compiled"][0]
    assert found["as it is"]["temporaries"] == own["temporaries"] > 0 and found["as it is"]["target"] == "cpu"
    assert found["as it is"]["peak"] == own["arguments"] + own["outputs"] - own["aliased"] + own["temporaries"]  # the donated weight is counted once
    assert not any(f["problem"] or f["kept"] for f in found.values())
    again = figures(cli.json("policies", step, "--no-run", "--xla", "cpu"))
    assert all(f["kept"] for f in again.values()) and {p: f["peak"] for p, f in again.items()} == {p: f["peak"] for p, f in found.items()}
    page = cli.ok("policies", step, "--no-run", "--xla", "cpu")
    assert "XLA cpu" in page and f"{len(found)} read from the disk" in page


def test_rows_that_cant_be_asked_say_why(cli, step):
    sharded = cli.raw("policies", "sample:mlp_sharded", "--no-run", "--xla", "cpu")
    assert sharded.returncode == 3 and "several devices" in sharded.stdout and "mlp_sharded.py:" in sharded.stdout
    done = cli.raw("policies", step, "--no-run", "--xla", "gpu:h100")
    assert done.returncode == 2 and "--xla: expected tpu:KIND[:TOPOLOGY]" in done.stderr and done.stderr.count("\n") == 1
    done = cli.raw("policies", step, "--no-run", "--xla", "cpu", "--python", "/nowhere/python")
    assert done.returncode in (2, 3) and "/nowhere/python" in done.stderr
    (cli.folder / "bare").write_text("#!/bin/sh\necho \"ModuleNotFoundError: No module named 'jax'\" >&2; exit 1\n")
    (cli.folder / "bare").chmod(0o755)
    done = cli.raw("policies", step, "--no-run", "--xla", "cpu", "--python", str(cli.folder / "bare"))
    assert done.returncode == 3 and "expected a Python with JAX" in done.stderr and "JAXSCOPE_PYTHON" in done.stderr


def test_a_compiler_without_libtpu_is_said_once(cli, step):
    """Where libtpu is there, it answers."""
    import importlib.util
    if importlib.util.find_spec("libtpu"):
        pytest.skip("libtpu is here")
    done = cli.raw("policies", step, "--no-run", "--xla", "tpu:v5p")
    assert done.returncode == 3 and done.stdout.count("has no libtpu") == 1 and "all: tpu:v5p: " in done.stdout


@pytest.mark.alone
def test_what_was_interrupted_goes_on_where_it_stood(cli, step):
    deep = cli.folder / "deep.py"
    deep.write_text(PROGRAM.replace("LAYERS = 4", "LAYERS = 150"))  # seconds for each row
    cli.ok("capture", "deep.py:program", "-o", "deep.jaxscope")
    step = "deep.jaxscope"
    running = subprocess.Popen([BINARY, "policies", step, "--no-run", "--xla", "cpu"], cwd=cli.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while ("(2 of" not in (line := running.stderr.readline())):
        assert line, "ended before the second row was compiled"
    running.send_signal(signal.SIGINT)
    begin = time.monotonic()
    running.communicate(timeout=30)
    assert running.returncode == 130 and time.monotonic() - begin < 5
    found = figures(cli.json("policies", step, "--no-run", "--xla", "cpu"))
    assert 1 <= sum(f["kept"] for f in found.values()) < len(found) and next(iter(found.values()))["kept"]
