"""The contract from one end to the other, over the reference programs: every command's JSON validates, every exit code is one that the page names,
and what is refused is refused in one line. JAXSCOPE_FULL: all programs, else a sample of them; JAXSCOPE_PROGRAMS names another folder.
"""
import json
import os
import random
import re
import subprocess
from pathlib import Path

import pytest
from seed import seed_of_sample

from conftest import BINARY, ROOT

PROGRAMS = Path(os.environ.get("JAXSCOPE_PROGRAMS", ROOT / "tests" / "programs"))
ALL = sorted(p.stem for p in PROGRAMS.glob("*.py"))
NAMES = ALL if os.environ.get("JAXSCOPE_FULL") else sorted(random.Random(seed_of_sample()).sample(ALL, 3))
ENDINGS = ["html", "json", "md", "svg", "dot", "mermaid", "jaxpr", "csv", "perfetto.json", "model-explorer.json", "node-data.json", "pprof"]


def commands(file):
    """Words, and the exit codes that they may end with: 3 where JAX itself can't differentiate or map the program, or it holds foreign code."""
    return [
        (["inspect", file], {0}),
        (["print", file], {0}),
        (["print", file, "--source"], {0}),
        (["donation", file], {0}),
        (["donation", file, "--donate", "none"], {0}),
        (["residuals", file], {0, 3}),
        (["residuals", file, "--expand", "--all"], {0, 3}),
        (["residuals", file, "--region", "program", "--wrt", "all"], {0, 3}),
        (["residuals", file, "--policy", "nothing_saveable"], {0, 3}),
        (["split", file], {0, 3}),
        (["plan", file], {0, 3}),
        (["plan", file, "--memory-limit", "1"], {1, 3}),
        (["plan", file, "--budget", "1T", "--budget-seconds", "1"], {0, 3}),
        (["policies", file, "--no-run"], {0, 3}),
        (["run", file, "--threads", "2"], {0, 3}),
        (["transform", file, "--apply", "simplify", "--print"], {0}),
        (["transform", file, "--apply", "dce", "-o", "out.jaxscope"], {0}),
        (["diff", file, "out.jaxscope"], {0}),
        (["diff", file, file, "--exit-code"], {0}),
        (["report", file, "--no-run", "-d", "report"], {0}),
        (["check", file, "--max-peak", "1T"], {0, 1}),
        (["check", file, "--max-peak", "0", "--max-residuals", "0", "--no-unused-donations", "--no-unsupported"], {1}),
        *((["export", file, "-o", f"out.{ending}"], {0, 3}) for ending in ENDINGS),
    ]


def untimed(page):
    """Without the best that the report's search found in its two seconds."""
    return [line for line in page.splitlines() if " instead of " not in line]


@pytest.fixture(scope="module")
def captured(tmp_path_factory):
    """The program's capture; the reason where its libraries aren't installed."""
    folder = tmp_path_factory.mktemp("captured")

    def capture(name):
        out = folder / f"{name}.jaxscope"
        env = {k: v for k, v in os.environ.items() if k != "XLA_FLAGS"}
        done = subprocess.run([BINARY, "capture", f"{PROGRAMS / name}.py:program", "-o", str(out), "--python", str(ROOT / ".venv" / "bin" / "python"), "--json"],
                              capture_output=True, text=True, timeout=300, env=env)
        if "ModuleNotFoundError" in done.stderr:
            pytest.skip(done.stderr.strip().splitlines()[-1])
        assert done.returncode == 0, done.stderr
        return str(out), json.loads(done.stdout)
    return capture


def refused_in_one_line(stderr, words):
    ours = [line for line in stderr.splitlines() if line.startswith("jaxscope: ")]
    assert len(ours) == 1 and re.search(r" \[[a-z-]+\]$", ours[0]), (words, stderr)
    assert "a bug in jaxscope" not in stderr, (words, stderr)


@pytest.mark.parametrize("name", NAMES)
def test_every_command(cli, schema, captured, name):
    file, told = captured(name)
    schema.validate(told)
    for words, codes in commands(file):
        done = cli.raw(*words, "--json")
        assert done.returncode in codes, (words, done.returncode, done.stderr[-1500:])
        if done.returncode == 3:
            refused_in_one_line(done.stderr, words)
            assert done.stdout == "", words
            continue
        found = json.loads(done.stdout)
        schema.validate(found)
        assert found["schema"] == "jaxscope.report/1" and found["command"] == words[0], words
        if words[0] == "export":
            assert (cli.folder / words[-1]).stat().st_size > 0, words
    for words in (["inspect", file], ["residuals", file], ["donation", file], ["plan", file], ["policies", file, "--no-run"], ["report", file, "--no-run"]):
        page, quiet = cli.raw(*words), cli.raw(*words, "--quiet")
        assert page.returncode == quiet.returncode and untimed(page.stdout) == untimed(quiet.stdout), words
        assert quiet.stderr == "" or quiet.returncode != 0 or "expected" in quiet.stderr, (words, quiet.stderr)
        assert "\x1b" not in page.stdout and "…" not in page.stdout, words  # no colours and nothing cut where it isn't a terminal
