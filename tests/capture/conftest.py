"""Tests of the capture package. They need JAX; those over `programs` also need the libraries that those programs import.

JAXSCOPE_PROGRAMS names the folder of reference programs (with `expected/`); without it the tests over them are skipped.
"""
import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "app" / "capture"))
sys.path.insert(0, str(Path(__file__).resolve().parent))
PROGRAMS = Path(os.environ.get("JAXSCOPE_PROGRAMS", ROOT.parent / "shared" / "programs"))


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def binary() -> str:
    """The command line: JAXSCOPE names it."""
    path = os.environ.get("JAXSCOPE", str(ROOT / "build" / "release" / "jaxscope"))
    if not os.access(path, os.X_OK):
        pytest.skip("no jaxscope: set JAXSCOPE")
    return path
