"""Arguments are called what JAX's residual lists call them, however the function takes them and whatever stands around it."""
import functools
import json
import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import pytest
from jax._src import ad_checkpoint

import jaxscope
from jaxscope.command import resize
from jaxscope.program import make_program

eqx = pytest.importorskip("equinox")
X = jnp.arange(3.0) + 0.5
D = {"q": X, "b": X + 1}


def saved(*trees):
    """Every leaf is a residual, so that JAX names it."""
    return sum(jnp.sum(jnp.sin(leaf) * leaf) for leaf in jax.tree.leaves(trees))


def every(a, *args, k, **kw):
    return saved(a, args, k, kw)


def three(a, b=2.0, c=X):
    return saved(a, b, c)


def only(a, b, /, c):
    return saved(a, b, c)


def words(a, *, z, b):
    return saved(a, z, b)


def rest(**kw):
    return saved(kw)


def around(fn):
    return functools.wraps(fn)(lambda *args, **kwargs: fn(*args, **kwargs))


def injects(fn):
    """The signature that it passes on is of a call with one argument more."""
    return functools.wraps(fn)(lambda *args, **kwargs: fn(X, *args, **kwargs))


class Model:
    def __call__(self, x, y, **options):
        return saved(x, y, options)

    def step(self, x, *more, **options):
        return saved(x, more, options)

    @classmethod
    def made(cls, x, **options):
        return saved(x, options)


class NoSignature:
    __signature__ = "none"

    def __call__(self, *args, **kwargs):
        return saved(args, kwargs)


CALLS = {
    "all kinds": (every, (X, X, D), dict(k=X, z=X, c=D)),
    "none but keywords": (rest, (), dict(z=X, a=D)),
    "kw is called kw": (rest, (), dict(z=X, kw=X)),
    "no identifiers": (rest, (), {"a b": X, "it's": X}),
    "positional only": (only, (X, D), dict(c=X)),
    "positional only, and kw": (lambda a, /, b, **kw: saved(a, b, kw), (X,), dict(b=X, z=X)),
    "defaults": (three, (X,), dict(c=X)),
    "all by keyword": (three, (), dict(c=X, b=D, a=X)),
    "keyword only": (words, (X,), dict(z=X, b=D)),
    "args alone": (lambda *args: saved(args), (X, D), {}),
    "None": (every, (None, X), dict(k=X, z=None, y=X)),
    "partial": (functools.partial(every, X, k=X), (D,), dict(z=X)),
    "partial of a keyword": (functools.partial(three, b=X), (X,), dict(c=X)),
    "partial of one in kw": (functools.partial(rest, z=X), (), dict(a=X)),
    "bound method": (Model().step, (X, X), dict(z=D)),
    "class method": (Model.made, (X,), dict(z=X)),
    "object": (Model(), (X,), dict(y=X, z=D)),
    "decorated": (around(every), (X, X), dict(k=X, z=D)),
    "decorated without a word": (lambda *args, **kwargs: every(*args, **kwargs), (X, X), dict(k=X, z=X)),
    "another signature": (injects(only), (X, D), {}),
    "another signature, by keyword": (injects(words), (), dict(z=D, b=[X])),
    "another signature that takes it": (injects(three), (X, D), {}),
    "no signature": (NoSignature(), (X, D), dict(z=X)),
    "jit": (jax.jit(every), (X, X), dict(k=X, z=X)),
    "vmap": (jax.vmap(every), (X, X), dict(k=X, z=X)),
    "checkpoint": (jax.checkpoint(every, policy=jax.checkpoint_policies.everything_saveable), (X, X), dict(k=X, z=X)),
    "filter_jit": (eqx.filter_jit(every), (X, D), dict(k=X, z=X)),
}


@pytest.mark.skipif(jax.__version__ != "0.10.2", reason="the names are those of 0.10.2")
@pytest.mark.parametrize("call", CALLS)
def test_they_are_jaxs(call):
    fn, args, kwargs = CALLS[call]
    said = [source.removeprefix("from the argument ") for _, source in ad_checkpoint.saved_residuals(fn, *args, **kwargs)
            if source.startswith("from the argument ")]
    program = jaxscope.capture(fn)(*args, **kwargs).document["program"]
    assert said and program["in_paths"] == said
    assert all(path.startswith(program["arg_names"][i]) for path, i in zip(program["in_paths"], program["arg_of_input"]))


def test_of_pmap():
    one = jax.tree.map(lambda a: a[None], D)
    program = jaxscope.capture(jax.pmap(every))(one, k=one["q"], z=one).document["program"]
    assert program["in_paths"] == ["a['b']", "a['q']", "k", "kw['z']['b']", "kw['z']['q']"]


@pytest.mark.parametrize("differentiate, options", [(jax.grad, {}), (jax.jacrev, {}), (eqx.filter_grad, {"jit": "eqx"}), (eqx.filter_jacrev, {"jit": "eqx"})])
def test_of_what_is_differentiated(differentiate, options):
    (region,) = jaxscope.capture(lambda x, d: differentiate(every)(x, x, k=x, z=d), **options)(X, D).document["regions"]
    assert region["arg_names"] == ["a", "args[0]", "k", "kw['z']"]
    assert region["in_paths"] == ["a", "args[0]", "k", "kw['z']['b']", "kw['z']['q']"]


def test_a_library_passes_a_keyword_of_its_own():
    def with_state(fn):
        return functools.wraps(fn)(lambda *args, state, **kwargs: fn(*args, **kwargs) * state)
    (region,) = jaxscope.capture(lambda x: jax.grad(with_state(words))(x, z=x, state=2 * x[0], b=x))(X).document["regions"]
    assert region["in_paths"] == ["a", "z", "state", "b"]
    (region,) = jaxscope.capture(lambda x: jax.grad(injects(only))(x, x))(X).document["regions"]
    assert region["in_paths"] == ["args[0]", "args[1]"]


def test_in_the_rows_of_a_call_in_a_script(binary, root, tmp_path):
    (tmp_path / "train.py").write_text("import jax, jax.numpy as jnp\n@jax.jit\ndef f(a, *args, k, **kw): return jnp.sum(a * kw['x']['q'] * k)\n"
                                       "x = jnp.ones(3)\nf(x, k=x, x={'q': x})\n")
    env = {**os.environ, "PYTHONPATH": str(root / "app" / "capture"), "JAX_PLATFORMS": "cpu"}
    for command in ([sys.executable, "-m", "jaxscope", "--call", "f", "-o", "a.jaxscope", "--", "train.py"], [binary, "residuals", "a.jaxscope", "--json"]):
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=100)
        assert done.returncode == 0, done.stderr
    sources = [r["source"] for r in json.loads(done.stdout)["residuals"] if "argument" in r["source"]]
    assert sources == ["from the argument a", "from the argument k", "from the argument kw['x']['q']"]


def mode(a, *, k, **kw):
    return kw["z"]["b"] * 2 + k, a if kw["by"] == "a" else k


def test_options_name_them_as_the_caller_does():
    program = jaxscope.capture(mode, donate_argnames="z", static_argnames="by")(X, z=D, k=X, by="a").document["program"]
    assert program["in_paths"] == ["a", "k", "kw['z']['b']", "kw['z']['q']"] and program["donated"] == [False, False, True, True]
    assert program["static"] == [{"path": "kw['by']", "text": "'a'"}] and program["arg_names"] == ["a", "kw['z']", "k", "kw['by']"]
    # JAX finds a donated argument by a signature that doesn't take the call.
    assert jaxscope.capture(injects(only), donate_argnames="b")(X, X).document["program"]["donated"] == [False, True]


@pytest.mark.parametrize("chosen", ["z['b']:0", "kw['z']['b']:0"])
def test_other_sizes_by_either_name(chosen):
    p = make_program(mode, (X,), dict(z=D, k=X, by="a"), static_argnames="by")
    axes = [resize._axis(chosen), resize._axis("k:0"), resize._axis("0:0")]
    assert resize.captured_size(p, axes) == 3
    other = resize.resized(p, axes, 7)
    assert [a.shape for a in jax.tree.leaves((other.args, other.kwargs["k"], other.kwargs["z"]))] == [(7,), (7,), (7,), (3,)]
    assert other.kwargs["by"] == "a"
