# SPDX-License-Identifier: Apache-2.0
"""The tables of a capture as Python values: types, literals, arrays, parameters (sections 2 and 3 of docs/capture-format.md)."""
from __future__ import annotations

from typing import Any, Callable

import jax
import numpy as np

from .. import compat
from . import names
from .names import CannotRebuild

_KEYS = {"key<fry>": "threefry2x32", "key<rbg>": "rbg", "key<unsafe_rbg>": "unsafe_rbg"}
_USUAL_NAN = {2: 0x7E00, 4: 0x7FC00000, 8: 0x7FF8 << 48}


def dtype(name: str) -> Any:
    if name in _KEYS:
        return compat.key_dtype(_KEYS[name])
    if name == "float0":
        return jax.dtypes.float0
    try:
        return jax.numpy.dtype(name)
    except TypeError:
        raise CannotRebuild(f"JAX {jax.__version__} has no dtype '{name}'") from None


class Tables:
    """`jaxpr(index, closed)` gives the jaxpr that a parameter names."""

    def __init__(self, document: dict[str, Any], members: Any, jaxpr: Callable[[int, bool], Any]):
        self.document, self.members, self.jaxpr = document, members, jaxpr
        self.made_up: list[int] = []  # entries of `arrays` without values
        self._arrays: dict[int, Any] = {}

    def aval(self, index: int) -> Any:
        item = self.document["avals"][index]
        if not isinstance(item, list):
            raise CannotRebuild(f"a value of type {item.get('other') or item.get('token')} isn't an array")
        more = item[2] if len(item) > 2 else {}
        if more.get("sharding"):
            raise CannotRebuild(f"a type with a sharding ({item[0]}, {more['sharding']}) stands over several devices")
        return compat.shaped(tuple(item[1]), dtype(item[0]), bool(more.get("weak")), more.get("space"))

    def literal(self, index: int) -> Any:
        aval, value = self.document["literals"][index]
        of = self.aval(aval)
        array = self._numbers(of.dtype, of.shape, value)
        return array.item() if getattr(of, "weak_type", False) and array.dtype.kind in "bifc" else array

    def array(self, index: int) -> Any:
        if index not in self._arrays:
            self._arrays[index] = self._array(index)
        return self._arrays[index]

    def _array(self, index: int) -> Any:
        with jax.ensure_compile_time_eval():  # a value, not part of what is being traced
            return self._array_now(index)

    def _array_now(self, index: int) -> Any:
        entry = self.document["arrays"][index]
        of = self.aval(entry["aval"])
        key = jax.dtypes.issubdtype(of.dtype, jax.dtypes.prng_key)
        if "values" in entry:
            data = self._numbers(np.dtype(np.uint32) if key else of.dtype, None if key else of.shape, entry["values"])
        elif "npz" in entry:
            if entry["npz"] not in self.members:
                raise CannotRebuild("the archive (.npz) that stands beside the capture lacks a constant's values")
            stored = self.members[entry["npz"]]
            data = stored if key else _from_storage(stored, of.dtype)
        elif key:
            self.made_up.append(index)
            size = compat.key_impl(of.dtype).key_shape
            return jax.random.wrap_key_data(np.arange(np.prod((*of.shape, *size)), dtype=np.uint32).reshape(*of.shape, *size), impl=compat.key_impl(of.dtype))
        else:
            self.made_up.append(index)
            data = np.random.default_rng(index).standard_normal(of.shape).astype(of.dtype)
        return jax.random.wrap_key_data(data, impl=compat.key_impl(of.dtype)) if key else data

    def _numbers(self, of: Any, shape: Any, values: Any) -> np.ndarray:
        if of == jax.dtypes.float0:
            return np.zeros(shape, of)
        of = np.dtype(of)
        if of.kind == "c":
            parts = self._numbers(np.zeros(0, of).real.dtype, (*shape, 2) if shape is not None else None, values)
            return np.ascontiguousarray(parts).view(of)[..., 0]
        flat = np.asarray(values, dtype=object).reshape(-1)
        out = np.empty(flat.size, of)
        for i, v in enumerate(flat):
            if isinstance(v, str) and v.lstrip("-").startswith("nan"):
                out[i:i + 1].view(f"u{of.itemsize}")[0] = _nan_bits(v, of)
            elif isinstance(v, str) and of.kind in "iu":
                out[i] = int(v)
            else:
                out[i] = float(v) if isinstance(v, str) else v
        return out.reshape(np.shape(values) if shape is None else shape)

    # ---- Parameters

    def value(self, v: Any) -> Any:
        if isinstance(v, list):
            return tuple(self.value(e) for e in v)
        if not isinstance(v, dict):
            return v
        for kind, read in self._READERS.items():
            if kind in v:
                return read(self, v)
        raise CannotRebuild(f"a parameter {v.get('text') or sorted(v)} can't be read")

    def _record(self, v: dict[str, Any]) -> Any:
        if v["record"] == "PRNGImpl":
            fields = dict(v["fields"])
            return compat.key_impl(dtype(f"key<{fields.get('tag')}>"))
        cls = names.known_class(v["record"])
        fields = {n: self.value(x) for n, x in v["fields"]}
        try:
            return cls(**fields)
        except TypeError as e:
            raise CannotRebuild(f"JAX {jax.__version__} makes {v['record']} otherwise: {e}") from None

    def _object(self, v: dict[str, Any]) -> Any:
        text = v.get("text") or ""
        if v["object"] == "UnspecifiedValue":
            return compat.UNSPECIFIED
        if v["object"] == "Primitive":
            return names.primitive(text)
        if v["object"] == "type":
            return dtype(v["name"]).type
        raise CannotRebuild(f"{v['object']} {v.get('name') or text} is Python that a capture doesn't hold")

    def _mesh(self, v: dict[str, Any]) -> Any:
        mesh = v["mesh"]
        if mesh["axes"]:
            raise CannotRebuild(f"it stands over several devices ({mesh.get('text')})")
        return None

    def _float(self, v: dict[str, Any]) -> Any:
        return float(self._numbers(np.dtype(np.float64), (), v["float"]))

    def _complex(self, v: dict[str, Any]) -> Any:
        return complex(*(float(x) for x in v["complex"]))

    _READERS: dict[str, Callable[["Tables", dict[str, Any]], Any]] = {
        "int": lambda s, v: int(v["int"]), "float": _float, "complex": _complex,
        "list": lambda s, v: [s.value(e) for e in v["list"]], "set": lambda s, v: frozenset(s.value(e) for e in v["set"]),
        "dict": lambda s, v: {k if isinstance(k, str) else s.value(k): s.value(e) for k, e in v["dict"]},
        "dtype": lambda s, v: dtype(v["dtype"]), "aval": lambda s, v: s.aval(v["aval"]),
        "enum": lambda s, v: names.enum_member(*v["enum"]), "record": _record,
        "closed_jaxpr": lambda s, v: s.jaxpr(v["closed_jaxpr"], True), "jaxpr": lambda s, v: s.jaxpr(v["jaxpr"], False),
        "array": lambda s, v: _hashable(s.array(v["array"])), "policy": lambda s, v: None, "sharding": _mesh, "mesh": _mesh,
        "spec": lambda s, v: jax.sharding.PartitionSpec(*s.value(v["spec"])), "object": _object,
    }


def _hashable(a: Any) -> Any:
    """Parameters are hashed: a NumPy number, which captures hold as an array without dimensions, can be."""
    return a[()] if isinstance(a, np.ndarray) and a.ndim == 0 else a


def _nan_bits(text: str, of: np.dtype) -> int:
    if text.startswith("nan:"):
        return int(text[4:], 16)
    sign = 1 << (8 * of.itemsize - 1) if text.startswith("-") else 0
    usual = 0x7FC0 if of.name == "bfloat16" else _USUAL_NAN.get(of.itemsize, 0) if of.kind == "f" else int(np.asarray(np.nan).astype(of).view(f"u{of.itemsize}"))
    return sign | usual


def _from_storage(stored: np.ndarray, of: Any) -> np.ndarray:
    of = np.dtype(of)
    if stored.dtype == of:
        return stored
    return stored.astype(of) if of.name in ("int4", "uint4", "int2", "uint2") else stored.view(of)
