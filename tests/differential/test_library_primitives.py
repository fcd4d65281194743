"""Primitives of libraries run, differentiate, map and split as their own rules say, which the capture has traced."""
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src.ad_checkpoint import saved_residuals
from library_primitives import CASES, X, foreign_p, loop, scaled, tag
from nested_programs import renamed
from test_behaviours import made_by_jax

import jaxscope
from test_values import close


def captured(tmp_path, fn, args, **options):
    path = str(tmp_path / "a.jaxscope")
    jaxscope.capture(fn, values="all", **options)(*args).save(path)
    return path


def results(out):
    with np.load(out) as ours:
        return [ours[f"out{k}"] for k in range(len(ours.files))]


@pytest.mark.parametrize("name", CASES)
def test_residuals_values_and_gradients(cli, tmp_path, name):
    fn, args = CASES[name]
    path, out = captured(tmp_path, fn, args), str(tmp_path / "out.npz")
    ours = [row["aval"] for row in cli.json("residuals", path, "--wrt", "all")["residuals"]]
    assert ours == [aval.str_short(short_dtypes=True) for aval, source in saved_residuals(fn, *args) if source != "from a literal"]
    every = tuple(range(len(args)))
    cli.json("run", path, "--apply", "value_and_grad:" + ",".join(map(str, every)), "--outputs", out)
    for got, want in zip(results(out), jax.tree.leaves(jax.jit(jax.value_and_grad(fn, argnums=every))(*args)), strict=True):
        close(got, want, str(want.dtype))


@pytest.mark.parametrize("name", ["tag", "scaled", "tag_in_scan"])
def test_vmap(cli, tmp_path, name):
    fn, args = CASES[name]
    path, out = captured(tmp_path, fn, args), str(tmp_path / "out.npz")
    batch = [np.stack([a + np.float32(0.1) * i for i in range(8)]) for a in args]
    np.savez(tmp_path / "in.npz", **{f"arg{i}": a for i, a in enumerate(batch)})
    for step, want in (("vmap", jax.vmap(fn)(*batch)), ("grad", jax.vmap(jax.grad(fn))(*batch))):
        steps = ["--apply", "vmap"] if step == "vmap" else ["--apply", "grad:0", "--apply", "vmap"]
        cli.json("run", path, *steps, "--inputs", str(tmp_path / "in.npz"), "--outputs", out)
        close(results(out)[0], want, "float32")


def test_text_is_jaxs(cli, tmp_path):
    fn = lambda x: jnp.sum(tag(jnp.sin(x)))
    assert cli.json("print", captured(tmp_path, fn, (X,)))["text"].strip() == str(jax.make_jaxpr(fn)(X)).strip()


@pytest.mark.parametrize("name", ["weighted", "weighted_in_jit", "weighted_in_scan"])
def test_numbers_stay_numbers_in_gradients(cli, tmp_path, name):
    """What a rule hands on of its operands is no residual where it is a number."""
    fn, args = CASES[name]
    ours = cli.json("transform", captured(tmp_path, fn, args), "--apply", "grad", "--print")["text"]
    assert renamed(ours.rstrip()) == renamed(made_by_jax(jax.grad(fn), *args).rstrip())


def test_by_one_argument_too(cli, tmp_path):
    path, out = captured(tmp_path, scaled, (X, X + 1)), str(tmp_path / "out.npz")
    for k in (0, 1):
        cli.json("run", path, "--apply", f"grad:{k}", "--outputs", out)
        close(results(out)[0], jax.grad(scaled, argnums=k)(X, X + 1), "float32")


def test_what_is_foreign_code_is_refused_by_name_and_line(cli, tmp_path):
    path = captured(tmp_path, lambda x: jnp.sum(foreign_p.bind(x)), (X,))
    row, = cli.json("inspect", path)["program"]["unsupported"]
    assert row["primitive"] == "test_foreign" and row["stops"] == ["vmap", "run"] and "test_library_primitives.py" in row["source"]
    code, words = cli.fails("run", path)
    assert code == 3 and "'test_foreign'" in words and "test_library_primitives.py:" in words
    assert cli.json("residuals", path)["residuals"] == []  # its derivative traces


def test_a_branch_that_cannot_run_is_refused_when_it_is_entered(cli, tmp_path):
    fn = lambda x: jax.lax.cond(x[0] > 1, lambda x: jax.pure_callback(np.sin, x, x), lambda x: x * 2, x)
    path, out = captured(tmp_path, fn, (X,)), str(tmp_path / "out.npz")
    cli.json("run", path, "--outputs", out)
    close(results(out)[0], X * 2, "float32")
    np.savez(tmp_path / "in.npz", arg0=X + 1)
    code, words = cli.fails("run", path, "--inputs", str(tmp_path / "in.npz"))
    assert code == 3 and "'pure_callback'" in words and "test_library_primitives.py:" in words


@jax.custom_jvp
def product(x, y):
    return x * y


def _product_jvp(primals, tangents):
    (x, y), (dx, dy) = primals, tangents
    zeros = [type(t) is jax.custom_derivatives.SymbolicZero for t in tangents]
    out = jnp.zeros_like(x)
    return x * y, out + (0 if zeros[0] else dx * y) + (0 if zeros[1] else dy * x)


product.defjvp(_product_jvp, symbolic_zeros=True)


@pytest.mark.parametrize("policy", [None, "nothing_saveable", "everything_saveable"])
def test_symbolic_zeros_of_a_loss_by_other_arguments(cli, tmp_path, policy):
    """The step differentiates by the first argument; its loss is asked about by all, by the other one, and under policies."""
    loss = lambda w, x: jnp.sum(product(jnp.sin(w), x))
    path = captured(tmp_path, lambda w, x: w - jax.grad(loss)(w, x), (X, X + 1))
    around = jax.checkpoint(loss, policy=getattr(jax.checkpoint_policies, policy)) if policy else loss
    for wrt, theirs in (("all", saved_residuals(around, X, X + 1)), ("1", saved_residuals(lambda x: around(X, x), X + 1))):
        rows = cli.json("residuals", path, "--region", "0", "--wrt", wrt, *(["--policy", policy] if policy else []))["residuals"]
        wanted = [aval.str_short(short_dtypes=True) for aval, source in theirs if source != "from a literal"]
        assert sorted(row["aval"] for row in rows) == sorted(wanted)


def test_rules_are_in_the_capture(tmp_path):
    document = json.loads(jaxscope.capture(scaled)(X, X + 1).to_json())
    kinds = {r["kind"] for r in document["custom_rules"] if r["function"] == "test_scaled"}
    assert kinds == {"primitive", "primitive_known", "primitive_linear", "primitive_vmap"}  # its derivative is transposed, not itself


def test_the_gradient_of_a_large_program_maps_where_the_capture_was_asked_to(cli, tmp_path):
    """Rules of libraries are traced for vmap of the gradient of small programs; of large ones, which takes seconds, where an axis is named."""
    def fn(x):
        for _ in range(150):
            x = jnp.sin(x) + 0.1
        return loop("checkpointed")(x)

    batch, out = np.stack([X * (1 + 0.1 * i) for i in range(3)]), str(tmp_path / "out.npz")
    np.savez(tmp_path / "in.npz", arg0=batch)
    steps = ["--apply", "grad", "--apply", "vmap@3", "--inputs", str(tmp_path / "in.npz"), "--outputs", out]
    code, words = cli.fails("run", captured(tmp_path, fn, (X,)), *steps)
    assert code == 3 and "--axis-size" in words
    cli.json("run", captured(tmp_path, fn, (X,), axis_sizes=(3,)), *steps)
    close(results(out)[0], jax.vmap(jax.grad(fn))(batch), "float32")
