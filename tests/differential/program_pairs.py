"""What is compared of a program that was written in Python and in C++, by their captures and by their texts."""
import json
import re
import subprocess
from pathlib import Path

from conftest import jaxscope_binary
from renaming import up_to_names

BINARY = jaxscope_binary()


def ask(command: str, file: Path, *args: str):
    done = subprocess.run([BINARY, command, file, "--json", *args], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def assert_same_captures(cpp: Path, python: Path, argument: str = r"the argument (args\[\d+\]|\w+)") -> None:
    """The same jaxpr, donations, regions, and under every policy the same residuals, peaks and recomputation."""
    texts, donated, regions = ([ask(command, file) for file in (cpp, python)] for command in ("print", "donation", "inspect"))
    assert up_to_names(texts[0]["text"]) == up_to_names(texts[1]["text"])
    assert [r["used"] for r in donated[0]["donated"]] == [r["used"] for r in donated[1]["donated"]]
    regions = [[(r["kind"].removeprefix("eqx.filter_"), r["wrt"]) for r in answer["program"]["regions"]] for answer in regions]
    assert regions[0] == regions[1]
    if not regions[0]:
        return
    # Blocks are found by their lines, and the two programs needn't break theirs alike.
    rows = [[[r["policy"], r["residual_bytes"], r["recomputed_flops"], r["planned_peak"]]
             for r in ask("policies", file, "--no-run")["policies"] if r["around"] is None] for file in (cpp, python)]
    assert rows[0] == rows[1]
    # JAX's words, without the places, which are lines of two files, and without names of arguments, which C++ keeps to itself.
    said = [[(r["aval"], re.sub(argument + r"|(?<!^)from .*", "", r["source"])) for r in ask("residuals", file)["residuals"]]
            for file in (cpp, python)]
    assert said[0] == said[1]


def code_lines(text: str) -> int:
    """Lines that are neither empty nor comments."""
    lines = (line.strip() for line in text.splitlines())
    return sum(1 for line in lines if line and not line.startswith(("//", "# ")))
