"""Runs the command line on captures of the programs in tests/programs, for comparison with real JAX in the same process."""
import fcntl
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import sysconfig
from collections import Counter

import numpy as np
import pytest

os.environ.pop("COLUMNS", None), os.unsetenv("COLUMNS")  # readline, which pytest loads, sets it behind Python; pages are as wide as it says

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "tests" / "programs"
SAMPLES = ROOT / "samples" / "python"
sys.path[:0] = [str(ROOT / "app" / "capture"), str(SAMPLES), str(ROOT / "tests" / "support")]

from matrices import sample_matrices  # noqa: E402


def jaxscope_binary() -> str:
    return os.environ.get("JAXSCOPE", str(ROOT / "build" / "release" / "jaxscope"))


def made(script: str, folder: pathlib.Path, *args, timeout=300) -> subprocess.CompletedProcess:
    """How a script of this folder ended that writes captures to another: in a process of its own, since it sets how many devices JAX sees."""
    path = pathlib.Path(__file__).with_name(script)
    return subprocess.run([sys.executable, str(path), str(folder), *map(str, args)], capture_output=True, text=True, timeout=timeout,
                          env=dict(os.environ, JAX_PLATFORMS="cpu"))


def made_by(script: str, folder: pathlib.Path, *args, timeout=300) -> pathlib.Path:
    """The folder, after the script wrote its captures there."""
    done = made(script, folder, *args, timeout=timeout)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


def names() -> list[str]:
    return sorted(p.stem for p in PROGRAMS.glob("*.py"))


def path_of(name: str) -> pathlib.Path:
    """A program of the tests or a bundled sample."""
    path = PROGRAMS / f"{name}.py"
    return path if path.exists() else SAMPLES / f"{name}.py"


def load_module(name: str):
    """The program's file as a module of its own."""
    path = path_of(name)
    spec = importlib.util.spec_from_file_location(f"program_{name}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def available(name: str) -> bool:
    """Are the libraries that the program needs installed?"""
    text = path_of(name).read_text()
    requires = re.search(r"REQUIRES = (\[.*?\])", text)
    modules = {"dm-haiku": "haiku"}
    for r in eval(requires.group(1)) if requires else []:
        package = r.split("==")[0]
        if importlib.util.find_spec(modules.get(package, package).replace("-", "_")) is None:
            return False
    return True


def cut(text: str) -> str:
    """Directories cut as captures cut them: the program's own to FILE.py, installed packages to <site-packages>/."""
    for prefix, short in ((str(PROGRAMS) + os.sep, ""), (str(SAMPLES) + os.sep, ""), (sysconfig.get_paths()["purelib"] + os.sep, "<site-packages>/"),
                          (sysconfig.get_paths()["stdlib"] + os.sep, "<stdlib>/")):
        text = text.replace(prefix, short)
    return re.sub(r"0x[0-9a-f]{6,}", "0x_", text)


def largest_error(ours, theirs) -> float:
    """Of an element, over its own magnitude, or over the typical one where that is larger: a sum that cancels has the errors of its terms.
    Infinite where NaN, infinities or shapes differ. One huge element doesn't hide what is wrong with the others."""
    a, b = (np.asarray(x).astype(np.complex128 if np.iscomplexobj(x) else np.float64) for x in (ours, theirs))
    if a.shape != b.shape:
        return np.inf
    apart = ~((a == b) | (np.isnan(a) & np.isnan(b)))
    if not apart.any():
        return 0.0
    if not (np.isfinite(a[apart]).all() and np.isfinite(b[apart]).all()):
        return np.inf
    sizes = np.abs(b[np.isfinite(b) & (b != 0)])
    typical = np.median(sizes) if sizes.size else 0.0
    return float(np.max(np.abs(a - b)[apart] / np.maximum(np.abs(b[apart]), max(typical, 1e-300))))


def same_rows(ours: list, theirs: list, case=None, reordered: dict | None = None):
    """Residuals in JAX's order. `reordered`: the cases whose order is known to differ, with the reason; the same rows even so."""
    missing, extra = Counter(theirs) - Counter(ours), Counter(ours) - Counter(theirs)
    assert not missing and not extra, f"missing {missing}, too many {extra}"
    if case in (reordered or {}):
        assert ours != theirs, f"{case}: the order is JAX's now, take the case off the list"
    else:
        assert ours == theirs, "\n".join(f"{'  ' if a == b else '! '}{a} | {b}" for a, b in zip(ours, theirs))


class Cli:
    """`jaxscope COMMAND ... --json`, parsed; `fails` gives exit code and message instead."""

    def __init__(self, folder: pathlib.Path, captures: pathlib.Path):
        self.folder, self.captures = folder, captures

    def capture(self, name: str) -> str:
        out = self.captures / f"{name}.jaxscope"
        with open(out.with_suffix(".lock"), "w") as lock:  # the other worker may want the same one
            fcntl.flock(lock, fcntl.LOCK_EX)
            if out.exists():
                return str(out)
            self.raw("capture", f"{path_of(name)}:program", "-o", str(out), "--values", "all", "--python", sys.executable)
        return str(out)

    def raw(self, *args: str, check: bool = True) -> subprocess.CompletedProcess:
        done = subprocess.run([jaxscope_binary(), *args], capture_output=True, text=True, timeout=600)
        if check and done.returncode != 0:
            raise AssertionError(f"jaxscope {' '.join(args)} ended with {done.returncode}:\n{done.stderr[-3000:]}")
        return done

    def json(self, *args: str) -> dict:
        return json.loads(self.raw(*args, "--json").stdout)

    def fails(self, *args: str) -> tuple[int, str]:
        done = self.raw(*args, check=False)
        return done.returncode, done.stderr


@pytest.fixture(scope="session")
def cli(tmp_path_factory) -> Cli:
    own = tmp_path_factory.mktemp("own")
    of_all = own.parents[1] if "PYTEST_XDIST_WORKER" in os.environ else own.parent
    (of_all / "captures").mkdir(exist_ok=True)
    return Cli(own, of_all / "captures")


# The files that take longest come first: two workers end together.
LONG = ["test_values", "test_sharded_programs", "test_operand_types", "test_codegen_fuzz", "test_front_end", "test_harness_values", "test_programs",
        "test_residuals", "test_print"]


def pytest_collection_modifyitems(config, items):
    sample_matrices(config, items)
    items.sort(key=lambda i: LONG.index(i.module.__name__) if i.module.__name__ in LONG else len(LONG))


# Values alone are asked of XLA here, which compiles in half the time without most of its optimisations. --full has it compile as it does for users.
VALUES_ALONE = {"test_values", "test_kernels", "test_axis_kernels", "test_irregular_kernels", "test_codegen_fuzz", "test_operand_types", "test_front_end",
                "test_harness_values", "test_random_pairs", "test_rules", "test_programs", "test_library_primitives", "test_sparse", "test_fft_kernels",
                "test_blocked_linalg", "test_linalg", "test_complex", "test_edges"}


@pytest.fixture(scope="module", autouse=True)
def quick_xla(request):
    import jax
    jax.config.update("jax_disable_most_optimizations", request.module.__name__ in VALUES_ALONE and not os.environ.get("JAXSCOPE_FULL"))
    yield
    jax.config.update("jax_disable_most_optimizations", False)
