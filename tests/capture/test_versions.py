"""Captures in an older version of the format still load, and say what a new one says."""
import json
import subprocess
import sys
from pathlib import Path

import jax
import pytest
from conftest import ROOT
from wellformed import check

VERSIONS = Path(__file__).with_name("versions")
OLD = {"1": "step_scan_accumulate", "1_rules": "custom_rules"}


def said(binary, path, *words):
    done = subprocess.run([binary, words[0], str(path), *words[1:], "--json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("old", OLD)
def test_an_older_version_loads(old, binary, tmp_path):
    zstandard = pytest.importorskip("zstandard")
    jsonschema = pytest.importorskip("jsonschema")
    path = VERSIONS / f"{old}.jaxscope"
    document = json.loads(zstandard.ZstdDecompressor().decompressobj().decompress(path.read_bytes()))
    assert document["version"] == 1
    check(document)
    schema = json.loads((ROOT / "resources" / "capture.schema.json").read_text())
    assert next(jsonschema.Draft202012Validator(schema).iter_errors(document), None) is None
    if jax.__version__ != "0.10.2":
        return
    new = tmp_path / "new.jaxscope"
    program = ROOT / "tests" / "programs" / f"{OLD[old]}.py"
    done = subprocess.run([binary, "capture", f"{program}:program", "-o", str(new), "--values", "none", "--python", sys.executable],
                          capture_output=True, text=True)
    if "ModuleNotFoundError" in done.stderr:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stderr
    assert said(binary, path, "print")["text"] == said(binary, new, "print")["text"]
    rows = [[r["aval"] for r in said(binary, f, "residuals")["residuals"]] for f in (path, new)]
    assert rows[0] and rows[0] == rows[1]


def test_a_version_to_come_is_refused(binary, tmp_path):
    path = tmp_path / "a.jaxscope"
    path.write_text('{"format": "jaxscope.capture", "version": 99}')
    done = subprocess.run([binary, "print", str(path)], capture_output=True, text=True)
    assert done.returncode == 2 and "$.version: expected version 1 or 2 of the capture format, found 99" in done.stderr
