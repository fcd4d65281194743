"""Changes that `plan --prove` writes into sources: what stands there stays, and what can't be changed is refused."""
import pytest

from jaxscope.command import rewrite
from jaxscope.errors import CaptureError


def rewritten(folder, text, saved=(), kind="existing", function="", line=0, names=("h",)):
    path = folder / "m.py"
    path.write_text(text)
    where = {"kind": kind, "function": function, "file": "" if kind == "existing" else "m.py", "line": line}
    given = [dict(zip(("line", "column", "end_line", "end_column"), place), name="h", primitive="sin", file="m.py") for place in saved]
    out = rewrite.rewritten({"names": list(names), "saved": given, "files": ["m.py"], "placement": where}, str(folder))
    return out[str(path.resolve())].decode()


POLICY = 'jax.checkpoint_policies.save_only_these_names("h")'


@pytest.mark.parametrize("before, after", [
    ("@jax.checkpoint\ndef f(x):\n    return x\n", f"import functools\nimport jax\n@functools.partial(jax.checkpoint, policy={POLICY})\ndef f(x):\n    return x\n"),
    ("import jax\ng = jax.remat(f)\n", f"import jax\ng = jax.remat(f, policy={POLICY})\n"),
    ("import jax\ng = jax.checkpoint(\n    f,\n)\n", f"import jax\ng = jax.checkpoint(\n    f,\npolicy={POLICY})\n"),
    ("import jax\ng = jax.checkpoint(f, policy=old, prevent_cse=False)\n", f"import jax\ng = jax.checkpoint(f, policy={POLICY}, prevent_cse=False)\n"),
    ("import jax\n@jax.checkpoint(policy=old)\ndef f(x): ...\n", f"import jax\n@jax.checkpoint(policy={POLICY})\ndef f(x): ...\n"),
    ("import jax\n@partial(jax.checkpoint)\ndef f(x): ...\n", f"import jax\n@partial(jax.checkpoint, policy={POLICY})\ndef f(x): ...\n"),
])
def test_checkpoints_that_are_there_get_the_policy(tmp_path, before, after):
    assert rewritten(tmp_path, before) == after


def test_values_get_names_where_they_are_made(tmp_path):
    text = "import jax\ndef f(x):\n    # \u00e4\u00f6\n    x += jnp.sin(x) * 2\n    return (jnp.cos(\n        x))\ny = f(1)\n"
    name = "import jax\nfrom jax.ad_checkpoint import checkpoint_name\n"
    out = rewritten(tmp_path, text, [(4, 4, 4, 23), (5, 12, 6, 10)], "blocks", "f", 7)
    assert "    x = checkpoint_name(x + (jnp.sin(x) * 2), \"h\")\n" in out and out.index("checkpoint_name") < out.index("import jax\n")
    assert "    return (checkpoint_name(jnp.cos(\n        x), \"h\"))\n" in out
    assert f"y = jax.checkpoint(f, policy={POLICY})(1)\n" in out
    assert sorted(out.splitlines()[:2]) == sorted(name.splitlines())


def test_a_function_that_is_never_differentiated_by_name_is_decorated(tmp_path):
    out = rewritten(tmp_path, "import jax\nclass A:\n    @staticmethod\n    def loss(x):\n        return x\n", kind="function", function="loss", names=())
    assert "    @functools.partial(jax.checkpoint, policy=jax.checkpoint_policies.nothing_saveable)\n    @staticmethod\n" not in out
    assert "    @staticmethod\n    @functools.partial(jax.checkpoint, policy=jax.checkpoint_policies.nothing_saveable)\n    def loss" in out


@pytest.mark.parametrize("text, saved, kind, said", [
    ("y = f(1)\n", [(1, 3, 1, 9)], "blocks", "m.py:1: expected an expression whose value can be given a name, found none where sin was traced"),
    ("y = g(1)\n", [], "blocks", "m.py:1: expected a call of f, found none"),
    ("y = f(\n", [], "blocks", "as it was captured, found: '(' was never closed"),
    ("y = 1\n", [], "existing", "expected a call of f, found none"),
    ("a.b += f(1)\n", [(1, 0, 1, 11)], "blocks", "expected an expression whose value can be given a name"),
])
def test_what_cant_be_written_is_refused(tmp_path, text, saved, kind, said):
    with pytest.raises(CaptureError) as e:
        rewritten(tmp_path, text, saved, kind, "f", 1)
    assert said in str(e.value)


def test_the_patch_of_a_file_without_a_last_line_end(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.py").write_text("import jax\ny = jax.remat(f)")
    out = rewrite.rewritten({"names": [], "saved": [], "files": ["m.py"], "placement": {"kind": "existing", "function": "", "file": "", "line": 0}}, str(tmp_path))
    assert rewrite.patch(out).splitlines()[0] == "--- m.py" and rewrite.patch(out).count("No newline at end of file") == 2
