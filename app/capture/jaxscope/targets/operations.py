# SPDX-License-Identifier: Apache-2.0
"""What became of each equation in XLA's optimized program. Every equation is lowered under a scope that says where it stands, which XLA carries along and never
looks at: its instructions are the same with and without. So an instruction names its equation, where lines and JAX's names alone don't tell repeated blocks apart."""
from __future__ import annotations

import re
from typing import Any

from .. import compat
from . import hlo

_MARK = re.compile(r"jxs-(\w*)-(\d+)-(\d+)")
_MARKED_SCOPE = re.compile(r"/?jxs-\w*-\d+-\d+")
_OF_NOTHING = {"parameter", "constant", "get-tuple-element", "tuple", "bitcast", "after-all"}
# Results that are other values' memory; of a loop or a branch, what its body computes has the memory.
_VIEWS = _OF_NOTHING | {"while", "conditional", "call", "opt-barrier", "optimization-barrier", "add-dependency", "partition-id", "replica-id"}


class Marks:
    """Puts the scopes into what is lowered, and keeps the program that it was lowered from."""

    def __init__(self) -> None:
        self.lowered: Any = None
        self._made: dict[tuple[int, str, int], Any] = {}
        self._alive: list[Any] = []  # so that no id is taken twice

    def into(self, closed: Any) -> Any:
        self.lowered = compat.open_jaxpr(closed)
        return self._value(closed, "", [0])

    def _value(self, v: Any, param: str, count: list[int]) -> Any:
        if isinstance(v, compat.ClosedJaxpr):
            return v.replace(jaxpr=self._value(v.jaxpr, param, count))
        if isinstance(v, compat.Jaxpr):
            count[0] += 1
            return self._jaxpr(v, param, count[0] - 1)
        if isinstance(v, (tuple, list)) and compat.sub_jaxprs(v):
            return type(v)(self._value(e, param, count) for e in v)
        return v

    def _jaxpr(self, jaxpr: Any, param: str, k: int) -> Any:
        key = (id(jaxpr), param, k)
        if key not in self._made:
            self._alive.append(jaxpr)
            eqns = [e.replace(source_info=e.source_info.replace(name_stack=e.source_info.name_stack.extend(f"jxs-{param}-{k}-{i}")), params=self._params(e))
                    for i, e in enumerate(jaxpr.eqns)]
            self._made[key] = jaxpr.replace(eqns=eqns)
        return self._made[key]

    def _params(self, eqn: Any) -> dict[str, Any]:
        if eqn.primitive.name == "pallas_call":  # a kernel of its own, whose text isn't HLO
            return eqn.params
        return {name: self._value(v, name, [0]) for name, v in eqn.params.items()}


def without_marks(text: str) -> str:
    return _MARKED_SCOPE.sub("", text)


def of_hlo(text: str, marks: Marks, captured: Any) -> dict[str, Any]:
    """`captured`: the program's jaxpr as the capture has it. Rows are [equation, opcode, how many instructions, how many results with memory, their bytes], by the
    jaxpr's path; {"unknown": why} where they can't be had."""
    if marks.lowered is None:
        return {"unknown": "this JAX lowers programs on another way"}
    prefix = _place(captured, marks.lowered)
    if prefix is None:
        return {"unknown": "what was compiled isn't the captured program equation by equation"}
    rows, unnamed = _counted(text, prefix)
    if not rows:
        return {"unknown": "XLA's program names no equations (it may come from JAX's compilation cache)"}
    opcodes = sorted({opcode for of_body in rows.values() for _, opcode in of_body})
    return {"opcodes": opcodes, "unnamed": unnamed,
            "jaxprs": [{"jaxpr": body, "rows": [[eqn, opcodes.index(opcode), *counts] for (eqn, opcode), counts in sorted(of_body.items())]}
                       for body, of_body in sorted(rows.items())]}


def _counted(text: str, prefix: str) -> tuple[dict[str, dict[tuple[int, str], list[int]]], int]:
    rows: dict[str, dict[tuple[int, str], list[int]]] = {}
    unnamed = 0
    module = hlo.Module(text)
    for name, lines in module.computations.items():
        if name in module.of_scalars:
            continue
        in_memory = name not in module.fused
        for line in lines:
            found = hlo.INSTRUCTION.search(line)
            if not found or found.group(2) in _OF_NOTHING:
                continue
            opcode = found.group(2)
            op = hlo.OP_NAME.search(line)
            place = _equation(op.group(1) if op else "", prefix)
            if place is None:
                unnamed += 1
                continue
            counts = rows.setdefault(place[0], {}).setdefault((place[1], opcode), [0, 0, 0])
            counts[0] += 1
            if in_memory and opcode not in _VIEWS and not opcode.endswith(("-done", "-update")):
                counts[1] += 1
                counts[2] += hlo.result_bytes(found.group(1), opcode.endswith("-start"))
    return rows, unnamed


def _equation(op_name: str, prefix: str) -> tuple[str, int] | None:
    """The path of its jaxpr, as reports write it, and its number there. Of an instruction with several names, the first one's."""
    marks = _MARK.findall(op_name.split(";", 1)[0])
    if not marks:
        return None
    path = prefix
    for (_, _, eqn), (param, k, _) in zip(marks, marks[1:]):
        path += ("/" if path else "") + f"{eqn}/{param}" + (f"[{k}]" if k != "0" else "")
    return path, int(marks[-1][2])


def _place(captured: Any, lowered: Any) -> str | None:
    """Where the lowered program stands in the captured one: it is the same, or what its only call calls."""
    if _alike(captured, lowered, {}):
        return ""
    if len(captured.eqns) == 1:
        for param, v in captured.eqns[0].params.items():
            if isinstance(v, (compat.ClosedJaxpr, compat.Jaxpr)) and _alike(compat.open_jaxpr(v), lowered, {}):
                return f"0/{param}"
    return None


def _alike(a: Any, b: Any, known: dict[tuple[int, int], bool]) -> bool:
    if a is b:
        return True
    key = (id(a), id(b))
    if key not in known:
        known[key] = len(a.eqns) == len(b.eqns) and all(_same(x, y, known) for x, y in zip(a.eqns, b.eqns))
    return known[key]


def _same(x: Any, y: Any, known: dict[tuple[int, int], bool]) -> bool:
    if x.primitive is not y.primitive or [v.aval for v in x.outvars] != [v.aval for v in y.outvars]:
        return False
    inner = [[s for v in e.params.values() for s in compat.sub_jaxprs(v)] for e in (x, y)]
    return len(inner[0]) == len(inner[1]) and all(_alike(s, t, known) for s, t in zip(*inner))
