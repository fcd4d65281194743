# SPDX-License-Identifier: Apache-2.0
"""Rules that close over values of the program: which inputs of the equation those are.

A rule is traced apart, when the program's own tracing is over. What it closes over is then a tracer of that tracing, which is a
constant for JAX; here it is looked up among the inputs of the equation that names the rule, through the calls around it.
"""
from __future__ import annotations

from typing import Any

from .. import compat


class ClosesOver(Exception):
    """A rule reads a value of the program that its equation doesn't take."""


class Origins:
    def __init__(self) -> None:
        self._opened: list[tuple[Any, Any]] = []
        self._parent: dict[Any, Any] = {}  # a variable of an inner jaxpr -> the atom around it, or the value of a constvar

    def opened(self, jaxpr: Any, consts: Any) -> None:
        self._opened.append((jaxpr, consts))

    def positions(self, eqn: Any, tracers: list[Any]) -> list[int]:
        """Which inputs of `eqn` the tracers are."""
        chains = [self._chain(a) for a in eqn.invars]
        out = []
        for t in tracers:
            known = {id(t), id(compat.variable_of(t))}
            found = next((i for i, chain in enumerate(chains) if not known.isdisjoint(chain)), None)
            if found is None:
                found = compat.position_in_its_trace(t, eqn.params.get("call_jaxpr") or eqn.params.get("fun_jaxpr"))
            if found is None:
                raise ClosesOver("the rule closes over a value of the program that its equation doesn't take: pass it as an argument")
            out.append(found)
        return out

    def roots(self, eqn: Any, n: int) -> tuple[int, ...]:
        """What the first `n` inputs are, for the key of a rule that may close over them."""
        return tuple(self._chain(a)[-1] for a in eqn.invars[:n])

    def _chain(self, atom: Any) -> list[int]:
        self._settle()
        out = [id(atom)]
        while not isinstance(atom, compat.Literal):
            atom = compat.variable_of(atom) if isinstance(atom, compat.Tracer) else self._parent.get(_key(atom))
            if atom is None:
                break
            out.append(id(atom))
        return out

    def _settle(self) -> None:
        for jaxpr, consts in self._opened:
            for v, c in zip(jaxpr.constvars, consts or ()):
                self._parent.setdefault(_key(v), c)
            for e in jaxpr.eqns:
                for value in e.params.values():
                    for inner in compat.sub_jaxprs(value):
                        for v, a in zip(inner.invars, _inputs_of(e, inner)):
                            self._parent.setdefault(_key(v), a)
        self._opened.clear()


def _key(atom: Any) -> Any:
    return atom if isinstance(atom, compat.Var) else id(atom)


def _inputs_of(eqn: Any, inner: Any) -> Any:
    """The inputs of a call by those of one of its jaxprs; nothing where it isn't known."""
    name = eqn.primitive.name
    if name == "cond":
        return eqn.invars[1:]
    if name == "while":
        n_cond, n_body = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
        if inner is eqn.params["cond_jaxpr"].jaxpr:
            return [*eqn.invars[:n_cond], *eqn.invars[n_cond + n_body:]]
        return eqn.invars[n_cond:]
    return eqn.invars if len(inner.invars) == len(eqn.invars) else ()
