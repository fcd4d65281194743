# SPDX-License-Identifier: Apache-2.0
"""Jaxprs to the arrays of the format. Whatever an entry refers to is written before it, so references point backwards."""
from __future__ import annotations

from typing import Any

from . import compat, older
from .differentiation import marks
from .document import identity, inlined
from .document.arrays import Arrays
from .document.params import Params
from .document.tables import Tables
from .rules.patterns import Patterns
from .rules.rules import Rules


class Encoder:
    def __init__(self, tables: Tables, arrays: Arrays, rule_depth: int = 4, axis_sizes: tuple[int, ...] = ()):
        self.tables, self.arrays = tables, arrays
        self.jaxprs: list[dict[str, Any]] = []
        self._index: dict[Any, int] = {}
        self._rules: set[int] = set()  # jaxprs, by id
        self._alive: list[Any] = []  # ids stand for objects: those must not die meanwhile
        self.shared = SharedVars(self.jaxprs)
        self.patterns = Patterns(axis_sizes)
        self.rules = Rules(tables, self.of_rule, rule_depth, self.patterns)
        self.params = Params(tables, arrays, self.closed_or_open, self.rules)
        self._primitive: dict[str, int] = {}
        self._jit_template: dict[str, Any] | None = None
        self.marked_calls: dict[int, dict[str, Any]] = {}  # by the entry of their body
        self._axes: dict[int, int] = {}

    def of_rule(self, jaxpr: Any, consts: Any, eqn: Any) -> int:
        """The jaxpr of a rule of `eqn`: what a custom rule evaluates from other jaxprs says so."""
        if eqn.primitive.name.startswith(("custom_jvp_call", "custom_vjp_call")):
            self._rules.add(id(jaxpr))
        return self.closed_or_open(jaxpr, consts)

    def closed_or_open(self, jaxpr: Any, consts: Any, arg_names: list[str] | None = None, name: str | None = None) -> int:
        key = (id(jaxpr), tuple(map(id, consts)) if consts else None)
        index = self._index.get(key)
        if index is None:
            entry, number = self._entry(jaxpr, consts, arg_names, name)
            index = self._index[key] = len(self.jaxprs)
            self.jaxprs.append(entry)
            self.shared.add(index, number)
            self._alive.append((jaxpr, consts))
        return index

    def finished_jaxprs(self) -> list[dict[str, Any]]:
        self.shared.finish()
        return self.jaxprs

    def _entry(self, jaxpr: Any, consts: Any, arg_names: list[str] | None,
               name: str | None) -> tuple[dict[str, Any], dict[Any, int]]:
        tables = self.tables
        self.rules.origins.opened(jaxpr, consts)
        number: dict[Any, int] = {}
        for v in (*jaxpr.constvars, *jaxpr.invars):
            number[v] = len(number)
        next_var = len(jaxpr.constvars) + len(jaxpr.invars)
        eqns = []
        for eqn in jaxpr.eqns:
            inputs = [-1 - tables.literal(a) if type(a) is compat.Literal else number[a] for a in eqn.invars]
            results = []
            for v in eqn.outvars:
                aval = tables.aval(v.aval)
                results.append(-1 - aval if type(v) is compat.DropVar else aval)
                number[v] = next_var
                next_var += 1
            eqns.append(self._equation(eqn, jaxpr, inputs, results))
        outvars = [-1 - tables.literal(a) if type(a) is compat.Literal else number[a] for a in jaxpr.outvars]
        entry = {"name": name or compat.debug_name(jaxpr), "constvars": [tables.aval(v.aval) for v in jaxpr.constvars]}
        if consts is not None:
            entry["consts"] = [self.arrays.add(c, v.aval, constant=True) for c, v in zip(consts, jaxpr.constvars)]
        entry["invars"] = [tables.aval(v.aval) for v in jaxpr.invars]
        entry["arg_names"] = arg_names if arg_names is not None else _arg_names(jaxpr)
        entry["effects"] = self._effects(jaxpr.effects)
        entry["eqns"], entry["outvars"] = eqns, outvars
        return entry, number

    def _equation(self, eqn: Any, jaxpr: Any, inputs: list[int], results: list[int]) -> list[Any]:
        if eqn.primitive is marks.call_p:
            primitive, params = "jit", self._marked_params(eqn)
        else:
            primitive, params = older.primitive_name(eqn), self.params.of(eqn, jaxpr)
        index = self._primitive.get(primitive)
        if index is None:
            index = self._primitive[primitive] = self.tables.string(primitive)
        words = ("own_place",) * (id(jaxpr) in self._rules and not identity.made_by_rule(eqn)) + ("unused_in_body",) * inlined.is_unused(eqn)
        row = [index, inputs, results, params, self.tables.source(eqn.source_info, words), self.tables.context(getattr(eqn, "ctx", None))]
        if eqn.effects:
            row.append(self._effects(eqn.effects))
        return row

    def _effects(self, effects: Any) -> list[str]:
        return sorted(self.tables.paths.in_text(str(e)) for e in effects) if effects else []

    def _marked_params(self, eqn: Any) -> int:
        """The parameters that `jit` would have: those of a real one, with our body, name and arities."""
        import json

        import jax
        if self._jit_template is None:
            inner = jax.make_jaxpr(jax.jit(lambda x: x + 1))(1.0).jaxpr.eqns[0]
            self._jit_template = {k: self.params.value(v) for k, v in inner.params.items() if k != "jaxpr"}
            self._jit_name = inner.primitive.name
        closed = eqn.params["jaxpr"]
        out = dict(self._jit_template)
        n_in, n_out = len(eqn.invars), len(eqn.outvars)
        for key, value in self._jit_template.items():
            if isinstance(value, list) and len(value) == 1:
                out[key] = value * (n_out if key.startswith("out_") else n_in)
        out["name"] = eqn.params["name"]
        body = self.closed_or_open(closed.jaxpr, closed.consts, name=eqn.params["name"])
        if body not in self.marked_calls:
            self.marked_calls[body] = {**marks.description(eqn.params["name"], eqn.params["batch"], self._axes), "jaxpr": body}
        out["jaxpr"] = {"closed_jaxpr": body}
        out = dict(sorted(out.items()))
        return self.tables.params.add(json.dumps(out), out)


class SharedVars:
    """Variables that several jaxprs have: one that was made of another (dead code elimination) keeps its variables, and JAX prints
    them under one name."""
    def __init__(self, jaxprs: list[dict[str, Any]]):
        self._jaxprs = jaxprs
        self._home: dict[Any, tuple[int, int]] = {}
        self._ids: dict[Any, int] = {}

    def add(self, index: int, number: dict[Any, int]) -> None:
        fresh = {v: (index, n) for v, n in number.items() if v not in self._home}
        if len(fresh) < len(number):
            for v, n in number.items():
                if v not in fresh:
                    home = self._home[v]
                    if v not in self._ids:
                        self._ids[v] = len(self._ids)
                        self._note(*home, self._ids[v])
                    self._note(index, n, self._ids[v])
        self._home.update(fresh)

    def _note(self, index: int, number: int, id_: int) -> None:
        self._jaxprs[index].setdefault("shared_vars", []).append([number, 1, id_])

    def finish(self) -> None:
        """Puts the notes in order, runs of variables together."""
        for entry in self._jaxprs:
            runs: list[list[int]] = []
            for number, count, id_ in sorted(entry.get("shared_vars", ())):
                if runs and runs[-1][0] + runs[-1][1] == number and runs[-1][2] + runs[-1][1] == id_:
                    runs[-1][1] += count
                else:
                    runs.append([number, count, id_])
            if runs:
                entry["shared_vars"] = runs


def _arg_names(jaxpr: Any) -> list[str]:
    names = getattr(getattr(jaxpr, "debug_info", None), "arg_names", None)
    if not names or len(names) != len(jaxpr.invars):
        return compat.branch_argument_names(jaxpr)
    return [n or "" for n in names]
