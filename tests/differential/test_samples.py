"""The C++ samples and the same programs in Python: one jaxpr, the same residuals, peaks and donations under every policy."""
import importlib.util
import json
import re
import subprocess
from pathlib import Path

import jax
import pytest

import jaxscope
from conftest import ROOT, jaxscope_binary
from renaming import up_to_names

BINARY = jaxscope_binary()

TWINS = sorted((ROOT / "tests" / "differential" / "samples").glob("*.py"))


def load(path: Path) -> dict:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.program()


def ask(command: str, file: Path, *args: str):
    done = subprocess.run([BINARY, command, file, "--json", *args], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("path", TWINS, ids=lambda p: p.stem)
def test_twins(path, tmp_path):
    program = load(path)
    cpp, python = tmp_path / "cpp.jaxscope", tmp_path / "python.jaxscope"
    done = subprocess.run([Path(BINARY).parent / "samples" / "cpp" / f"sample_{path.stem}", cpp], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert up_to_names(ask("print", cpp)["text"]) == up_to_names(str(jax.make_jaxpr(program["fn"])(*program["args"])))

    options = {"donate_argnums": program.get("donate_argnums", ())}
    jaxscope.capture(program["fn"], **options)(*program["args"]).save(str(python))
    assert [r["used"] for r in ask("donation", cpp)["donated"]] == [r["used"] for r in ask("donation", python)["donated"]]
    regions = [[(r["kind"], r["wrt"]) for r in ask("inspect", file)["program"]["regions"]] for file in (cpp, python)]
    assert regions[0] == regions[1]
    if not regions[0]:
        return
    rows = [[(r["policy"], r["residual_bytes"], r["planned_peak"], r["recomputed_flops"]) for r in ask("policies", file, "--no-run")["policies"]]
            for file in (cpp, python)]
    assert rows[0] == rows[1]
    # JAX's words, without the places, which are lines of two files, and without names of arguments, which C++ keeps to itself.
    said = [[(r["aval"], re.sub(r"the argument (args\[\d+\]|\w+)|(?<!^)from .*", "", r["source"])) for r in ask("residuals", file)["residuals"]]
            for file in (cpp, python)]
    assert said[0] == said[1]
