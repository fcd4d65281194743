"""The C++ samples and the same programs in Python: one jaxpr, the same residuals, peaks and donations under every policy, as many lines."""
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

import jaxscope
from conftest import ROOT
from program_pairs import BINARY, assert_same_captures, code_lines

TWINS = sorted((ROOT / "tests" / "differential" / "samples").glob("*.py"))


def load(path: Path) -> dict:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.program()


@pytest.mark.parametrize("path", TWINS, ids=lambda p: p.stem)
def test_twins(path, tmp_path):
    if path.stem == "filter_jit":
        pytest.importorskip("equinox")
    program = load(path)
    cpp, python = tmp_path / "cpp.jaxscope", tmp_path / "python.jaxscope"
    done = subprocess.run([Path(BINARY).parent / "samples" / "cpp" / f"sample_{path.stem}", cpp], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    options = {"donate_argnums": program["donate_argnums"]} if "donate_argnums" in program else {}
    jaxscope.capture(program["fn"], **options)(*program["args"]).save(str(python))
    # filter_grad's arguments are flat in C++: their paths are their numbers.
    assert_same_captures(cpp, python, *([r"the argument \S+"] if path.stem == "filter_jit" else []))


@pytest.mark.skipif(not os.environ.get("JAXSCOPE_FULL"), reason="runs what the samples run: JAXSCOPE_FULL")
@pytest.mark.parametrize("path", TWINS, ids=lambda p: p.stem)
def test_the_whole_program_runs(path, tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "app" / "capture"), "JAXSCOPE": str(BINARY)}
    done = subprocess.run([sys.executable, path, tmp_path / "out.jaxscope"], capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out.jaxscope").exists()


def test_as_short_as_in_python():
    assert {p.stem for p in TWINS} == {p.stem for p in (ROOT / "samples" / "cpp").glob("*.cpp")}
    for path in TWINS:
        python = code_lines(path.read_text().split("# ---- what the test asks for")[0]) + 2  # its last two lines call main
        cpp = code_lines((ROOT / "samples" / "cpp" / f"{path.stem}.cpp").read_text())
        print(f"{path.stem:20} Python {python:3}  C++ {cpp:3}  {cpp / python:.2f}")
        assert cpp <= 1.2 * python
