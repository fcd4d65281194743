# SPDX-License-Identifier: Apache-2.0
"""HLO text, as `compiled.as_text()` gives it: its computations and what an instruction's line says."""
from __future__ import annotations

import math
import re

INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%?[\w.\-]+ = (.*?) ([a-z][a-z0-9\-]*)\(")
OP_NAME = re.compile(r'op_name="([^"]*)"')
_SHAPE = re.compile(r"\b([a-z]+)(\d*)[a-z0-9]*\[([\d,]*)\]")
_HEAD = re.compile(r"^(?:ENTRY )?%?([\w.\-]+) \(.*\{$")
_FUSED = re.compile(r" fusion\(.*?calls=%?([\w.\-]+)")
_APPLIED = re.compile(r"to_apply=%?([\w.\-]+)")
_BITS = {"pred": 8, "token": 0}


class Module:
    """`fused`: computations whose values stay in registers. `of_scalars`: those that reduce, sort or scatter apply to numbers."""

    def __init__(self, text: str) -> None:
        self.computations: dict[str, list[str]] = {}
        self.entry = ""
        self.fused: set[str] = set()
        self.of_scalars: set[str] = set()
        name = ""
        for line in text.splitlines():
            head = _HEAD.match(line)
            if head:
                name = head.group(1)
                self.computations[name] = []
                self.entry = name if line.startswith("ENTRY") else self.entry
            elif name and line.startswith("  "):
                self.computations[name].append(line)
                self._called(line)

    def _called(self, line: str) -> None:
        fused = _FUSED.search(line)
        if fused:
            self.fused.add(fused.group(1))
        elif "to_apply=" in line and " call(" not in line:
            self.of_scalars.update(_APPLIED.findall(line))


def result_bytes(shape: str, started: bool) -> int:
    """Of all parts of a tuple; what only starts has its operands before its results."""
    sizes = [math.prod(int(n) for n in dims.split(",") if n) * _BITS.get(kind, int(bits) if bits else 8) // 8
             for kind, bits, dims in _SHAPE.findall(re.sub(r"\{[^}]*\}", "", shape))]
    return sum(sizes[len(sizes) // 2:]) if started and len(sizes) > 1 else sum(sizes)
