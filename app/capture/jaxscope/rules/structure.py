# SPDX-License-Identifier: Apache-2.0
"""When two applications of a library's primitive have the same rules: its parameters are new objects each time, but built alike."""
from __future__ import annotations

import enum
import functools
import types
from typing import Any

import jax
import numpy as np

from .. import compat
from ..document.identity import identity

_MOST_EQUATIONS = 3_000  # a jaxpr with more is only the same as itself
_SMALL = 256  # elements of an array that is compared by its values


class Structures:
    """Keys, and the objects whose ids stand in them."""

    def __init__(self) -> None:
        self._alive: list[Any] = []
        self._jaxprs: dict[int, Any] = {}

    def of(self, value: Any, depth: int = 0) -> Any:
        if value is None or isinstance(value, (bool, int, float, complex, str, bytes, enum.Enum, np.dtype)):
            return type(value), repr(value) if isinstance(value, (float, complex)) else value
        if depth > 24 or isinstance(value, compat.Tracer):
            return self._itself(value)
        if isinstance(value, (tuple, list)):
            return type(value), tuple(self.of(v, depth + 1) for v in value)
        if isinstance(value, (dict, types.MappingProxyType)):
            return type(value), tuple((self.of(k, depth + 1), self.of(v, depth + 1)) for k, v in value.items())
        if isinstance(value, (np.ndarray, np.generic, jax.Array)):
            small = value.size <= _SMALL and not jax.dtypes.issubdtype(value.dtype, jax.dtypes.extended)
            return (value.shape, str(value.dtype), np.asarray(value).tobytes()) if small else self._itself(value)
        if isinstance(value, compat.ClosedJaxpr):
            return self._jaxpr(value.jaxpr, depth), self.of(list(value.consts), depth + 1)
        if isinstance(value, compat.Jaxpr):
            return self._jaxpr(value, depth)
        return self._object(value, depth)

    def _itself(self, value: Any) -> Any:
        self._alive.append(value)
        return type(value), id(value)

    def _object(self, value: Any, depth: int) -> Any:
        if isinstance(value, functools.partial):
            return functools.partial, self.of((value.func, value.args, value.keywords), depth + 1)
        if isinstance(value, types.MethodType):
            return types.MethodType, self.of((value.__func__, value.__self__), depth + 1)
        if isinstance(value, types.FunctionType):
            try:
                cells = [c.cell_contents for c in value.__closure__ or ()]
            except ValueError:  # not bound yet
                return self._itself(value)
            self._alive.append(value)
            return id(value.__code__), id(value.__globals__), self.of((cells, value.__defaults__, value.__kwdefaults__), depth + 1)
        by_identity = type(value).__eq__ is object.__eq__ and not isinstance(value, type) and not hasattr(value, "call_wrapped")
        if not by_identity:
            try:
                hash(value)
                self._alive.append(value)
                return type(value), value
            except Exception:  # it holds arrays
                pass
        # A new object for each application, which says nothing by being another one.
        fields = None if isinstance(value, type) or hasattr(value, "call_wrapped") else _fields(value)
        return self._itself(value) if fields is None else (type(value), self.of(fields, depth + 1))

    def _jaxpr(self, jaxpr: Any, depth: int) -> Any:
        key = self._jaxprs.get(id(jaxpr))
        if key is None:
            self._alive.append(jaxpr)
            same = compat.count_eqns(jaxpr) <= _MOST_EQUATIONS
            key = self._jaxprs[id(jaxpr)] = self._equations(jaxpr, depth) if same else (type(jaxpr), id(jaxpr))
        return key

    def _equations(self, jaxpr: Any, depth: int) -> Any:
        number: dict[Any, int] = {}

        def atom(a: Any) -> Any:
            return ("literal", str(a.aval), self.of(a.val, depth + 1)) if isinstance(a, compat.Literal) else number.setdefault(a, len(number))
        ins = tuple((atom(v), str(v.aval)) for v in (*jaxpr.constvars, *jaxpr.invars))
        rows = tuple((e.primitive, tuple(map(atom, e.invars)), tuple((atom(v), str(v.aval)) for v in e.outvars), self._params(e, depth))
                     for e in jaxpr.eqns)
        return ins, rows, tuple(map(atom, jaxpr.outvars))

    def _params(self, eqn: Any, depth: int) -> Any:
        custom = eqn.primitive.name.startswith("custom_")  # JAX's thunks are new each time, and remember what they were asked
        return tuple((k, identity(v)[2] if custom and callable(v) else self.of(v, depth + 1)) for k, v in sorted(eqn.params.items()))


def _fields(value: Any) -> dict[str, Any] | None:
    """What an object of a Python class holds; None for those that hold things that Python can't see."""
    if not type(value).__module__ or type(value).__flags__ & (1 << 9) == 0:  # made by a class statement
        return None
    out = dict(getattr(value, "__dict__", {}))
    for cls in type(value).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__weakref__", "__dict__") and hasattr(value, name):
                out[name] = getattr(value, name)
    return out
