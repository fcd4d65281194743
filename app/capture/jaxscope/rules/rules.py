# SPDX-License-Identifier: Apache-2.0
"""Rules of custom primitives, traced to jaxprs: the table `custom_rules`, filled while equations are written.

A rule may use its own primitive (relu's does), so an entry has its number before its jaxpr is known: entries are found by
key, traced from a queue, and an equation inside a rule finds the entry that is already there.
"""
from __future__ import annotations

import contextlib
import sys
from dataclasses import dataclass
from typing import Any, Callable, Iterator

import jax
import numpy as np

from .. import compat, older, refs
from ..document.identity import described, forgotten, identity, thunks
from ..document.tables import Tables
from .closures import ClosesOver, Origins
from .patterns import Patterns, of_function, perturbed as perturbed_met
from . import foreign
from .applications import Applications
from .memory import Backward, traced


@dataclass(frozen=True)
class Case:
    """How a rule is called. Of a rule that doesn't look at it there is one."""
    perturbed: tuple[bool, ...]
    zero_cotangents: tuple[bool, ...] | None = None
    axis_size: int | None = None
    in_batched: tuple[bool, ...] | None = None


class Rules:
    def __init__(self, tables: Tables, encode: Callable[..., int], max_depth: int, patterns: Patterns):
        self.tables, self.encode, self.max_depth, self.patterns = tables, encode, max_depth, patterns
        self.items: list[dict[str, Any]] = []
        self.origins = Origins()
        self._index: dict[Any, int] = {}
        self._by_object: dict[Any, int] = {}
        self._alive: list[Any] = []
        self._queue: list[tuple[int, Callable[[], dict[str, Any]], int, Any]] = []
        self._depth = 0
        self._closed = False
        self._last_forward: tuple[Any, Any] = (None, None)
        self.applications = Applications(self)

    @property
    def depth(self) -> int:
        """How many rules lead to what is being written: none to the program."""
        return self._depth

    @property
    def only_named(self) -> bool:
        return self._closed

    def queue(self, index: int, trace: Callable[[], dict[str, Any]], deeper: int) -> None:
        self._queue.append((index, trace, self._depth + deeper, index))

    def index_of(self, eqn: Any, param: str) -> int | None:
        kind = _KINDS.get((eqn.primitive.name.removesuffix("_jaxpr"), param))
        if kind is None:
            return None
        value = older.parameters(eqn)[param]
        hit = self._by_object.get((id(value), kind))
        if hit is not None:
            return hit
        avals = _rule_avals(eqn)
        function, static, same = identity(value)
        symbolic = bool(eqn.params.get("symbolic_zeros", False))
        n_consts = _num_consts(eqn)
        key = (kind, same, tuple(self.tables.aval(a) for a in avals), symbolic, self.origins.roots(eqn, n_consts) if n_consts else ())
        first: int | None = None
        for case in self._cases(eqn, kind, len(avals), symbolic):
            index = self._entry(kind, key, case, function, static, avals, eqn, first)
            first = index if first is None else first
        assert first is not None
        self._by_object[(id(value), kind)] = first
        self._alive.append((value, eqn))
        return first

    def _cases(self, eqn: Any, kind: str, n: int, symbolic: bool) -> list[Case]:
        """First the one that equations name, then those that JAX asked for."""
        every = (True,) * n
        if kind == "custom_vmap":
            n_consts = _num_consts(eqn)  # those never have a batch axis
            cases = [Case(every, axis_size=size, in_batched=tuple(m and i >= n_consts for i, m in enumerate(mapped)))
                     for size, mapped in self.patterns.batches(eqn.params["rule"], n)]
            return list(dict.fromkeys(cases))
        of_bwd = kind == "custom_vjp_bwd"
        none = (False,) * _n_out(eqn) if of_bwd else None
        cases = [Case(every, none)]
        for p in [every, *perturbed_met(eqn, kind, n)] if symbolic else ():
            met = self.patterns.zero_cotangents(eqn.params["bwd"], p) if of_bwd else [None]
            cases += [Case(p, zeros) for zeros in met if zeros is None or len(zeros) == _n_out(eqn)]
        return list(dict.fromkeys(cases))

    def _entry(self, kind: str, key: Any, case: Case, function: str, static: list[Any], avals: list[Any], eqn: Any, variant_of: int | None) -> int:
        index = self._index.get((key, case))
        if index is None:
            index = self._index[(key, case)] = len(self.items)
            zeros = None if case.zero_cotangents is None else list(case.zero_cotangents)
            item = {"kind": kind, "function": function, "static": self._text(static),
                    "avals": [self.tables.aval(a) for a in avals], "perturbed": list(case.perturbed),
                    "symbolic_zeros": bool(eqn.params.get("symbolic_zeros", False)), "zero_cotangents": zeros, "jaxpr": None}
            if case.axis_size is not None:
                item.update(axis_size=case.axis_size, in_batched=list(case.in_batched or ()))
            if variant_of is not None:
                item["variant_of"] = variant_of
            self.items.append(item)
            if self._closed:
                item["why"] = "only the marked program uses it, which is not differentiated"
                return index
            together = (id(eqn.params.get("fwd_jaxpr_thunk")), case.perturbed) if "fwd_jaxpr_thunk" in eqn.params else index
            trace = Rules.linear_call if eqn.primitive.name == "linear_call" else _TRACERS[kind]

            def in_place() -> dict[str, Any]:
                with compat.in_shard_map(eqn):
                    return trace(self, eqn, avals, case)
            self._queue.append((index, in_place, self._depth + 1, together))
        return index

    def _text(self, static: list[Any]) -> str:
        words = ", ".join(described(v, str) for v in static)
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
                if isinstance(e, jax.errors.UnexpectedTracerError):  # before 0.6 JAX looks whether a tracer's time is over
                    e = ClosesOver(f"the rule closes over a value of the program, which JAX {jax.__version__} can't trace apart: pass it as an argument")
                if isinstance(e, (ClosesOver, foreign.CannotTrace)):
                    item["why"] = str(e)
                    continue
                item["why"] = self.tables.paths.in_text(f"{type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}")[:500]

    def entry_jaxpr(self, eqn: Any, jaxpr: Any, consts: Any) -> dict[str, Any]:
        """The entry's `jaxpr`, and `closed_over`: values of the program become its leading inputs."""
        pure = refs.discharged(compat.ClosedJaxpr(jaxpr, list(consts)))
        if pure is not None:
            jaxpr, consts = pure.jaxpr, pure.consts
        mine = [isinstance(c, compat.Tracer) for c in consts]
        if not any(mine):
            return {"jaxpr": self.encode(jaxpr, list(consts), eqn)}
        self.origins.opened(jaxpr, consts)
        positions = self.origins.positions(eqn, [c for c, m in zip(consts, mine) if m])
        variables = [v for v, m in zip(jaxpr.constvars, mine) if m]
        names = ["" for _ in variables] + [n or "" for n in compat.argument_names(jaxpr)]
        whole = jaxpr.replace(constvars=[v for v, m in zip(jaxpr.constvars, mine) if not m], invars=[*variables, *jaxpr.invars],
                              **compat.named(jaxpr, arguments=names))
        return {"jaxpr": self.encode(whole, [c for c, m in zip(consts, mine) if not m], eqn), "closed_over": positions}

    def _forward(self, eqn: Any, perturbed: tuple[bool, ...]) -> tuple[Any, Any, tuple[bool, ...]]:
        """The forward rule's jaxpr with its constants, and which arguments it can be perturbed by: where a call is evaluated from a jaxpr,
        the first ones are what its function closed over, and JAX refuses these."""
        for first in range(len(perturbed) + 1):
            allowed = tuple(p and i >= first for i, p in enumerate(perturbed))
            try:
                return (*self._forward_by(eqn, allowed), allowed)
            except compat.CustomVJPException:
                refused = sys.exc_info()[1]
        raise refused

    def _forward_by(self, eqn: Any, perturbed: tuple[bool, ...]) -> tuple[Any, Any]:
        thunk = eqn.params["fwd_jaxpr_thunk"]
        if self._last_forward[0] != (id(thunk), perturbed):
            out = traced(thunk, perturbed)
            if out is None:
                # The trees of the residuals are those of the tracing before: a remembered jaxpr would come without its trees.
                with forgotten(thunk):
                    out = getattr(thunk, "call_wrapped", thunk)(*perturbed)
            self._last_forward = ((id(thunk), perturbed), tuple(out[:2]))
        return self._last_forward[1]

    # --- one method for each kind; each returns what is to be put into the entry
    def custom_jvp(self, eqn: Any, avals: list[Any], case: Case) -> dict[str, Any]:
        fun = older.parameters(eqn)["jvp_jaxpr_fun"]
        in_zeros = tuple(not p for p in case.perturbed)
        met = traced(fun, in_zeros)
        if met is None:
            with forgotten(fun):  # remembered from a differentiation, its equations would stand at the call, not in the rule
                met = getattr(fun, "call_wrapped", fun)(*in_zeros)
        jaxpr, consts, out_zeros = met
        return {**self.entry_jaxpr(eqn, jaxpr, consts), "out_zeros": [bool(z) for z in out_zeros]}

    def custom_vjp_fwd(self, eqn: Any, avals: list[Any], case: Case) -> dict[str, Any]:
        jaxpr, consts, allowed = self._forward(eqn, case.perturbed)
        n_out = _n_out(eqn)
        n_res = len(jaxpr.outvars) - n_out
        _, _, forwards = _out_trees(eqn)
        # JAX's own order is residuals, then outputs.
        turned = jaxpr.replace(outvars=[*jaxpr.outvars[n_res:], *jaxpr.outvars[:n_res]], **compat.named(jaxpr, results=[""] * len(jaxpr.outvars)))
        shift = _num_consts(eqn)
        return {**self.entry_jaxpr(eqn, turned, consts), "perturbed": list(allowed),
                "input_forwards": [None if f is None else f - shift for f in forwards] if forwards is not None else None}

    def custom_vjp_bwd(self, eqn: Any, avals: list[Any], case: Case) -> dict[str, Any]:
        jaxpr, _, _ = self._forward(eqn, case.perturbed)
        out_tree, res_tree, forwards = _out_trees(eqn)
        n_out = _n_out(eqn)
        pruned = iter(jaxpr.outvars[:len(jaxpr.outvars) - n_out])
        shift = _num_consts(eqn)
        res = [next(pruned) if f is None else avals[f - shift] for f in forwards] if forwards is not None else list(pruned)
        # A residual that is a number to the forward rule is one to the backward rule too, which may branch on it.
        known = {i: _python_number(r) for i, r in enumerate(res) if isinstance(r, compat.Literal)}
        avals_of_res = [r.aval if hasattr(r, "aval") else r for r in res]
        zeros = case.zero_cotangents or (False,) * n_out
        cts = [compat.cotangent_aval(compat.tangent_aval(v.aval)) for v in _body(eqn).outvars]
        bwd = eqn.params["bwd"]
        rule = self.patterns.backwards.find(of_function(bwd), case.perturbed, zeros, avals_of_res, cts, known)
        rule = rule or Backward(bwd, avals_of_res, cts, zeros, known)
        # Where JAX itself asked for the rule, it answered for what the function closes over too: with zeros, in front.
        own = rule.out_zeros[len(rule.out_zeros) - len(avals):]
        return {**self.entry_jaxpr(eqn, rule.closed.jaxpr, rule.closed.consts), "out_zeros": own, "zero_cotangents": list(zeros)}

    def custom_vmap(self, eqn: Any, avals: list[Any], case: Case) -> dict[str, Any]:
        """The rule gets the size of the axis and which arguments have it, and may do another thing for each."""
        rule, in_tree, size = eqn.params["rule"], eqn.params["in_tree"], case.axis_size
        mapped = case.in_batched or ()
        batched: list[bool] = []

        def run(*flat: Any) -> list[Any]:
            args = jax.tree_util.tree_unflatten(in_tree, flat)
            out, out_batched = rule(size, list(jax.tree_util.tree_unflatten(in_tree, mapped)), *args)
            batched[:] = map(bool, jax.tree_util.tree_leaves(out_batched))
            return jax.tree_util.tree_leaves(out)
        closed = jax.make_jaxpr(run)(*[compat.struct(a, size if m else None) for a, m in zip(avals, mapped)])
        return {**self.entry_jaxpr(eqn, closed.jaxpr, closed.consts), "out_batched": list(batched)}

    def custom_transpose(self, eqn: Any, avals: list[Any], case: Case) -> dict[str, Any]:
        """Residuals and cotangents of the results in, cotangents of the linear inputs out."""
        jaxpr, consts = eqn.params["transpose_jaxpr_thunk"]()
        return self.entry_jaxpr(eqn, jaxpr, consts)

    def linear_call(self, eqn: Any, avals: list[Any], case: Case) -> dict[str, Any]:
        closed, consts = eqn.params["transpose_thunk"]()
        return self.entry_jaxpr(eqn, compat.invars_to_constvars(closed.jaxpr, len(consts)), consts)


STATIC_TEXT = 300  # characters of a rule's static arguments that are shown
_KINDS = {("custom_jvp_call", "jvp_jaxpr_fun"): "custom_jvp",
          ("custom_vjp_call", "fwd_jaxpr_thunk"): "custom_vjp_fwd", ("custom_vjp_call", "bwd"): "custom_vjp_bwd",
          ("custom_vmap_call", "rule"): "custom_vmap", ("custom_transpose_call", "transpose_jaxpr_thunk"): "custom_transpose",
          ("linear_call", "transpose_thunk"): "custom_transpose"}
_TRACERS: dict[str, Callable] = {"custom_jvp": Rules.custom_jvp, "custom_vjp_fwd": Rules.custom_vjp_fwd,
                                 "custom_vjp_bwd": Rules.custom_vjp_bwd, "custom_vmap": Rules.custom_vmap,
                                 "custom_transpose": Rules.custom_transpose}


def _body(eqn: Any) -> Any:
    for key in ("call_jaxpr", "fun_jaxpr", "call", "callee"):
        if key in eqn.params:
            return getattr(eqn.params[key], "jaxpr", eqn.params[key])
    raise KeyError("no body")


def _n_out(eqn: Any) -> int:
    return len(_body(eqn).outvars)


def _num_consts(eqn: Any) -> int:
    """Leading inputs that the function closes over. They count as arguments of a custom_vmap rule, which says in its tree how many they are."""
    tree = eqn.params.get("in_tree")
    if tree is not None and tree.num_leaves == len(eqn.invars):
        parts = tree.children()
        return parts[0].num_leaves if len(parts) == 2 and parts[0].node_data() is not None and parts[0].node_data()[0] is list else 0
    return int(eqn.params.get("num_consts", 0))


def _rule_avals(eqn: Any) -> list[Any]:
    """The user's arguments: behind what the body closes over. A custom_vmap rule gets them all."""
    n = int(eqn.params.get("num_consts", 0))
    return [v.aval for v in eqn.invars[n:]]


def _out_trees(eqn: Any) -> tuple[Any, Any, Any]:
    trees = eqn.params["out_trees"]()
    return (*trees, None) if len(trees) == 2 else trees


def _python_number(lit: Any) -> Any:
    a = np.asarray(lit.val)
    return a.item() if a.dtype == bool or getattr(lit.aval, "weak_type", False) else a[()]
