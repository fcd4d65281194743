"""What is donated, wherever it is said: on the function, in the call that it makes, by Equinox, on arrays that the function holds."""
import json

import jax
import jax.numpy as jnp
import pytest

import jaxscope
from jaxscope.errors import CaptureError


def program(captured):
    return json.loads(captured.to_json())["program"]


def test_a_jitted_call_inside_a_plain_function():
    inner = jax.jit(lambda w, x: w - x, donate_argnums=0)
    assert program(jaxscope.capture(lambda w, x: inner(w, x))(jnp.ones(3), jnp.ones(3)))["donated"] == [True, False]
    # Of two calls neither is the program.
    two = program(jaxscope.capture(lambda w, x: (inner(w, x), inner(x, w)))(jnp.ones(3), jnp.ones(3)))
    assert two["donated"] == [False, False]


def test_pmap():
    step = jax.pmap(lambda w, x: w - x, donate_argnums=0)
    captured = jaxscope.capture(step)(jnp.ones((1, 3)), jnp.ones((1, 3)))
    assert program(captured)["donated"] == [True, False]


@pytest.mark.skipif(jax.__version_info__ < (0, 8), reason="pmap is a primitive of its own there, which doesn't say what is static")
def test_static_arguments_of_pmap():
    power = jax.pmap(lambda x, n, y: x ** n + y, static_broadcasted_argnums=1, donate_argnums=2)
    p = program(jaxscope.capture(power)(jnp.ones((1, 3)), 3, jnp.ones((1, 3))))
    assert p["donated"] == [False, True] and p["in_paths"] == ["x", "y"] and p["static"] == [{"path": "n", "text": "3"}]


@pytest.mark.parametrize("donate, want", [("all", True), ("warn", True), ("none", False)])
def test_filter_pmap(donate, want):
    eqx = pytest.importorskip("equinox")
    model = eqx.filter_vmap(lambda k: eqx.nn.MLP(3, 2, 8, 1, key=k))(jax.random.split(jax.random.key(0), 1))

    def f(m, x, how):
        return m(x) if how == "plain" else m
    p = program(jaxscope.capture(eqx.filter_pmap(f, donate=donate))(model, jnp.ones((1, 3)), "plain"))
    assert p["donated"] == [want] * 5 and p["in_paths"][-1] == "x" and p["in_paths"][0] == "m.layers[0].weight" and p["jit"] == "jax"
    assert {"path": "how", "text": "'plain'"} in p["static"]


def test_static_and_donated():
    for given in ({"static_argnums": 0, "donate_argnums": 0}, {"static_argnames": "n", "donate_argnames": "n"}):
        with pytest.raises(CaptureError, match="static_argn(ums|ames) and donate_argn(ums|ames) cannot intersect"):
            jaxscope.capture(lambda n, x: x * n, **given)(2, jnp.ones(3))


def test_one_array_twice():
    x, y = jnp.ones(3), jnp.ones(3)
    assert program(jaxscope.capture(lambda a, b, c: a + b + c)(x, y, x))["same_arrays"] == [[0, 2]]
    assert program(jaxscope.capture(lambda a, b: a + b)(x, y))["same_arrays"] == []


@pytest.mark.parametrize("donate, want", [("all", [True, True, True]), ("all-except-first", [False, True, True]), ("none", [False] * 3)])
def test_a_module_that_is_the_function(donate, want):
    eqx = pytest.importorskip("equinox")

    class Scale(eqx.Module):
        weight: jax.Array

        def __call__(self, x, y):
            return x * self.weight + y

        def times(self, x, y):
            return x * self.weight - y

    model = Scale(jnp.full(3, 2.0))
    for fn, path in ((model, "fn.weight"), (model.times, "fn.__self__.weight")):
        for captured in (jaxscope.capture(eqx.filter_jit(fn, donate=donate)), jaxscope.capture(fn, jit="eqx", donate=donate)):
            p = program(captured(jnp.ones(3), jnp.ones(3)))
            assert [q.startswith("fn") for q in p["in_paths"]] == [False, True, False], p["in_paths"]
            assert p["donated"] == want and p["arg_of_input"] == [0, -1, 1]
            assert path.split(".")[-1] in p["in_paths"][1]
    # JAX's own word: what was donated is deleted.
    args = jnp.ones(3), jnp.ones(3)
    eqx.filter_jit(model, donate=donate)(*args)
    deleted = [args[0].is_deleted(), model.weight.is_deleted(), args[1].is_deleted()]
    assert not any(d and not w for d, w in zip(deleted, want)) and any(deleted) == any(want)
