# SPDX-License-Identifier: Apache-2.0
"""What XLA's buffer assignment says of a program's memory, from the texts that it writes before it makes code: seconds where the whole compilation takes minutes.

The peak is that of the device's memory alone (color 0). What an executable says of itself as `peak_memory_in_bytes` is the same to a few KiB where more temporaries stand there than in the
chip's own vector memory, else that of the latter.
"""
from __future__ import annotations

import contextlib
import glob
import os
import re
from typing import Any, Iterable, NamedTuple

DEVICE = "device.json"  # the compiler's process says there whom it compiles for: it may be ended before it answers
_STEM = ".after_optimizations"
_LAST = _STEM + "_after_buffer_assignment.txt"  # written behind all others, unless the program is refused
_BUFFERS = "-buffer-assignment.txt"
_ALLOCATION = re.compile(r"^allocation \d+: size (\d+)(.*)$")
_VALUE = re.compile(r"^ value: <\d+ (.+?)(?: \(phi\))? @\d+> \(size=(\d+),offset=(\d+)\): (.*)$")
_RANGE = re.compile(r"^    (.+):(\d+)-(\d+)\s*$")
_COLOR = re.compile(r"\bcolor (\d+)")


class Value(NamedTuple):
    name: str  # of its instruction, and which part of its result: fusion.18{1}
    size: int
    offset: int
    shape: str


class Allocation(NamedTuple):
    size: int
    text: str
    values: list[Value]

    @property
    def on_device(self) -> bool:
        return not _COLOR.search(self.text)

    @property
    def temporary(self) -> bool:
        return "preallocated-temp" in self.text

    @property
    def argument(self) -> bool:
        return "parameter" in self.text

    @property
    def output(self) -> bool:
        return "maybe-live-out" in self.text


def flags(folder: str, given: str) -> str:
    """XLA_FLAGS under which the texts are written to `folder`."""
    return f"{given} --xla_dump_to={folder}".strip()


def written(folder: str) -> str | None:
    """The stem of the program's texts once all of them are there. The CPU's compiler writes others there too."""
    found = glob.glob(os.path.join(glob.escape(folder), "*" + _LAST))
    return found[0].removesuffix("_after_buffer_assignment.txt") if found else None


def of_refused(folder: str) -> tuple[list[Allocation], str] | None:
    """The allocations of a program that doesn't fit, and its module's text: both are written before XLA refuses it. None where they can't be read."""
    for path in glob.glob(os.path.join(glob.escape(folder), "*" + _STEM + _BUFFERS)):
        with contextlib.suppress(OSError), open(path, encoding="utf-8") as f, open(path.removesuffix(_BUFFERS) + ".txt", encoding="utf-8") as module:
            return allocations(f), module.read()
    return None


def facts(stem: str) -> dict[str, Any]:
    """The part of a capture's entry that is known then: no cost analysis, no size of code."""
    from . import backend
    with open(stem + _BUFFERS, encoding="utf-8") as f:
        found = allocations(f)
    with open(stem + "-live-range.txt", encoding="utf-8") as f:
        ranges = _ranges(f)
    with open(stem + ".txt", encoding="utf-8") as f:
        aliases = backend.aliases(f.readline())
    return {"memory_analysis": _memory(found, ranges), "cost_analysis": {}, "input_output_alias": aliases}


def _memory(found: list[Allocation], ranges: dict[str, tuple[int, int]]) -> dict[str, int]:
    fixed = arguments = outputs = aliased = temporaries = alive = 0
    for a in found:
        if not a.on_device:
            continue
        if a.temporary:
            temporaries += a.size
            alive += _most_alive(a.values, ranges)
            continue
        fixed += a.size
        arguments += a.size if a.argument else 0
        outputs += a.size if a.output else 0
        aliased += a.size if a.argument and a.output else 0
    return {"argument_size_in_bytes": arguments, "output_size_in_bytes": outputs, "alias_size_in_bytes": aliased, "temp_size_in_bytes": temporaries,
            "peak_memory_in_bytes": fixed + alive}


def allocations(lines: Iterable[str]) -> list[Allocation]:
    found: list[Allocation] = []
    for line in lines:
        if m := _ALLOCATION.match(line):
            found.append(Allocation(int(m[1]), m[2], []))
        elif (m := _VALUE.match(line)) and found:
            found[-1].values.append(Value(m[1] if "{" in m[1] else m[1] + "{}", int(m[2]), int(m[3]), m[4]))
        elif found and line.strip() and not line.startswith(" "):
            break  # totals
    return found


def _ranges(lines: Any) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    inside = False
    for line in lines:
        if line.startswith("  BufferLiveRange"):
            inside = True
        elif inside and (m := _RANGE.match(line)):
            found[m[1]] = (int(m[2]), int(m[3]))
        elif inside:
            break
    return found


def _most_alive(values: list[Value], ranges: dict[str, tuple[int, int]]) -> int:
    """The most bytes of an allocation that are in use at once; values that share a place count once."""
    for v in values:
        if v.size and v.name not in ranges:
            raise ValueError(f"no live range of {v.name}")
    timed = sorted((*ranges[v.name], v.offset, v.offset + v.size) for v in values if v.size)
    most = 0
    alive: list[tuple[int, int, int, int]] = []
    begin = 0
    for at in sorted({t[0] for t in timed}):
        while begin < len(timed) and timed[begin][0] <= at:
            alive.append(timed[begin])
            begin += 1
        alive = [t for t in alive if t[1] >= at]
        used = end = 0
        for low, high in sorted(t[2:] for t in alive):
            used += max(high - max(low, end), 0)
            end = max(end, high)
        most = max(most, used)
    return most
