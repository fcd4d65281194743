"""Rules of custom primitives, traced to jaxprs: the table `custom_rules`, filled while equations are written.

A rule may use its own primitive (relu's does), so an entry has its number before its jaxpr is known: entries are found by
key, traced from a queue, and an equation inside a rule finds the entry that is already there.
"""
from __future__ import annotations

from collections import deque
from typing import Any, Callable

import jax
import numpy as np

from . import compat, naming
from .tables import Tables


class Rules:
    def __init__(self, tables: Tables, encode: Callable[..., int], max_depth: int):
        self.tables, self.encode, self.max_depth = tables, encode, max_depth
        self.items: list[dict[str, Any]] = []
        self._index: dict[Any, int] = {}
        self._by_object: dict[Any, int] = {}
        self._alive: list[Any] = []
        self._queue: deque[tuple[int, Callable[[], dict[str, Any]], int]] = deque()
        self._depth = 0

    def index_of(self, eqn: Any, param: str) -> int | None:
        kind = _KINDS.get((eqn.primitive.name.removesuffix("_jaxpr"), param))
        if kind is None:
            return None
        value = eqn.params[param]
        hit = self._by_object.get((id(value), kind))
        if hit is not None:
            return hit
        avals = _rule_avals(eqn)
        function, static, key = _identity(value)
        key = (kind, key, tuple(self.tables.aval(a) for a in avals), bool(eqn.params.get("symbolic_zeros", False)))
        index = self._index.get(key)
        if index is None:
            index = self._index[key] = len(self.items)
            self.items.append(self._blank(kind, function, static, avals, eqn))
            self._queue.append((index, lambda: _TRACERS[kind](self, eqn, avals), self._depth + 1))
        self._by_object[(id(value), kind)] = index
        self._alive.append((value, eqn))
        return index

    def _blank(self, kind: str, function: str, static: str, avals: list[Any], eqn: Any) -> dict[str, Any]:
        return {"kind": kind, "function": function, "static": " ".join(self.tables.paths.in_text(static).split())[:300],
                "avals": [self.tables.aval(a) for a in avals], "perturbed": [True] * len(avals),
                "symbolic_zeros": bool(eqn.params.get("symbolic_zeros", False)), "zero_cotangents": None, "jaxpr": None}

    def finish(self) -> None:
        """Trace what is queued, and what that leads to."""
        while self._queue:
            index, trace, depth = self._queue.popleft()
            item = self.items[index]
            if depth > self.max_depth:
                item["why"] = f"deeper than {self.max_depth} rules inside rules: capture again with a larger --rule-depth"
                continue
            self._depth = depth
            try:
                item.update(trace())
            except Exception as e:
                item["why"] = self.tables.paths.in_text(f"{type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}")[:500]
        self._depth = 0

    # --- one method for each kind; each returns what is to be put into the entry
    def custom_jvp(self, eqn: Any, avals: list[Any]) -> dict[str, Any]:
        fun = eqn.params.get("jvp_jaxpr_fun") or eqn.params.get("jvp_jaxpr_thunk")
        call = getattr(fun, "call_wrapped", fun)
        jaxpr, consts, out_zeros = call(*[False] * len(avals))
        return {"jaxpr": self.encode(jaxpr, list(consts)), "out_zeros": [bool(z) for z in out_zeros]}

    def custom_vjp_fwd(self, eqn: Any, avals: list[Any]) -> dict[str, Any]:
        jaxpr, consts = _forward(eqn, len(avals))
        n_out = _n_out(eqn)
        n_res = len(jaxpr.outvars) - n_out
        _, _, forwards = _out_trees(eqn)
        # JAX's own order is residuals, then outputs.
        turned = jaxpr.replace(outvars=[*jaxpr.outvars[n_res:], *jaxpr.outvars[:n_res]], **compat.named(jaxpr, results=[""] * len(jaxpr.outvars)))
        shift = int(eqn.params.get("num_consts", 0))
        return {"jaxpr": self.encode(turned, list(consts)),
                "input_forwards": [None if f is None else f - shift for f in forwards] if forwards is not None else None}

    def custom_vjp_bwd(self, eqn: Any, avals: list[Any]) -> dict[str, Any]:
        jaxpr, _ = _forward(eqn, len(avals))
        out_tree, res_tree, forwards = _out_trees(eqn)
        n_out = _n_out(eqn)
        pruned = iter([v.aval for v in jaxpr.outvars[:len(jaxpr.outvars) - n_out]])
        shift = int(eqn.params.get("num_consts", 0))
        res = [next(pruned) if f is None else avals[f - shift] for f in forwards] if forwards is not None else list(pruned)
        cts = [compat.cotangent_aval(_tangent(v.aval)) for v in _body(eqn).outvars]
        bwd = eqn.params["bwd"]
        zeros: list[bool] = []

        def run(res: Any, cts: Any) -> Any:
            outs = bwd.call_wrapped(*res, *cts) if hasattr(bwd, "call_wrapped") else bwd(*res, *cts)
            zeros[:] = [compat.is_zero(o) for o in outs]
            return [o for o in outs if not compat.is_zero(o)]
        closed = jax.make_jaxpr(run)([_struct(a) for a in res], [_struct(a) for a in cts])
        return {"jaxpr": self.encode(closed.jaxpr, list(closed.consts)), "out_zeros": list(zeros), "zero_cotangents": [False] * len(cts)}

    def custom_vmap(self, eqn: Any, avals: list[Any]) -> dict[str, Any]:
        return {"why": "the rule depends on the axis size: it is traced when the program is batched in Python"}


_KINDS = {("custom_jvp_call", "jvp_jaxpr_fun"): "custom_jvp", ("custom_jvp_call", "jvp_jaxpr_thunk"): "custom_jvp",
          ("custom_vjp_call", "fwd_jaxpr_thunk"): "custom_vjp_fwd", ("custom_vjp_call", "bwd"): "custom_vjp_bwd",
          ("custom_vmap_call", "rule"): "custom_vmap"}
_TRACERS: dict[str, Callable] = {"custom_jvp": Rules.custom_jvp, "custom_vjp_fwd": Rules.custom_vjp_fwd,
                                 "custom_vjp_bwd": Rules.custom_vjp_bwd, "custom_vmap": Rules.custom_vmap}


def _body(eqn: Any) -> Any:
    for key in ("call_jaxpr", "fun_jaxpr", "call"):
        if key in eqn.params:
            return getattr(eqn.params[key], "jaxpr", eqn.params[key])
    raise KeyError("no body")


def _n_out(eqn: Any) -> int:
    return len(_body(eqn).outvars)


def _rule_avals(eqn: Any) -> list[Any]:
    """The user's arguments: behind what the body closes over."""
    return [v.aval for v in eqn.invars[int(eqn.params.get("num_consts", 0)):]]


def _forward(eqn: Any, n: int) -> Any:
    thunk = eqn.params["fwd_jaxpr_thunk"]
    call = getattr(thunk, "call_wrapped", thunk)
    jaxpr, consts = call(*[True] * n)[:2]  # named zeros in JAX, but it passes what is perturbed
    return jaxpr, consts


def _out_trees(eqn: Any) -> tuple[Any, Any, Any]:
    trees = eqn.params["out_trees"]()
    return (*trees, None) if len(trees) == 2 else trees


def _tangent(aval: Any) -> Any:
    return aval.to_tangent_aval() if hasattr(aval, "to_tangent_aval") else aval.at_least_vspace()


def _struct(aval: Any) -> Any:
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype, **({"weak_type": True} if getattr(aval, "weak_type", False) else {}))


def _identity(value: Any) -> tuple[str, str, Any]:
    """(name, static arguments as text, key) of a rule: its Python function and what is bound to it, dug out of closures."""
    path: list[Any] = []
    wrapped = _find_wrapped(value, path, 0)
    info = getattr(value, "debug_info", None) or getattr(wrapped, "debug_info", None)
    name = info.func_src_info.split(" ")[0] if getattr(info, "func_src_info", None) else naming.function_name(value)
    if wrapped is None:
        return name, "()", id(value)
    statics = _static_arguments(wrapped)
    function = getattr(wrapped.f, "__func__", wrapped.f)
    key = (id(function), tuple(_static_key(s) for s in statics), tuple(path))
    return name, "(" + ", ".join(map(str, statics)) + ")", key


def _find_wrapped(value: Any, path: list[Any], depth: int) -> Any:
    """The linear_util.WrappedFun around the user's rule, which JAX keeps in the cells of its thunks.

    `path` collects what happened to the rule on the way, which makes another rule of it: batching (axis size, which
    arguments), outputs dropped by dead code elimination, the trees of its arguments."""
    if depth > 24:
        return None
    if hasattr(value, "transforms") and hasattr(value, "f"):
        path += [_plain_arguments(args) for _, args in value.transforms]
        if not getattr(value.f, "__qualname__", "").startswith(("lift_", "_memoize")):
            return value
        value = value.f
    names = getattr(getattr(value, "__code__", None), "co_freevars", ())
    for name, cell in zip(names, getattr(value, "__closure__", None) or ()):
        try:
            content = cell.cell_contents
        except ValueError:
            continue
        if name == "used_outs":
            path.append(tuple(content))
        if hasattr(content, "transforms") and hasattr(content, "f") or hasattr(content, "__closure__") and callable(content):
            found = _find_wrapped(content, path, depth + 1)
            if found is not None:
                return found
    return None


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


def _static_key(v: Any) -> Any:
    try:
        hash(v)
        return (type(v).__name__, v)
    except TypeError:
        return id(v)
