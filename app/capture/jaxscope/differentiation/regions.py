# SPDX-License-Identifier: Apache-2.0
"""Finds every differentiation while a program is traced, and marks it.

JAX's `linearize` (jax._src.interpreters.ad) is what grad, vjp, linearize, jacrev and the libraries' own grads come down
to. While a `Recorder` is active it is replaced: the function to differentiate is traced to a jaxpr once (the region),
and that jaxpr is what gets linearized, under two marked calls where that can be had. The user's function runs exactly
once, as in JAX, because some (NNX's) carry state and can't be run again.
"""
from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass, field
from typing import Any, Callable, Iterator

import jax
from jax._src import source_info_util
from jax._src.interpreters import ad

from .. import compat
from . import marks, sites


@dataclass(eq=False)
class Region:
    site: sites.Site
    jaxpr: Any
    consts: list[Any]
    inputs: list[Any]
    diff_slots: list[int]
    n_out: int
    has_aux: bool
    out_paths: list[str]
    source: Any
    parent: Region | None
    mark: int | None = None
    why_unmarked: str | None = None
    children: list[Region] = field(default_factory=list)

    def evaluate(self, consts: Any, inputs: Any) -> tuple[list[Any], list[Any]]:
        out = compat.eval_jaxpr(self.jaxpr, consts, *inputs)
        return out[:self.n_out], out[self.n_out:]


class Recorder:
    """Active while one program is traced; holds what was found, in the order in which tracing entered it."""

    def __init__(self) -> None:
        self.regions: list[Region] = []
        self.stack: list[Any] = []
        self.enabled = True
        self.paths: dict[int, str] = {}  # tracers of the program's own inputs
        # A region's two tracings (its jaxpr, its forward call) share what `jit` remembers; those of another capture must not.
        self.token = compat.new_token()

    @contextlib.contextmanager
    def active(self) -> Iterator[Recorder]:
        previous, _state.recorder = getattr(_state, "recorder", None), self
        marks.forget()
        try:
            with _replaced_linearize(), compat.fresh_traces():
                yield self
        finally:
            _state.recorder = previous


_state = threading.local()
_original = ad.linearize


_users = 0
_lock = threading.Lock()


@contextlib.contextmanager
def _replaced_linearize() -> Iterator[None]:
    """JAX's function is replaced only while somebody captures; other threads pass through to the original."""
    global _users
    with _lock:
        _users += 1
        ad.linearize = _linearize_trees if _takes_trees() else _linearize_flat
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if not _users:
                ad.linearize = _original


def _takes_trees() -> bool:
    """0.10 passes a plain function and a FlatTree; before, a WrappedFun of flat arguments."""
    import inspect
    return "primals_ft" in inspect.signature(_original).parameters


def _recorder() -> Recorder | None:
    r = getattr(_state, "recorder", None)
    return r if r is not None and r.enabled else None


def _linearize_trees(traceable: Callable, primals_ft: Any, has_aux: bool = False, is_vjp: bool = False) -> Any:
    rec = _recorder()
    site = sites.find(rec.paths) if rec else None
    if site is None:
        return _original(traceable, primals_ft, has_aux=has_aux, is_vjp=is_vjp)
    box: dict[str, Any] = {}

    def flat(*leaves: Any) -> tuple[list[Any], list[Any]]:
        out = traceable(*primals_ft.update(list(leaves)).unflatten())
        if not has_aux:
            ans, aux = out, None
        elif isinstance(out, (list, tuple)) and len(out) == 2:
            ans, aux = out
        else:
            raise TypeError("expected function with aux output to return a two-element tuple, "
                            f"but got type {type(out)} with value {out!r}")
        box["ans_paths"] = [jax.tree_util.keystr(p) for p, _ in jax.tree_util.tree_flatten_with_path(ans)[0]]
        ans_leaves, box["ans"] = jax.tree_util.tree_flatten(ans)
        aux_leaves, box["aux"] = jax.tree_util.tree_flatten(aux)
        return ans_leaves, aux_leaves

    def linearize(f: Callable, diff: list[Any]) -> Any:
        tree = type(primals_ft).flatten(tuple(diff))
        outs, zeros, jaxpr, res, aux = _original(lambda *xs: f(*xs), tree, has_aux=True, is_vjp=is_vjp)
        return list(outs), list(zeros), jaxpr, list(res), list(aux)

    outs, zeros, jaxpr, res, aux = _differentiate(rec, site, flat, list(primals_ft), has_aux, linearize, box)
    out_ft = type(primals_ft).flatten(jax.tree_util.tree_unflatten(box["ans"], outs))
    rest = (jax.tree_util.tree_unflatten(box["aux"], aux),) if has_aux else ()
    return (out_ft, list(map(bool, zeros)), jaxpr, res, *rest)


def _linearize_flat(traceable: Any, *primals: Any, **kwargs: Any) -> Any:
    rec = _recorder()
    site = sites.find(rec.paths) if rec else None
    if site is None:
        return _original(traceable, *primals, **kwargs)
    has_aux = bool(kwargs.get("has_aux", False))
    box: dict[str, Any] = {}

    def flat(*leaves: Any) -> tuple[list[Any], list[Any]]:
        out = traceable.call_wrapped(*leaves)
        ans, aux = out if has_aux else (out, [])
        box["ans_paths"] = [f"[{i}]" if len(ans) > 1 else "" for i in range(len(ans))]
        return list(ans), list(aux)

    def linearize(f: Callable, diff: list[Any]) -> Any:
        outs, pvals, jaxpr, res, aux = _original(_wrap(f, traceable), *diff, has_aux=True)
        box["pvals"] = pvals
        return list(outs), [p.is_known() for p in pvals], jaxpr, list(res), list(aux)

    outs, _, jaxpr, res, aux = _differentiate(rec, site, flat, list(primals), has_aux, linearize, box)
    return (outs, box["pvals"], jaxpr, res, *((aux,) if has_aux else ()))


def _wrap(f: Callable, like: Any) -> Any:
    from jax._src import linear_util as lu
    info = getattr(like, "debug_info", None)
    try:
        return lu.wrap_init(f, debug_info=info.with_unknown_names() if hasattr(info, "with_unknown_names") else info)
    except TypeError:
        return lu.wrap_init(f)


def _differentiate(rec: Recorder, site: sites.Site, flat: Callable, diff: list[Any], has_aux: bool,
                   linearize: Callable, box: dict[str, Any]) -> Any:
    """One differentiation: region, then linearized as a whole or under two marked calls."""
    parent = rec.stack[-1] if rec.stack else None
    index = len(rec.regions)
    rec.regions.append(None)  # type: ignore[arg-type]
    holder = _Open(index)
    rec.stack.append(holder)
    try:
        region, static_aux = _trace_region(rec, site, flat, diff, has_aux, box)
        region.parent = parent
        rec.regions[index] = region
        holder.region = region
        why = _why_not(site, parent)
        if why is None:
            outs, zeros, jaxpr, res, aux = _marked(rec, region, index, linearize)
        else:
            region.why_unmarked = why
            outs, zeros, jaxpr, res, aux = linearize(_of_diff(region, region.consts, region.inputs), diff)
    finally:
        rec.stack.pop()
    return outs, zeros, jaxpr, res, _merge(aux, static_aux)


class _Open:
    """A region that is being traced: its children need it as their parent before it is there."""

    def __init__(self, index: int):
        self.index = index
        self.region: Region | None = None


def _why_not(site: sites.Site, parent: Any) -> str | None:
    if parent is not None:
        return "it stands inside another differentiation"
    if site.kind == "linearize":
        return "jax.linearize has no backward part of its own"
    return None


def _of_diff(region: Region, consts: list[Any], inputs: list[Any]) -> Callable:
    def f(*diff: Any) -> tuple[list[Any], list[Any]]:
        full = list(inputs)
        for slot, x in zip(region.diff_slots, diff):
            full[slot] = x
        return region.evaluate(consts, full)
    return f


def _trace_region(rec: Recorder, site: sites.Site, flat: Callable, diff: list[Any], has_aux: bool, box: dict[str, Any]) -> Any:
    """The jaxpr of the function, with all array leaves of all arguments as inputs, closed-over values as constvars."""
    source = source_info_util.current()
    static: list[tuple[bool, Any]] = []

    def traced(*leaves: Any) -> tuple[list[Any], list[Any]]:
        ans, aux = flat(*leaves)
        box["n_out"] = len(ans)
        static.clear()
        kept = []
        for a in aux:
            dynamic = sites._is_array(a)
            static.append((dynamic, None if dynamic else a))
            if dynamic:
                kept.append(a)
        return ans, kept

    with compat.fresh_traces(rec.token):
        closed = _placed(jax.make_jaxpr(traced)(*diff), source)
    jaxpr, consts, inputs, diff_slots = _with_all_arguments(closed, site, diff)
    region = Region(site, jaxpr, consts, inputs, diff_slots, box["n_out"], has_aux, box.get("ans_paths", []), source, None)
    return region, list(static)


def _placed(closed: Any, source: Any) -> Any:
    """Equations that no line of the user's made inside (the function is jitted, or is JAX's own) stand where it is differentiated.

    A trace ends the tracebacks of its equations; without ours they would go on to there."""
    def own(e: Any) -> bool:
        return any(compat.is_user_file(code.co_filename) for code, _ in compat.raw_frames(e.source_info))
    if all(map(own, closed.jaxpr.eqns)):
        return closed
    eqns = [e if own(e) else e.replace(source_info=e.source_info.replace(traceback=source.traceback)) for e in closed.jaxpr.eqns]
    return compat.ClosedJaxpr(closed.jaxpr.replace(eqns=eqns), closed.consts)


def _merge(dynamic: list[Any], static: list[tuple[bool, Any]]) -> list[Any]:
    it = iter(dynamic)
    return [next(it) if is_dynamic else value for is_dynamic, value in static]


def _with_all_arguments(closed: Any, site: sites.Site, diff: list[Any]) -> Any:
    """JAX closes over the arguments that aren't differentiated; here they become inputs, in the order of the arguments."""
    jaxpr = closed.jaxpr
    slots = [s for s in site.slots if s.diff is not None or sites._is_array(s.value)]
    const_of = {}
    for var, value in zip(jaxpr.constvars, closed.consts):
        const_of.setdefault(id(value), var)
    fresh = jax.make_jaxpr(lambda *xs: ())(*[s.value for s in slots]).jaxpr.invars
    taken, invars, inputs, diff_slots = set(), [], [], [0] * len(diff)
    for i, (s, new) in enumerate(zip(slots, fresh)):
        if s.diff is not None:
            invars.append(jaxpr.invars[s.diff])
            inputs.append(diff[s.diff])
            diff_slots[s.diff] = i
            continue
        var = const_of.pop(id(s.value), None)
        if var is not None:
            taken.add(var)
        invars.append(new if var is None else var)
        inputs.append(s.value)
    site.slots = slots
    rest = [(v, c) for v, c in zip(jaxpr.constvars, closed.consts) if v not in taken]
    whole = jaxpr.replace(constvars=[v for v, _ in rest], invars=invars, **compat.named(jaxpr, arguments=[s.path for s in slots]))
    return whole, [c for _, c in rest], inputs, diff_slots


def _marked(rec: Recorder, region: Region, index: int, linearize: Callable) -> Any:
    n = len(region.consts)
    box: dict[str, Any] = {}

    def forward(*args: Any) -> list[Any]:
        consts, inputs = list(args[:n]), list(args[n:])
        diff = [inputs[i] for i in region.diff_slots]
        outs, box["zeros"], box["linear"], res, aux = linearize(_of_diff(region, consts, inputs), diff)
        box["n"] = len(outs), len(aux)
        return [*outs, *aux, *res]

    args = [*region.consts, *region.inputs]
    with compat.fresh_traces(rec.token):
        closed = jax.make_jaxpr(forward)(*args)
    linear = marks.Linear(box["linear"], index)
    region.mark = index
    flat = marks.call(args, closed, f"jaxscope_forward_{index}")
    n_out, n_aux = box["n"]
    outs, aux, res = flat[:n_out], flat[n_out:n_out + n_aux], flat[n_out + n_aux:]
    return outs, box["zeros"], marks.linear_jaxpr(linear, res), res, aux


def settle(recorder: Recorder, jaxpr: Any) -> list[Region]:
    """The regions of the finished program: those that were traced in vain (a scan's body is traced twice) dropped,
    those whose marks were dissolved by a later transformation (another differentiation) unmarked."""
    standing = marks.stands_in(jaxpr)
    regions = [r for r in recorder.regions if r is not None]
    for r in regions:
        r.parent = r.parent.region if isinstance(r.parent, _Open) else r.parent
    kept: list[Region] = []
    for r in regions:
        if r.mark is None:
            if r.parent is None or r.parent in kept:
                kept.append(r)
            continue
        both = [f"jaxscope_{half}_{r.mark}" in standing for half in ("forward", "backward")]
        if all(both):
            kept.append(r)
        elif not any(both) and _repeated(r, regions):
            continue
        else:
            dissolved = [marks.why_dissolved(f"jaxscope_{half}_{r.mark}") for half in ("forward", "backward")]
            r.mark, r.why_unmarked = None, dissolved[0] or dissolved[1] or ("its forward part is not run" if not both[0]
                                                                            else "its backward part is not run")
            kept.append(r)
    return kept


def _repeated(region: Region, regions: list[Region]) -> bool:
    """Traced again, later, for the same call: the earlier tracing was thrown away."""
    later = regions[regions.index(region) + 1:]
    return any(r.parent is region.parent and r.site.kind == region.site.kind
               and _same_place(r.source, region.source) for r in later)


def _same_place(a: Any, b: Any) -> bool:
    fa, fb = [[(c, i) for c, i in compat.raw_frames(s) if compat.is_user_file(c.co_filename)] for s in (a, b)]
    return fa == fb
