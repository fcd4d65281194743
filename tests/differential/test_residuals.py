"""The residual table equals jax.ad_checkpoint.print_saved_residuals: (aval, source string), row by row."""
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src.ad_checkpoint import saved_residuals

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
