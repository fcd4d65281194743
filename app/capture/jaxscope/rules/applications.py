# SPDX-License-Identifier: Apache-2.0
"""Entries in the table of rules for applications of libraries' primitives: evaluation first, then the cases of the other rules."""
from __future__ import annotations

import contextlib
import functools
from typing import Any, Callable, Iterator

import jax

from .. import compat
from . import foreign

MOST_ENTRIES = 4_000  # a library whose rules lead to new ones for ever


class Applications:
    def __init__(self, rules: Any):
        self.rules = rules
        self._heads: dict[Any, int] = {}
        self._transformed: set[int] = set()
        self._only_evaluated = False
        self._alive: list[Any] = []

    def index_of(self, eqn: Any) -> int | None:
        """The entry of an equation's evaluation; entries of its other rules follow where somebody may transform it."""
        if not foreign.is_foreign(eqn.primitive):
            return None
        avals = tuple(self.rules.tables.aval(v.aval) for v in eqn.invars)
        application = self.rules.patterns.application(eqn.primitive, dict(eqn.params), [v.aval for v in eqn.invars])
        key = application, avals
        head = self._heads.get(key)
        if head is None:
            self._alive.append(eqn)
            head = self._heads[key] = self._entry("primitive", eqn, avals, {}, lambda: self._evaluated(eqn))
        if not (self._only_evaluated or self.rules.only_named or head in self._transformed):
            self._transformed.add(head)
            self._cases(eqn, application, avals, head)
        return head

    def _entry(self, kind: str, eqn: Any, avals: tuple[int, ...], more: dict[str, Any], trace: Callable[[], dict[str, Any]]) -> int:
        items = self.rules.items
        items.append({"kind": kind, "function": eqn.primitive.name, "static": "()", "avals": list(avals), "jaxpr": None, **more})
        if len(items) > MOST_ENTRIES:
            items[-1]["why"] = f"the program's rules lead to more than {MOST_ENTRIES} others"
        else:
            self.rules.queue(len(items) - 1, trace, 0 if kind == "primitive" else 1)
        return len(items) - 1

    def _cases(self, eqn: Any, application: Any, avals: tuple[int, ...], head: int) -> None:
        """What JAX asked for, or for equations of the program itself what is usual."""
        seen, usual = self.rules.patterns, not self.rules.depth
        inexact = tuple(jax.numpy.issubdtype(getattr(v.aval, "dtype", bool), jax.numpy.inexact) for v in eqn.invars)
        everywhere = tuple(0 for _ in eqn.invars)
        split = [case for case, in seen.of_foreign("linearize", application)]
        jvps = [case for case, in seen.of_foreign("jvp", application)]
        usual_ones = [inexact] * (usual and not split and not jvps and any(inexact))
        for perturbed in jvps + usual_ones:
            self._entry("primitive_jvp", eqn, avals, {"variant_of": head, "perturbed": list(perturbed)},
                        functools.partial(self._differentiated, eqn, perturbed))
        for perturbed in split:
            self._halves(eqn, avals, head, perturbed)
        for linear, zeros in seen.of_foreign("transpose", application):
            if len(zeros) == len(eqn.outvars):
                self._entry("primitive_transpose", eqn, avals, {"variant_of": head, "perturbed": list(linear), "zero_cotangents": list(zeros)},
                            lambda l=linear, z=zeros: self._result("out_zeros", eqn, foreign.transposed(eqn, l, z)))
        maps = seen.of_foreign("vmap", application) or [(size, everywhere) for size in seen.axis_sizes if usual and eqn.invars]
        for size, dims in maps:
            if all(d is None or d <= len(v.aval.shape) for d, v in zip(dims, eqn.invars)):
                self._entry("primitive_vmap", eqn, avals, {"variant_of": head, "axis_size": size, "in_dims": list(dims)},
                            lambda s=size, d=dims: self._result("out_dims", eqn, foreign.mapped(eqn, s, d)))

    def _differentiated(self, eqn: Any, perturbed: tuple[bool, ...]) -> dict[str, Any]:
        return self._result("out_zeros", eqn, foreign.differentiated(eqn, perturbed))

    def _halves(self, eqn: Any, avals: tuple[int, ...], head: int, perturbed: tuple[bool, ...]) -> None:
        if not compat.LINEARIZES:
            return
        both: list[Any] = []

        def half(which: int) -> dict[str, Any]:
            if not both:
                both.extend(foreign.linearized(eqn, perturbed))
            return self._result("out_zeros", eqn, both[which])
        for which, kind in enumerate(("primitive_known", "primitive_linear")):
            self._entry(kind, eqn, avals, {"variant_of": head, "perturbed": list(perturbed)}, functools.partial(half, which))

    def _result(self, which: str, eqn: Any, traced: tuple[Any, list[Any]]) -> dict[str, Any]:
        closed, of_results = traced
        return {**self.rules.entry_jaxpr(eqn, closed.jaxpr, closed.consts), which: of_results}

    def _evaluated(self, eqn: Any) -> dict[str, Any]:
        closed = foreign.evaluated(eqn)
        with self._evaluation():
            return self.rules.entry_jaxpr(eqn, closed.jaxpr, closed.consts)

    @contextlib.contextmanager
    def _evaluation(self) -> Iterator[None]:
        """What stands in there is run, but nobody transforms it: transformations ask the primitive's own rules."""
        before, self._only_evaluated = self._only_evaluated, True
        try:
            yield
        finally:
            self._only_evaluated = before
