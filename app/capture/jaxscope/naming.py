# SPDX-License-Identifier: Apache-2.0
"""Names of functions, arguments and leaves, as JAX's own messages write them."""
from __future__ import annotations

import functools
import re
import sys
from typing import Any

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


def keystr(path: Any) -> str:
    """A path as JAX's residual lists write it: children of nodes without keys by their number."""
    return re.sub(r"\[<flat index (\d+)>\]", r"[\1]", jax.tree_util.keystr(path))


def leaf_paths(name: str, tree: Any) -> list[tuple[str, Any]]:
    """Leaves with their names, in JAX's order."""
    out = []
    for p, node in jax.tree_util.tree_flatten_with_path(tree, is_leaf=_is_split_module)[0]:
        prefix = name + keystr(p)
        inside = _module_paths(node) if _is_split_module(node) else None
        if inside is None:
            out += [(prefix + keystr(q), leaf) for q, leaf in jax.tree_util.tree_flatten_with_path(node)[0]]
        else:
            out += [(prefix + path, leaf) for path, leaf in zip(inside, jax.tree_util.tree_leaves(node))]
    return out


def _is_split_module(x: Any) -> bool:
    """What nnx.jit passes in the place of a module: its graph and its arrays in a list without names."""
    return type(x).__name__ == "NodeStates" and type(x).__module__.startswith("flax.nnx")


def _module_paths(node: Any) -> list[str] | None:
    """Numbers put into the module in the place of its arrays come out again with their paths."""
    count = len(jax.tree_util.tree_leaves(node))
    try:
        nnx = sys.modules["flax.nnx"]
        graph = node._graphdef.with_no_outer_index() if hasattr(node._graphdef, "with_no_outer_index") else node._graphdef
        module = nnx.merge(graph, [str(i) for i in range(count)])
        found = {v: keystr(p) for p, v in jax.tree_util.tree_flatten_with_path(nnx.state(module))[0]}
        return [found[str(i)] for i in range(count)]
    except Exception:  # another version of Flax: the leaves keep their positions as names
        return None


_NODE_STATES = re.compile(r"^(\.states\[\d+\]|\[<flat index \d+>\]|\._?states?)+")


def nnx_path(path: str) -> str:
    """`model` is split into graph definition and states before it is differentiated; the user knows the model only."""
    return _NODE_STATES.sub("", path)
