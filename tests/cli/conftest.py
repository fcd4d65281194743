"""Tests of the command line as scripts use it: JSON against the published schema, exit codes, messages, files."""
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

os.environ.pop("COLUMNS", None), os.unsetenv("COLUMNS")  # readline, which pytest loads, sets it behind Python; pages are as wide as it says

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "app" / "capture"), str(ROOT / "tests" / "support")]

from matrices import sample_matrices  # noqa: E402
BINARY = os.environ.get("JAXSCOPE", str(ROOT / "build" / "release" / "jaxscope"))

TEXT = """{ lambda ; a:f32[3,4] b:f32[4]. let
    c:f32[3] = dot_general[dimension_numbers=(([1], [0]), ([], []))] a b
    d:f32[3] = sin c
    e:f32[] = reduce_sum[axes=(0,)] d
  in (e,) }
"""


def pytest_configure(config):
    config.addinivalue_line("markers", "alone: says how long something takes, or sends signals at moments: nothing else may run beside it")


class Cli:
    def __init__(self, folder: Path):
        self.folder = folder

    def raw(self, *args: str, input: str | None = None, **kwargs) -> subprocess.CompletedProcess:
        env = {**os.environ, "OMP_NUM_THREADS": "1"}
        return subprocess.run([BINARY, *args], capture_output=True, text=True, timeout=120, cwd=self.folder, input=input, env=env, **kwargs)

    def ok(self, *args: str, **kwargs) -> str:
        done = self.raw(*args, **kwargs)
        assert done.returncode == 0, f"{args}: {done.returncode}\n{done.stderr[-2000:]}"
        return done.stdout

    def json(self, *args: str, **kwargs) -> dict:
        return json.loads(self.ok(*args, "--json", **kwargs))


@pytest.fixture
def cli(tmp_path) -> Cli:
    (tmp_path / "x.jaxpr").write_text(TEXT)
    return Cli(tmp_path)


@pytest.fixture(scope="session")
def schema():
    import jsonschema
    document = json.loads((ROOT / "resources" / "report.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(document)
    return jsonschema.Draft202012Validator(document)


def pytest_collection_modifyitems(config, items):
    sample_matrices(config, items)
