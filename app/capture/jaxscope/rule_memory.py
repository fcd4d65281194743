"""Rules that JAX traces while `patterns` has it transform the program: they are kept, and needn't be traced again."""
from __future__ import annotations

import contextlib
import threading
from typing import Any, Callable, Iterator

from jax._src import source_info_util
from jax._src.interpreters import partial_eval as pe

from .rule_identity import cells_of, thunks

_meeting = threading.local()


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
    _meeting.now = True
    try:
        yield
    finally:
        _meeting.now = False


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
