# SPDX-License-Identifier: Apache-2.0
"""What makes two rules the same one: the user's Python function, what is bound to it, what transformations made of it.

JAX keeps a rule in the cells of thunks in the parameters of an equation; each equation has new thunks around the same function.
"""
from __future__ import annotations

import contextlib
from typing import Any, Callable, Iterator

import jax

from .. import compat, naming


def identity(value: Any) -> tuple[str, list[Any], Any]:
    """(name, static arguments, key) of a rule: its Python function and what is bound to it, dug out of closures."""
    path: list[Any] = []
    wrapped = next(_wrapped_functions(value, path), None)
    info = getattr(value, "debug_info", None) or getattr(wrapped, "debug_info", None)
    function = getattr(wrapped.f, "__func__", wrapped.f) if wrapped is not None else value
    name = info.func_src_info.split(" ")[0] if getattr(info, "func_src_info", None) else naming.function_name(function)
    if wrapped is None:
        return name, [], id(value)
    statics = _static_arguments(wrapped)
    key = (id(function), tuple(_static_key(s) for s in statics), tuple(path))
    return name, statics, key


def cells_of(f: Any) -> Iterator[tuple[str, Any]]:
    for name, cell in zip(getattr(getattr(f, "__code__", None), "co_freevars", ()), getattr(f, "__closure__", None) or ()):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not bound yet
            continue


def _is_wrapped(f: Any) -> bool:
    return hasattr(f, "transforms") and hasattr(f, "f")


def thunks(value: Any) -> Iterator[Any]:
    """Everything callable between the parameter of an equation and the user's rule, from outside in."""
    todo, seen = [value], set()
    while todo and len(seen) < 64:
        f = todo.pop(0)
        if id(f) in seen:
            continue
        seen.add(id(f))
        yield f
        if _is_wrapped(f):
            todo.append(f.f)
        elif _is_wrapped(getattr(f, "__self__", None)):
            todo.append(f.__self__)
        todo += [c for _, c in cells_of(f) if _is_wrapped(c) or callable(c) and (hasattr(c, "__closure__") or hasattr(c, "__self__"))]


def evaluated_from_jaxpr(value: Any) -> bool:
    """Was the call evaluated from the jaxpr of another one, rather than made by the user's Python? JAX lifts its rule then."""
    return any(getattr(f, "__qualname__", "").startswith(("lift_jvp", "lift_fwd")) for f in thunks(value))


def made_by_rule(eqn: Any) -> bool:
    """Did the user's rule make this equation of its jaxpr, or does it evaluate a jaxpr that was there before? JAX keeps the place of the latter
    wherever the rule stands."""
    frames = compat.raw_frames(eqn.source_info)
    return not frames or any(code.co_name in _AROUND_RULES and code.co_filename.startswith(compat.JAX_DIR) for code, _ in frames)


_AROUND_RULES = ("_flatten_jvp", "_flatten_fwd", "_flatten_bwd")


def inlined(value: Any, jaxpr: Any) -> bool:
    """Did the call come into this jaxpr with the body of a jit(inline=True)? The trace in which Python made it is that of another function."""
    for f in thunks(value):
        for name, cell in cells_of(f):
            frame = getattr(cell, "frame", None) if name == "self" else None
            made_in = compat.debug_source(getattr(frame, "debug_info", None))
            if made_in:
                return made_in != (compat.debug_source(getattr(jaxpr, "debug_info", None)) or made_in)
    return False


def _wrapped_functions(value: Any, path: list[Any]) -> Iterator[Any]:
    """The linear_util.WrappedFun around the user's rule, which JAX keeps in the cells of its thunks.

    `path` collects what happened to the rule on the way, which makes another rule of it: batching (axis size, which
    arguments), outputs dropped by dead code elimination, the trees of its arguments."""
    for f in thunks(value):
        cells = dict(cells_of(f))
        path += [tuple(cells["used_outs"])] if "used_outs" in cells else []
        # What vmap makes of a backward rule keeps it in a function's cells, not in its transformations.
        path += [p for p in [_plain_arguments((cells.get("axis_data"), tuple(cells["out_dim_dests"])))] if p] if "out_dim_dests" in cells else []
        if _is_wrapped(f):
            path += [p for transform, args in f.transforms
                     if not getattr(transform, "__name__", "").startswith("process_env_traces") and (p := _plain_arguments(args))]
            if not getattr(f.f, "__qualname__", "").startswith(("lift_", "_memoize", "batch_custom_vjp_bwd")) and f.transforms:
                yield f


def batch_axes(key: Any) -> tuple:
    """Of a key of `identity`: what vmap made of the rule."""
    return tuple(p for p in key[2] if any(isinstance(a, tuple) and a and a[0] == "axis" for a in p)) if isinstance(key, tuple) else ()


def _plain_arguments(args: Any) -> tuple:
    """What tells two uses of one transformation apart, without what is new in every trace (tags, stores)."""
    out = []
    for a in args if isinstance(args, tuple) else ():
        if type(a).__name__ == "AxisData":
            out.append(("axis", str(getattr(a, "name", None)) if isinstance(getattr(a, "name", None), str) else None, a.size))
        elif a is None or isinstance(a, (bool, int, str)) or type(a).__name__ == "PyTreeDef":
            out.append(a)
        elif isinstance(a, tuple) and all(e is None or isinstance(e, (bool, int)) for e in a):
            out.append(a)
    return tuple(out)


def _static_arguments(wrapped: Any) -> list[Any]:
    out: list[Any] = []
    for _, args in wrapped.transforms:
        for a in args if isinstance(args, tuple) else ():
            if isinstance(a, tuple) and a and all(hasattr(e, "val") for e in a):
                out += [e.val for e in a]
    return out


def described(v: Any, text: Callable[[Any], str] = repr) -> str:
    """As Python shows it, but for objects that can be called: libraries' modules print all that they hold, jaxprs too."""
    if type(v) in (tuple, list):
        inside = ", ".join(map(described, v)) + ("," if type(v) is tuple and len(v) == 1 else "")
        return f"({inside})" if type(v) is tuple else f"[{inside}]"
    if type(v) is dict:
        return "{" + ", ".join(f"{k!r}: {described(e)}" for k, e in v.items()) + "}"
    try:
        return naming.function_name(v) if callable(v) and not isinstance(v, type) else text(v)
    except Exception as e:
        return f"<{type(v).__name__}: {type(e).__name__}>"


def _static_key(v: Any) -> Any:
    """Equal for equal static arguments: trees of them are new in every call, their leaves are not."""
    try:
        leaves, tree = jax.tree_util.tree_flatten(v)
        key = (tree, tuple(_leaf_key(x) for x in leaves))
        hash(key)
        return key
    except Exception:
        return id(v)


def _leaf_key(x: Any) -> Any:
    return (type(x).__name__, x) if isinstance(x, (bool, int, float, str, bytes)) or x is None else id(x)


def memories(thunk: Any) -> list[dict[Any, Any]]:
    """What JAX's thunks remember: patterns of perturbed inputs to jaxprs."""
    return [c for f in thunks(thunk) for name, c in cells_of(f) if name == "cells" and isinstance(c, dict)]


@contextlib.contextmanager
def forgotten(thunk: Any) -> Iterator[None]:
    """Inside, the thunk remembers nothing; behind it, what it did before. JAX keeps thunks with functions that it traced once, and would
    go on with equations that stand where we asked."""
    before = [(memory, dict(memory)) for memory in memories(thunk)]
    for memory, _ in before:
        memory.clear()
    try:
        yield
    finally:
        for memory, content in before:
            memory.clear()
            memory.update(content)
