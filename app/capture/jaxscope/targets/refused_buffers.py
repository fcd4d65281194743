# SPDX-License-Identifier: Apache-2.0
"""What would take the memory of a program that XLA refuses. Its text may list the largest buffers; where it lists none, its buffer assignment tells them."""
from __future__ import annotations

import re
from typing import Any, Callable

from . import assignment
from .assignment import Allocation, Value
from .collectives import Frames
from .hlo import OP_NAME

_MOST, _LEAST = 20, 0.001  # how many are listed, and what share of all each has
_INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%?([\w.\-]+) = ")


def found(folder: str, shown_path: Callable[[str], str]) -> dict[str, Any] | None:
    """`total`: bytes of all buffers in the device's memory; `buffers`: the largest, as a capture has them."""
    texts = assignment.of_refused(folder)
    if texts is None:
        return None
    allocations, module = [a for a in texts[0] if a.on_device], texts[1]
    total = sum(a.size for a in allocations)
    largest = sorted((b for a in allocations for b in _of(a) if b[0].size >= _LEAST * total), key=lambda b: -b[0].size)[:_MOST]
    lines = _lines(module, {_instruction(v) for v, _ in largest})
    frames = Frames(module, shown_path)
    return {"total": total, "buffers": [_entry(v, kind, lines.get(_instruction(v), ""), frames) for v, kind in largest]}


def _of(a: Allocation) -> list[tuple[Value, str]]:
    """Values that share a place count once, as the largest of them: together they are the allocation's size."""
    if not a.temporary:
        kind = "argument" if a.argument else "output" if a.output else "constant"
        return [(v._replace(size=a.size), kind) for v in a.values[:1]]
    taken: list[Value] = []
    for v in sorted(a.values, key=lambda v: -v.size):
        if len(taken) == _MOST:
            break
        if all(v.offset + v.size <= t.offset or t.offset + t.size <= v.offset for t in taken):
            taken.append(v)
    return [(v, "HLO temp") for v in taken]


def _instruction(v: Value) -> str:
    return v.name.partition("{")[0]


def _lines(module: str, names: set[str]) -> dict[str, str]:
    return {m[1]: line for line in module.splitlines() if (m := _INSTRUCTION.match(line)) and m[1] in names}


def _entry(v: Value, kind: str, line: str, frames: Frames) -> dict[str, Any]:
    op = OP_NAME.search(line)
    file, number = frames.of(line)
    return {"bytes": v.size, "shape": v.shape, "op_name": op[1] if op else None, "kind": kind if op else f"{kind} ({_instruction(v)})",
            "file": file or None, "line": number or None}
