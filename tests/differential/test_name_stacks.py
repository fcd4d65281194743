"""Name stacks of transformed programs are JAX's: scopes of the user's and the transformations that made an equation."""
import json

import jax
import jax.numpy as jnp
import pytest
import zstandard
from jax import lax
from jax._src import core

import jaxscope

X, W = jnp.linspace(0.1, 1.0, 16).reshape(4, 4), jnp.linspace(-1.0, 1.0, 16).reshape(4, 4)


def body(x, w):
    with jax.named_scope("loss"):
        with jax.named_scope("dot"):
            h = x @ w
        h = jnp.tanh(h)
    return jnp.sum(h * h)


def jitted(x, w):
    with jax.named_scope("outer"):
        return jax.jit(body)(x, w)


def remat(x, w):
    with jax.named_scope("outer"):
        return jax.checkpoint(body)(x, w)


def remat_of_jit(x, w):
    with jax.named_scope("a(b)"):
        return jax.checkpoint(lambda x, w: jax.jit(body)(jnp.sin(x), w))(x, w)


def scanned(x, w):
    def step(c, _):
        with jax.named_scope("step"):
            return jnp.sin(c) @ w, None
    with jax.named_scope("outer"):
        return jnp.sum(lax.scan(step, x, None, length=3)[0])


def branches(x, w):
    with jax.named_scope("outer"):
        return jnp.sum(lax.cond(x[0, 0] > 0, lambda x: body(x, w) * x, lambda x: x, x))


def ruled(x, w):
    with jax.named_scope("act"):
        return jnp.sum(jax.nn.silu(x) @ w)


@jax.custom_vjp
def scaled(x):
    with jax.named_scope("inside"):
        return x * 2


def scaled_fwd(x):
    with jax.named_scope("fwd"):
        return jnp.sin(x), jnp.cos(x)


def scaled_bwd(res, ct):
    with jax.named_scope("bwd"):
        return (res * ct,)


scaled.defvjp(scaled_fwd, scaled_bwd)


def custom_vjp(x, w):
    with jax.named_scope("outer"):
        return jnp.sum(scaled(x) @ w)


PROGRAMS = [body, jitted, remat, remat_of_jit, scanned, branches, ruled, custom_vjp]
STEPS = {
    "grad:0,1": lambda f: (jax.grad(f, argnums=(0, 1)), (X, W)),
    "value_and_grad:0": lambda f: (jax.value_and_grad(f), (X, W)),
    "jvp": lambda f: (lambda x, w, dx, dw: jax.jvp(f, (x, w), (dx, dw)), (X, W, X, W)),
    "vmap@2": lambda f: (jax.vmap(f), (jnp.stack([X, X]), jnp.stack([W, W]))),
    "checkpoint grad:0": lambda f: (jax.grad(jax.checkpoint(f)), (X, W)),
}


def of_jax(jaxpr, depth=0):
    for e in jaxpr.eqns:
        yield depth, e.primitive.name, str(e.source_info.name_stack)
        for _, value in sorted(e.params.items()):
            for v in value if isinstance(value, (tuple, list)) else (value,):
                if isinstance(v, core.ClosedJaxpr):
                    yield from of_jax(v.jaxpr, depth + 1)
                elif isinstance(v, core.Jaxpr):
                    yield from of_jax(v, depth + 1)


def of_capture(d, index, depth=0):
    def inner(v):
        if isinstance(v, dict):
            for key in ("closed_jaxpr", "open_jaxpr", "jaxpr"):
                if isinstance(v.get(key), int):
                    yield from of_capture(d, v[key], depth + 1)
            for key in ("tuple", "list"):
                yield from inner(v.get(key, []))
        elif isinstance(v, list):
            for item in v:
                yield from inner(item)
    for e in d["jaxprs"][index]["eqns"]:
        yield depth, d["strings"][e[0]], d["name_stacks"][d["sources"][e[4]][1]]
        for _, value in sorted(d["params"][e[3]].items()):
            yield from inner(value)


@pytest.mark.parametrize("steps", STEPS, ids=lambda s: s.split(":")[0].replace(" ", "-"))
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_name_stacks(cli, tmp_path, program, steps):
    file, out = str(tmp_path / "p.jaxscope"), tmp_path / "out.jaxscope"
    jaxscope.capture(program)(X, W).save(file)
    cli.raw("transform", file, *(a for s in steps.split() for a in ("--apply", s)), "-o", str(out))
    d = json.loads(zstandard.ZstdDecompressor().stream_reader(out.read_bytes()).read())
    fn, args = STEPS[steps](program)
    wanted = list(of_jax(jax.make_jaxpr(fn)(*args).jaxpr))
    assert len(wanted) > 3
    assert list(of_capture(d, d["program"]["jaxpr"])) == wanted
