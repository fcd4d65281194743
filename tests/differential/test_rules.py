"""Programs with custom rules: text, residuals, gradients, vmap and jvp as real JAX's, character for character."""
import functools
import inspect
import re

import jax
import jax.numpy as jnp
import pytest
from jax._src.ad_checkpoint import saved_residuals
from rule_programs import PROGRAMS

import jaxscope
from conftest import cut, same_rows

REORDERED: dict = {}  # cases whose rows are JAX's in another order, and why
HERE = __file__.rsplit("/", 1)[0] + "/"


def text_of(jaxpr) -> str:
    return comparable(cut(str(jaxpr)))


def comparable(text: str) -> str:
    """Without addresses, and without the NumPy integers of JAX's batching rules (`axes=(np.int64(1),)`), which lines are broken for."""
    text = re.sub("0x[0-9a-fX_]+", "0x", text.replace(HERE, ""))
    return "".join(re.sub(r"np\.int64\((-?\d+)\)", r"\1", text).split())


@pytest.fixture(scope="module")
def captured(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rules")

    @functools.cache
    def captured(name):
        fn, args, wrt = PROGRAMS[name]
        path = folder / f"{name}.jaxscope"
        jaxscope.capture(fn, differentiate=wrt)(*args).save(str(path))
        return str(path)
    return captured


def transformed(cli, path, *steps) -> str:
    return comparable(cli.json("transform", path, *[w for s in steps for w in ("--apply", s)], "--print")["text"])


@pytest.mark.parametrize("name", PROGRAMS)
def test_text(cli, captured, name):
    fn, args, _ = PROGRAMS[name]
    assert comparable(cli.json("print", captured(name))["text"]) == text_of(jax.make_jaxpr(fn)(*args))


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradient(cli, captured, name):
    fn, args, wrt = PROGRAMS[name]
    gradient = jax.grad(fn, argnums=wrt if len(wrt) > 1 else wrt[0])
    assert transformed(cli, captured(name), "grad:" + ",".join(map(str, wrt))) == text_of(jax.make_jaxpr(gradient)(*args))


@pytest.mark.parametrize("name", PROGRAMS)
def test_residuals(cli, captured, name):
    fn, args, wrt = PROGRAMS[name]
    names = list(inspect.signature(fn).parameters)
    only = lambda *xs: fn(*[xs[wrt.index(i)] if i in wrt else a for i, a in enumerate(args)])
    only.__signature__ = inspect.Signature([inspect.Parameter(names[i], inspect.Parameter.POSITIONAL_OR_KEYWORD) for i in wrt])
    want = list((a.str_short(short_dtypes=True), cut(s).replace(HERE, "")) for a, s in saved_residuals(only, *[args[i] for i in wrt])
                   if s != "from a literal")
    report = cli.json("residuals", captured(name), "--region", "program", "--wrt", ",".join(map(str, wrt)))
    same_rows([(r["aval"], r["source"]) for r in report["residuals"]], want, name, REORDERED)


# ---- vmap and jvp ------------------------------------------------------------------------------------------------------------------
X, Y = jnp.arange(1.0, 4.0), jnp.linspace(0.5, 2.0, 3)


@jax.custom_batching.custom_vmap
def mapped(x, y):
    return jnp.sin(x) * y


@mapped.def_vmap
def _mapped_rule(size, batched, x, y):
    return (jnp.cos(x) * y if all(batched) else jnp.tan(x) * y / size), True


@jax.custom_jvp
def forward(x, y):
    return jnp.sin(x) * y


forward.defjvp(lambda p, t: (forward(*p), jnp.cos(p[0]) * p[1] * t[0] * 7 + t[1]))


@jax.custom_vjp
def backward(x, y):
    return jnp.sin(x) * y, x


backward.defvjp(lambda x, y: (backward(x, y), (x, jnp.cos(x), y)), lambda r, g: (g[0] * r[1] * r[2] * 7 + g[1], g[0] * r[0]))
sequential = jax.custom_batching.sequential_vmap(lambda x, y: jnp.sin(x) * y)
FUNCTIONS = {"custom_vmap": mapped, "sequential_vmap": sequential, "jit": jax.jit(lambda x, y: mapped(x, y)),
             "scan": lambda x, y: jax.lax.scan(lambda c, a: (mapped(c, a), c), x, jnp.stack([y, y])), "custom_jvp": forward, "custom_vjp": backward}


def batched(fn, axes, *args):
    structs = [a if d is None else jax.ShapeDtypeStruct((*a.shape[:d], 8, *a.shape[d:]), a.dtype) for a, d in zip(args, axes)]
    return jax.make_jaxpr(jax.vmap(fn, in_axes=axes, axis_size=8))(*structs)


def both(fn):
    return lambda x, y, dx, dy: jax.jvp(fn, (x, y), (dx, dy))


def first_batched(fn):
    return jax.vmap(fn, (0, None), axis_size=8)


STEPS = {
    "vmap@8": lambda f: batched(f, (0, 0), X, Y),
    "vmap:0,-@8": lambda f: batched(f, (0, None), X, Y),
    "vmap:1,-@8": lambda f: batched(f, (1, None), X, Y),
    "jvp": lambda f: jax.make_jaxpr(both(f))(X, Y, X, Y),
    "jvp vmap@8": lambda f: batched(both(f), (0,) * 4, X, Y, X, Y),
    "vmap:0,-@8 jvp": lambda f: jax.make_jaxpr(both(first_batched(f)))(*[jax.ShapeDtypeStruct((8, 3), X.dtype), Y] * 2),
    "vmap:0,-@8 vmap:-,1@8": lambda f: batched(first_batched(f), (None, 1), jax.ShapeDtypeStruct((8, 3), X.dtype), Y),
}


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_vmap_and_jvp(cli, tmp_path, name, steps):
    fn = FUNCTIONS[name]
    path = str(tmp_path / "a.jaxscope")
    jaxscope.capture(fn)(X, Y).save(path)
    try:
        want = text_of(STEPS[steps](fn))
    except TypeError as refused:
        code, message = cli.fails("transform", path, *[w for s in steps.split() for w in ("--apply", s)])
        assert code == 3 and "can't apply forward-mode autodiff (jvp) to a custom_vjp function" in str(refused) and str(refused)[:60] in message
    else:
        assert transformed(cli, path, *steps.split()) == want
