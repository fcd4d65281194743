"""`jaxscope capture`, the command: the package's messages reach the user as they are, and nothing of the script stays behind."""
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT
from scripts import GOOD, TRAIN

PYTHON = Path(sys.executable)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "good.py").write_text(GOOD)
    (tmp_path / "train.py").write_text(TRAIN)
    return tmp_path


@pytest.fixture
def command(folder, binary):
    def run(*words, timeout=100, **env):
        return subprocess.run([binary, "capture", *words], cwd=folder, env={**os.environ, **env}, capture_output=True, text=True, timeout=timeout)
    return run


def refused(done, code=2):
    """The one line at the end."""
    assert done.returncode == code, done.stderr[-2000:]
    ours = [line for line in done.stderr.splitlines() if line.startswith("jaxscope: ")]
    assert ours == done.stderr.splitlines()[-1:], done.stderr[-2000:]
    assert "Traceback" not in done.stderr or "cli.py" not in done.stderr
    return ours[0]


@pytest.mark.parametrize("target, words, traceback", [
    ("none.py:program", "none.py: no such file", None),
    ("good.py:prgram", "there is no 'prgram' in it; it has f, program, ", None),
    ("good.py:prgram", "; did you mean program?", None),
    ("goood.py:program", "goood.py: no such file; did you mean good.py?", None),
    ("good.py:no_mapping", "found int", None),
    ("good.py:fails", "fails() raised KeyError: 'missing'", 'return {}["missing"]'),
    ("good.py:raises_inside", "raised TypeError: add got incompatible shapes", "x + jnp.ones(4)"),
    ("good.py:quits", "ended the Python process (exit code 5)", None),
    ("good.py:wants_words", "(exit code 2); a script that needs a command line is captured with it: capture --call FUNCTION -- python FILE.py ARGS...",
     "error: the following arguments are required: data"),
    ("good.py:step", 'found one that takes state, batch, lr; --args "(...)" captures the function itself, called with these', None),
    ("good.py:hard_exit", "found that it ended with exit code 7", None),
    ("good.py:crashes", "was ended by a signal: Segmentation fault", None),
    ("good.py:nothing", "returns no arrays", None),
    ("good.py:leaks", "UnexpectedTracerError", None),
])
def test_one_line_and_exit_code_2(command, folder, target, words, traceback):
    done = command(target, "-o", "a.jaxscope", "--python", str(PYTHON))
    assert words in refused(done)
    assert traceback is None or traceback in done.stderr
    assert not list(folder.glob("*.jaxscope"))


def test_a_name_begins_no_line_of_its_own(command, folder):
    """A CI acts upon lines that begin with ::, a terminal upon ESC."""
    (folder / "bad.py").write_text('def program():\n    return dict(fn=lambda: (), args=(), name="n\\n::error::x\\x1b[31m")\n')
    line = refused(command("bad.py:program", "-o", "a.jaxscope", "--python", str(PYTHON)))
    assert line == r"jaxscope: n\n::error::x\x1b[31m returns no arrays: there is nothing to capture"


def test_where_no_place_is_named_the_files_or_the_functions_name_is(command, folder):
    assert command("good.py:program", "--python", str(PYTHON)).stdout.startswith("good.jaxscope: ")
    assert command("--call", "train_step", "--", str(PYTHON), "train.py").stdout.endswith("JAX " + __import__("jax").__version__ + "\n")
    assert {p.name for p in folder.glob("*.jaxscope")} == {"good.jaxscope", "train_step.jaxscope"}


def test_a_capture_is_captured_again_from_what_it_was_made_from(command, folder):
    assert command("good.py:program", "-o", "first.jaxscope", "--python", str(PYTHON)).returncode == 0
    assert command("first.jaxscope", "-o", "again.jaxscope", "--python", str(PYTHON)).returncode == 0
    assert (folder / "again.jaxscope").read_bytes() == (folder / "first.jaxscope").read_bytes()
    (folder / "good.py").rename(folder / "gone.py")
    assert "captured from good.py:program, and there is no such file here" in refused(command("first.jaxscope", "-o", "x.jaxscope", "--python", str(PYTHON)))


def test_a_python_without_jax_or_none_at_all(command, folder):
    assert "no-such-python" in refused(command("good.py:program", "-o", "a.jaxscope", "--python", "no-such-python"))
    (folder / "jax.py").write_text("raise ModuleNotFoundError(\"No module named 'jax'\", name='jax')\n")
    assert "has no JAX" in refused(command("good.py:program", "-o", "a.jaxscope", "--python", str(PYTHON)))


def test_the_time_is_out(command, folder):
    done = command("good.py:endless", "-o", "a.jaxscope", "--python", str(PYTHON), "--timeout", "8")  # longer than a busy machine imports JAX
    assert refused(done, 3) == "jaxscope: time-out: not finished after 8 s"
    assert "in endless" in done.stderr  # where it stood


def test_much_output_is_cut_and_the_last_word_is_heard(command):
    done = command("good.py:floods", "-o", "a.jaxscope", "--python", str(PYTHON))
    assert len(done.stderr) < 9_000_000 and "more output, left out" in done.stderr
    assert done.stdout == "" and refused(done) == "jaxscope: floods() raised ValueError: enough"


def test_no_process_stays_behind(command, folder):
    name = f"jaxscope-child-{os.getpid()}"
    done = command("good.py:leaves_children", "-o", "a.jaxscope", "--python", str(PYTHON), CHILD_NAME=name)
    assert done.returncode == 0, done.stderr
    running = [p for p in Path("/proc").glob("[0-9]*/cmdline") if name.encode() in _bytes(p)]
    assert not running


def _bytes(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_a_script_that_forks_is_captured_once(command, folder):
    done = command("good.py:forks", "-o", "a.jaxscope", "--python", str(PYTHON))
    assert done.returncode == 0 and done.stdout.count("a.jaxscope") == 1, done.stderr


@pytest.mark.parametrize("words", [["PYTHON", "train.py", "--epochs", "1"], ["PYTHON", "-X", "utf8", "-u", "train.py", "--epochs", "1"],
                                   ["PYTHON", "-m", "train", "--epochs", "1"], ["train.py", "--epochs", "1"]])
def test_a_call_in_a_script(command, folder, words):
    named = words[0] == "PYTHON"
    words = [str(PYTHON) if w == "PYTHON" else w for w in words]
    python = [] if named else ["--python", str(PYTHON)]
    done = command("--call", "train_step", "--nth", "2", "-o", "a.jaxscope", "--json", *python, "--", *words)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["equations"] > 5 and said["command"] == "capture"
    assert "step 0 ['--epochs', '1']" in done.stderr and "step 1" not in done.stderr


def test_a_call_that_never_comes(command):
    line = refused(command("--call", "train_stop", "-o", "a.jaxscope", "--", str(PYTHON), "train.py"))
    assert line == "jaxscope: no jitted function 'train_stop' was called; there were outer, train_step; did you mean train_step?"


def test_the_script_goes_on(command, folder):
    done = command("--call", "train_step", "--continue", "-o", "a.jaxscope", "--", str(PYTHON), "train.py", "--fail")
    assert done.returncode == 0 and "step 2" in done.stderr and "RuntimeError: later" in done.stderr and "a.jaxscope" in done.stdout


def test_arguments_as_expressions(command, folder, binary):
    done = command("good.py:f", "-o", "a.jaxscope", "--python", str(PYTHON), "--args", "(jnp.ones((8, 4)),)", "--kwargs", "dict(flag=1.)", "--no-source")
    assert done.returncode == 2 and "TracerBoolConversionError" in done.stderr  # flag reached the function, as an array
    done = command("good.py:f", "-o", "a.jaxscope", "--python", str(PYTHON), "--args", "-jnp.ones((8, 4))", "--no-source")
    assert done.returncode == 0, done.stderr
    text = subprocess.run([binary, "print", str(folder / "a.jaxscope")], capture_output=True, text=True).stdout
    assert "f32[8,4]" in text
