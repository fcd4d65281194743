# SPDX-License-Identifier: Apache-2.0
"""Array values: small ones stand in the capture, larger ones in an .npz next to it, the rest is left out."""
from __future__ import annotations

from typing import Any

import jax
import numpy as np

from .. import compat
from .tables import Tables, nested_json

INLINE_ELEMENTS = 256
SMALL_BYTES = 1 << 20
# Constants of integers and booleans say what a program does (tables of indices, masks): no made-up ones could stand for them.
INTEGER_CONSTANT_BYTES = 64 << 20


class Arrays:
    def __init__(self, tables: Tables, keep: str):
        self.tables, self.keep = tables, keep
        self.items: list[dict[str, Any]] = []
        self.members: dict[str, np.ndarray] = {}
        self._memo: dict[int, tuple[Any, int]] = {}

    def add(self, value: Any, aval: Any = None, parameter: bool = False, constant: bool = False) -> int:
        """An entry of `arrays`; the same object is one entry. A parameter of an equation is part of the program: it is kept whatever `values`
        says, and so is a constant of integers."""
        aval = compat.typeof(value) if aval is None else aval
        always = parameter or (constant and _says_what_happens(value, aval))
        hit = self._memo.get(id(value))
        if hit is not None and (len(self.items[hit[1]]) > 1 or not always):
            return hit[1]
        index = len(self.items) if hit is None else hit[1]
        if hit is None:
            self.items.append({"aval": self.tables.aval(aval)})
            self._memo[id(value)] = (value, index)
        data = self._data(value, aval, always)
        if data is not None and data.size <= INLINE_ELEMENTS:
            self.items[index]["values"] = nested_json(data)
        elif data is not None:
            self.items[index]["npz"] = f"c{index}"
            self.members[f"c{index}"] = storable(data)
        return index

    def _data(self, value: Any, aval: Any, always: bool) -> np.ndarray | None:
        """The value if it is there and is to be kept. What isn't an array of this process's stays behind."""
        if (self.keep == "none" and not always) or isinstance(value, (compat.Tracer, jax.ShapeDtypeStruct)):
            return None
        dtype = getattr(aval, "dtype", None)
        if dtype is None or compat.is_float0(aval):
            return None
        try:
            if jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key):
                return np.asarray(jax.random.key_data(value))
            if self.keep == "small" and not always and getattr(value, "nbytes", 0) > SMALL_BYTES:
                return None
            # NumPy's 64 bits are 32 to JAX unless x64 is on: what the program gets is what its type says.
            return np.asarray(value, dtype=dtype)
        except Exception:  # deleted or not addressable from this process: the capture still says its type
            return None


def _says_what_happens(value: Any, aval: Any) -> bool:
    dtype = getattr(aval, "dtype", None)
    if dtype is None or compat.is_float0(aval) or jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key):
        return False
    counts = jax.dtypes.issubdtype(dtype, np.integer) or jax.dtypes.issubdtype(dtype, np.bool_)
    return counts and getattr(value, "nbytes", 0) <= INTEGER_CONSTANT_BYTES


def storable(a: np.ndarray) -> np.ndarray:
    """NumPy files know none of ml_dtypes' types: those are stored as unsigned integers of their width (int4: int8)."""
    if a.dtype.kind in "biufc":
        return a
    if jax.numpy.issubdtype(a.dtype, np.integer):
        return a.astype(np.int8)
    return np.ascontiguousarray(a).view({1: np.uint8, 2: np.uint16, 4: np.uint32}[a.dtype.itemsize])
