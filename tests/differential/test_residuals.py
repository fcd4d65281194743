"""The residual table equals jax.ad_checkpoint.print_saved_residuals: (aval, source string), row by row."""
import functools
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src.ad_checkpoint import saved_residuals
from jax.extend.core import jaxpr_as_fun

import jaxscope
from conftest import available, cut, load_module, names, same_rows

POLICIES = ["everything_saveable", "nothing_saveable", "dots_saveable", "dots_with_no_batch_dims_saveable"]
# Programs whose fn is differentiated as a whole, and those that differentiate inside (regions).
WHOLE = [n for n in names() if n.startswith("remat_")] + ["haiku_lstm_scan", "flax_moe", "control_flow", "conv_variants", "eqx_mamba_scan", "fft_signal",
                                                                "higher_order_ad", "optax_zoo", "moe_ragged"]
STEPS = ["step_lm_adam_names", "step_scan_accumulate", "transformer_lm", "transformer_lm_scan"]


# Cases whose rows are JAX's in another order, and why.
REORDERED: dict = {}


def rows_of_jax(fn, *args) -> list:
    """Rows `from a literal` hold no array and can't be known from a jaxpr."""
    return list((aval.str_short(short_dtypes=True), cut(source)) for aval, source in saved_residuals(fn, *args) if source != "from a literal")


def rows_of(report: dict) -> list:
    return [(r["aval"], r["source"]) for r in report["residuals"]]


def only(fn, position, args):
    """fn of its argument `position` alone, the others held fixed; the argument keeps its name."""
    import inspect

    name = list(inspect.signature(fn).parameters)[position]
    g = lambda x: fn(*[x if i == position else a for i, a in enumerate(args)])
    g.__signature__ = inspect.Signature([inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD)])
    return g


@pytest.mark.parametrize("name", WHOLE)
def test_all_arguments(cli, name):
    if not available(name):
        pytest.skip("its libraries are not installed")
    p = load_module(name).program()
    ours = rows_of(cli.json("residuals", cli.capture(name), "--region", "program", "--wrt", "all"))
    same_rows(ours, rows_of_jax(p["fn"], *p["args"]), name, REORDERED)


@pytest.mark.parametrize("name", STEPS)
def test_region(cli, name):
    p = load_module(name).program()
    g = p["regions"][0]
    report = cli.json("residuals", cli.capture(name))
    same_rows(rows_of(report), rows_of_jax(only(g["fn"], g["wrt"], g["args"]), g["args"][g["wrt"]]), name, REORDERED)
    assert report["total_bytes"] == sum(r["bytes"] for r in report["residuals"])


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", STEPS)
def test_region_under_policy(cli, name, policy):
    p = load_module(name).program()
    g = p["regions"][0]
    wrapped = jax.checkpoint(g["fn"], policy=getattr(jax.checkpoint_policies, policy))
    fn = only(_named(wrapped, g["fn"]), g["wrt"], g["args"])
    ours = rows_of(cli.json("residuals", cli.capture(name), "--policy", policy))
    same_rows(ours, rows_of_jax(fn, g["args"][g["wrt"]]), (name, policy), REORDERED)


def _named(wrapped, fn):
    import inspect

    f = lambda *a: wrapped(*a)
    f.__signature__ = inspect.signature(fn)
    return f


def test_bytes_are_sizes_in_memory(cli):
    report = cli.json("residuals", cli.capture("remat_dots"), "--wrt", "all")
    assert report["residuals"]
    for row in report["residuals"]:
        dtype, shape = row["aval"].rstrip("]").split("[")
        size = {"f32": 4, "i32": 4, "bool": 1}[dtype]
        assert row["bytes"] == size * int(np.prod([int(d) for d in shape.split(",") if d]))


MATRIX_FUNCTIONS = {
    "svd": jnp.linalg.svd, "svd of a tall one": lambda a: jnp.linalg.svd(a[:, :3], full_matrices=False), "eigh": jnp.linalg.eigh, "qr": jnp.linalg.qr,
    "pinv": jnp.linalg.pinv, "lstsq": lambda a: jnp.linalg.lstsq(a, a)[0], "expm": jax.scipy.linalg.expm, "slogdet": jnp.linalg.slogdet,
}


@pytest.mark.parametrize("name", MATRIX_FUNCTIONS)
def test_jitted_matrix_functions(cli, tmp_path, name):
    """Constants of JAX's rules are residuals of the jitted call."""
    f = jax.jit(MATRIX_FUNCTIONS[name])
    a = np.random.RandomState(0).randn(4, 4).astype(np.float32)

    def fn(a):
        return sum(jnp.sum(x) for x in jax.tree.leaves(f(a)))
    file = str(tmp_path / "p.jaxscope")
    jaxscope.capture(fn, differentiate=0)(a).save(file)
    ours, theirs = rows_of(cli.json("residuals", file)), rows_of_jax(fn, a)
    same_rows([aval for aval, _ in ours], [aval for aval, _ in theirs], name, REORDERED)


@jax.custom_jvp
def ruled(x, y):
    return jnp.sin(x) * y


@ruled.defjvp
def rule_of_ruled(primals, tangents):
    (x, y), (dx, dy) = primals, tangents
    return ruled(x, y), dx * (jnp.tanh(x) + y) + dy


def test_rule_of_an_evaluated_call(cli):
    """vmap of cond evaluates the branches' jaxprs: the rule's values have the place of the call, though it stands in the user's function."""
    def fn(x, y):
        return jax.vmap(lambda a: jax.lax.cond(a.sum() > 0, lambda a: ruled(a, y), lambda a: a * y, a))(jnp.stack([x, x * 2])).sum()
    x = jnp.linspace(0.1, 0.9, 4)
    place = lambda rows: [(a, re.sub(r"from \S*/", "from ", s)) for a, s in rows]
    theirs = place(rows_of_jax(fn, x, x))  # before the capture, which traces the rule elsewhere
    file = str(cli.folder / "evaluated.jaxscope")
    jaxscope.capture(fn)(x, x).save(file)
    ours = place(rows_of(cli.json("residuals", file, "--wrt", "all")))
    assert ours == theirs
    assert any(s.startswith("output of add from ") and "fn.<locals>.<lambda>.<locals>.<lambda>" in s for _, s in ours)


@jax.custom_vjp
def saved(x):
    return jnp.sin(x) * x


saved.defvjp(lambda x: (saved(x), jnp.cos(x) * jnp.tanh(x)), lambda r, ct: (ct * r,))
inline = functools.partial(jax.jit, inline=True)


@inline
def through_rules(x):
    return ruled(x, x) * 2 + saved(x)


TABLE = np.linspace(0, 1, 20, dtype=np.float32).reshape(4, 5)
SQUARE = np.eye(4, dtype=np.float32)


@jax.custom_jvp
def by_table(x):
    return jnp.sin(x)


@by_table.defjvp
def rule_of_by_table(primals, tangents):
    (x,), (dx,) = primals, tangents
    table = jnp.asarray(TABLE)
    return by_table(x), (dx @ table) @ table.T


@inline
def of_another(x):
    return through_rules(jnp.cos(x)) - 1


# A jit(inline=True) is differentiated as a jit, which JAX inlines afterwards: what it saves stands where it was called. Constants stand in the order in
# which equations read them, those of rules among those of the program.
INLINED = {
    "rules": lambda x: through_rules(x).sum(),
    "twice": lambda x: of_another(x).sum(),
    "relu": lambda x: inline(lambda y: jax.nn.relu(x * y) * jax.nn.silu(y))(x).sum(),
    "under jit": lambda x: jax.jit(lambda x: through_rules(x) + jnp.tanh(x))(x).sum(),
    "constants": lambda x: (by_table(x) @ jnp.asarray(SQUARE)).sum(),
}


@pytest.mark.parametrize("policy", [None, "everything_saveable", "dots_saveable"])
@pytest.mark.parametrize("name", INLINED)
def test_inlined_calls_and_constants_of_rules(cli, name, policy):
    fn, x = INLINED[name], jnp.linspace(0.1, 0.9, 4)
    file = str(cli.folder / "inlined.jaxscope")
    jaxscope.capture(fn)(x).save(file)
    jax.clear_caches()  # JAX keeps what it traced of the rules, with the places of that time
    wrapped = jax.checkpoint(fn, policy=getattr(jax.checkpoint_policies, policy)) if policy else fn
    place = lambda rows: [(a, re.sub(r"from \S*/", "from ", s)) for a, s in rows]
    ours = rows_of(cli.json("residuals", file, "--wrt", "all", *(["--policy", policy] if policy else [])))
    assert place(ours) == place(rows_of_jax(lambda x: wrapped(x), x))


def newton(f, guess):
    slope = jax.grad(lambda y: f(y).sum())
    return jax.lax.fori_loop(0, 5, lambda _, y: y - f(y) / slope(y), guess)


def diagonal(x):
    return jax.lax.custom_root(lambda y: y**2 - x * jnp.sin(x), jnp.full_like(x, 1.5), newton, lambda g, y: y / g(jnp.ones_like(y)))


def dense(x):
    def descent(f, guess):
        return jax.lax.while_loop(lambda y: jnp.sum(f(y) ** 2) > 1e-8, lambda y: y - 0.3 * f(y), guess)
    return jax.lax.custom_root(lambda y: jnp.tanh(y) * 2 + y - x, jnp.zeros_like(x), descent, lambda g, y: jnp.linalg.solve(jax.jacobian(g)(y), y))


MADE = jaxpr_as_fun(jax.make_jaxpr(lambda x: jnp.sin(x) * jnp.cos(x))(jnp.ones(4)))


@jax.custom_jvp
def by_jaxpr(x):
    return MADE(x)[0]


@by_jaxpr.defjvp
def rule_of_by_jaxpr(primals, tangents):
    (x,), (dx,) = primals, tangents
    return by_jaxpr(x), dx * MADE(jnp.tanh(x))[0]


EVALUATING = {
    "a root": lambda x: diagonal(x).sum(),
    "a root of another value": lambda x: (diagonal(jnp.tanh(x)) * x).sum(),
    "a root by a matrix": lambda x: dense(x * 2).sum(),
    "a root in a jit": lambda x: jax.jit(diagonal)(jnp.tanh(x)).sum(),
    "a rule that evaluates a jaxpr": lambda x: by_jaxpr(x * 2).sum(),
}


@pytest.mark.parametrize("policy", [None, "everything_saveable", "dots_saveable"])
@pytest.mark.parametrize("name", EVALUATING)
def test_what_rules_evaluate_keeps_its_lines(cli, name, policy):
    """Under a policy rules run inside the place of their call, but what they evaluate from jaxprs has its own lines."""
    fn, x = EVALUATING[name], jnp.linspace(0.5, 0.9, 4)
    wrapped = jax.checkpoint(fn, policy=getattr(jax.checkpoint_policies, policy)) if policy else fn
    place = lambda rows: [(a, re.sub(r"from \S*/", "from ", s)) for a, s in rows]
    theirs = place(rows_of_jax(lambda x: wrapped(x), x))
    file = str(cli.folder / "evaluating.jaxscope")
    jaxscope.capture(fn)(x).save(file)
    ours = rows_of(cli.json("residuals", file, "--region", "program", "--wrt", "all", *(["--policy", policy] if policy else [])))
    assert place(ours) == theirs
