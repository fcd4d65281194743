# SPDX-License-Identifier: Apache-2.0
"""What jax.pmap made: what it closes over, and its calls, which are told from frames alone."""
from __future__ import annotations

import gc
import os
import types
from typing import Any, Callable, NamedTuple

_PMAP = "jax._src.pmap"


def _free(fn: Any) -> dict[str, Any]:
    """What a function closes over, by name."""
    names = getattr(getattr(fn, "__code__", None), "co_freevars", ())
    return {n: c.cell_contents for n, c in zip(names, getattr(fn, "__closure__", None) or ()) if c != _EMPTY_CELL}


_EMPTY_CELL = types.CellType()


def is_pmapped(fn: Any) -> bool:
    """Whether jax.pmap made it, as a jit of a shard_map. Before JAX 0.8 it's a primitive of its own, whose call isn't jit's."""
    code = getattr(fn, "__code__", None)
    return code is not None and code.co_name == "wrapped" and code.co_filename.endswith(os.path.join("jax", "_src", "pmap.py"))


def pmap_static(fn: Any) -> tuple[int, ...]:
    """A pmapped function's static_broadcasted_argnums."""
    return tuple(_free(_free(fn).get("infer_params")).get("static_broadcasted_tuple") or ())


class PmapCall(NamedTuple):
    """A call of a pmapped function that is under way: of the user's function, whose pmapped form `pmapped()` is."""
    fun: Any
    args: tuple
    kwargs: dict[str, Any]
    pmapped: Callable[[], Any]
    frame: Any


def pmap_call(fun: Any, frame: Any) -> PmapCall | None:
    """The call that made JAX call `fun`, what pmap jits, in a frame above `frame`."""
    if getattr(fun, "__module__", None) != _PMAP:
        return None
    while frame is not None and not (frame.f_globals.get("__name__") == _PMAP and frame.f_code.co_name == "wrapped"):
        frame = frame.f_back
    if frame is None or "infer_params" not in frame.f_locals:
        return None
    local = frame.f_locals
    fun = _free(local["infer_params"])["wrapped_fun"].f

    def pmapped() -> Any:
        # A frame doesn't tell which function runs in it; of those with its code one closes over the same.
        return next(f for f in gc.get_referrers(frame.f_code) if isinstance(f, types.FunctionType) and _free(f).get("infer_params") is local["infer_params"])
    return PmapCall(fun, tuple(local["args"]), dict(local["kwargs"]), pmapped, frame)
