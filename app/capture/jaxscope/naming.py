# SPDX-License-Identifier: Apache-2.0
"""Names of functions, arguments and leaves, as JAX's own messages write them."""
from __future__ import annotations

import functools
import re
import sys
from typing import Any, Iterable

import jax

from . import compat


def function_name(fn: Any) -> str:
    while isinstance(fn, functools.partial):
        fn = fn.func
    name = getattr(fn, "__name__", None)
    return name if isinstance(name, str) else type(fn).__name__


def argument_names(fn: Any, count: int, keywords: Iterable[str] = ()) -> list[str]:
    """Of `count` positional arguments, then of those passed by `keywords`, in this order.

    A signature that doesn't take such a call is another function's, which a decorator passes on: JAX then goes by none."""
    words = list(keywords)
    sig = compat.signature(fn)
    if sig is None or not _takes(sig, count, words):
        return [f"args[{i}]" for i in range(count)] + [f"kwargs['{k}']" for k in words]
    # The name of `**kw` is among them: an argument that is called kw, too, has this name in JAX.
    own = {name for name, p in sig.parameters.items() if p.kind not in (p.POSITIONAL_ONLY, p.VAR_POSITIONAL)}
    rest = next((name for name, p in sig.parameters.items() if p.kind is p.VAR_KEYWORD), None)
    return positional_names(fn, count) + [k if k in own else f"{rest}['{k}']" for k in words]


def differentiated_names(fn: Any, count: int, keywords: Iterable[str] = ()) -> list[str]:
    """Those of the user's function, whose signature a library shows that passes a keyword of its own (Haiku its state)."""
    words = list(keywords)
    sig = compat.signature(fn)
    known = [k for k in words if sig is None or k in sig.parameters or any(p.kind is p.VAR_KEYWORD for p in sig.parameters.values())]
    names = argument_names(fn, count, known)
    of_word = dict(zip(known, names[count:]))
    return names[:count] + [of_word.get(k, k) for k in words]


def _takes(sig: Any, count: int, keywords: list[str]) -> bool:
    try:
        sig.bind(*range(count), **dict.fromkeys(keywords))
    except (TypeError, ValueError):
        return False
    return True


def positional_names(fn: Any, count: int) -> list[str]:
    """As the signature has them even if it doesn't take the call: jit finds by it what donate_argnames means."""
    sig = compat.signature(fn)
    names: list[str] = []
    for name, p in sig.parameters.items() if sig is not None else ():
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
            names.append(name)
        elif p.kind is p.VAR_POSITIONAL:
            names += [f"{name}[{i}]" for i in range(count - len(names))]
    return names[:count] + [f"args[{i}]" for i in range(len(names), count)]


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
