"""Checkpoint policies that are Python functions of the user's, and prints inside checkpoints: residuals and gradients as real JAX's."""
import inspect
from functools import partial

import jax
import jax.numpy as jnp
import pytest
from jax._src.ad_checkpoint import saved_residuals
from jax._src.interpreters.partial_eval import Offloadable, Recompute, Saveable
from jax.ad_checkpoint import checkpoint_name
from test_rules import comparable, text_of, transformed

import jaxscope
from conftest import cut, same_rows

REORDERED: dict = {}  # cases whose rows are JAX's in another order, and why
HERE = __file__.rsplit("/", 1)[0] + "/"
X, W = jnp.arange(12.0).reshape(3, 4) / 7, jnp.ones((4, 4)) / 3
CP = jax.checkpoint_policies


def marks(prim, *_, **__):
    return Saveable if prim.name == "dot_general" else Recompute


def offloads(prim, *_, **__):
    return Offloadable("device", "pinned_host") if prim.name == "dot_general" else Recompute


class Stateful:
    calls = 0

    def __call__(self, prim, *_, **__):
        self.calls += 1
        return self.calls % 2 == 0


def raises(prim, *_, **__):
    if prim.name == "sin":
        raise RuntimeError("undecided")
    return True


ANSWERED = {
    "bool": lambda prim, *_, **__: prim.name == "dot_general",
    "marks": marks,
    "offload": offloads,
    "parameters": lambda prim, *_, **params: prim.name == "name" and params["name"] == "h",
    "nested parameters": lambda prim, *_, **params: prim.name == "dot_general" and params["dimension_numbers"][0][0] == (1,),
    "avals": lambda prim, *avals, **_: len(avals) > 0 and avals[0].size == 16,
    "partial": partial(lambda names, prim, *_, **__: prim.name in names, {"dot_general"}),
    "asks JAX's": lambda prim, *avals, **params: CP.dots_saveable(prim, *avals, **params),
    "both": CP.save_from_both_policies(CP.dots_saveable, CP.save_only_these_names("h")),
}
UNANSWERED = {"raises": raises, "stateful": Stateful(), "none": lambda *_, **__: None}


def body(x, w):
    return jnp.sin(checkpoint_name(jnp.sin(x @ w), "h") @ w)


def checkpointed(policy):
    return lambda x, w: jnp.sum(jax.checkpoint(body, policy=policy)(x, w))


def scanned(policy):
    return lambda x, w: jnp.sum(jax.lax.scan(jax.checkpoint(lambda c, _: (body(c, w), None), policy=policy), x, None, length=3)[0])


@pytest.fixture
def capture(tmp_path):
    def capture(fn, *args, **options):
        path = tmp_path / "a.jaxscope"
        jaxscope.capture(fn, **options)(*args).save(str(path))
        return str(path)
    return capture


@pytest.mark.parametrize("around", [checkpointed, scanned])
@pytest.mark.parametrize("name", ANSWERED)
def test_answers_are_followed(cli, capture, name, around):
    fn = around(ANSWERED[name])
    path = capture(fn, X, W)
    want = list((a.str_short(short_dtypes=True), cut(s).replace(HERE, "")) for a, s in saved_residuals(fn, X, W) if s != "from a literal")
    report = cli.json("residuals", path, "--wrt", "all", "--strict")
    same_rows([(r["aval"], r["source"]) for r in report["residuals"]], want, (name, around.__name__), REORDERED)
    assert report["unknown_verdicts"] == []
    assert transformed(cli, path, "grad:0,1") == text_of(jax.make_jaxpr(jax.grad(fn, (0, 1)))(X, W))


@pytest.mark.parametrize("name", UNANSWERED)
def test_no_answer_is_not_saved_and_strictly_refused(cli, capture, name):
    path = capture(checkpointed(UNANSWERED[name]), X, W)
    report = cli.json("residuals", path, "--wrt", "all")
    assert report["unknown_verdicts"] and "sin" in [u["primitive"] for u in report["unknown_verdicts"]]
    assert not [r for r in report["residuals"] if r["source"].startswith("output of sin")]
    assert "counted as not saved (--strict refuses)" in cli.raw("residuals", path, "--wrt", "all").stdout
    for words in (["residuals", path], ["split", path], ["policies", path, "--no-run"], ["plan", path], ["transform", path, "--apply", "grad"]):
        code, message = cli.fails(*words, "--strict")
        assert code == 2 and "expected an answer of the policy" in message and "found that it gave none" in message
    assert cli.json("residuals", path, "--replace-policy", "dots_saveable", "--strict")["unknown_verdicts"] == []
    assert cli.json("residuals", path, "--policy", "dots_saveable", "--strict")["unknown_verdicts"] == []


# ---- Python that looks at values: its calls stay where JAX keeps them --------------------------------------------------------------
def printing(x):
    jax.debug.print("{}", x)
    y = jnp.sin(x)
    jax.debug.callback(lambda y: None, y, ordered=True)
    return jnp.sin(y)


PRINTING = {
    "plain": lambda x: jnp.sum(printing(x)),
    "checkpoint": lambda x: jnp.sum(jax.checkpoint(printing)(x)),
    "saved": lambda x: jnp.sum(jax.checkpoint(printing, policy=CP.everything_saveable)(x)),
    "scan": lambda x: jnp.sum(jax.lax.scan(lambda c, _: (printing(c), None), x, None, length=3)[0]),
    "jit": lambda x: jnp.sum(jax.jit(printing)(x)),
}


@pytest.mark.parametrize("name", PRINTING)
def test_prints_stay(cli, capture, name):
    fn = PRINTING[name]
    path = capture(fn, X)
    assert comparable(cli.json("print", path)["text"]) == text_of(jax.make_jaxpr(fn)(X))
    assert transformed(cli, path, "grad") == text_of(jax.make_jaxpr(jax.grad(fn))(X))
    assert inspect.signature(fn)


def test_prints_are_mapped_one_by_one(cli, capture):
    fn = lambda x: (jax.debug.print("{}", x), jnp.sin(x))[1]
    assert transformed(cli, capture(fn, X), "vmap@3") == text_of(jax.make_jaxpr(jax.vmap(fn))(jnp.ones((3, 3, 4))))
