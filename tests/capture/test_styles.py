"""Programs in the style of what people do, captured as a mapping and out of the script as it is: what is printed and what
is saved are what JAX says, and they run."""
import json
import os
import subprocess
import sys
from pathlib import Path

import jax
import pytest
from conftest import ROOT, ahead
from wellformed import check

STYLES = Path(__file__).with_name("styles")
NAMES = sorted(p.stem for p in STYLES.glob("*.py"))
# Every one in both ways with JAXSCOPE_FULL; else scripts of three kinds: a jit with static names, Equinox, and NNX.
IN_SCRIPTS = NAMES if os.environ.get("JAXSCOPE_FULL") else ["accumulate_by_scan", "equinox_dropout", "nnx_optimizer"]
pytestmark = pytest.mark.skipif(jax.__version__ != "0.10.2", reason="written for 0.10.2 and its libraries")


def driven(name, folder):
    env = dict(os.environ, PYTHONPATH=str(ROOT / "app" / "capture"))
    out = folder / "a.jaxscope"
    return out, subprocess.run([sys.executable, str(STYLES.with_name("style_driver.py")), str(STYLES / f"{name}.py"), str(out)],
                               env=env, capture_output=True, text=True, timeout=300)


drive = ahead("test_captured_as_a_mapping", driven)


def run(binary, *words):
    done = subprocess.run([binary, *words], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


# Styles whose residuals are JAX's in another order, and why.
REORDERED = {"graph_attention": "JAX lists constants as the test's function closes over them, jaxscope as inputs of the differentiated function"}


def unnamed(rows):
    """Arguments are named after the user's function; JAX sees the one that the test gives it."""
    return [[a, "an argument" if s.startswith("from the argument") else s] for a, s in rows]


@pytest.mark.parametrize("name", NAMES)
def test_captured_as_a_mapping(name, drive, binary):
    out, done = drive(name)
    if "ModuleNotFoundError" in done.stderr:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stderr[-3000:]
    said = json.loads(done.stdout.splitlines()[-1])
    document = json.loads(out.read_text())
    check(document)
    assert [r["mark"] for r in document["regions"]] == [0] and "warnings" not in document
    if said["text"] is not None:
        assert run(binary, "print", str(out)).strip() == said["text"].strip()
    rows = [[r["aval"], r["source"]] for r in json.loads(run(binary, "residuals", str(out), "--json"))["residuals"]]
    assert rows
    if said["residuals"] is None:
        return
    ours, theirs = unnamed(rows), unnamed(said["residuals"])
    if name in REORDERED:
        assert ours != theirs and sorted(ours) == sorted(theirs), "the order is JAX's now: take the name off the list"
    else:
        assert ours == theirs


@pytest.mark.parametrize("name", IN_SCRIPTS)
def test_captured_out_of_the_script(name, binary, tmp_path):
    text = (STYLES / f"{name}.py").read_text()
    call = text.split('CALL = "')[1].split('"')[0]
    out = str(tmp_path / "a.jaxscope")
    done = subprocess.run([binary, "capture", "--call", call, "-o", out, "--values", "all", "--", sys.executable, str(STYLES / f"{name}.py")],
                          capture_output=True, text=True, timeout=300)
    if "ModuleNotFoundError" in done.stderr:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0 and "warning" not in done.stderr, done.stderr[-3000:]
    program = json.loads(run(binary, "inspect", out, "--json"))["program"]
    assert len(program["regions"]) == 1 and any(i["donated"] for i in program["inputs"]) == ("donate" in text.split("def program")[0])
    assert json.loads(run(binary, "residuals", out, "--json"))["residuals"]
