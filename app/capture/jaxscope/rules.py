"""Rules of custom primitives, traced to jaxprs: the table `custom_rules`, filled while equations are written.

A rule may use its own primitive (relu's does), so an entry has its number before its jaxpr is known: entries are found by
key, traced from a queue, and an equation inside a rule finds the entry that is already there.
"""
from __future__ import annotations

import contextlib
from typing import Any, Callable, Iterator

import jax
import numpy as np

from . import compat, naming, older, patterns
from .tables import Tables


class Rules:
    def __init__(self, tables: Tables, encode: Callable[..., int], max_depth: int):
        self.tables, self.encode, self.max_depth = tables, encode, max_depth
        self.items: list[dict[str, Any]] = []
        self._index: dict[Any, int] = {}
        self._by_object: dict[Any, int] = {}
        self._alive: list[Any] = []
        self._queue: list[tuple[int, Callable[[], dict[str, Any]], int, Any]] = []
        self._depth = 0
        self._closed = False
        self._last_forward: tuple[Any, Any] = (None, None)

    def index_of(self, eqn: Any, param: str) -> int | None:
        kind = _KINDS.get((eqn.primitive.name.removesuffix("_jaxpr"), param))
        if kind is None:
            return None
        value = older.parameters(eqn)[param]
        hit = self._by_object.get((id(value), kind))
        if hit is not None:
            return hit
        avals = _rule_avals(eqn)
        function, static, identity = _identity(value)
        symbolic = bool(eqn.params.get("symbolic_zeros", False))
        key = (kind, identity, tuple(self.tables.aval(a) for a in avals), symbolic)
        every = (True,) * len(avals)
        index = self._entry(kind, key, every, function, static, avals, eqn, None)
        for pattern in _patterns_met(eqn, kind, len(avals)) if symbolic else ():
            if pattern != every:
                self._entry(kind, key, pattern, function, static, avals, eqn, index)
        self._by_object[(id(value), kind)] = index
        self._alive.append((value, eqn))
        return index

    def _entry(self, kind: str, key: Any, perturbed: tuple[bool, ...], function: str, static: list[Any], avals: list[Any], eqn: Any,
               variant_of: int | None) -> int:
        index = self._index.get((key, perturbed))
        if index is None:
            index = self._index[(key, perturbed)] = len(self.items)
            item = {"kind": kind, "function": function, "static": self._text(static),
                    "avals": [self.tables.aval(a) for a in avals], "perturbed": list(perturbed),
                    "symbolic_zeros": bool(eqn.params.get("symbolic_zeros", False)), "zero_cotangents": None, "jaxpr": None}
            if variant_of is not None:
                item["variant_of"] = variant_of
            self.items.append(item)
            if self._closed:
                item["why"] = "only the marked program uses it, which is not differentiated"
                return index
            together = (id(eqn.params.get("fwd_jaxpr_thunk")), perturbed) if "fwd_jaxpr_thunk" in eqn.params else index
            self._queue.append((index, lambda: _TRACERS[kind](self, eqn, avals, perturbed), self._depth + 1, together))
        return index

    def _text(self, static: list[Any]) -> str:
        words = ", ".join(_described(v, str) for v in static)
        return f"({' '.join(self.tables.paths.in_text(words).split())})"[:STATIC_TEXT]

    @contextlib.contextmanager
    def closed(self) -> Iterator[None]:
        """Inside, rules that weren't met before are named but not traced."""
        self._closed = True
        try:
            yield
        finally:
            self._closed = False

    def finish(self) -> None:
        """Trace what is queued, and what that leads to."""
        while self._queue:
            batch, self._queue = self._queue, []
            self._trace_all(batch)
        self._depth = 0

    def _trace_all(self, batch: list[tuple[int, Callable[[], dict[str, Any]], int, Any]]) -> None:
        # A backward rule needs its forward rule traced just before: the two stand side by side.
        order = {together: n for n, (_, _, _, together) in reversed(list(enumerate(batch)))}
        for index, trace, depth, _ in sorted(batch, key=lambda row: order[row[3]]):
            item = self.items[index]
            if depth > self.max_depth:
                item["why"] = f"deeper than {self.max_depth} rules inside rules: capture again with a larger --rule-depth"
                continue
            self._depth = depth
            try:
                item.update(trace())
            except Exception as e:
                item["why"] = self.tables.paths.in_text(f"{type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}")[:500]

    def _forward(self, eqn: Any, perturbed: tuple[bool, ...]) -> tuple[Any, Any]:
        thunk = eqn.params["fwd_jaxpr_thunk"]
        if self._last_forward[0] != (id(thunk), perturbed):
            out = _met(thunk, perturbed)
            if out is None:
                # The trees of the residuals are those of the tracing before: a remembered jaxpr would come without its trees.
                for memory in _memories(thunk):
                    memory.clear()
                out = getattr(thunk, "call_wrapped", thunk)(*perturbed)
            self._last_forward = ((id(thunk), perturbed), tuple(out[:2]))
        return self._last_forward[1]

    # --- one method for each kind; each returns what is to be put into the entry
    def custom_jvp(self, eqn: Any, avals: list[Any], perturbed: tuple[bool, ...]) -> dict[str, Any]:
        fun = older.parameters(eqn)["jvp_jaxpr_fun"]
        in_zeros = tuple(not p for p in perturbed)
        met = _met(fun, in_zeros)
        if met is None:
            for memory in _memories(fun):  # remembered from a differentiation, its equations would stand at the call, not in the rule
                memory.clear()
        call = getattr(fun, "call_wrapped", fun)
        jaxpr, consts, out_zeros = call(*in_zeros) if met is None else met
        return {"jaxpr": self.encode(jaxpr, list(consts)), "out_zeros": [bool(z) for z in out_zeros]}

    def custom_vjp_fwd(self, eqn: Any, avals: list[Any], perturbed: tuple[bool, ...]) -> dict[str, Any]:
        jaxpr, consts = self._forward(eqn, perturbed)
        n_out = _n_out(eqn)
        n_res = len(jaxpr.outvars) - n_out
        _, _, forwards = _out_trees(eqn)
        # JAX's own order is residuals, then outputs.
        turned = jaxpr.replace(outvars=[*jaxpr.outvars[n_res:], *jaxpr.outvars[:n_res]], **compat.named(jaxpr, results=[""] * len(jaxpr.outvars)))
        shift = int(eqn.params.get("num_consts", 0))
        return {"jaxpr": self.encode(turned, list(consts)),
                "input_forwards": [None if f is None else f - shift for f in forwards] if forwards is not None else None}

    def custom_vjp_bwd(self, eqn: Any, avals: list[Any], perturbed: tuple[bool, ...]) -> dict[str, Any]:
        jaxpr, _ = self._forward(eqn, perturbed)
        out_tree, res_tree, forwards = _out_trees(eqn)
        n_out = _n_out(eqn)
        pruned = iter(jaxpr.outvars[:len(jaxpr.outvars) - n_out])
        shift = int(eqn.params.get("num_consts", 0))
        res = [next(pruned) if f is None else avals[f - shift] for f in forwards] if forwards is not None else list(pruned)
        # A residual that is a number to the forward rule is one to the backward rule too, which may branch on it.
        known = {i: _python_number(r) for i, r in enumerate(res) if isinstance(r, compat.Literal)}
        structs = [_struct(r.aval if hasattr(r, "aval") else r) for r in res]
        cts = [compat.cotangent_aval(_tangent(v.aval)) for v in _body(eqn).outvars]
        bwd = eqn.params["bwd"]
        for f in _thunks(bwd):
            for store in getattr(f, "stores", ()):
                if store:
                    store.reset()
        zeros: list[bool] = []

        def run(res: Any, cts: Any) -> Any:
            res = [known.get(i, r) for i, r in enumerate(res)]
            outs = bwd.call_wrapped(*res, *cts) if hasattr(bwd, "call_wrapped") else bwd(*res, *cts)
            zeros[:] = [compat.is_zero(o) for o in outs]
            return [o for o in outs if not compat.is_zero(o)]
        closed = jax.make_jaxpr(run)(structs, [_struct(a) for a in cts])
        return {"jaxpr": self.encode(closed.jaxpr, list(closed.consts)), "out_zeros": list(zeros), "zero_cotangents": [False] * len(cts)}

    def custom_vmap(self, eqn: Any, avals: list[Any], perturbed: tuple[bool, ...]) -> dict[str, Any]:
        """The rule gets the size of the axis, and may do another thing for each: it is traced for one, with every argument batched."""
        rule, in_tree = eqn.params["rule"], eqn.params["in_tree"]
        batched: list[bool] = []

        def run(*flat: Any) -> list[Any]:
            args = jax.tree_util.tree_unflatten(in_tree, flat)
            out, out_batched = rule(VMAP_SIZE, list(jax.tree_util.tree_unflatten(in_tree, [True] * len(flat))), *args)
            batched[:] = map(bool, jax.tree_util.tree_leaves(out_batched))
            return jax.tree_util.tree_leaves(out)
        closed = jax.make_jaxpr(run)(*[jax.ShapeDtypeStruct((VMAP_SIZE, *a.shape), a.dtype) for a in avals])
        return {"jaxpr": self.encode(closed.jaxpr, list(closed.consts)), "axis_size": VMAP_SIZE, "in_batched": [True] * len(avals),
                "out_batched": list(batched)}


STATIC_TEXT = 300  # characters of a rule's static arguments that are shown
VMAP_SIZE = 2  # of the axis that custom_vmap rules are traced for
_KINDS = {("custom_jvp_call", "jvp_jaxpr_fun"): "custom_jvp",
          ("custom_vjp_call", "fwd_jaxpr_thunk"): "custom_vjp_fwd", ("custom_vjp_call", "bwd"): "custom_vjp_bwd",
          ("custom_vmap_call", "rule"): "custom_vmap"}
_TRACERS: dict[str, Callable] = {"custom_jvp": Rules.custom_jvp, "custom_vjp_fwd": Rules.custom_vjp_fwd,
                                 "custom_vjp_bwd": Rules.custom_vjp_bwd, "custom_vmap": Rules.custom_vmap}


def _met(thunk: Any, pattern: tuple[bool, ...]) -> Any | None:
    return patterns.traced((c for f in _thunks(thunk) for c in _cells(f)), pattern)


def _memories(thunk: Any) -> list[dict[Any, Any]]:
    """What JAX's thunks remember: patterns of perturbed inputs to jaxprs."""
    return [c for f in _thunks(thunk) for name, c in _cells(f) if name == "cells" and isinstance(c, dict)]


def _patterns_met(eqn: Any, kind: str, n: int) -> list[tuple[bool, ...]]:
    """Which inputs were perturbed where JAX asked for this rule. A backward rule goes with a forward one: same patterns."""
    thunk = eqn.params.get("fwd_jaxpr_thunk") or older.parameters(eqn).get("jvp_jaxpr_fun")
    met = {k for memory in _memories(thunk) for k in memory
           if isinstance(k, tuple) and len(k) == n and all(isinstance(b, bool) for b in k)}
    # custom_jvp's thunk takes which are zero, custom_vjp's which are not.
    return sorted(k if kind.startswith("custom_vjp") else tuple(not b for b in k) for k in met)


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


def _out_trees(eqn: Any) -> tuple[Any, Any, Any]:
    trees = eqn.params["out_trees"]()
    return (*trees, None) if len(trees) == 2 else trees


def _tangent(aval: Any) -> Any:
    return aval.to_tangent_aval() if hasattr(aval, "to_tangent_aval") else aval.at_least_vspace()


def _struct(aval: Any) -> Any:
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype, **({"weak_type": True} if getattr(aval, "weak_type", False) else {}))


def _identity(value: Any) -> tuple[str, list[Any], Any]:
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


def _cells(f: Any) -> Iterator[tuple[str, Any]]:
    for name, cell in zip(getattr(getattr(f, "__code__", None), "co_freevars", ()), getattr(f, "__closure__", None) or ()):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not bound yet
            continue


def _is_wrapped(f: Any) -> bool:
    return hasattr(f, "transforms") and hasattr(f, "f")


def _thunks(value: Any) -> Iterator[Any]:
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
        todo += [c for _, c in _cells(f) if _is_wrapped(c) or callable(c) and (hasattr(c, "__closure__") or hasattr(c, "__self__"))]


def _wrapped_functions(value: Any, path: list[Any]) -> Iterator[Any]:
    """The linear_util.WrappedFun around the user's rule, which JAX keeps in the cells of its thunks.

    `path` collects what happened to the rule on the way, which makes another rule of it: batching (axis size, which
    arguments), outputs dropped by dead code elimination, the trees of its arguments."""
    for f in _thunks(value):
        path += [tuple(c) for name, c in _cells(f) if name == "used_outs"]
        if _is_wrapped(f):
            path += [p for transform, args in f.transforms
                     if not getattr(transform, "__name__", "").startswith("process_env_traces") and (p := _plain_arguments(args))]
            if not getattr(f.f, "__qualname__", "").startswith(("lift_", "_memoize")) and f.transforms:
                yield f


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


def _described(v: Any, text: Callable[[Any], str] = repr) -> str:
    """As Python shows it, but for objects that can be called: libraries' modules print all that they hold, jaxprs too."""
    if type(v) in (tuple, list):
        inside = ", ".join(map(_described, v)) + ("," if type(v) is tuple and len(v) == 1 else "")
        return f"({inside})" if type(v) is tuple else f"[{inside}]"
    if type(v) is dict:
        return "{" + ", ".join(f"{k!r}: {_described(e)}" for k, e in v.items()) + "}"
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


def _python_number(lit: Any) -> Any:
    a = np.asarray(lit.val)
    return a.item() if a.dtype == bool or getattr(lit.aval, "weak_type", False) else a[()]
