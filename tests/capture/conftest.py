"""Tests of the capture package. They need JAX; those over `programs` also need the libraries that those programs import.

JAXSCOPE_PROGRAMS names another folder of reference programs; with `expected/` in it they are held to what is recorded there.
"""
import concurrent.futures
import os
import sys
from pathlib import Path

import pytest

os.environ.pop("COLUMNS", None), os.unsetenv("COLUMNS")  # readline, which pytest loads, sets it behind Python; pages are as wide as it says

# Programs make their weights before they are captured: XLA needs not do that well.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "app" / "capture"))
sys.path[:0] = [str(Path(__file__).resolve().parent), str(ROOT / "tests" / "support")]

from matrices import sample_matrices  # noqa: E402
PROGRAMS = Path(os.environ.get("JAXSCOPE_PROGRAMS", ROOT / "tests" / "programs"))


def missing(what: str):
    """Something that a build makes isn't there: a reason to skip for who runs one file by hand, a failure in ./test.sh, which has built it."""
    (pytest.fail if "JAXSCOPE_SAMPLE" in os.environ else pytest.skip)(what)


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def binary() -> str:
    """The command line: JAXSCOPE names it."""
    path = os.environ.get("JAXSCOPE", str(ROOT / "build" / "release" / "jaxscope"))
    if not os.access(path, os.X_OK):
        missing("no jaxscope: set JAXSCOPE")
    return path


def ahead(test, work):
    """A fixture for a test parametrised by `name`: `work(name, folder)` of all selected cases, two at a time, done ahead of them."""
    @pytest.fixture(scope="module")
    def done(request, tmp_path_factory):
        names = [i.callspec.params["name"] for i in request.session.items if getattr(i, "originalname", "") == test and i.module is request.module]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            running = {n: pool.submit(work, n, tmp_path_factory.mktemp(n)) for n in names}
            yield lambda name: running[name].result()
            for f in running.values():
                f.cancel()
    return done


def pytest_collection_modifyitems(config, items):
    sample_matrices(config, items)
