"""Differentiations found while tracing: their jaxprs have the residuals that JAX prints, their marks keep the values."""
import importlib.util
import json
import sys
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import PROGRAMS
from rebuild import residual_rows

from jaxscope import api, compat, program as programs
from jaxscope.document.tables import Paths

STEPS = ["step_lm_adam_names", "step_scan_accumulate", "step_eqx_filter_donate", "step_linen_remat_adamw", "step_nnx_value_and_grad"]


def load(name):
    path = PROGRAMS / f"{name}.py"
    if not (PROGRAMS / "expected" / f"{name}.json").exists():
        pytest.skip(f"nothing recorded of {name}: set JAXSCOPE_PROGRAMS")
    sys.path.insert(0, str(PROGRAMS))
    spec = importlib.util.spec_from_file_location("jaxscope_program_" + name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except ModuleNotFoundError as e:
        pytest.skip(str(e))
    mapping = dict(module.program())
    p = programs.make_program(mapping.pop("fn"), mapping.pop("args"), mapping.pop("kwargs", None), **mapping)
    return p, json.loads((PROGRAMS / "expected" / f"{name}.json").read_text())


def found(fn, *args):
    p = programs.make_program(fn, args)
    rs, marked, warnings = api._marked_tracing(programs.flatten(p))
    assert not warnings, warnings
    return rs, marked


@pytest.mark.parametrize("name", STEPS)
def test_residuals_of_the_loss_are_jaxs(name):
    if jax.__version__ != "0.10.2":
        pytest.skip("recorded with 0.10.2")
    p, expected = load(name)
    rs, _, warnings = api._marked_tracing(programs.flatten(p))
    assert not warnings, warnings
    paths = Paths(str(PROGRAMS))
    assert len(rs) == len(expected["regions"])
    for r, want in zip(rs, expected["regions"], strict=True):
        got = [[a, paths.in_text(s)] for a, s in residual_rows(r)]
        assert got == [row for row in want["residuals"]["list"] if row[1] != "from a literal"]
        assert r.has_aux == (want["has_aux"] or name.startswith("step_nnx"))  # NNX returns the model's state as aux
        if not name.startswith("step_nnx"):
            assert r.site.arg_names == want["arg_names"]
            assert r.site.wrt == ([want["wrt"]] if isinstance(want["wrt"], int) else want["wrt"])


@pytest.mark.parametrize("name", STEPS)
def test_the_marked_program_has_the_same_values(name):
    p, _ = load(name)
    flat = programs.flatten(p)
    closed = jax.make_jaxpr(flat.traced, static_argnums=flat.static_argnums)(*flat.traced_args, **flat.traced_kwargs)
    rs, marked, _ = api._marked_tracing(flat)
    assert [r.mark is not None for r in rs] == [True] * len(rs)
    leaves = [i.value for i in flat.inputs]
    want = jax.jit(lambda *xs: compat.eval_jaxpr(closed.jaxpr, closed.consts, *xs))(*leaves)
    got = jax.jit(lambda *xs: compat.eval_jaxpr(marked.jaxpr, marked.consts, *xs))(*leaves)
    assert len(got) == len(want)
    for a, b in zip(got, want, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        if jax.dtypes.issubdtype(a.dtype, jax.dtypes.prng_key):
            a, b = jax.random.key_data(a), jax.random.key_data(b)
        # Adam divides by the root of what is nearly zero in its first step: rounding shows there.
        np.testing.assert_allclose(np.asarray(a, np.float64), np.asarray(b, np.float64), rtol=2e-3, atol=1e-5)


def test_kinds_names_and_order():
    def loss(params, x, scale=2.0):
        return jnp.sum(jnp.tanh(x @ params["w"]) * scale)

    def step(params, x):
        l, g = jax.value_and_grad(loss)(params, x)
        h = jax.grad(loss, argnums=1)(params, x, scale=l)
        y, back = jax.vjp(lambda q: jnp.sin(q) * l, x)
        return l, g, h, back(y)
    rs, _ = found(step, {"w": jnp.ones((3, 2))}, jnp.ones((4, 3)))
    assert [r.site.kind for r in rs] == ["value_and_grad", "grad", "vjp"]
    assert [r.site.name for r in rs] == ["loss", "loss", "<lambda>"]
    assert [s.path for s in rs[0].site.slots] == ["params['w']", "x"]
    assert [s.path for s in rs[1].site.slots] == ["params['w']", "x", "scale"]
    assert rs[0].diff_slots == [0] and rs[1].diff_slots == [1]
    assert len(rs[2].consts) == 1  # l, closed over
    assert all(r.mark is not None for r in rs)


def test_nested_differentiation_has_a_parent_and_no_mark():
    def f(x):
        return jnp.sum(jnp.sin(x) ** 3)

    def step(x):
        return jax.grad(lambda y: jnp.sum(jax.grad(f)(y) ** 2))(x)
    rs, _ = found(step, jnp.ones(3))
    assert len(rs) == 2
    assert rs[1].parent is rs[0] and rs[1].mark is None and rs[0].mark is not None


def test_a_scan_body_that_is_traced_twice_counts_once():
    def step(x):
        def body(c, _):
            return c - 0.1 * jax.grad(lambda y: jnp.sum(y ** 2.0))(c), None
        return jax.lax.scan(body, x, None, length=3)[0]
    rs, marked = found(step, jnp.ones(3))
    assert len(rs) == 1 and rs[0].mark is not None


def test_under_vmap_the_mark_stays_and_says_how_it_is_mapped():
    captured = api.capture(jax.vmap(jax.grad(lambda w, x: jnp.sum(jnp.sin(w * x))), in_axes=(None, 1)))(jnp.ones(3), jnp.ones((3, 5)))
    if jax.__version_info__ < (0, 5):
        assert "doesn't let us follow" in captured.document["regions"][0]["why_unmarked"]
        return
    assert [r["mark"] for r in captured.document["regions"]] == [0]
    forward, backward = captured.document["marked"]["calls"]
    assert (forward["half"], backward["half"]) == ("forward", "backward")
    assert len(forward["batch"]) == 1 and forward["batch"][0]["axis"] == backward["batch"][0]["axis"]
    assert forward["batch"][0]["size"] == 5 and forward["batch"][0]["in"] == [None, 1] and forward["batch"][0]["out"][0] == 0


def test_what_is_differentiated_further_or_computes_along_the_axis_has_no_mark():
    rs, _ = found(jax.hessian(lambda x: jnp.sum(jnp.sin(x) * x)), jnp.ones(3))
    assert rs[0].mark is None
    if jax.__version_info__ < (0, 5):
        return  # JAX's own tracer of the axis leaves its vmap there: the capture says that it couldn't record the differentiation
    rs, _ = found(jax.vmap(jax.grad(lambda x: x / jax.lax.psum(x, "i")), axis_name="i"), jnp.ones(3))
    assert len(rs) == 1 and rs[0].mark is None and "along the axis 'i'" in rs[0].why_unmarked


def test_functions_differentiated_under_jit_and_before_import():
    g = jax.jit(jax.value_and_grad(lambda x: jnp.sum(jnp.cos(x))))
    g(jnp.ones(3))  # traced and cached before

    rs, _ = found(lambda x: g(x)[1], jnp.ones(3))
    assert len(rs) == 1 and rs[0].mark is not None


def test_the_program_is_make_jaxpr():
    def step(x):
        return jax.value_and_grad(lambda y: jnp.sum(jnp.sin(y)))(x)
    before = str(jax.make_jaxpr(step)(jnp.ones(3)))
    captured = api.capture(step)(jnp.ones(3))
    assert captured.equations == before.count(":f32[3] =") + before.count(":f32[] =")
    assert str(jax.make_jaxpr(step)(jnp.ones(3))) == before  # and nothing of ours stays behind


def test_a_function_with_state_of_its_own_runs_once_per_tracing():
    calls = []

    def loss(x):
        calls.append(1)
        return jnp.sum(x ** 2)
    api.capture(lambda x: jax.grad(loss)(x))(jnp.ones(2))
    assert len(calls) == 2  # the program, and the marked tracing


def test_a_rule_with_symbolic_zeros_is_differentiated_by_the_program_itself():
    @jax.custom_vjp
    def f(x, y):
        return jnp.sin(x) * y
    f.defvjp(lambda x, y: (f(x.value, y.value), (x.value, y.value)), lambda res, g: (g * res[1] * jnp.cos(res[0]), g * jnp.sin(res[0])),
             symbolic_zeros=True)

    def step(x, y):
        return jax.value_and_grad(lambda t: jnp.sum(f(t, y)))(x)
    captured = []
    first = threading.Thread(target=lambda: captured.append(api.capture(step)(jnp.ones(3), jnp.ones(3))))  # nothing was captured there
    first.start()
    first.join()
    assert len(captured) == 1 and len(captured[0].document["regions"]) == 1
