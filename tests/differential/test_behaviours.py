"""What is observed of JAX (the ids of behaviour_cases.py), jaxscope shows as well: the same text after each transformation, the same rows.

Every expectation comes of running JAX here and now.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax._src import core
from jax._src.ad_checkpoint import saved_residuals

import behaviour_cases
from conftest import jaxscope_binary

FOLDER = pathlib.Path(__file__).parent
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # jaxprs made by hand have no debug information


def cut(text: str) -> str:
    """Addresses out, sets sorted, the folder off."""
    text = re.sub(r"0x[0-9a-fA-FX]+", "0x_", text.replace(str(FOLDER) + os.sep, ""))
    return re.sub(r"frozenset\(\{(.*?)\}\)", lambda m: "frozenset({" + ", ".join(sorted(m[1].split(", "))) + "})", text)


class Texts:
    """str() of jaxprs, NumPy's integers as Python's: batching rules leave them in axes."""

    def __init__(self):
        self._seen = {}

    def plain(self, v):
        if isinstance(v, np.integer):
            return int(v)
        if isinstance(v, tuple) and hasattr(v, "_fields"):
            return type(v)(*map(self.plain, v))
        if type(v) in (tuple, list):
            return type(v)(map(self.plain, v))
        if isinstance(v, (core.ClosedJaxpr, core.Jaxpr)):  # what is one object stays one
            if id(v) not in self._seen:
                new = v.replace(jaxpr=self.plain(v.jaxpr)) if isinstance(v, core.ClosedJaxpr) else \
                    v.replace(eqns=[e.replace(params={k: self.plain(x) for k, x in e.params.items()}) for e in v.eqns])
                self._seen[id(v)] = v, new
            return self._seen[id(v)][1]
        return v

    def of(self, jaxpr) -> str:
        return cut(str(self.plain(jaxpr)))


def made_by_jax(f, *args) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Texts().of(jax.make_jaxpr(f)(*args))


def is_inexact(x) -> bool:
    return jnp.issubdtype(core.typeof(x).dtype, jnp.inexact)


def total(f):
    """The sum of all floating outputs."""
    def loss(*args):
        parts = [lax.reduce_sum(o, tuple(range(o.ndim))) for o in jax.tree.leaves(f(*args)) if jnp.issubdtype(o.dtype, jnp.inexact)]
        parts = [p if p.dtype == jnp.float32 else lax.convert_element_type(p, jnp.float32) for p in parts]
        return sum(parts[1:], parts[0])
    return loss


def jvp(f, args):
    """Primals and tangents in; tangents of the floating leaves alone."""
    leaves, tree = jax.tree.flatten(args)
    moving = [i for i, a in enumerate(leaves) if is_inexact(a)]

    def g(args, tangents):
        def h(*some):
            full = list(jax.tree.leaves(args))
            for i, x in zip(moving, some):
                full[i] = x
            return f(*jax.tree.unflatten(tree, full))
        return jax.jvp(h, [jax.tree.leaves(args)[i] for i in moving], tangents)
    return made_by_jax(g, args, [leaves[i] for i in moving])


def vmap(f, args, size=5):
    types = jax.tree.map(lambda a: jax.ShapeDtypeStruct((size, *np.shape(a)), core.typeof(a).dtype, weak_type=core.typeof(a).weak_type), args)
    return made_by_jax(jax.vmap(f), *types)


def split(f, args) -> list[str]:
    """The forward pass of jax.linearize with its residuals, and the linear function; literals and repeated ones are no residuals."""
    kept = {}

    def g(*a):
        y, linear = jax.linearize(f, *a)
        kept["linear"], residuals = linear.func.args[0], jax.tree.leaves(linear)
        kept["n"] = len(residuals)
        return jax.tree.leaves(y), residuals
    forward = jax.make_jaxpr(g)(*args).jaxpr
    linear = getattr(kept["linear"], "jaxpr", kept["linear"])
    cut_at = len(forward.outvars) - kept["n"]
    into = linear.constvars or linear.invars[:kept["n"]]
    tangents = linear.invars if linear.constvars else linear.invars[kept["n"]:]
    stands_for, first = {}, {}
    for v, residual in zip(into, forward.outvars[cut_at:]):
        if isinstance(residual, core.Literal):
            stands_for[v] = residual
        elif residual in first:
            stands_for[v] = first[residual]
        else:
            first[residual] = v
    read = lambda a: a if isinstance(a, core.Literal) else stands_for.get(a, a)
    eqns = [e.replace(invars=list(map(read, e.invars))) for e in linear.eqns]
    return [Texts().of(core.Jaxpr(forward.constvars, forward.invars, [*forward.outvars[:cut_at], *first], forward.eqns, forward.effects)),
            Texts().of(core.Jaxpr([], [*first.values(), *tangents], list(map(read, linear.outvars)), eqns, linear.effects))]


def rows(f, args, like=None) -> list[str]:
    """`from a literal` is no array, and no jaxpr tells of it."""
    if like is not None:  # the names of its arguments
        import inspect
        f, wrapped = (lambda *a: wrapped(*a)), f
        f.__signature__ = inspect.signature(like)
    return [f"{aval.str_short(short_dtypes=True)} {cut(source)}" for aval, source in saved_residuals(f, *args) if source != "from a literal"]


# Cases some of whose residual lists are JAX's in another order, and why.
REORDERED: dict = {}


class Work:
    """The command lines of all cases, run ahead two at a time; the captures are written by this process."""

    def __init__(self, folder):
        import jaxscope
        self.capture, self.folder = jaxscope.capture, folder
        self.pool = ThreadPoolExecutor(2)
        self.running, self.case = [], ""

    def file(self, name, f, args) -> str:
        path = str(self.folder / f"{name}.jaxscope")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.capture(f, name="f", root=str(FOLDER), values="none")(*args).save(path, compress=False)
        return path

    def start(self, what, wanted, *command):
        run = lambda: subprocess.run([jaxscope_binary(), *command], capture_output=True, text=True, timeout=120)
        self.running.append((what, wanted, self.pool.submit(run)))

    def wrong(self) -> list[str]:
        out, reordered = [], []
        for what, wanted, running in self.running:
            done = running.result()
            try:
                expected, found = wanted(), done.stdout if done.returncode == 0 else done.stderr
            except Exception as e:  # JAX refuses it: so must we, in its words
                first = " ".join(str(e).split())[:60]
                if done.returncode == 0 or not first or first not in " ".join(done.stderr.split()):
                    out.append(f"{what}: JAX refuses with {type(e).__name__}: {first}, jaxscope gives {(done.stdout or done.stderr)[:300]}")
                continue
            if done.returncode == 0 and not isinstance(expected, str):
                report = json.loads(found)
                if "residuals" in report and "known" not in report:
                    found = [f"{r['aval']} {cut(r['source'])}" for r in report["residuals"]]
                    if self.case in REORDERED and sorted(found) == sorted(expected):
                        reordered.append(found != expected)
                        continue
                else:
                    found = [cut(report["known"]), cut(report["unknown"])]
            else:
                found = cut(found.rstrip("\n"))
            if found != expected:
                out.append(f"{what}\n-- JAX:\n{_text(expected)}\n-- jaxscope:\n{_text(found)}")
        if self.case in REORDERED and not any(reordered):
            out.append("residuals: the order is JAX's now, take the case off the list")
        return out


def _kept(make):
    """Does it now; its result or exception comes when it is asked for."""
    try:
        result = make()
        return lambda: result
    except Exception as e:
        error = e

        def refuse():
            raise error
        return refuse


def _text(v):
    return v if isinstance(v, str) else "\n".join(v)


def compared(work: Work, number: int):
    ids, f, args, checks, under = behaviour_cases.CASES[number]
    # Before the capture, which asks JAX for custom rules: they are traced once, and their places are those of the first who asks.
    own_rows = _kept(lambda: rows(f, args)) if "residuals" in checks else None
    rows_under = [_kept(lambda p=p: rows(jax.checkpoint(f, policy=p), args, f)) for _, p in under]
    file = work.file(f"case{number}", f, args)
    transform = lambda what, wanted, *steps: work.start(what, wanted, "transform", steps[0], *[w for s in steps[1:] for w in ("--apply", s)], "--print")
    if "print" in checks:
        work.start("print", lambda: made_by_jax(f, *args), "print", file)
    if "residuals" in checks:
        work.start("residuals", own_rows, "residuals", file, "--region", "program", "--wrt", "all", "--json")
    for (text, _), wanted in zip(under, rows_under):
        work.start(f"residuals under {text}", wanted, "residuals", file, "--region", "program",
                   "--wrt", "all", "--json", "--policy", text)
    if "jvp" in checks:
        transform("jvp", lambda: jvp(f, args), file, "jvp")
    if "vmap" in checks:
        transform("vmap", lambda: vmap(f, args), file, "vmap@5")
    if "split" in checks:
        work.start("split", lambda: split(f, args), "split", file, "--region", "program", "--wrt", "all", "--json")
    if "grad" in checks:
        loss = work.file(f"case{number}_loss", total(f), args)
        wrt = tuple(i for i, a in enumerate(args) if all(map(is_inexact, jax.tree.leaves(a))))
        step = "grad:" + ",".join(map(str, wrt))
        transform("grad", lambda: made_by_jax(jax.grad(total(f), wrt), *args), loss, step)
        for text, policy in under:
            transform(f"grad under {text}", lambda p=policy: made_by_jax(jax.grad(jax.checkpoint(total(f), policy=p), wrt), *args), loss,
                      f"checkpoint:{text}" if policy else "checkpoint", step)


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    w = Work(tmp_path_factory.mktemp("behaviours"))
    yield w
    w.pool.shutdown()


def name_of(number: int) -> str:
    return f"{behaviour_cases.CASES[number][0].replace(' ', '_')}-{number}"


@pytest.mark.parametrize("number", range(len(behaviour_cases.CASES)), ids=name_of)
def test_behaviour(work, number):
    work.running.clear()
    work.case = name_of(number)
    compared(work, number)
    assert work.running
    wrong = work.wrong()
    assert not wrong, "\n\n".join(wrong)


# ---- B: donation

MATRIX, ROW = np.ones((3, 4), np.float32), np.ones(4, np.float32)
DONATIONS = [
    ("B-01", lambda x: x * 3, (ROW,), dict(donate_argnums=0)),
    ("B-04", lambda x, y: x.sum() - y.sum(), (ROW, MATRIX), dict(donate_argnums=(0, 1))),
    ("B-07", lambda x, y: y - 1, (ROW, ROW), dict(donate_argnums=0)),
    ("B-07", jax.jit(lambda x, y: y - 1, donate_argnums=0, keep_unused=True), (ROW, ROW), None),
    ("B-08", lambda x, y: (y * 3, x - y, x * 2), (ROW, ROW), dict(donate_argnums=(0, 1))),
    ("B-10", lambda x: x.astype("int8").reshape(2, 2), (ROW,), dict(donate_argnums=0)),
    ("B-10", lambda x: x.reshape(4, 3), (MATRIX,), dict(donate_argnums=0)),
    ("B-11", lambda x, y: (y - 1, x), (ROW, ROW), dict(donate_argnums=0)),
    ("B-11", lambda x, y: (y, x), (ROW, ROW), dict(donate_argnums=(0, 1))),
    ("B-13", lambda x, y: x - y, (ROW, ROW), dict(donate_argnames="y")),
    ("B-14", lambda n, x, y: (x + n, y), (2, ROW, MATRIX), dict(static_argnums=0, donate_argnums=(2,))),
    ("A-19", lambda x, y: (x + y, x - y), (ROW, ROW), dict(donate_argnums=-1)),
    ("B-22", lambda k: jax.random.split(k, 1)[0], (jax.random.key(1),), dict(donate_argnums=0)),
]


@pytest.mark.parametrize("number", range(len(DONATIONS)), ids=lambda n: f"{DONATIONS[n][0]}-{n}")
def test_donation(work, number):
    _, f, args, options = DONATIONS[number]
    import jaxscope
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lowered = (f if options is None else jax.jit(f, **options)).lower(*args)
        compiled = lowered.compile()
    header = re.search(r"input_output_alias=\{(.*?)\}, [a-z_]+=", compiled.as_text())
    aliases = {int(p): int(o or 0) for o, p in re.findall(r"\{(\d*)\}: \((\d+), \{\}", header.group(1))} if header else {}
    parameter = {leaf: i for i, leaf in enumerate(sorted(lowered._lowering.compile_args["kept_var_idx"]))}
    leaves = [i for i, (_, info) in enumerate(jax.tree_util.tree_flatten_with_path(lowered.args_info)[0]) if info.donated]
    path = str(work.folder / f"donation{number}.jaxscope")
    jaxscope.capture(f, root=str(FOLDER), **(options or {}))(*args).save(path)
    report = json.loads(subprocess.run([jaxscope_binary(), "donation", path, "--json"], capture_output=True, text=True, check=True).stdout)
    assert [(r["used"], r["output"]) for r in report["donated"]] == [(parameter.get(i) in aliases, aliases.get(parameter.get(i))) for i in leaves]
    texts = [str(w.message) for w in caught if "donated" in str(w.message)]
    assert (report["warning"] or "") == (texts[0] if texts else "")
    assert report["saved_bytes"] == compiled.memory_analysis().alias_size_in_bytes
