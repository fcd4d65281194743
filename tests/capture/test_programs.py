"""Every reference program is captured, is well-formed, and agrees with what was recorded of real JAX."""
import json
import os
import subprocess
import sys
from pathlib import Path

import jax
import pytest
from conftest import PROGRAMS, ROOT, ahead
from wellformed import check, refs

NAMES = sorted(p.stem for p in PROGRAMS.glob("*.py")) if PROGRAMS.is_dir() else []
SAMPLES = sorted(p.stem for p in (ROOT / "samples" / "python").glob("*.py"))


def schema():
    return json.loads((ROOT / "resources" / "capture.schema.json").read_text())


def run(path, out, *options):
    """In a process of its own: programs set XLA_FLAGS and configuration."""
    env = dict(os.environ, PYTHONPATH=str(ROOT / "app" / "capture"))
    env.pop("XLA_FLAGS", None)
    return subprocess.run([sys.executable, "-m", "jaxscope", f"{path}:program", "-o", str(out), "--no-compress", *options],
                          env=env, capture_output=True, text=True, timeout=300)


def validated(path):
    jsonschema = pytest.importorskip("jsonschema")
    document = json.loads(path.read_text())
    error = next(jsonschema.Draft202012Validator(schema()).iter_errors(document), None)
    assert error is None, f"{error.json_path}: {error.message[:300]}"
    check(document)
    return document


def equations(document, number):
    """A sub-jaxpr counts once for each equation that names it."""
    memo = {}

    def go(n):
        if n not in memo:
            memo[n] = sum(1 + sum(go(i) for k, i in refs(list(document["params"][e[3]].values())) if k in ("jaxpr", "closed_jaxpr"))
                          for e in document["jaxprs"][n]["eqns"])
        return memo[n]
    return go(number)


def captured(name, folder):
    out = folder / "a.jaxscope"
    return out, run(PROGRAMS / f"{name}.py", out, "--values", "all")


capture = ahead("test_reference_program", captured)


@pytest.mark.parametrize("name", NAMES)
def test_reference_program(name, capture, binary):
    out, done = capture(name)
    if "ModuleNotFoundError" in done.stderr:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    if jax.__version__ != "0.10.2" and done.returncode == 2 and "raised" in done.stderr:
        pytest.skip("needs 0.10.2: " + done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr
    d = validated(out)
    opened = subprocess.run([binary, "inspect", str(out), "--json"], capture_output=True, text=True)
    assert opened.returncode == 0, opened.stderr
    assert json.loads(opened.stdout)["program"]["equations"] == equations(d, d["program"]["jaxpr"])
    if jax.__version__ != "0.10.2" or not (PROGRAMS / "expected" / f"{name}.json").exists():
        return
    expected = json.loads((PROGRAMS / "expected" / f"{name}.json").read_text())
    program = d["program"]
    assert equations(d, program["jaxpr"]) == expected["jaxpr"]["eqns"]
    assert program["out_paths"] == expected["jaxpr"]["out_paths"]
    donation = expected.get("donation", {})
    if "kept_arguments" in donation:
        assert [i for i, k in enumerate(program["kept"]) if k] == donation["kept_arguments"]
        assert [i for i, k in enumerate(program["donated"]) if k] == [x["leaf"] for x in donation["donated"]]
    assert "/site-packages" not in json.dumps(d["sources"]).replace("<site-packages>", "")
    assert str(PROGRAMS) not in out.read_text()


@pytest.mark.parametrize("name", SAMPLES)
def test_sample(name, tmp_path):
    out = tmp_path / "a.jaxscope"
    done = run(ROOT / "samples" / "python" / f"{name}.py", out, "--values", "none")
    if jax.__version__ != "0.10.2" and "ImportError" in done.stderr:
        pytest.skip("needs 0.10.2: " + done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stderr
    d = validated(out)
    assert str(ROOT) not in out.read_text()
    assert (len(d["regions"]) == 1 and d["regions"][0]["mark"] == 0) or d["program"]["differentiate"] is not None


def test_bundled_captures_are_small_and_name_no_machine():
    zstandard = pytest.importorskip("zstandard")
    for path in (ROOT / "samples" / "captures").glob("*.jaxscope"):
        assert path.stat().st_size < 200_000
        text = zstandard.ZstdDecompressor().decompressobj().decompress(path.read_bytes()).decode()
        check(json.loads(text))
        assert not any(word in text for word in ("/home/", "/root/", "/tmp/", "/work/", "/usr/")), path
    assert Path(path).exists()
