"""Names of functions, arguments and leaves, as JAX's own messages write them."""
from __future__ import annotations

import functools
import inspect
import re
from typing import Any, Callable

import jax

from . import compat


def function_name(fn: Any) -> str:
    while isinstance(fn, functools.partial):
        fn = fn.func
    name = getattr(fn, "__name__", None)
    return name if isinstance(name, str) else type(fn).__name__


def argument_names(fn: Any, count: int) -> list[str]:
    """Names of `count` positional arguments; `arg0`, ... where the function doesn't tell."""
    sig = compat.signature(fn)
    if sig is None:
        return [f"arg{i}" for i in range(count)]
    names: list[str] = []
    for name, p in sig.parameters.items():
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
            names.append(name)
        elif p.kind is p.VAR_POSITIONAL:
            names += [f"{name}[{i}]" for i in range(count - len(names))]
    return names[:count] + [f"arg{i}" for i in range(len(names), count)]


def leaf_paths(name: str, tree: Any) -> list[tuple[str, Any]]:
    return [(name + jax.tree_util.keystr(p), leaf) for p, leaf in jax.tree_util.tree_flatten_with_path(tree)[0]]


_NODE_STATES = re.compile(r"^(\.states\[\d+\]|\[<flat index \d+>\]|\._?states?)+")


def nnx_path(path: str) -> str:
    """`model` is split into graph definition and states before it is differentiated; the user knows the model only."""
    return _NODE_STATES.sub("", path)
