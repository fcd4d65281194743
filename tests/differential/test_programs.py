"""Whole programs in Python (programs/*.py) and in C++ (tests/trace/programs/*.cpp): one jaxpr, the same residuals under every policy, the same
donations and numbers, and hardly more lines."""
import importlib.util
import re
import subprocess
import warnings
from pathlib import Path

import jax
import numpy as np
import pytest

import jaxscope
from conftest import ROOT
from program_pairs import BINARY, assert_same_captures, code_lines

FILES = ("training", "models", "loops", "inference", "further", "learning", "tutorials")
PYTHON, CPP = ROOT / "tests" / "differential" / "programs", ROOT / "tests" / "trace" / "programs"


def sections(path: Path) -> dict[str, str]:
    found = re.findall(r"^(?://|#) ---- (\w+)\n(.*?)^(?://|#) ----\n", path.read_text(), re.M | re.S)
    return dict(found)


TEXTS = {name: (text, sections(CPP / f"{file}.cpp")[name], file) for file in FILES for name, text in sections(PYTHON / f"{file}.py").items()}


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """By name: what the C++ program printed; its captures lie in the folder."""
    folder = tmp_path_factory.mktemp("programs")
    done = subprocess.run([Path(BINARY).parent / "tests" / "program_driver", folder], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder, dict(re.findall(r"^== (\w+)\n(.*?)(?=^==|\Z)", done.stdout, re.M | re.S))


def load(name):
    spec = importlib.util.spec_from_file_location(name, PYTHON / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def assert_same_numbers(printed, out):
    lines = re.findall(r"^-- (\S+)(.*)$", printed, re.M)
    leaves = jax.tree.leaves(out)
    assert [aval.lstrip("~") for aval, _ in lines] == [a.aval.str_short().lstrip("~") for a in leaves]
    for (_, numbers), leaf in zip(lines, leaves):
        np.testing.assert_allclose(np.array(numbers.split(), float), np.asarray(leaf, float).ravel(), rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", TEXTS)
def test_program(name, ran, tmp_path):
    folder, printed = ran
    module = load(TEXTS[name][2])
    seen = []
    getattr(module, name)(lambda fn, donated, *args: seen.extend((fn, donated, args)))
    fn, donated, args = seen
    jaxscope.capture(fn, donate_argnums=donated)(*args).save(str(tmp_path / "python.jaxscope"))
    assert_same_captures(folder / f"{name}.jaxscope", tmp_path / "python.jaxscope")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # donations that can't be used: which ones is compared
        out = jax.jit(fn, donate_argnums=donated)(*args)
    assert_same_numbers(printed[name], out)
    gone = [str(int(a.is_deleted())) for a in jax.tree.leaves(args)]
    assert re.search(r"^deleted(.*)$", printed[name], re.M)[1].split() == gone


def test_loops_that_can_be_differentiated(ran):
    """Their jaxprs are others than Equinox's, which are made of primitives of its own."""
    pytest.importorskip("equinox")
    module = load("equinox_loops")
    assert set(module.LOOPS) == set(ran[1]) - set(TEXTS)
    for name, program in module.LOOPS.items():
        assert_same_numbers(ran[1][name], jax.jit(program)(*module.ARGUMENTS))


def test_as_short_as_in_python():
    for name, (python, cpp, _) in TEXTS.items():
        counts = code_lines(python), code_lines(cpp)
        print(f"{name:20} Python {counts[0]:3}  C++ {counts[1]:3}  {counts[1] / counts[0]:.2f}")
    long = [name for name, (python, cpp, _) in TEXTS.items() if code_lines(cpp) > 1.2 * code_lines(python)]
    assert len(TEXTS) >= 14 and not long, long
