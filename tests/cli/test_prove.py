"""`plan --budget --prove`: what is advised, written into a copy of the user's sources, captured, planned and run there; the patch does the same."""
import json
import subprocess
import sys

import pytest

pytest.importorskip("jax")

HEAD = '''"""A model."""
from __future__ import annotations
import functools
import jax, jax.numpy as jnp
'''
BLOCKS = HEAD + '''
def block(x, w):
    h = jnp.tanh(x @ w[0])
    h = jax.nn.gelu(
        h @ w[1])
    return h + x
def loss(ws, x):
    for w in ws:
        x = block(x, w)
    return (x ** 2).mean()
def program():
    return dict(fn=jax.value_and_grad(loss), args=([jnp.ones((2, 64, 64))] * 6, jnp.ones((2048, 64))))
'''
SCAN = HEAD + '''
def body(x, w):
    y = x
    y += jnp.sin(x @ w[0]) @ w[1]
    return y, None
def loss(ws, x):
    return (jax.lax.scan(body, x, ws)[0] ** 2).mean()
def program():
    return dict(fn=jax.value_and_grad(loss), args=(jnp.ones((6, 2, 64, 64)), jnp.ones((2048, 64))))
'''
WHOLE = HEAD + '''
def loss(w, x):
    h = jnp.tanh(x @ w)
    return (jnp.tanh(jnp.sin(h) @ w) ** 2).mean()
def program():
    return dict(fn=jax.grad(loss), args=(jnp.ones((64, 64)), jnp.ones((8192, 64))))
'''
EVERYTHING = "jax.checkpoint_policies.everything_saveable"
DECORATED = BLOCKS.replace("def block", f"@functools.partial(jax.checkpoint, policy={EVERYTHING})\ndef block")
CALLED = BLOCKS.replace("x = block(", f"x = jax.checkpoint(block, policy={EVERYTHING})(")


@pytest.fixture(autouse=True)
def python(monkeypatch):
    monkeypatch.setenv("JAXSCOPE_PYTHON", sys.executable)


def captured(cli, name, source):
    (cli.folder / f"{name}.py").write_text(source)
    done = cli.raw("capture", f"{name}.py:program", "-o", f"{name}.jaxscope")
    assert done.returncode == 0, done.stderr
    return f"{name}.jaxscope"


def plan(cli, *words, code=None):
    done = cli.raw("plan", *words, "--json")
    assert code is None or done.returncode == code, (done.stdout[-2000:], done.stderr)
    return json.loads(done.stdout)


def tight(cli, capture):
    """A budget between the least that can be had and the program as it is."""
    least = plan(cli, capture, "--budget", "1", code=1)["fit"]
    return (2 * least["found"]["planned_peak"] + least["before"]["planned_peak"]) // 3


@pytest.mark.parametrize("name, source, written", [
    ("blocks", BLOCKS, "x = jax.checkpoint(block, policy=jax.checkpoint_policies."),
    ("scan", SCAN, "jax.lax.scan(jax.checkpoint(body, policy=jax.checkpoint_policies."),
    ("whole", WHOLE, "jax.grad(jax.checkpoint(loss, policy=jax.checkpoint_policies."),
    ("decorated", DECORATED, "+@functools.partial(jax.checkpoint, policy=jax.checkpoint_policies."),
    ("called", CALLED, "x = jax.checkpoint(block, policy=jax.checkpoint_policies."),
])
def test_the_patch_is_what_was_found(cli, schema, name, source, written):
    capture = captured(cli, name, source)
    budget = tight(cli, capture)
    report = plan(cli, capture, "--budget", str(budget), "--prove", code=0)
    schema.validate(report)
    fit, proof = report["fit"], report["fit"]["proof"]
    assert proof["holds"] and not proof["problem"]
    assert (proof["planned_peak"], proof["residual_bytes"]) == (fit["found"]["planned_peak"], fit["found"]["residual_bytes"])
    assert proof["measured_peak"] > 0 and written in proof["patch"]
    assert (cli.folder / f"{name}.py").read_text() == source  # nothing of the user's was changed
    # As a user would: the patch, then the capture.
    subprocess.run(["git", "apply", "-p0", "-"], input=proof["patch"], text=True, cwd=cli.folder, check=True)
    done = cli.raw("capture", f"{name}.py:program", "-o", "again.jaxscope")
    assert done.returncode == 0, done.stderr
    assert plan(cli, "again.jaxscope")["memory"]["planned_peak"] == proof["planned_peak"]


def test_what_cant_be_proven_is_said(cli):
    capture = captured(cli, "gone", BLOCKS)
    budget = str(tight(cli, capture))
    (cli.folder / "gone.py").write_text(BLOCKS.replace("        x = block(x, w)", "        x = again(x, w)") + "again = block\n")
    proof = plan(cli, capture, "--budget", budget, "--prove", code=1)["fit"]["proof"]
    assert "gone.py:13: expected a call of block, found none" in proof["problem"] and not proof["holds"]
    (cli.folder / "gone.py").unlink()
    proof = plan(cli, capture, "--budget", budget, "--prove", code=1)["fit"]["proof"]
    assert "there is no such file here" in proof["problem"]
    done = cli.raw("plan", capture, "--prove")
    assert done.returncode == 2 and "expected --budget SIZE beside --prove" in done.stderr
