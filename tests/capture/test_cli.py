"""`python -m jaxscope`: what users do wrong is one clear line and exit code 2; nothing is written by halves."""
import json
import os
import subprocess
import sys

import pytest
from conftest import ROOT
from scripts import GOOD, TRAIN

@pytest.fixture
def folder(tmp_path):
    (tmp_path / "good.py").write_text(GOOD)
    return tmp_path


def cli(folder, *words, timeout=120):
    env = dict(os.environ, PYTHONPATH=str(ROOT / "app" / "capture"))
    env.pop("XLA_FLAGS", None)
    return subprocess.run([sys.executable, "-m", "jaxscope", *words], cwd=folder, env=env, capture_output=True, text=True, timeout=timeout)


def test_the_file_is_loaded_before_jax(folder):
    done = cli(folder, "good.py:program", "-o", "a.jaxscope", "--no-compress", "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["output"] == "a.jaxscope" and said["equations"] == 2 and said["jax_version"]
    d = json.loads((folder / "a.jaxscope").read_text())
    assert any(l[1] == 3.0 for l in d["literals"])  # device_count
    assert d["files"][0]["path"] == "good.py" and d["files"][0]["project"] and "def program" in d["files"][0]["text"]


def test_json_keeps_standard_output_clean(folder):
    done = cli(folder, "good.py:prints", "-o", "a.jaxscope", "--json")
    assert json.loads(done.stdout) and "noise" in done.stderr


@pytest.mark.parametrize("target, words", [
    ("none.py:program", "no such file"),
    ("good.py:prgram", "there is no 'prgram'"),
    ("good.py", "expected FILE.py:NAME, found 'good.py'; functions in it: program, "),
    ("good.py:no_mapping", "found int"),
    ("good.py:half", "a mapping with fn"),
    ("good.py:constant", "expected a function, found int"),
    ("good.py:fails", "raised KeyError"),
    ("good.py:raises_inside", "raised TypeError: add got incompatible shapes"),
    ("good.py:quits", "ended the Python process (exit code 5)"),
    ("good.py:nothing", "returns no arrays"),
    ("good.py:leaks", "UnexpectedTracerError"),
    ("good.py:bad_donation", "argument 7"),
])
def test_one_clear_line_and_exit_code_2(folder, target, words):
    done = cli(folder, target, "-o", "a.jaxscope")
    last = done.stderr.strip().splitlines()[-1]
    assert done.returncode == 2 and last.startswith("jaxscope: ") and words in last, done.stderr
    assert sorted(p.name for p in folder.iterdir() if p.suffix != ".pyc" and p.name != "__pycache__") == ["good.py"]


def test_the_users_traceback_is_shown_without_ours(folder):
    done = cli(folder, "good.py:fails", "-o", "a.jaxscope")
    assert 'return {}["missing"]' in done.stderr and "cli.py" not in done.stderr


def test_syntax_error_and_missing_library(folder):
    (folder / "bad.py").write_text("def f(:\n")
    assert "raised SyntaxError" in cli(folder, "bad.py:f", "-o", "a").stderr
    (folder / "miss.py").write_text("import no_such_library\n")
    assert "No module named 'no_such_library'" in cli(folder, "miss.py:f", "-o", "a").stderr


def test_no_jax_in_that_python(folder):
    (folder / "jax.py").write_text("raise ModuleNotFoundError(\"No module named 'jax'\", name='jax')\n")
    done = cli(folder, "good.py:program", "-o", "a.jaxscope")
    assert done.returncode == 2 and "has no JAX" in done.stderr.splitlines()[-1], done.stderr


def test_time_out(folder):
    done = cli(folder, "good.py:endless", "-o", "a.jaxscope", "--timeout", "2")
    assert done.returncode == 3 and done.stderr.strip().splitlines()[-1] == "jaxscope: time-out: not finished after 2 s"


def test_time_out_while_garbage_is_collected(folder):
    (folder / "good.py").write_text("""import gc, time
def slow(phase, info):
    time.sleep(3 if phase == "start" else 0)
def program():
    gc.callbacks.append(slow)
    gc.collect()
    while True:
        pass
""")
    done = cli(folder, "good.py:program", "-o", "a.jaxscope", "--timeout", "2")
    assert done.returncode == 3 and "ignored" not in done.stderr and done.stderr.strip().splitlines()[-1] == "jaxscope: time-out: not finished after 2 s"


def test_unwritable_output(folder):
    done = cli(folder, "good.py:program", "-o", "no/such/place.jaxscope")
    assert done.returncode == 2 and "cannot write" in done.stderr


def test_args_captures_the_function_itself(folder):
    done = cli(folder, "good.py:f", "-o", "a.jaxscope", "--no-compress", "--args", "(jnp.ones((8, 4)),)")
    assert done.returncode == 0, done.stderr
    d = json.loads((folder / "a.jaxscope").read_text())
    assert d["name"] == "f" and d["avals"][d["jaxprs"][d["program"]["jaxpr"]]["invars"][0]] == ["float32", [8, 4]]


def test_a_call_of_a_script(folder):
    (folder / "train.py").write_text(TRAIN)
    done = cli(folder, "--call", "train_step", "--nth", "2", "-o", "a.jaxscope", "--no-compress", "--", "python", "train.py", "--epochs", "1")
    assert done.returncode == 0, done.stderr
    assert "step 0 ['--epochs', '1']" in done.stdout and "step 1" not in done.stdout
    d = json.loads((folder / "a.jaxscope").read_text())
    p = d["program"]
    assert p["in_paths"] == ["w", "x"] and p["donated"] == [True, False] and p["static"] == [{"path": "lr", "text": "0.2"}]
    assert d["arrays"][p["values"][1]]["values"][0][0] == 1.0  # the second call
    assert [r["mark"] for r in d["regions"]] == [0]


def test_a_script_that_goes_on(folder):
    (folder / "train.py").write_text(TRAIN)
    done = cli(folder, "--call", "train_step", "--continue", "-o", "a.jaxscope", "--", "train.py", "--fail")
    assert done.returncode == 0 and "step 2" in done.stdout and "later" in done.stderr and (folder / "a.jaxscope").exists()


@pytest.mark.parametrize("name, nth, words", [("train_stop", "1", "no jitted function 'train_stop' was called; there were"),
                                               ("train_step", "9", "was called 3 times, not 9"),
                                               ("inner", "1", "only called inside other jitted functions")])
def test_a_call_that_never_comes(folder, name, nth, words):
    (folder / "train.py").write_text(TRAIN)
    done = cli(folder, "--call", name, "--nth", nth, "-o", "a.jaxscope", "--", "train.py")
    assert done.returncode == 2 and words in done.stderr.strip().splitlines()[-1], done.stderr
