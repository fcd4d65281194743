# SPDX-License-Identifier: Apache-2.0
"""Rules that JAX traces while `patterns` has it transform the program: they are kept, and needn't be traced again."""
from __future__ import annotations

import contextlib
import threading
from typing import Any, Callable, Iterator

import jax
import numpy as np
from jax._src import source_info_util
from jax._src.interpreters import partial_eval as pe

from .. import compat
from ..document.identity import cells_of, made_by_rule, thunks


class _Meeting(threading.local):
    """Of each thread: is what JAX traces met, and (while it is) by the place where a forward rule leaves its trees, with it, so that it
    lives: the jaxpr that it left them for."""

    def __init__(self) -> None:
        self.now = False
        self.forward_of: dict[int, Any] = {}


_meeting = _Meeting()


@contextlib.contextmanager
def kept() -> Iterator[None]:
    """Programs traced inside keep the jaxprs of the rules that are traced while `meeting`, as they are by themselves.

    A rule that JAX traces while it differentiates gets the place of the call for all of its equations. What belongs into the
    table of rules has its own lines; it is traced so, and JAX gets a copy that stands at the call. The rule runs once."""
    original = pe._memoize
    pe._memoize = lambda fn: original(_twofold(fn) if fn.__name__ in ("jvp_jaxpr_thunk", "fwd_jaxpr_from_zeros") else fn)
    try:
        yield
    finally:
        pe._memoize = original


@contextlib.contextmanager
def meeting() -> Iterator[None]:
    _meeting.now, _meeting.forward_of = True, {}
    try:
        yield
    finally:
        _meeting.now, _meeting.forward_of = False, {}


@contextlib.contextmanager
def at_home() -> Iterator[None]:
    """Inside, equations stand at the lines that make them, not at the call that is being transformed."""
    local = source_info_util._source_info_context
    before = local.context
    local.context = source_info_util.SourceInfo(None, before.name_stack)
    try:
        yield
    finally:
        local.context = before


def _twofold(fn: Callable) -> Callable:
    own: dict[Any, Any] = {}
    rule = next((c.cell_contents for name, c in zip(fn.__code__.co_freevars, fn.__closure__ or ()) if name in ("jvp", "fwd")), None)

    def thunk(*pattern: Any) -> Any:
        if not _meeting.now:
            return fn(*pattern)
        place = source_info_util._source_info_context.context.traceback
        with at_home():
            out = fn(*pattern)
        # A call evaluated from the jaxpr of another one leaves them where that one's rule does.
        stores = [s for f in thunks(rule) for s in getattr(f, "stores", ()) if s]
        own[pattern] = out, [(s, s.val) for s in stores]
        _meeting.forward_of.update((id(s), (s, out[0])) for s in stores)
        return (_at(out[0], place), *out[1:])
    return thunk


def _at(jaxpr: Any, traceback: Any) -> Any:
    if traceback is None:
        return jaxpr
    moved = lambda e: e.replace(source_info=e.source_info.replace(traceback=traceback)) if made_by_rule(e) else e
    return jaxpr.replace(eqns=[moved(e) for e in jaxpr.eqns])


def traced(thunk: Any, pattern: tuple[bool, ...]) -> Any | None:
    """What the rule's thunk gave for this pattern, if it was met; the trees that it left elsewhere are there again."""
    cells = (c for f in thunks(thunk) for c in cells_of(f))
    found = next((c[pattern] for name, c in cells if name == "own" and isinstance(c, dict) and pattern in c), None)
    if found is None:
        return None
    for store, value in found[1]:
        store.reset()
        store.store(value)
    return found[0]


class Backward:
    """The jaxpr of a backward rule: residuals and cotangents that aren't zero -> cotangents that aren't zero."""

    def __init__(self, bwd: Any, residuals: list[Any], cotangents: list[Any], zeros: tuple[bool, ...], known: dict[int, Any]):
        """`cotangents`: avals. `known`: residuals that are numbers to the rule."""
        self.signature = _signature(residuals, cotangents, known)
        self.zero_avals: list[Any] = []

        def run(res: Any, nonzero: Any) -> Any:
            res, given = [known.get(i, r) for i, r in enumerate(res)], iter(nonzero)
            full = [compat.SymbolicZero(a) if z else next(given) for a, z in zip(cotangents, zeros)]
            outs = bwd.call_wrapped(*res, *full) if hasattr(bwd, "call_wrapped") else bwd(*res, *full)
            self.zero_avals = [o.aval if compat.is_zero(o) else None for o in outs]
            return [o for o in outs if not compat.is_zero(o)]
        for f in thunks(bwd):
            for store in getattr(f, "stores", ()):
                if store:
                    store.reset()
        with at_home():
            self.closed = jax.make_jaxpr(run)([compat.struct(a) for a in residuals], [compat.struct(a) for a, z in zip(cotangents, zeros) if not z])

    @property
    def out_zeros(self) -> list[bool]:
        return [a is not None for a in self.zero_avals]

    def evaluate(self, residuals: list[Any], cotangents: list[Any]) -> list[Any]:
        outs = iter(compat.eval_jaxpr(self.closed.jaxpr, self.closed.consts, *residuals, *[c for c in cotangents if not compat.is_zero(c)]))
        return [next(outs) if a is None else compat.zero(a) for a in self.zero_avals]


class Backwards:
    """Those that were traced while JAX transposed: by function, perturbed inputs, zero cotangents."""

    def __init__(self) -> None:
        self._known: dict[Any, list[tuple[tuple[bool, ...], Backward]]] = {}

    def transposed(self, function: Any, cotangents: Any, args: Any, params: Any) -> list[Any] | None:
        """What JAX's transposition of `custom_lin` gives, from a jaxpr that is kept. None: JAX is to do it."""
        n = params["num_res"]
        residuals, cotangents = list(args[:n]), list(cotangents)
        numbers = _literal_residuals(params["bwd"], n, len(cotangents))
        if numbers is None or any(isinstance(residuals[i], compat.Tracer) for i in numbers):
            return None
        known = {i: residuals[i] for i in numbers}
        zeros = tuple(map(compat.is_zero, cotangents))
        avals = [c.aval if z else compat.typeof(c) for c, z in zip(cotangents, zeros)]
        perturbed = tuple(not z for z in params["in_zeros"])
        types = list(map(compat.typeof, residuals))
        rule = self.find(function, perturbed, zeros, types, avals, known)
        if rule is None:
            rule = Backward(params["bwd"], types, avals, zeros, known)
            if not any(isinstance(c, compat.Tracer) for c in rule.closed.consts):
                self._known.setdefault((function, zeros), []).append((perturbed, rule))
        outs = rule.evaluate(residuals, cotangents)
        return [None] * n + [o for o, p in zip(outs, perturbed) if p]

    def find(self, function: Any, perturbed: tuple[bool, ...], zeros: tuple[bool, ...], residuals: list[Any], cotangents: list[Any],
             known: dict[int, Any]) -> Backward | None:
        n, signature = len(perturbed), _signature(residuals, cotangents, known)
        return next((r for p, r in self._known.get((function, zeros), ()) if p[len(p) - n:] == perturbed and r.signature == signature), None)


def _literal_residuals(bwd: Any, n: int, n_out: int) -> list[int] | None:
    """Which residuals are numbers to the forward rule, and so to the backward rule; None where its jaxpr isn't known.

    The outermost of JAX's functions around the rule has the forward rule's trees, and for each residual the argument that it is, or None."""
    trees = next((args[2] for f in thunks(bwd) for transform, args in getattr(f, "transforms", ())
                  if getattr(transform, "__name__", "") == "_flatten_bwd" and len(args) > 2 and callable(args[2])), None)
    left = _meeting.forward_of
    jaxpr = next((left[id(c)][1] for _, c in cells_of(trees) if id(c) in left), None)
    forwards = trees()[2] if jaxpr is not None else ()
    if jaxpr is None or len(forwards) != n or len(jaxpr.outvars) - n_out != sum(f is None for f in forwards):
        return None
    made = iter(jaxpr.outvars)
    return [i for i, f in enumerate(forwards) if f is None and isinstance(next(made), compat.Literal)]


def _signature(residuals: list[Any], cotangents: list[Any], known: dict[int, Any]) -> Any:
    kinds = [[(a.shape, a.dtype, bool(getattr(a, "weak_type", False))) for a in avals] for avals in (residuals, cotangents)]
    return kinds, {i: np.asarray(v).item() for i, v in known.items()}
