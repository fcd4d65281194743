# SPDX-License-Identifier: Apache-2.0
"""The interned tables of a capture: everything that equations refer to by number."""
from __future__ import annotations

import json
import math
import os
import re
import sysconfig
from typing import Any

import jax
import numpy as np

from .. import compat

_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")


class Interner:
    """Values to dense numbers; a value is its JSON text."""

    def __init__(self) -> None:
        self.items: list[Any] = []
        self._index: dict[Any, int] = {}

    def add(self, key: Any, item: Any) -> int:
        i = self._index.get(key)
        if i is None:
            i = self._index[key] = len(self.items)
            self.items.append(item)
        return i

    def add_json(self, item: Any) -> int:
        return self.add(json.dumps(item, sort_keys=False), item)


class Paths:
    """Paths as captures show them: nothing of this machine in them, unless asked for."""

    def __init__(self, root: str, absolute: bool = False):
        self.root = os.path.abspath(root)
        self.absolute = absolute
        purelib, stdlib = sysconfig.get_paths()["purelib"], sysconfig.get_paths()["stdlib"]
        cuts = {(self.root, ""), (os.path.realpath(self.root), "")}
        for path, short in ((purelib, "<site-packages>/"), (stdlib, "<stdlib>/")):
            cuts |= {(path, short), (os.path.realpath(path), short)}
        self.cuts = sorted(((c.rstrip(os.sep) + os.sep, s) for c, s in cuts), key=lambda c: -len(c[0]))
        self._memo: dict[str, str] = {}

    def short(self, path: str) -> str:
        if self.absolute:
            return path
        if path not in self._memo:
            full = os.path.abspath(path) if not path.startswith("<") else path
            self._memo[path] = next((s + full[len(c):] for c, s in self.cuts if full.startswith(c)), path)
        return self._memo[path]

    def in_text(self, text: str) -> str:
        """A text of JAX's that may hold paths and addresses."""
        if not self.absolute:
            for cut, short in self.cuts:
                text = text.replace(cut, short)
        return _ADDRESS.sub("0x_", text)

    def is_project(self, path: str) -> bool:
        if path.startswith("<"):
            return False
        full = os.path.abspath(path)
        packages = any(full.startswith(c) and s for c, s in self.cuts)
        return not packages and f"{os.sep}site-packages{os.sep}" not in full and f"{os.sep}dist-packages{os.sep}" not in full


class Tables:
    def __init__(self, paths: Paths, with_source: bool = True):
        self.paths = paths
        self.with_source = with_source
        self.strings, self.avals, self.files = Interner(), Interner(), Interner()
        self.frames, self.tracebacks, self.name_stacks = Interner(), Interner(), Interner()
        self.sources, self.contexts, self.literals, self.params = Interner(), Interner(), Interner(), Interner()
        self._aval_memo: dict[int, tuple[Any, int]] = {}
        self._frame_memo: dict[tuple[Any, int], int | None] = {}
        self._trace_memo: dict[Any, tuple[int | None, str]] = {}
        self._context_memo: dict[int, tuple[Any, int]] = {}
        self._stack_memo: dict[Any, int] = {}
        self.type_meshes: dict[str, Any] = {}  # of explicitly sharded types, by their text

    def string(self, text: str) -> int:
        return self.strings.add(text, text)

    # --- avals
    def aval(self, aval: Any) -> int:
        hit = self._aval_memo.get(id(aval))
        if hit is not None:
            return hit[1]
        item = aval_json(aval)
        mesh = getattr(getattr(aval, "sharding", None), "mesh", None)
        if "Explicit" in str(getattr(mesh, "axis_types", "")):
            self.type_meshes[str(mesh)] = mesh
        index = self.avals.add_json(item)
        self._aval_memo[id(aval)] = (aval, index)
        return index

    # --- where an equation comes from
    def source(self, info: Any, words: tuple[str, ...] = ()) -> int:
        trace, summary = self._traceback(info)
        stack = self._name_stack(info.name_stack)
        item = [trace, stack, summary, *([list(words)] if words else [])]
        return self.sources.add((trace, stack, summary, words), item)

    def _name_stack(self, stack: Any) -> int:
        hit = self._stack_memo.get(stack)
        if hit is None:
            text = str(stack)
            hit = self._stack_memo[stack] = self.name_stacks.add(text, text)
        return hit

    def _traceback(self, info: Any) -> tuple[int | None, str]:
        tb = info.traceback
        if tb is None:
            return None, ""
        hit = self._trace_memo.get(tb)
        if hit is not None:
            return hit
        indices = [i for f in compat.raw_frames(info) if (i := self._frame(*f)) is not None]
        summary = ""
        if indices:
            file, line, column, _, _, fn = self.frames.items[indices[0]]
            path, name = self.files.items[file]["path"], self.strings.items[fn]
            summary = f"{path}:{line}:{column} ({name})" if column else f"{path}:{line} ({name})"
        trace = self.tracebacks.add(tuple(indices), indices) if indices else None
        self._trace_memo[tb] = (trace, summary)
        return trace, summary

    def _frame(self, code: Any, lasti: int) -> int | None:
        key = (code, lasti)
        if key in self._frame_memo:
            return self._frame_memo[key]
        index = None
        name = code.co_filename
        if compat.is_user_file(name) and not name.startswith("<frozen "):
            f = compat.resolve_frame(code, lasti)
            item = [self._file(f.file), f.line, f.column, f.end_line, f.end_column, self.string(f.function)]
            index = self.frames.add(tuple(item), item)
        self._frame_memo[key] = index
        return index

    def _file(self, path: str) -> int:
        project = self.paths.is_project(path)
        item: dict[str, Any] = {"path": self.paths.short(path), "project": project}
        if project and self.with_source and path not in self.files._index:
            text = _read_text(path)
            if text is not None:
                item["text"] = text
        return self.files.add(path, item)

    # --- equation contexts
    def context(self, ctx: Any) -> int:
        hit = self._context_memo.get(id(ctx))
        if hit is not None:
            return hit[1]
        mesh = getattr(ctx, "cur_abstract_mesh", None)
        text = str(mesh) if mesh is not None and not getattr(mesh, "empty", True) else None
        metadata = getattr(ctx, "xla_metadata", None)
        item = {"compute_type": getattr(ctx, "compute_type", None),
                "threefry_partitionable": bool(getattr(ctx, "threefry_partitionable", False)), "mesh": text,
                "metadata": {str(k): str(v) for k, v in sorted(metadata.items())} if metadata else None}
        index = self.contexts.add_json(item)
        self._context_memo[id(ctx)] = (ctx, index)
        return index

    # --- literals
    def literal(self, lit: Any) -> int:
        item = [self.aval(lit.aval), literal_json(lit.val)]
        return self.literals.add(json.dumps(item), item)


def aval_json(aval: Any) -> Any:
    dtype, shape = getattr(aval, "dtype", None), getattr(aval, "shape", None)
    kind = type(aval).__name__
    if kind == "AbstractToken":
        return {"token": "Token"}
    if dtype is None or shape is None or kind.startswith("AbstractRef") or not all(isinstance(d, (int, np.integer)) for d in shape):
        return {"other": _ADDRESS.sub("0x_", aval.str_short(short_dtypes=True) if hasattr(aval, "str_short") else str(aval))}
    item: list[Any] = [dtype_name(dtype), [int(d) for d in shape]]
    more: dict[str, Any] = {}
    if getattr(aval, "weak_type", False):
        more["weak"] = True
    space = getattr(getattr(aval, "memory_space", None), "name", None)
    if space and space.lower() != "device":
        more["space"] = space.lower()
    text = _sharding_text(aval)
    if text:
        more["sharding"] = text
    return item + [more] if more else item


def _sharding_text(aval: Any) -> str | None:
    """What 0.10 writes behind a dimension of an explicitly sharded type; nothing for the others."""
    sharding = getattr(aval, "sharding", None)
    spec = getattr(sharding, "spec", None)
    mesh = getattr(sharding, "mesh", None)
    varying = getattr(aval, "vma", None) or getattr(getattr(aval, "mat", None), "varying", None)
    parts = []
    if spec is not None and any(s is not None for s in compat.partitions(spec)) and mesh is not None and not getattr(mesh, "empty", True):
        parts.append(str(jax.sharding.PartitionSpec(*compat.partitions(spec))))
    if varying:
        places = {str(name): n for n, name in enumerate(getattr(mesh, "axis_names", ()))}  # printed in the mesh's order
        parts.append("vma=" + ",".join(sorted(map(str, varying), key=lambda name: (places.get(name, len(places)), name))))
    return " ".join(parts) or None


def dtype_name(dtype: Any) -> str:
    if jax.dtypes.issubdtype(dtype, jax.dtypes.extended):
        return getattr(dtype, "name", str(dtype))
    if dtype == jax.dtypes.float0:
        return "float0"
    return np.dtype(dtype).name


def number_json(x: Any) -> Any:
    if isinstance(x, (bool, np.bool_)):
        return bool(x)
    if isinstance(x, (int, np.integer)):
        x = int(x)
        return x if -(2 ** 53) <= x <= 2 ** 53 else str(x)
    if isinstance(x, (complex, np.complexfloating)):
        return [number_json(float(x.real)), number_json(float(x.imag))]
    x = float(x)
    if x != x:
        return "nan"
    return x if abs(x) != float("inf") else ("inf" if x > 0 else "-inf")


def literal_json(value: Any) -> Any:
    if type(value) is float and value != value:
        return "nan" if math.copysign(1.0, value) > 0 else "-nan"
    if type(value) in (bool, int, float, complex):
        return number_json(value)
    a = np.asarray(value)
    if a.dtype == jax.dtypes.float0:  # NumPy has no numbers for it; all of them are zero
        return _nested(np.zeros(a.shape, np.int32).tolist())
    return nested_json(a)


# The bits of the NaN that is written as "nan"; all others, and those of narrower types, are written as "nan:" and their bits.
_USUAL_NAN = {"float16": 0x7E00, "bfloat16": 0x7FC0, "float32": 0x7FC00000, "float64": 0x7FF8 << 48}


def nested_json(a: np.ndarray) -> Any:
    if a.dtype.kind == "c":
        a = np.array(a, order="C").reshape(*a.shape, 1).view(a.real.dtype)
    if jax.numpy.issubdtype(a.dtype, np.floating) and (nan := a != a).any():
        usual = _USUAL_NAN.get(a.dtype.name)
        numbers = a.astype(np.float64).astype(object)
        numbers[nan] = ["nan" if b == usual else f"nan:{b:x}" for b in a.view(f"u{a.dtype.itemsize}")[nan].tolist()]
        return _nested(numbers.tolist())
    if a.dtype.kind not in "biuf":  # ml_dtypes: bfloat16, float8, int4
        a = a.astype(np.int32 if jax.numpy.issubdtype(a.dtype, np.integer) else np.float64)
    return _nested(a.tolist())


def _nested(v: Any) -> Any:
    return [_nested(e) for e in v] if isinstance(v, list) else v if isinstance(v, str) else number_json(v)


def _read_text(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8") as f:
            return f.read(2_000_000)
    except (OSError, UnicodeDecodeError):
        return None
