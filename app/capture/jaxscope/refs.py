# SPDX-License-Identifier: Apache-2.0
"""Programs without mutable references inside, as JAX itself compiles them: each jaxpr that makes some is discharged, wherever it stands.

References that are arguments stay: the program's inputs and outputs would change with them.
"""
from __future__ import annotations

import inspect
from typing import Any

from jax._src import core
from jax._src.state import discharge

from . import compat

_MAKERS = {"new_ref", "empty_ref", "mutable_array", "run_state"}


def discharged(closed: Any) -> Any | None:
    """The program without them; None where it has none."""
    if not any(e.primitive.name in _MAKERS for e in compat.iterate_eqns(closed.jaxpr)):
        return None
    return _Discharge().closed(closed)


def discharged_open(jaxpr: Any) -> Any:
    """The same of a jaxpr whose constvars have no values; itself where there is nothing to do."""
    n = len(jaxpr.constvars)
    new = discharged(compat.ClosedJaxpr(compat.constvars_to_invars(jaxpr), ()))
    return jaxpr if new is None or new.consts else compat.invars_to_constvars(new.jaxpr, n)


class _Discharge:
    def __init__(self) -> None:
        self._done: dict[int, tuple[Any, Any]] = {}

    def closed(self, closed: Any) -> Any:
        hit = self._done.get(id(closed))
        if hit is None:
            hit = self._done[id(closed)] = (closed, self._closed(closed))
        return hit[1]

    def _closed(self, closed: Any) -> Any:
        jaxpr = closed.jaxpr
        eqns = [self._eqn(e) for e in jaxpr.eqns]
        if any(new is not old for new, old in zip(eqns, jaxpr.eqns)):
            closed = compat.ClosedJaxpr(jaxpr.replace(eqns=eqns, effects=core.no_effects | _effects(jaxpr.effects)), closed.consts)
        if any(map(_is_ref, (*jaxpr.invars, *jaxpr.constvars))) or not any(_is_ref(v) for e in jaxpr.eqns for v in e.outvars):
            return closed
        return _pure(closed)

    def _eqn(self, eqn: Any) -> Any:
        if eqn.primitive.name == "run_state" and all(eqn.params.get("is_initialized", (True,))):
            if not any(map(_is_ref, eqn.invars)):
                body = _pure(compat.ClosedJaxpr(eqn.params["jaxpr"], ()))
                return eqn.replace(primitive=core.closed_call_p, params={"call_jaxpr": self.closed(body)}, effects=_effects(eqn.effects))
        params = {k: self._value(v) for k, v in eqn.params.items()}
        if all(new is eqn.params[k] for k, new in params.items()):
            return eqn
        return eqn.replace(params=params, effects=_effects(eqn.effects))

    def _value(self, v: Any) -> Any:
        if isinstance(v, compat.ClosedJaxpr):
            return self.closed(v)
        if isinstance(v, compat.Jaxpr):
            if v.constvars:
                return v
            new = self.closed(self._wrapped(v))
            return v if new is self._wrapped(v) or new.consts else new.jaxpr
        if type(v) in (tuple, list) and compat.sub_jaxprs(v):
            items = [self._value(x) for x in v]
            return v if all(a is b for a, b in zip(items, v)) else type(v)(items)
        return v

    def _wrapped(self, jaxpr: Any) -> Any:
        hit = self._done.get(id(jaxpr))
        if hit is None:
            hit = self._done[id(jaxpr)] = (jaxpr, compat.ClosedJaxpr(jaxpr, ()))
        return hit[1]


def _is_ref(v: Any) -> bool:
    return type(v.aval).__name__ == "AbstractRef"


def _effects(effects: Any) -> Any:
    """What is left of them when the references are gone."""
    return frozenset(e for e in effects if type(e).__name__ != "InternalMutableArrayEffect")


def _pure(closed: Any) -> Any:
    if "closed_jaxpr" in inspect.signature(discharge.discharge_state).parameters:
        new = discharge.discharge_state(closed)
        return compat.ClosedJaxpr(new.jaxpr.replace(debug_info=closed.jaxpr.debug_info), new.consts)
    jaxpr, consts = discharge.discharge_state(closed.jaxpr, closed.consts)
    return compat.ClosedJaxpr(jaxpr, consts)
