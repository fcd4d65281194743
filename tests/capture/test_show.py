"""`jaxscope.show`: the window on a capture of the call, or the report where a notebook runs."""
import html
import os
import sys
import time
import types

import jax
import jax.numpy as jnp
import pytest

import jaxscope
from jaxscope.asking import display, executable


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
    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: shell
    monkeypatch.setitem(sys.modules, "IPython", ipython)


def test_a_notebook_gets_the_report(binary, monkeypatch):
    monkeypatch.setenv("JAXSCOPE", binary)
    notebook(monkeypatch)
    report = jaxscope.show(lambda x: jnp.sum(jnp.sin(x)), differentiate=0, name="in_a_notebook")(jnp.ones(3))
    shown = report._repr_html_()
    assert shown.startswith("<iframe") and shown.count("<") == 2  # the page is an attribute: its style stays inside
    page = html.unescape(shown)
    assert "<html" in page.lower() and "in_a_notebook" in page and "cos" in page and len(repr(report)) < 100


def test_a_capture_in_a_notebook_says_what_is_in_it():
    def loss(w, x):
        return jnp.sum(jnp.tanh(x @ w))
    captured = jaxscope.capture(lambda w, x: w - jax.grad(loss)(w, x), donate_argnums=0, name="<step>")(jnp.ones((3, 3)), jnp.ones((2, 3)))
    text = captured._repr_html_()
    assert "&lt;step&gt;" in text and "<step>" not in text and "float32[3,3]" in text and "donated" in text and "by w" in text


def test_a_report_that_fails_says_why(recorder, monkeypatch, tmp_path):
    notebook(monkeypatch)
    (tmp_path / "jaxscope").write_text("#!/bin/sh\necho 'jaxscope: no such luck' >&2\nexit 3\n")
    with pytest.raises(jaxscope.CaptureError, match="^no such luck$"):
        jaxscope.show(jnp.sin)(1.0)


def test_no_program_to_show_it_with(monkeypatch, tmp_path):
    monkeypatch.delenv("JAXSCOPE", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(executable, "_PACKAGE", str(tmp_path / "a" / "b" / "c"))
    with pytest.raises(jaxscope.CaptureError, match="name it in the variable JAXSCOPE"):
        jaxscope.show(jnp.sin)(1.0)
