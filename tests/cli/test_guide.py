"""Every command of the guide runs, in order, page by page, and ends as the page says."""
import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from conftest import BINARY, ROOT

PAGES = sorted((ROOT / "docs" / "guide").glob("[0-9]*.md"), key=lambda p: int(p.stem.split("-")[0]))
BUILD = Path(BINARY).resolve().parent


@pytest.fixture(scope="module")
def surroundings(tmp_path_factory):
    """A machine on which jaxscope is installed with its C++ library."""
    prefix = tmp_path_factory.mktemp("prefix")
    subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix, "--component", "dev"], check=True, capture_output=True, timeout=120)
    return {**os.environ, "JAX_PLATFORMS": "cpu", "OMP_NUM_THREADS": "1", "CMAKE_PREFIX_PATH": str(prefix),
            "PATH": f"{ROOT}/.venv/bin:{os.environ['PATH']}"}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_commands_of(page, tmp_path, surroundings):
    text = page.read_text()
    for source in re.findall(r"```\w*\n((?:#|//) (\S+\.(?:py|txt|cpp))\n.*?)```", text, re.S):
        (tmp_path / source[1]).write_text(source[0])
    commands = re.findall(r"^\$ (.*)$", text, re.M)
    assert commands
    for line in commands:
        command, _, comment = line.partition("  #")
        expected = int(comment.split("exit code ")[1]) if "exit code" in comment else 0
        words = shlex.split(command)
        assert words[0] in ("jaxscope", "cmake", "python", "build/train"), line
        output = None
        if ">" in words:
            output = tmp_path / words[words.index(">") + 1]
            words = words[:words.index(">")]
        if words[1:2] == ["capture"] or "--fit" in words:
            words += ["--python", str(ROOT / ".venv" / "bin" / "python")]
        program = BINARY if words[0] == "jaxscope" else words[0]
        done = subprocess.run([program, *words[1:]], cwd=tmp_path, capture_output=True, text=True, timeout=120, env=surroundings)
        assert done.returncode == expected, f"{line}: {done.returncode}\n{done.stdout[-500:]}{done.stderr[-1500:]}"
        assert done.stdout or expected == 2 or words[0] != "jaxscope", line
        if output:
            output.write_text(done.stdout)


def test_every_page_is_listed():
    listed = re.findall(r"\]\((\d[^)]*\.md)\)", (ROOT / "docs" / "guide" / "README.md").read_text())
    assert listed == [p.name for p in PAGES]
