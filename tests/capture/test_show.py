"""`jaxscope.show`: the window on a capture of the call, or the report where a notebook runs."""
import os
import sys
import time
import types

import jax.numpy as jnp
import pytest

import jaxscope
from jaxscope import display


@pytest.fixture
def recorder(tmp_path, monkeypatch):
    """A program in the place of jaxscope that writes down what it was called with."""
    program, log = tmp_path / "jaxscope", tmp_path / "log"
    program.write_text(f"#!/bin/sh\nfor a in \"$@\"; do echo \"$a\"; done > {log}.part\nmv {log}.part {log}\n")
    program.chmod(0o755)
    monkeypatch.setenv("JAXSCOPE", str(program))

    def words():
        for _ in range(200):
            if log.exists():
                return log.read_text().splitlines()
            time.sleep(0.05)
        raise AssertionError("it wasn't called")
    return words


def test_the_window_opens_on_the_capture(recorder):
    captured = jaxscope.show(lambda w, x: jnp.sin(x @ w), name="mine")(jnp.ones((3, 3)), jnp.ones(3))
    command, path = recorder()
    assert command == "open" and os.path.isfile(path)
    assert captured.document["name"] == "mine" and captured.equations >= 2


def notebook(monkeypatch):
    shell = type("ZMQInteractiveShell", (), {})()
    ipython, shown = types.ModuleType("IPython"), types.ModuleType("IPython.display")
    ipython.get_ipython = lambda: shell
    shown.HTML = lambda text: ("HTML", text)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", shown)


def test_a_notebook_gets_the_report(binary, monkeypatch):
    monkeypatch.setenv("JAXSCOPE", binary)
    notebook(monkeypatch)
    kind, text = jaxscope.show(lambda x: jnp.sum(jnp.sin(x)), differentiate=0, name="in_a_notebook")(jnp.ones(3))
    assert kind == "HTML" and "<html" in text.lower() and "in_a_notebook" in text and "cos" in text


def test_a_report_that_fails_says_why(recorder, monkeypatch, tmp_path):
    notebook(monkeypatch)
    (tmp_path / "jaxscope").write_text("#!/bin/sh\necho 'jaxscope: no such luck' >&2\nexit 3\n")
    with pytest.raises(jaxscope.CaptureError, match="^no such luck$"):
        jaxscope.show(jnp.sin)(1.0)


def test_no_program_to_show_it_with(monkeypatch, tmp_path):
    monkeypatch.delenv("JAXSCOPE", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(display, "__file__", str(tmp_path / "a" / "b" / "c" / "display.py"))
    with pytest.raises(jaxscope.CaptureError, match="name it in the variable JAXSCOPE"):
        jaxscope.show(jnp.sin)(1.0)
