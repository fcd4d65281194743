"""Every command of the guide runs, in order, page by page, and ends as the page says."""
import os
import re
import shlex
import subprocess

import pytest

from conftest import BINARY, ROOT

PAGES = sorted((ROOT / "docs" / "guide").glob("[0-9]*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_commands_of(page, tmp_path):
    text = page.read_text()
    for source in re.findall(r"```(?:python)?\n(# (\S+\.(?:py|txt))\n.*?)```", text, re.S):
        (tmp_path / source[1]).write_text(source[0])
    commands = re.findall(r"^\$ (jaxscope .*)$", text, re.M)
    assert commands
    for line in commands:
        command, _, comment = line.partition("  #")
        expected = int(comment.split("exit code ")[1]) if "exit code" in comment else 0
        words = shlex.split(command)
        output = None
        if ">" in words:
            output = tmp_path / words[words.index(">") + 1]
            words = words[:words.index(">")]
        if words[1] == "capture" or "--fit" in words:
            words += ["--python", str(ROOT / ".venv" / "bin" / "python")]
        env = {**os.environ, "JAX_PLATFORMS": "cpu", "OMP_NUM_THREADS": "1"}
        done = subprocess.run([BINARY, *words[1:]], cwd=tmp_path, capture_output=True, text=True, timeout=120, env=env)
        assert done.returncode == expected, f"{line}: {done.returncode}\n{done.stdout[-500:]}{done.stderr[-1500:]}"
        assert done.stdout, line
        if output:
            output.write_text(done.stdout)


def test_every_page_is_listed():
    listed = re.findall(r"\]\((\d[^)]*\.md)\)", (ROOT / "docs" / "guide" / "README.md").read_text())
    assert listed == [p.name for p in PAGES]
