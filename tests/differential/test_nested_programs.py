"""Random nested programs (nested_programs.py): residuals under a policy, values of the gradient, texts of grad, jvp and vmap, against JAX.

The first few, 2,000 with JAXSCOPE_FULL, one with JAXSCOPE_SEED=N. Texts of grad, jvp and vmap are
compared for the seeds in `SAME_TEXTS`, which differed once, and JAXSCOPE_FULL counts others.
"""
import os
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax._src.ad_checkpoint import saved_residuals

import jaxscope
from conftest import cut as cut_paths, largest_error
from nested_programs import POLICIES, X, Y, program, renamed
from test_behaviours import Texts, cut

FULL = bool(os.environ.get("JAXSCOPE_FULL"))
FIRST = int(os.environ.get("JAXSCOPE_SEED", 0))
COUNT = 1 if "JAXSCOPE_SEED" in os.environ else 2000 if FULL else 12
# Loops' constants, num_consts of custom rules, calls that leave nothing behind, dead code in custom calls, what a jit shares with its caller, custom calls in a
# branch; then what a function closes over and stops the gradient of (in scan, while, jit), a cache that tells Python from jaxprs (95), operands of a split
# closed_call (576, 1008), residuals of dead code (701), constants of an evaluated closed_call (1572), the known half of a custom_vjp (1858).
SAME_TEXTS = [0, 1, 7, 9, 16, 24, 35, 37, 74, 171, 194, 219, 237, 241, 356, 424, 12, 212, 467, 95, 576, 701, 1572, 1858]
ALSO_SAME = [101, 436, 689, 837, 857, 1236, 1241, 1248, 1008, 1094, 684]  # with JAXSCOPE_FULL
SIZE = 3  # of vmap's axis
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def text_of_jax(f, *args) -> str:
    return Texts().of(jax.make_jaxpr(f)(*args)).rstrip()


def place(text: str) -> str:
    return cut(cut_paths(text))


def residual_rows(cli, file, fn, policy) -> tuple:
    ours = [(r["aval"], place(r["source"])) for r in cli.json("residuals", file, "--wrt", "all", "--policy", policy)["residuals"]]
    wrapped = jax.checkpoint(fn, policy=POLICIES[policy])
    theirs = [(a.str_short(short_dtypes=True), place(s)) for a, s in saved_residuals(lambda x, y: wrapped(x, y), X, Y) if s != "from a literal"]
    return ours, theirs


def transformed(cli, file, step) -> str:
    text = cut(cli.json("transform", file, "--apply", step, "--print")["text"]).rstrip()
    return re.sub(r"np\.int64\((-?\d+)\)", r"\1", text)  # as Texts writes those of JAX


def check_residuals(cli, file, seed):
    policy = sorted(POLICIES)[seed % len(POLICIES)]
    # Functions of its own: JAX keeps what the capture had traced of their rules, with the places where that was (seed 961).
    ours, theirs = residual_rows(cli, file, program(seed), policy)
    assert ours == theirs, f"JAXSCOPE_SEED={seed}: residuals under {policy}"


def check_values(cli, fn, seed):
    """In 64 bits: some of the programs are chaotic, and amplify what the last bit says."""
    file = str(cli.folder / "nested64.jaxscope")
    with jax.enable_x64(True):
        args = np.asarray(X, np.float64), np.asarray(Y, np.float64)
        jaxscope.capture(fn, values="all")(*args).save(file)
        value, grads = jax.value_and_grad(fn, argnums=(0, 1))(*args)
    report = cli.json("run", file, "--apply", "value_and_grad:0,1")
    pairs = [(np.asarray(o["values"], np.float64), np.asarray(g)) for o, g in zip(report["outputs"], (value, *grads))]
    # A saturated tanh leaves gradients of 1e-14, which are the last bit of 1 - tanh^2 (seed 603): nothing to compare.
    worst = max((largest_error(a, b) for a, b in pairs if a.shape != b.shape or not np.allclose(a, b, rtol=0, atol=1e-12)), default=0)
    assert worst < 1e-2, f"JAXSCOPE_SEED={seed}: values differ by {worst}"


def same_texts(cli, file, fn, seed) -> bool:
    """Which jaxprs are one object (`let`) is compared by test_behaviours.py."""
    stacked = jnp.stack([X] * SIZE), jnp.stack([Y] * SIZE)
    pairs = [("grad:0,1", text_of_jax(jax.grad(fn, argnums=(0, 1)), X, Y)),
             ("jvp", text_of_jax(lambda x, y, dx, dy: jax.jvp(fn, (x, y), (dx, dy)), X, Y, X, Y)),
             (f"vmap@{SIZE}", text_of_jax(jax.vmap(fn), *stacked))]
    return all(renamed(transformed(cli, file, step)) == renamed(theirs) for step, theirs in pairs)


@pytest.mark.parametrize("number", range(COUNT))
def test_residuals_and_values(cli, number):
    seed = FIRST + number
    jaxscope.capture(fn := program(seed), values="all")(X, Y).save(str(cli.folder / "nested.jaxscope"))
    check_residuals(cli, str(cli.folder / "nested.jaxscope"), seed)
    if seed % 4 == 0:
        check_values(cli, fn, seed)


@pytest.mark.parametrize("seed", SAME_TEXTS + (ALSO_SAME if FULL else []))
def test_texts(cli, seed):
    jaxscope.capture(fn := program(seed), values="all")(X, Y).save(str(cli.folder / "nested.jaxscope"))
    assert same_texts(cli, str(cli.folder / "nested.jaxscope"), fn, seed)


@pytest.mark.skipif(not FULL, reason="JAXSCOPE_FULL")
def test_most_texts(cli):
    same = 0
    for seed in range(FIRST, FIRST + 300):
        jaxscope.capture(fn := program(seed), values="all")(X, Y).save(str(cli.folder / "nested.jaxscope"))
        same += same_texts(cli, str(cli.folder / "nested.jaxscope"), fn, seed)
    print(f"JAXSCOPE_SEED={FIRST}: {same} of 300")
    assert same >= 290


stop = lax.stop_gradient
# What branches close over, and stop the gradient of: in the order in which JAX traces them, cond's true one first, switch's in order.
BRANCHES = {
    "cond": lambda x, y: lax.cond(x.sum() > 0, lambda u: u * stop(y) + y, lambda u: u + stop(y) * stop(x), x).sum(),
    "nothing passed": lambda x, y: lax.cond(x.sum() > 0, lambda: x * stop(y), lambda: x + y).sum(),
    "switch": lambda x, y: lax.switch(jnp.argmax(x), [lambda: stop(x) * 2, lambda: stop(y), lambda: y * x]).sum(),
    "in a scan": lambda x, y: lax.scan(lambda c, _: (lax.cond(c.sum() > 0, lambda c: c * stop(y), lambda c: c * 2, c), None), x, None, length=2)[0].sum(),
    "jit in a branch": lambda x, y: lax.cond(x.sum() > 0, lambda u: jax.jit(lambda v: v * stop(y))(u), lambda u: u + y, x).sum(),
    "cond in a branch": lambda x, y: lax.cond(x.sum() > 0, lambda: lax.cond(y.sum() > 0, lambda: x * stop(y), lambda: x), lambda: stop(x)).sum(),
    "jit of nothing": lambda x, y: jax.jit(lambda: x * stop(y))().sum(),
}


@pytest.mark.parametrize("name", BRANCHES)
def test_branches_close_over_what_has_a_tangent(cli, name):
    file = str(cli.folder / "branches.jaxscope")
    jaxscope.capture(fn := BRANCHES[name], values="all")(X, Y).save(file)
    assert same_texts(cli, file, fn, name)
