# SPDX-License-Identifier: Apache-2.0
"""Primitives that are none of JAX's: what their libraries registered for them, as jaxprs.

Such a primitive brings Python for its derivative, its transposition, its batching and its evaluation. Each is traced for the cases that
JAX asks for (`patterns`), or else for the usual ones. What can't be traced (calls of foreign code, rules that raise) has a reason instead.
"""
from __future__ import annotations

import functools
import sys
from typing import Any, Callable, Iterator

import jax

from .. import compat
from ..compat import lowering
from ..document.identity import cells_of

_own: dict[Any, bool] = {}


def is_foreign(primitive: Any) -> bool:
    """Isn't it one of those that JAX's modules hold? What is experimental there (sparse arrays) brings its rules as libraries do."""
    known = _own.get(primitive)
    if known is None:
        for name, module in list(sys.modules.items()):
            if (name.startswith(("jax.", "jaxlib.")) and not _is_experimental(name)) or name == "jax":
                _own.update((v, True) for v in list(vars(module).values()) if isinstance(v, compat.Primitive))
        function = getattr(primitive.abstract_eval, "__module__", None) if "abstract_eval" in vars(primitive) else type(primitive).__module__
        inner = [f.__module__ for _, f in cells_of(primitive.abstract_eval) if callable(f) and getattr(f, "__module__", None)]
        jax_made = all(m.startswith(("jax.", "jax_")) and not _is_experimental(m) for m in (inner or [function or ""]))
        known = _own.setdefault(primitive, jax_made)
    return not known


def _is_experimental(module: str) -> bool:
    return module.startswith("jax.experimental.") and module != "jax.experimental.shard_map"  # JAX's own before 0.7


class CannotTrace(Exception):
    """The library has no such rule, or it isn't traceable; the message is what the user reads."""


def _traced(run: Callable, avals: list[Any]) -> Any:
    return jax.make_jaxpr(run)(*[compat.struct(a) for a in avals])


# ---- Evaluation

def evaluated(eqn: Any) -> Any:
    """The jaxpr that computes the primitive: of its lowering where that traces a function, else of its implementation."""
    primitive, params, avals = eqn.primitive, dict(eqn.params), [v.aval for v in eqn.invars]
    reasons = []
    for found in _evaluations(primitive):
        if isinstance(found, str):
            reasons.append(found)
            continue
        try:
            closed = _traced(lambda *xs: _listed(found(*xs, **params)), avals)
        except Exception as e:
            reasons.append(f"{type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}")
            continue
        if any(e.primitive is primitive and e.params.keys() == params.keys() and all(e.params[k] is params[k] for k in params)
               for e in compat.iterate_eqns(closed.jaxpr)):
            reasons.append("its implementation is its lowering")
        elif [(v.aval.shape, v.aval.dtype) for v in eqn.outvars] == [(a.shape, a.dtype) for a in closed.out_avals]:
            return closed
        else:
            reasons.append("its implementation gives other types")
    raise CannotTrace(f"'{primitive}' is foreign code: {'; '.join(reasons) or 'it has neither implementation nor lowering'}")


def _listed(out: Any) -> list[Any]:
    return list(out) if isinstance(out, (tuple, list)) else [out]


def _evaluations(primitive: Any) -> Iterator[Any]:
    for rule in lowering.lowering_rules(primitive):
        found = _lowered_function(rule)
        yield found if found is not None else functools.partial(_rearranged, rule)
    if "impl" in vars(primitive):
        yield primitive.impl


def _lowered_function(rule: Any) -> Any:
    """The function that `mlir.lower_fun` traces."""
    todo, seen = [rule], 0
    while todo and seen < 16:
        f, seen = todo.pop(0), seen + 1
        if getattr(f, "__qualname__", "").startswith("lower_fun."):
            return next(c for name, c in cells_of(f) if name == "fun")
        inner = getattr(f, "__wrapped__", None) or getattr(f, "func", None)
        todo += [inner] if inner is not None else [c for _, c in cells_of(f) if callable(c)]
    return None


class _Operand:
    """Stands for an operand in a lowering: whoever does more with it than hand it on fails."""
    __slots__ = ("number",)

    def __init__(self, number: int):
        self.number = number


def _rearranged(rule: Callable, *xs: Any, **params: Any) -> list[Any]:
    """A lowering that gives its operands back (tags, checks that were removed)."""
    operands = [_Operand(i) for i in range(len(xs))]
    try:
        out = _listed(rule(None, *operands, **params))
    except Exception:
        out = [None]
    flat = [o[0] if isinstance(o, (tuple, list)) and len(o) == 1 else o for o in out]
    if not all(isinstance(o, _Operand) for o in flat):
        raise CannotTrace("its lowering writes the compiler's code itself")
    return [xs[o.number] for o in flat]


# ---- Derivative, transposition, batching: the jaxpr, and which results aren't there

def differentiated(eqn: Any, perturbed: tuple[bool, ...]) -> tuple[Any, list[bool]]:
    primitive, params, avals = eqn.primitive, dict(eqn.params), [v.aval for v in eqn.invars]
    rule = compat.JVP_RULES.get(primitive)
    if rule is None:
        raise CannotTrace(f"Differentiation rule for '{primitive}' not implemented")
    tangent_avals = [compat.tangent_aval(a) for a in avals]
    zeros: list[bool] = []

    def run(*flat: Any) -> list[Any]:
        given = iter(flat[len(avals):])
        tangents = [next(given) if p else compat.zero(t) for p, t in zip(perturbed, tangent_avals)]
        outs, dys = rule(tuple(flat[:len(avals)]), tuple(tangents), **params)
        outs, dys = (list(outs), list(dys)) if primitive.multiple_results else ([outs], [dys])
        zeros[:] = [_is_zero(t) for t in dys]
        return outs + [t for t, z in zip(dys, zeros) if not z]
    closed = _traced(run, avals + [t for t, p in zip(tangent_avals, perturbed) if p])
    return closed, list(zeros)


def linearized(eqn: Any, perturbed: tuple[bool, ...]) -> tuple[tuple[Any, list[bool]], tuple[Any, list[bool]]]:
    """What JAX's linearize makes of the derivative: its known half, which gives results and residuals, and its linear half.

    JAX runs the rule in Python each time, so what is a number to it (a factor 2) may be a residual where a traced rule has a literal."""
    primitive, params, avals = eqn.primitive, dict(eqn.params), [v.aval for v in eqn.invars]
    rule = compat.linearize_rule(primitive)
    tangent_avals = [compat.tangent_aval(a) for a in avals]
    found: dict[str, Any] = {}

    def known(*primals: Any) -> list[Any]:
        outs, nonzero, residuals, linear = rule(True, list(perturbed), *primals, **params)
        outs, nonzero = (list(outs), list(nonzero)) if primitive.multiple_results else ([outs], [nonzero])
        leaves, tree = jax.tree_util.tree_flatten(residuals)
        found.update(linear=linear, nonzero=nonzero, tree=tree)
        return outs + leaves

    def linear(*flat: Any) -> list[Any]:
        n = found["tree"].num_leaves
        given = iter(flat[n:])
        tangents = [next(given) if p else compat.zero(t) for p, t in zip(perturbed, tangent_avals)]
        dys = _listed(found["linear"](jax.tree_util.tree_unflatten(found["tree"], flat[:n]), *tangents))
        found["zeros"] = [_is_zero(t) for t in dys]
        return [t for t, z in zip(dys, found["zeros"]) if not z]
    first = _traced(known, avals)
    second = _traced(linear, [*first.out_avals[len(eqn.outvars):], *[t for t, p in zip(tangent_avals, perturbed) if p]])
    return (first, []), (second, list(found["zeros"]))


def transposed(eqn: Any, linear: tuple[bool, ...], zero_cotangents: tuple[bool, ...]) -> tuple[Any, list[bool]]:
    primitive, params, avals = eqn.primitive, dict(eqn.params), [v.aval for v in eqn.invars]
    rule = compat.TRANSPOSE_RULES.get(primitive)
    if rule is None:
        raise CannotTrace(f"Transpose rule (for reverse-mode differentiation) for '{primitive}' not implemented")
    cotangents = [compat.cotangent_aval(v.aval) for v in eqn.outvars]
    zeros: list[bool] = []

    def run(*flat: Any) -> list[Any]:
        given = iter(flat)
        args = [compat.linear_input(a) if l else next(given) for a, l in zip(avals, linear)]
        cts = [compat.zero(a) if z else next(given) for a, z in zip(cotangents, zero_cotangents)]
        out = rule(cts if primitive.multiple_results else cts[0], *args, **params)
        out = [None] * sum(linear) if isinstance(out, type) else [o for o, l in zip(out, linear) if l]
        zeros[:] = [compat.is_no_cotangent(o) for o in out]
        return [o for o, z in zip(out, zeros) if not z]
    closed = _traced(run, [a for a, l in zip(avals, linear) if not l] + [a for a, z in zip(cotangents, zero_cotangents) if not z])
    return closed, list(zeros)


def mapped(eqn: Any, size: int, dims: tuple[int | None, ...]) -> tuple[Any, list[int | None]]:
    primitive, params, avals = eqn.primitive, dict(eqn.params), [v.aval for v in eqn.invars]
    if not compat.has_batch_rule(primitive):
        raise CannotTrace(f"Batching rule for '{primitive}' not implemented")
    out_dims: list[int | None] = []

    def run(*xs: Any) -> list[Any]:
        outs, found = compat.apply_batch_rule(primitive, size, xs, dims, params)
        outs, found = (list(outs), list(found)) if primitive.multiple_results else ([outs], [found])
        out_dims[:] = [d if isinstance(d, int) else None for d in found]
        return outs
    closed = _traced(run, [a if d is None else _with_axis(a, d, size) for a, d in zip(avals, dims)])
    return closed, list(out_dims)


def _with_axis(aval: Any, at: int, size: int) -> Any:
    return compat.ShapedArray((*aval.shape[:at], size, *aval.shape[at:]), aval.dtype, weak_type=getattr(aval, "weak_type", False))


def _is_zero(t: Any) -> bool:
    return compat.is_zero(t) or compat.is_float0(t)
