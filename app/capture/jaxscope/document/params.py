# SPDX-License-Identifier: Apache-2.0
"""Parameters of equations as JSON values (section 3 of docs/capture-format.md)."""
from __future__ import annotations

import dataclasses
import enum
import json
from typing import Any, Callable

import jax
import numpy as np
from jax._src import core

from .. import compat, naming, older
from . import identity, policies
from .arrays import Arrays
from .tables import Tables, dtype_name, number_json

_RULES = {"custom_jvp_call": ("jvp_jaxpr_fun",), "custom_vjp_call": ("fwd_jaxpr_thunk", "bwd"),
          "custom_vjp_call_jaxpr": ("fwd_jaxpr_thunk", "bwd"), "custom_vmap_call": ("rule",),
          "custom_transpose_call": ("transpose_jaxpr_thunk",), "linear_call": ("transpose_thunk",)}
LIBRARY_RULES = "jaxscope_rules"  # the parameter by which a library's primitive names its entry in the table of rules


class Params:
    def __init__(self, tables: Tables, arrays: Arrays, jaxpr: Callable[[Any, Any], int], rules: Any):
        self.tables, self.arrays, self.jaxpr, self.rules = tables, arrays, jaxpr, rules
        # What was described, with the objects whose ids are the keys: they must not die meanwhile.
        self._policies: dict[Any, Any] = {}
        self._objects: dict[int, tuple[Any, Any]] = {}

    def of(self, eqn: Any, jaxpr: Any) -> int:
        application = self.rules.applications.index_of(eqn) if self.rules is not None else None
        if not eqn.params and application is None:
            return self.tables.params.add("{}", {})
        special = _RULES.get(eqn.primitive.name, ())
        params = older.parameters(eqn)
        out = {}
        for key in sorted(params):
            value = params[key]
            if key in special:
                out[key] = self._rule(eqn, key, value)
            elif policies.is_policy(key, value):
                out[key] = self._policy(value, eqn.params.get("jaxpr"))
            else:
                out[key] = self.value(value)
        if special and identity.evaluated_from_jaxpr(params[special[0]]):
            out = dict(sorted({**out, "from_jaxpr": True}.items()))
        elif special and identity.inlined(params[special[0]], jaxpr):
            out = dict(sorted({**out, "inlined": True}.items()))
        if application is not None:
            out = dict(sorted({**out, LIBRARY_RULES: {"rule": application, "text": eqn.primitive.name}}.items()))
        return self.tables.params.add(json.dumps(out), out)

    def _rule(self, eqn: Any, key: str, value: Any) -> Any:
        name = naming.function_name(value)
        info = getattr(value, "debug_info", None)
        text = info.func_src_info.split(" ")[0] if info is not None and getattr(info, "func_src_info", None) else name
        if key in ("rule", "transpose_jaxpr_thunk", "transpose_thunk"):  # printed as the function that it is
            text = self.text(value)
        index = self.rules.index_of(eqn, key) if self.rules is not None else None
        if index is None:
            return {"object": type(value).__name__, "name": text, "text": self.text(value)}
        return {"rule": index, "text": text}

    def _hi_primitive(self, v: Any) -> Any:
        """jax_remat3 and custom_vjp3 put an object with parameters of its own into `call_hi_primitive`."""
        fields = []
        for key, x in v.params.items():
            is_policy = policies.is_policy(key, x)
            fields.append([key, self._policy(x, v.params.get("jaxpr")) if is_policy else self.value(x)])
        return {"record": type(v).__name__, "fields": fields, "text": self.text(v)}

    def _policy(self, policy: Any, body: Any) -> Any:
        body = next(iter(compat.sub_jaxprs(body)), None)
        key = (id(policy), id(body))
        hit = self._policies.get(key)
        if hit is None:
            item = dict(policies.describe(policy, lambda p: {"policy": None, "verdicts": self._verdicts(p, body)}))
            item["text"] = self.text(policy)
            hit = self._policies[key] = (policy, body, item)
        return hit[-1]

    def _verdicts(self, policy: Any, body: Any) -> list[Any]:
        """What a function of the user's says about every equation that it will be asked about: those of the body and of
        its jvp, one row per signature."""
        rows: dict[str, Any] = {}
        for top in compat.with_jvp(body) if body is not None else ():
            for e in compat.iterate_eqns(top):
                plain = {k: v for k, v in sorted(e.params.items()) if is_plain(v)}
                signature = [e.primitive.name, [self.tables.aval(v.aval) for v in e.invars], self.value(plain)["dict"]]
                key = json.dumps(signature)
                if key not in rows:
                    answer = policies.verdict(policy, e)
                    # A policy with a memory of its own may say another thing each time: that is no answer.
                    rows[key] = [*signature, answer if policies.verdict(policy, e) == answer else "unknown"]
        return list(rows.values())

    def text(self, value: Any) -> str:
        try:
            return self.tables.paths.in_text(str(value))[:2000]
        except Exception as e:
            return f"<{type(value).__name__}: {type(e).__name__}>"

    def value(self, v: Any) -> Any:
        simple = _SIMPLE.get(type(v))
        if simple is not None:
            return simple(v)
        if isinstance(v, compat.ClosedJaxpr):
            return {"closed_jaxpr": self.jaxpr(v.jaxpr, v.consts)}
        if isinstance(v, compat.Jaxpr):
            return {"jaxpr": self.jaxpr(v, None)}
        if isinstance(v, enum.Enum):
            return {"enum": [type(v).__name__, v.name]}
        if isinstance(v, jax.sharding.PartitionSpec):
            return {"spec": [self.value(e) for e in compat.partitions(v)], "text": self.text(v)}
        if isinstance(v, (frozenset, set)):
            return {"set": sorted((self.value(e) for e in v), key=lambda e: json.dumps(e))}
        if hasattr(v, "_fields") and isinstance(v, tuple):
            return self._record(v, [(f, getattr(v, f)) for f in v._fields])
        if isinstance(v, tuple):
            return [self.value(e) for e in v]
        if isinstance(v, list):
            return {"list": [self.value(e) for e in v]}
        if isinstance(v, dict) or type(v).__name__ in ("FrozenDict", "mappingproxy"):
            return {"dict": [[k if isinstance(k, str) else self.value(k), self.value(e)] for k, e in v.items()]}
        hit = self._objects.get(id(v))
        if hit is None:
            hit = self._objects[id(v)] = (v, self._object(v))
        return hit[1]

    def _object(self, v: Any) -> Any:
        if isinstance(v, type) and issubclass(v, np.generic):  # prints otherwise than its dtype
            return {"object": "type", "name": dtype_name(v), "text": self.text(v)}
        if isinstance(v, jax.Device):  # stands in tuples, which show their items so
            return {"object": type(v).__name__, "name": None, "text": repr(v)}
        if isinstance(v, np.dtype) or jax.dtypes.issubdtype(type(v), jax.dtypes.extended):
            return {"dtype": dtype_name(v)}
        if isinstance(v, core.AbstractValue):
            return {"aval": self.tables.aval(v)}
        if isinstance(v, (bool, int, float, complex)) and not isinstance(v, np.generic):
            return _simple_number(v)
        if isinstance(v, str):
            return str(v)
        if isinstance(v, (np.ndarray, np.generic, jax.Array)) and not isinstance(v, compat.Tracer):
            # NumPy's own numbers keep their dtype, which JAX prints (`np.int64(1)`), whatever x64 says.
            aval = core.ShapedArray(v.shape, v.dtype) if isinstance(v, np.generic) else None
            return {"array": self.arrays.add(v, aval, parameter=True)}
        name = type(v).__name__
        if name in ("Mesh", "AbstractMesh"):
            return {"mesh": {"axes": [[str(k), int(n)] for k, n in dict(v.shape).items()] if not v.empty else [], "text": self.text(v)}}
        if isinstance(v, jax.sharding.Sharding):
            return self._sharding(v)
        if dataclasses.is_dataclass(v) and not isinstance(v, type):
            return self._record(v, [(f.name, getattr(v, f.name, None)) for f in dataclasses.fields(v)])
        if _is_dtype(v):
            return {"dtype": dtype_name(v)}
        if type(v).__module__.startswith("jax.") and isinstance(getattr(v, "params", None), dict):
            return self._hi_primitive(v)
        fields = _slots(v)
        if fields is not None:
            return self._record(v, fields)
        return {"object": name, "name": naming.function_name(v) if callable(v) else None, "text": self.text(v)}

    def _sharding(self, v: Any) -> Any:
        item: dict[str, Any] = {"sharding": self.text(v)}
        if type(v).__name__ == "NamedSharding":
            item["mesh"] = self.value(v.mesh)["mesh"]
            item["spec"] = self.value(v.spec)["spec"]
        return item

    def _record(self, v: Any, fields: list[tuple[str, Any]]) -> Any:
        return {"record": type(v).__name__, "fields": [[n, self.value(x)] for n, x in fields], "text": self.text(v)}


def _simple_float(v: float) -> Any:
    n = number_json(v)
    return {"float": n} if isinstance(n, str) else n


def _simple_int(v: int) -> Any:
    n = number_json(v)
    return {"int": n} if isinstance(n, str) else n


def _simple_number(v: Any) -> Any:
    if isinstance(v, bool):
        return bool(v)
    if isinstance(v, int):
        return _simple_int(int(v))
    if isinstance(v, float):
        return _simple_float(float(v))
    return {"complex": number_json(complex(v))}


_SIMPLE: dict[type, Callable[[Any], Any]] = {
    type(None): lambda v: None, bool: lambda v: v, int: _simple_int, str: lambda v: v, float: _simple_float,
    complex: lambda v: {"complex": number_json(v)}}


def _is_dtype(v: Any) -> bool:
    try:
        return isinstance(v, jax.dtypes.ExtendedDType) if hasattr(jax.dtypes, "ExtendedDType") else (
            hasattr(v, "_rules") and hasattr(v, "name") and hasattr(v, "type"))
    except Exception:
        return False


def _slots(v: Any) -> list[tuple[str, Any]] | None:
    """Fields of JAX's own small value classes, which are neither dataclasses nor tuples."""
    if callable(v) or not type(v).__module__.startswith(("jax.", "jaxlib.")):
        return None
    names = [n for n in getattr(type(v), "__slots__", ()) if not n.startswith("_")]
    values = [(n, getattr(v, n)) for n in names if hasattr(v, n)]
    return values if values and all(is_plain(x) for _, x in values) else None


def is_plain(v: Any) -> bool:
    if isinstance(v, (tuple, list, frozenset)):
        return all(map(is_plain, v))
    return v is None or isinstance(v, (bool, int, float, str, enum.Enum, np.dtype))
