"""`jaxscope residuals` of a differentiation inside a step is what print_saved_residuals says of the loss: however it is
differentiated, and wherever the differentiation stands."""
import json
import os
import subprocess

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src import ad_checkpoint
from jax.ad_checkpoint import checkpoint_name

import jaxscope
from jaxscope.document.tables import Paths

pytestmark = pytest.mark.skipif(jax.__version__ != "0.10.2", reason="the residuals are those of 0.10.2")
HERE = os.path.dirname(os.path.abspath(__file__))
X = jnp.arange(12.0).reshape(3, 4) / 10
W = {"a": jnp.ones((4, 4)) / 3, "b": jnp.ones((4, 2)) / 5}


def loss(w, x):
    h = jnp.tanh(x @ w["a"])
    h = checkpoint_name(jax.nn.relu(h) * jnp.sin(h), "h")
    return jnp.mean((jax.nn.gelu(h) @ w["b"]) ** 2)


remat_loss = jax.checkpoint(loss, policy=jax.checkpoint_policies.save_only_these_names("h"))


@pytest.fixture
def regions(binary, tmp_path):
    """Per region of the captured step: [aval, source] of its residuals, and what stands in its entry."""
    def run(step, *args, **options):
        path = str(tmp_path / "a.jaxscope")
        captured = jaxscope.capture(step, **options)(*args)
        captured.save(path)
        out = []
        for i, entry in enumerate(captured.document["regions"]):
            done = subprocess.run([binary, "residuals", path, "--region", str(i), "--json"], capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            out.append((rows([r["aval"], r["source"]] for r in json.loads(done.stdout)["residuals"]), entry))
        return out
    return run


def rows(pairs):
    return [[a, s] for a, s in pairs if s != "from a literal"]


def jaxs(f, *args, names=None):
    """What print_saved_residuals prints. `names`: of arguments, where JAX sees a function of its own."""
    paths = Paths(HERE)
    out = []
    for aval, source in ad_checkpoint.saved_residuals(f, *args):
        for ours, theirs in (names or {}).items():
            source = source.replace(ours, theirs)
        out.append([aval.str_short(short_dtypes=True), paths.in_text(source)])
    return rows(out)


def of_w(f=loss, x=X):
    return jaxs(lambda w: f(w, x), W)


KINDS = {
    "grad": (lambda w, x: jax.grad(loss)(w, x), "grad"),
    "value_and_grad": (lambda w, x: jax.value_and_grad(loss)(w, x), "value_and_grad"),
    "vjp": (lambda w, x: jax.vjp(lambda w: loss(w, x), w)[1](1.0), "vjp"),
    "linearize": (lambda w, x: jax.linearize(lambda w: loss(w, x), w)[1](w), "linearize"),
    "jacrev": (lambda w, x: jax.jacrev(loss)(w, x), "jacrev"),
    "aux": (lambda w, x: jax.grad(lambda w, x: (loss(w, x), x + 1), has_aux=True)(w, x), "grad"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_however_it_is_differentiated(regions, kind):
    step, name = KINDS[kind]
    ((got, entry),) = regions(step, W, X)
    assert got == of_w() and entry["kind"] == name


PLACES = {
    "jit": lambda w, x: jax.jit(jax.grad(loss))(w, x),
    "scan": lambda w, x: jax.lax.scan(lambda w, _: (jax.tree.map(lambda a, b: a - b, w, jax.grad(loss)(w, x)), None), w, None, length=3)[0],
    "while": lambda w, x: jax.lax.fori_loop(0, 3, lambda _, w: jax.grad(loss)(w, x), w),
    "cond": lambda w, x: jax.lax.cond(x.sum() > 0, lambda w: jax.grad(loss)(w, x), lambda w: w, w),
    "remat": lambda w, x: jax.checkpoint(lambda w: jax.grad(loss)(w, x))(w),
    "a jitted step": jax.jit(lambda w, x: jax.grad(loss)(w, x), donate_argnums=0),
}


@pytest.mark.parametrize("place", PLACES)
def test_wherever_it_stands(regions, place):
    ((got, entry),) = regions(PLACES[place], W, X)
    assert got == of_w() and entry["mark"] == 0


def test_a_jitted_loss_stands_where_it_is_differentiated(regions):
    def step(w, x):
        return jax.grad(jax.jit(loss))(w, x)
    ((got, entry),) = regions(step, W, X)
    here = f"test_region_residuals.py:{step.__code__.co_firstlineno + 1}:15 (test_a_jitted_loss_stands_where_it_is_differentiated.<locals>.step)"
    jitted = [s for _, s in got if "jitted" in s]
    assert jitted and all(s == f"output of jitted function 'loss' from {here}" for s in jitted)
    assert [a for a, _ in got] == [a for a, _ in of_w(jax.jit(loss))] and entry["mark"] == 0


def test_the_policy_inside_the_loss(regions):
    ((got, _),) = regions(lambda w, x: jax.value_and_grad(remat_loss)(w, x), W, X)
    assert got == of_w(remat_loss) and any("named 'h'" in source for _, source in got)


def test_under_vmap_it_is_the_loss_of_one_example(regions):
    one = X[0]
    ((got, entry),) = regions(lambda w, xs: jax.vmap(jax.grad(loss), in_axes=(None, 0))(w, xs), W, X)
    assert got == of_w(x=one) and entry["mark"] == (None if jax.__version_info__ < (0, 5) else 0)


def test_vmap_inside_the_loss(regions):
    def batch_loss(w, xs):
        return jnp.mean(jax.vmap(loss, in_axes=(None, 0))(w, xs))
    ((got, entry),) = regions(lambda w, xs: jax.grad(batch_loss)(w, xs), W, X)
    assert got == of_w(batch_loss) and entry["mark"] == 0


def test_scan_inside_the_loss(regions):
    def rnn(w, xs):
        body = jax.checkpoint(lambda h, x: (jnp.tanh(x + h @ w["a"]), None))
        return jnp.sum(jax.lax.scan(body, xs[0], xs)[0] @ w["b"])
    ((got, _),) = regions(lambda w, xs: jax.value_and_grad(rnn)(w, xs), W, X)
    assert got == of_w(rnn)


def test_a_rule_reads_an_array_where_the_loss_reads_another(regions):
    """The region's jaxpr has constvars without values, the rule's a constant with one."""
    weights = jnp.arange(4.0) + 1

    @jax.custom_jvp
    def f(x):
        return jnp.sin(x)
    f.defjvp(lambda p, t: (f(p[0]), jnp.cos(p[0]) * weights * t[0]))

    def loss_by(y):
        return lambda x: (f(x) * y).sum()
    (found, _), = regions(lambda x, y: jax.grad(loss_by(y))(x), X, X + 1)
    wanted = []
    jax.make_jaxpr(lambda x, y: wanted.extend(jaxs(loss_by(y), x)) or x)(X, X + 1)
    assert found == wanted and len(found) == 2


def test_one_inside_the_other(regions):
    """The penalty on a gradient: the outer loss saves what the inner differentiation needs, the inner one is a region of its own."""
    def inner(x, w):
        return jnp.sum(jnp.sin(x @ w["a"]))

    def outer(w, x):
        return jnp.sum(jax.grad(inner)(x, w) ** 2)
    (first, second) = regions(lambda w, x: jax.grad(outer)(w, x), W, X)
    assert second[1]["parent"] == 0 and first[1]["parent"] is None
    assert first[0] == of_w(outer)
    assert second[0] == jaxs(lambda x: inner(x, W), X)


def test_several_in_one_step(regions):
    def second(x, w):
        return jnp.sum(jnp.exp(x) * w["b"].sum())
    found = regions(lambda w, x: (jax.grad(loss)(w, x), jax.grad(second)(x, w), jax.grad(loss)(w, x + 1)), W, X)
    assert [f[0] for f in found] == [of_w(), jaxs(lambda x: second(x, W), X), of_w()]


def test_argnums_and_keywords(regions):
    def f(a, b, *, scale):
        return jnp.sum(jnp.sin(a * b) * scale)
    ((got, entry),) = regions(lambda a, b, s: jax.grad(f, argnums=(1, 0))(a, b, scale=s), X, X + 1, X + 2)
    want = jaxs(lambda b, a: f(a, b, scale=X), X, X)
    # Known difference: JAX lists arguments in the order of argnums, jaxscope in the order of the function's own parameters.
    assert got != want and sorted(got) == sorted(want), "the order is JAX's now: compare with == as the other tests do"
    assert entry["wrt"] == [1, 0]


def test_equinox(regions):
    eqx = pytest.importorskip("equinox")
    model = eqx.nn.MLP(4, "scalar", 8, 2, activation=jax.nn.silu, key=jax.random.key(0))

    def mlp_loss(m, x, key):
        h = eqx.nn.Dropout(0.5)(x, key=key)
        return jnp.mean(jax.vmap(m)(h) ** 2)
    key = jax.random.key(1)
    dynamic, static = eqx.partition(model, eqx.is_inexact_array)
    want = jaxs(lambda m: mlp_loss(eqx.combine(m, static), X, key), dynamic)
    for transform, kind in ((eqx.filter_grad, "eqx.filter_grad"), (eqx.filter_value_and_grad, "eqx.filter_value_and_grad")):
        ((got, entry),) = regions(lambda m, x, k: transform(mlp_loss)(m, x, k), model, X, key, jit="eqx")
        assert entry["kind"] == kind and entry["name"] == "mlp_loss" and got == want
    ((got, entry),) = regions(eqx.filter_jit(lambda m, x, k: eqx.filter_vjp(lambda m: mlp_loss(m, x, k), m)[1](1.0)), model, X, key)
    assert got == want and entry["kind"] == "eqx.filter_vjp" and entry["mark"] == 0
    ((got, entry),) = regions(eqx.filter_jit(eqx.filter_jacrev(mlp_loss)), model, X, key)
    assert got == want and entry["kind"] == "eqx.filter_jacrev" and entry["arg_names"] == ["m", "x", "key"]


def test_nnx(regions):
    nnx = pytest.importorskip("flax.nnx")

    class Net(nnx.Module):
        def __init__(self, rngs):
            self.one, self.norm, self.two = nnx.Linear(4, 8, rngs=rngs), nnx.LayerNorm(8, rngs=rngs), nnx.Linear(8, 1, rngs=rngs)

        def __call__(self, x):
            return self.two(jax.nn.gelu(self.norm(self.one(x))))
    model = Net(nnx.Rngs(0))

    def net_loss(m, x):
        return jnp.mean(m(x) ** 2)
    graph, params, rest = nnx.split(model, nnx.Param, ...)
    want = jaxs(lambda p: net_loss(nnx.merge(graph, p, rest), X), params)
    graph, state = nnx.split(model)
    for transform in (nnx.grad, nnx.value_and_grad):
        def step(state, x):
            return jax.tree.leaves(nnx.to_pure_dict(transform(net_loss)(nnx.merge(graph, state), x)) if transform is nnx.grad else
                                   transform(net_loss)(nnx.merge(graph, state), x)[0])
        ((got, entry),) = regions(step, state, X)
        assert entry["name"] == "net_loss" and entry["kind"] == "nnx." + transform.__name__
        assert unnamed(got) == unnamed(want)


def unnamed(found):
    """NNX's leaves have the names of the state in the program, not of the state that we split."""
    return [[a, "an argument" if s.startswith("from the argument") else s] for a, s in found]


def test_the_values_with_another_policy(binary, tmp_path):
    """The step runs with the region done otherwise, and gives the same numbers."""
    def step(w, x):
        value, grads = jax.value_and_grad(remat_loss)(w, x)
        return value, jax.tree.map(lambda a, g: a - 0.1 * g, w, grads)
    path = str(tmp_path / "a.jaxscope")
    jaxscope.capture(step, values="all")(W, X).save(path)
    want = [np.asarray(v) for v in jax.tree.leaves(step(W, X))]
    for policy in ("nothing_saveable", "everything_saveable", "dots_saveable"):
        done = subprocess.run([binary, "run", path, "--policy", policy, "--json"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        for out, w in zip(json.loads(done.stdout)["outputs"], want, strict=True):
            np.testing.assert_allclose(np.asarray(out["values"]).reshape(w.shape), w, rtol=1e-5, atol=1e-6)
