"""`jaxscope open`: hands over to the window's program beside it or on PATH, or says how to get one. Pictures of the smallest programs."""
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import BINARY


@pytest.fixture
def installed(tmp_path) -> Path:
    """A copy of the command line with nothing beside it."""
    folder = tmp_path / "bin"
    folder.mkdir()
    shutil.copy(BINARY, folder / "jaxscope")
    return folder / "jaxscope"


def pretend_window(folder: Path) -> Path:
    """Stands for the window: prints what it was asked to open."""
    folder.mkdir(exist_ok=True)
    window = folder / "jaxscope-gui"
    window.write_text('#!/bin/sh\necho "$0 opens $#: $*"\nexit 7\n')
    window.chmod(0o755)
    return window


def run(program: Path, *args: str, path: str = "") -> subprocess.CompletedProcess:
    return subprocess.run([program, "open", *args], capture_output=True, text=True, timeout=60, env={**os.environ, "PATH": path})


def test_without_the_window_it_says_how_to_get_it(installed, tmp_path):
    done = run(installed, "x.jaxpr", path=str(tmp_path / "nothing"))
    assert done.returncode == 2
    first, advice = done.stderr.strip().splitlines()
    assert first == "jaxscope: expected the window's program jaxscope-gui beside jaxscope or on PATH, found none [not-found]"
    assert "-DJAXSCOPE_GUI=ON" in advice and "install" in advice


def test_the_window_beside_it_is_started_with_the_file(installed):
    window = pretend_window(installed.parent)
    done = run(installed, "a program.jaxscope")
    assert (done.stdout, done.returncode) == (f"{window} opens 1: a program.jaxscope\n", 7)
    assert run(installed).stdout == f"{window} opens 0: \n"


def test_a_window_on_the_path_is_found(installed, tmp_path):
    folder = tmp_path / "elsewhere"
    window = pretend_window(folder)
    done = run(installed, "sample:mlp", path=f"{folder}:/usr/bin:/bin")
    assert (done.stdout, done.returncode) == (f"{window} opens 1: sample:mlp\n", 7)


@pytest.mark.parametrize("what", ["program", "split"])
@pytest.mark.parametrize("text", ["{ lambda ; . let  in () }", "{ lambda ; a:f32[3]. let  in (a,) }", "{ lambda ; a:i32[3]. let b:i32[3] = add a a in (b,) }"])
def test_the_smallest_programs_have_pictures(cli, text, what):
    (cli.folder / "small.jaxpr").write_text(text)
    cli.ok("export", "small.jaxpr", "--what", what, "-o", "small.svg")
    assert "<svg" in (cli.folder / "small.svg").read_text()
