"""Versions of JAX that nobody tried: too old ones are refused, newer ones captured with a warning, or refused by what isn't there."""
import os
import subprocess
import sys

import pytest

from jaxscope import version


def captured(root, tmp_path, pretend: str) -> subprocess.CompletedProcess:
    (tmp_path / "sitecustomize.py").write_text("import jax\n" + pretend)
    (tmp_path / "f.py").write_text("import jax.numpy as jnp\ndef program():\n    return dict(fn=lambda x: jnp.sin(x).sum(), args=(jnp.ones(3),))\n")
    path = os.pathsep.join([str(tmp_path), str(root / "app" / "capture")])
    return subprocess.run([sys.executable, "-m", "jaxscope", "f.py:program", "-o", "out.jaxscope"], cwd=tmp_path, capture_output=True, text=True, timeout=300,
                          env=dict(os.environ, PYTHONPATH=path, JAX_PLATFORMS="cpu"))


def test_a_newer_version_is_captured_with_a_warning(root, tmp_path):
    done = captured(root, tmp_path, "jax.__version__ = '0.99.1'\n")
    assert done.returncode == 0, done.stderr
    assert "warning: JAX 0.99.1 is newer than " + version.NEWEST_JAX in done.stderr
    assert (tmp_path / "out.jaxscope").exists()


@pytest.mark.parametrize("pretend,said", [
    ("jax.__version__ = '0.4.29'\n", f"JAX {version.OLDEST_JAX} or later is needed, found 0.4.29"),
    ("jax.__version__ = '0.99.1'\nimport jax._src.core as c\nJ = c.Jaxpr\ndel c.DropVar\n", "and it can't be captured with: module 'jax._src.core' has no attribute 'DropVar'"),
])
def test_what_cannot_work_is_refused_in_a_line(root, tmp_path, pretend, said):
    done = captured(root, tmp_path, pretend)
    assert done.returncode == 2 and said in done.stderr, done.stderr
    assert "Traceback" not in done.stderr and not (tmp_path / "out.jaxscope").exists()


def test_what_was_tried_needs_no_warning():
    assert version.doubt("0.4.30") is None and version.doubt(version.NEWEST_JAX) is None and version.doubt("0.11.0.dev1") is not None
