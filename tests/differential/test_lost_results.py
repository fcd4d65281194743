"""Results of custom calls that nobody reads: inside a checkpoint dead code elimination takes them out of call and rules, as JAX's does."""
import jax
import jax.numpy as jnp
import pytest
from jax import lax
from jax.ad_checkpoint import checkpoint_name

import jaxscope
from test_behaviours import cut, made_by_jax
from test_nested_programs import transformed
from test_reduce import ran, same

TABLE = jnp.arange(4.0) + 1
X = jnp.linspace(0.1, 1, 4)
CP = jax.checkpoint_policies


@jax.custom_jvp
def two(x):
    return jnp.sin(x), jnp.cos(x)


@two.defjvp
def _two_jvp(primals, tangents):
    (x,), (dx,) = primals, tangents
    a, b = two(x)
    return (a, b), (dx * b, -dx * a)


@jax.custom_vjp
def pair(x, y):
    return jnp.sin(x) * y, jnp.cos(x)


def _pair_fwd(x, y):
    return pair(x, y), (x, y, jnp.tanh(x))


def _pair_bwd(saved, ct):
    x, y, t = saved
    return ct[0] * jnp.cos(x) * y - ct[1] * t, ct[0] * jnp.sin(x)


pair.defvjp(_pair_fwd, _pair_bwd)


@jax.custom_vjp
def symbolic(x, y):
    return jnp.sin(x) * y, jnp.cos(x) * 2


def _symbolic_fwd(x, y):
    return symbolic(x.value, y.value), (x.value, y.value, x.perturbed, y.perturbed)


def _symbolic_bwd(saved, ct):
    x, y, _, _ = saved
    zero = type(ct[1]) is jax.custom_derivatives.SymbolicZero
    first = jnp.zeros_like(x) if type(ct[0]) is jax.custom_derivatives.SymbolicZero else ct[0]
    return (first * y if zero else first * y - ct[1] * 3), first * jnp.sin(x)


symbolic.defvjp(_symbolic_fwd, _symbolic_bwd, symbolic_zeros=True)



def closing_over(x, y):
    """The call takes what its function closes over in front of its own arguments."""
    scale, offset = jnp.where(jnp.arange(4) > 1, 2.0, 3.0), lax.stop_gradient(x).sum()

    @jax.custom_vjp
    def g(a, b):
        return jnp.sin(a) * TABLE * scale + b * offset

    g.defvjp(lambda a, b: (g(a.value, b.value), a.value),
             lambda a, ct: (jnp.cos(a) * ct * TABLE, None if type(ct) is jax.custom_derivatives.SymbolicZero else ct * 2), symbolic_zeros=True)
    return g(jnp.tanh(x), y)


BODIES = {
    "jvp, first": lambda x: two(jnp.tanh(x))[0].sum(),
    "jvp, second": lambda x: two(jnp.tanh(x))[1].sum(),
    "jvp, none": lambda x: (two(x), x.sum())[1],
    "jvp of jvp": lambda x: two(two(x)[1])[0].sum(),
    "jvp in jit": lambda x: jax.jit(lambda x: two(jnp.tanh(x)))(x)[0].sum(),
    "jvp in scan": lambda x: lax.scan(lambda c, _: two(c), x, None, length=2)[0].sum(),
    "jvp in vmap": lambda x: jax.vmap(two)(jnp.tanh(x))[0].sum(),
    "vjp, first": lambda x: pair(jnp.tanh(x), x)[0].sum(),
    "vjp, second": lambda x: pair(jnp.tanh(x), x)[1].sum(),
    "vjp of vjp": lambda x: pair(pair(x, x)[1], x)[0].sum(),
    "vjp in jit": lambda x: jax.jit(lambda x: pair(jnp.tanh(x), x))(x)[0].sum(),
    "vjp in scan": lambda x: lax.scan(lambda c, _: pair(c, x), x, None, length=2)[0].sum(),
    "vjp in cond": lambda x: lax.cond(x[0] > 0, lambda x: pair(x, x)[0], lambda x: pair(x, x)[1], x).sum(),
    "vjp in vmap": lambda x: jax.vmap(pair)(jnp.tanh(x), x)[0].sum(),
    "vjp in checkpoint": lambda x: jax.checkpoint(lambda x: pair(jnp.tanh(x), x))(x)[0].sum(),
    "symbolic, first": lambda x: symbolic(jnp.tanh(x), x)[0].sum(),
    "symbolic, second": lambda x: symbolic(jnp.tanh(x), x)[1].sum(),
    "symbolic in vmap": lambda x: jax.vmap(symbolic)(jnp.tanh(x), x)[0].sum(),
    "named": lambda x: checkpoint_name(pair(jnp.tanh(x), x)[0], "a").sum() + two(x)[1].sum(),
}


@pytest.mark.parametrize("policy", ["nothing_saveable", "everything_saveable", "save_only_these_names"])
@pytest.mark.parametrize("name", BODIES)
def test_texts_are_jax(cli, tmp_path, name, policy):
    chosen = getattr(CP, policy) if policy != "save_only_these_names" else CP.save_only_these_names("a")
    fn = lambda x: jax.checkpoint(BODIES[name], policy=chosen)(x)
    path = str(tmp_path / "a.jaxscope")
    jaxscope.capture(fn, values="all")(X).save(path)
    assert transformed(cli, path, "grad") == made_by_jax(jax.grad(fn), X).rstrip()
    if policy == "nothing_saveable":
        theirs = made_by_jax(jax.vmap(jax.grad(fn)), jnp.stack([X] * 3)).rstrip()
        ours = cut(cli.json("transform", path, "--apply", "grad", "--apply", "vmap@3", "--print")["text"]).rstrip()
        assert ours.replace("np.int64(1)", "1") == theirs


@pytest.mark.parametrize("name", BODIES)
def test_values_are_jax(cli, tmp_path, name):
    fn = lambda x: jax.checkpoint(BODIES[name])(x)
    same(ran(cli, tmp_path, fn, (X,), "grad"), jax.grad(fn)(X))
    batch = jnp.stack([X, X * 2, X - 1])
    same(ran(cli, tmp_path, fn, (X,), "grad", "vmap@3", inputs=[batch]), jax.vmap(jax.grad(fn))(batch))


def test_once_more_differentiated(cli, tmp_path):
    """The rules of what lost results are differentiated in turn."""
    fn = lambda x: jax.grad(lambda x: jax.checkpoint(lambda x: two(pair(x, x)[0])[1].sum())(x))(x).sum()
    same(ran(cli, tmp_path, fn, (X,), "grad"), jax.grad(fn)(X))


@pytest.mark.parametrize("fn", [lambda x: closing_over(x, x * 2).sum(), lambda x: closing_over(x, jnp.ones(4)).sum(),
                                lambda x: closing_over(jnp.ones(4), x * 2).sum()], ids=["both", "first", "second"])
def test_rules_behind_what_their_function_closes_over(cli, tmp_path, fn):
    path = str(tmp_path / "a.jaxscope")
    jaxscope.capture(fn, values="all")(X).save(path)
    assert transformed(cli, path, "grad") == made_by_jax(jax.grad(fn), X).rstrip()
    same(ran(cli, tmp_path, fn, (X,), "grad"), jax.grad(fn)(X))
