"""`capture --call NAME -- COMMAND`: commands as people type them, functions as they name them, processes that others start."""
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TRAIN = """
import argparse, functools, os, sys, time
import jax, jax.numpy as jnp
import helper
class Trainer:
    @functools.partial(jax.jit, static_argnums=0, donate_argnums=1)
    def step(self, w, x): return w - jax.grad(lambda w: jnp.sum(jnp.tanh(x @ w)))(w)
def loss(w): return jnp.mean(w ** 2)
grads = jax.jit(jax.value_and_grad(loss))
update = jax.jit(functools.partial(lambda lr, w, g: w - lr * g, 0.1))
square = jax.jit(lambda v: v ** 2)
def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=2)
    ap.add_argument("--hang", action="store_true")
    a = ap.parse_args()
    w = jnp.ones((3, 3))
    for i in range(a.steps):
        w = Trainer().step(w, jnp.ones((2, 3)))
        g = grads(w)[1]
        w = square(update(w, g))
        print("step", i, os.environ.get("FOO"), flush=True)
    if a.hang: time.sleep(600)
if __name__ == "__main__": main()
"""
LAUNCHER = """
import subprocess, sys
workers = [subprocess.Popen([sys.executable, "train.py", *sys.argv[1:]]) for _ in range(2)]
sys.exit(max(w.wait() for w in workers))
"""


@pytest.fixture
def call(tmp_path, binary):
    for name, text in {"train.py": TRAIN, "launcher.py": LAUNCHER, "helper.py": "", "run.sh": 'export FOO=shell\nexec python train.py "$@"\n',
                       "fails.sh": 'python -c "import jax; raise SystemExit(4)"\n'}.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "package").mkdir()
    for name in ("__init__.py", "helper.py"):
        (tmp_path / "package" / name).write_text("")
    (tmp_path / "package" / "train.py").write_text(TRAIN.replace("import helper", "from . import helper"))

    def run(name, *words, options=()):
        env = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "TMPDIR": str(tmp_path), "CALL_TEST": str(tmp_path)}
        done = subprocess.run([binary, "capture", "--call", name, *options, "-o", "a.jaxscope", "--", *words], cwd=tmp_path, env=env,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100)
        mark = f"CALL_TEST={tmp_path}".encode()
        assert not [p for p in Path("/proc").glob("[0-9]*/environ") if mark in _bytes(p)]
        assert not list(tmp_path.glob("jaxscope-*"))
        return done
    return run


def _bytes(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


@pytest.mark.parametrize("name, equations", [("step", 12), ("Trainer.step", 12), ("grads", 6), ("loss", 6), ("update", 2), ("square", 1)])
def test_names_that_the_script_has_for_it(call, name, equations):
    done = call(name, "python", "train.py", "--hang")
    assert done.returncode == 0, done.stderr
    assert abs(int(done.stdout.split(", ")[1].split()[0]) - equations) <= 2 and "step 1" not in done.stderr


@pytest.mark.parametrize("words, heard", [
    (["python", "-m", "package.train"], "step 0 None"), (["python", "-c", "exec(open('train.py').read())"], "step 0 None"),
    (["env", "FOO=1", "python", "train.py"], "step 0 1"), (["sh", "run.sh"], "step 0 shell"),
    (["env", "python", "launcher.py"], "step 0 None"), (["python", "launcher.py"], "step 0 None"),
])
def test_commands(call, words, heard):
    done = call("step", *words, "--hang", options=["--nth", "2"])
    assert done.returncode == 0, done.stderr
    assert heard in done.stderr and done.stdout.startswith("a.jaxscope: step, "), done.stderr


def test_a_command_that_goes_on(call):
    done = call("step", "env", "FOO=1", "python", "train.py", options=["--continue"])
    assert done.returncode == 0 and "step 1 1" in done.stderr and done.stdout.startswith("a.jaxscope: step"), done.stderr


PMAPPED = """
import functools
import jax, jax.numpy as jnp
import equinox as eqx
@functools.partial(jax.pmap, axis_name="i", donate_argnums=0)
def step(w, x): return w - jax.lax.pmean(x, "i"), x.sum()
@functools.partial(jax.pmap, static_broadcasted_argnums=1)
def power(x, n, y): return x ** n + y
scale = jax.pmap(lambda x: x * 2)
mlp = eqx.filter_vmap(lambda k: eqx.nn.MLP(3, 2, 8, 2, key=k))(jax.random.split(jax.random.key(0), 4))
@eqx.filter_pmap(donate="all")
def grads(m, x, how): return eqx.filter_grad(lambda m: (m(x) ** 2).sum() if how == "square" else m(x).sum())(m)
x = jnp.ones((4, 3))
for i in range(2):
    w, _ = step(jnp.ones((4, 3)), x)
    power(w, 3, x)
    jax.jit(scale)(x)
    scale(x)
    grads(jax.tree.map(lambda a: a + 0 if eqx.is_array(a) else a, mlp), jnp.ones((4, 3)), "square")
"""


@pytest.mark.parametrize("name, donated", [("step", ["w"]), ("power", []), ("scale", []), ("grads", ["m.layers[0].weight", "x"])])
def test_pmapped_functions(call, tmp_path, binary, name, donated):
    pytest.importorskip("equinox")
    (tmp_path / "mapped.py").write_text(PMAPPED)
    done = call(name, "env", "XLA_FLAGS=--xla_force_host_platform_device_count=4", "python", "mapped.py", options=["--nth", "2"])
    assert done.returncode == 0, done.stderr
    found = subprocess.run([binary, "donation", str(tmp_path / "a.jaxscope"), "--json"], capture_output=True, text=True, timeout=100)
    paths = [d["path"] for d in json.loads(found.stdout)["donated"]]
    assert set(donated) <= set(paths) and bool(donated) == bool(paths), paths


def test_pmapped_functions_are_listed(call, tmp_path):
    pytest.importorskip("equinox")
    (tmp_path / "mapped.py").write_text(PMAPPED)
    done = call("stop", "env", "XLA_FLAGS=--xla_force_host_platform_device_count=4", "python", "mapped.py")
    assert "there were <lambda>, grads, power, step" in done.stderr, done.stderr


@pytest.mark.parametrize("words, line", [
    (["env", "python", "train.py"], "no jitted function 'stop' was called; there were <lambda>, loss, step; did you mean step?"),
    (["sh", "fails.sh"], "no jitted function 'stop' was called; it ended with exit code 4"),
    (["true"], "no Python process of the command imported jax"),
    (["no-such-command"], "cannot run no-such-command: No such file or directory"),
])
def test_a_call_that_never_comes(call, words, line):
    done = call("stop", *words)
    assert done.returncode == 2 and done.stderr.splitlines()[-1] == f"jaxscope: {line}", done.stderr
