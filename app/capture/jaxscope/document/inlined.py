# SPDX-License-Identifier: Apache-2.0
"""Equations that came with the body of a jit(inline=True) whose results don't need them: JAX differentiates such a call as a jit, which
drops them, and inlines what is left."""
from __future__ import annotations

import contextlib
from typing import Any, Iterator

from .. import compat

_unused: set[Any] = set()  # results of such equations, while a program is captured


@contextlib.contextmanager
def watched() -> Iterator[None]:
    try:
        with compat.bodies_inlined(_note):
            yield
    finally:
        _unused.clear()


def _note(body: Any, equations: list[Any]) -> None:
    for i in _unused_by_results(body):
        if equations[i] is not None:
            _unused.update(equations[i].outvars)


def _unused_by_results(jaxpr: Any) -> list[int]:
    used, out = {v for v in jaxpr.outvars if type(v) is compat.Var}, []
    for i, eqn in reversed(list(enumerate(jaxpr.eqns))):
        if eqn.effects or any(v in used for v in eqn.outvars):
            used.update(v for v in eqn.invars if type(v) is compat.Var)
        else:
            out.append(i)
    return out


def is_unused(eqn: Any) -> bool:
    return bool(_unused) and bool(eqn.outvars) and all(v in _unused for v in eqn.outvars)
