"""What the libraries' own jits and grads hand to JAX, named as their users know it."""
import json
import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import pytest
from conftest import ROOT
from wellformed import check

import jaxscope


def document(captured):
    d = json.loads(captured.to_json())
    assert "warnings" not in d, d["warnings"]
    check(d)
    return d


def kinds(d):
    return [(r["kind"], r["name"], r["arg_names"], r["mark"]) for r in d["regions"]]


def test_equinox_filter_jit_brings_its_donation():
    eqx = pytest.importorskip("equinox")
    model = eqx.nn.MLP(2, 1, 8, 1, key=jax.random.key(0))

    def loss(m, x):
        return jnp.sum(jax.vmap(m)(x))

    @eqx.filter_jit(donate="all-except-first")
    def make_step(m, x, n):
        value, grads = eqx.filter_value_and_grad(loss)(m, x)
        return eqx.apply_updates(m, grads), value * n
    d = document(jaxscope.capture(make_step)(model, jnp.ones((3, 2)), 3))
    p = d["program"]
    assert p["jit"] == "eqx" and p["donated"] == [False] * 4 + [True]
    assert p["in_paths"][0] == "m.layers[0].weight" and {"path": "n", "text": "3"} in p["static"]
    assert kinds(d) == [("eqx.filter_value_and_grad", "loss", ["m", "x"], 0)]
    d = document(jaxscope.capture(lambda m, x: eqx.filter_grad(loss)(m, x), jit="eqx")(model, jnp.ones((3, 2))))
    assert kinds(d) == [("eqx.filter_grad", "loss", ["m", "x"], 0)]


def test_haiku_state_inside_a_gradient():
    hk = pytest.importorskip("haiku")

    def net(x):
        loss = lambda w, x: jnp.sum((x @ w) ** 2)
        return hk.grad(loss)(hk.get_parameter("w", (2, 2), init=jnp.ones), x)
    f = hk.transform_with_state(net)
    params, state = f.init(None, jnp.ones((3, 2)))
    d = document(jaxscope.capture(lambda p, s, x: f.apply(p, s, None, x))(params, state, jnp.ones((3, 2))))
    assert d["regions"][0]["mark"] == 0 and d["regions"][0]["in_paths"][:2] == ["w", "x"]


NNX = """
import jax, jax.numpy as jnp, optax
from flax import nnx
class Net(nnx.Module):
    def __init__(self, rngs):
        self.dense, self.drop, self.norm = nnx.Linear(2, 3, rngs=rngs), nnx.Dropout(.5, rngs=rngs), nnx.BatchNorm(3, rngs=rngs)
    def __call__(self, x): return self.drop(self.norm(self.dense(x)))
model = Net(nnx.Rngs(0))
opt = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
def loss_fn(model, x): return jnp.mean(model(x) ** 2)
@nnx.jit
def train_step(model, opt, x):
    loss, grads = nnx.value_and_grad(loss_fn)(model, x)
    opt.update(model, grads)
    return loss
for i in range(2): train_step(model, opt, jnp.ones((3, 2)))
"""


def test_nnx_jit_called_by_us(tmp_path):
    """It changes its modules in place: what they hold afterwards is computed by the step as much as the loss that it returns, and the modules hold no tracers."""
    pytest.importorskip("flax.nnx")
    pytest.importorskip("optax")
    scope = {}
    exec(NNX.replace("for i in range(2): train_step(model, opt, jnp.ones((3, 2)))", ""), scope)
    captured = jaxscope.capture(scope["train_step"], compile=True)(scope["model"], scope["opt"], jnp.ones((3, 2)))
    d = document(captured)
    scope["train_step"](scope["model"], scope["opt"], jnp.ones((3, 2)))  # else it would meet a tracer
    paths = d["program"]["in_paths"]
    assert "model['dense']['kernel'].value" in paths and "opt['step'].value" in paths and paths[-1] == "x"
    assert len(d["program"]["out_paths"]) > len(paths) - 3 and kinds(d) == [("nnx.value_and_grad", "loss_fn", ["model", "x"], 0)]
    assert "unknown" not in d["xla"]["operations"]


def test_nnx_jit_in_a_script(tmp_path):
    pytest.importorskip("flax.nnx")
    pytest.importorskip("optax")
    (tmp_path / "train.py").write_text(NNX)
    env = dict(os.environ, PYTHONPATH=str(ROOT / "app" / "capture"))
    done = subprocess.run([sys.executable, "-m", "jaxscope", "--call", "train_step", "--nth", "2", "-o", "n.jaxscope", "--no-compress", "--", "train.py"],
                          cwd=tmp_path, env=env, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0 and "warning" not in done.stderr, done.stderr
    d = json.loads((tmp_path / "n.jaxscope").read_text())
    check(d)
    paths = d["program"]["in_paths"]
    assert "model['dense']['kernel'].value" in paths and "opt['step'].value" in paths and paths[-1] == "x"
    assert kinds(d) == [("nnx.value_and_grad", "loss_fn", ["model", "x"], 0)]
    region = d["regions"][0]
    differentiated = [p for p, w in zip(region["in_paths"], region["wrt_inputs"]) if w]
    assert len(differentiated) == 4 and "model['norm']['mean'].value" in region["in_paths"]
