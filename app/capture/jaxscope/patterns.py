"""Rules with symbolic zeros differ with what is differentiated: one differentiation shows which of them JAX asks for."""
from __future__ import annotations

import contextlib
import threading
from typing import Any, Callable, Iterator

import jax
from jax._src import source_info_util
from jax._src.interpreters import partial_eval as pe

from . import compat

_meeting = threading.local()


@contextlib.contextmanager
def kept() -> Iterator[None]:
    """Programs traced inside keep the jaxprs of the rules that `meet` leads to, as they are by themselves.

    A rule that JAX traces while it differentiates gets the place of the call for all of its equations. What belongs into the
    table of rules has its own lines; it is traced so, and JAX gets a copy that stands at the call. The rule runs once."""
    original = pe._memoize
    pe._memoize = lambda fn: original(_twofold(fn) if fn.__name__ in ("jvp_jaxpr_thunk", "fwd_jaxpr_from_zeros") else fn)
    try:
        yield
    finally:
        pe._memoize = original


def _twofold(fn: Callable) -> Callable:
    own: dict[Any, Any] = {}
    rule = next((c.cell_contents for name, c in zip(fn.__code__.co_freevars, fn.__closure__ or ()) if name in ("jvp", "fwd")), None)

    def thunk(*pattern: Any) -> Any:
        if not getattr(_meeting, "now", False):
            return fn(*pattern)
        local = source_info_util._source_info_context
        before = local.context
        local.context = source_info_util.SourceInfo(None, before.name_stack)
        try:
            out = fn(*pattern)
            own[pattern] = out, [(s, s.val) for s in getattr(rule, "stores", ()) if s]
        finally:
            local.context = before
        return (_at(out[0], before.traceback), *out[1:])
    return thunk


def _at(jaxpr: Any, traceback: Any) -> Any:
    if traceback is None:
        return jaxpr
    return jaxpr.replace(eqns=[e.replace(source_info=e.source_info.replace(traceback=traceback)) for e in jaxpr.eqns])


def traced(cells: Iterator[tuple[str, Any]], pattern: tuple[bool, ...]) -> Any | None:
    """What the rule's thunk gave for this pattern, if `meet` came by; the trees that it left elsewhere are there again.

    `cells`: what the thunks close over."""
    found = next((c[pattern] for name, c in cells if name == "own" and isinstance(c, dict) and pattern in c), None)
    if found is None:
        return None
    for store, value in found[1]:
        store.reset()
        store.store(value)
    return found[0]


def meet(closed: Any, chosen: list[int]) -> None:
    """Differentiate by the inputs `chosen`, for the sake of what the thunks in the equations are asked for: they remember."""
    if not any(e.params.get("symbolic_zeros") for e in compat.iterate_eqns(closed.jaxpr)):
        return

    def forward(*xs: Any) -> Any:
        def f(*diff: Any) -> Any:
            full = list(xs)
            for i, x in zip(chosen, diff):
                full[i] = x
            return compat.eval_jaxpr(closed.jaxpr, closed.consts, *full)
        return jax.vjp(f, *[xs[i] for i in chosen])[0]
    _meeting.now = True
    try:
        jax.make_jaxpr(forward)(*[jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in closed.jaxpr.invars])
    except Exception:  # not differentiable: then there is nothing to meet
        pass
    finally:
        _meeting.now = False
