# SPDX-License-Identifier: Apache-2.0
"""What XLA's compiler made of a program over several devices: where devices meet, read off its optimized HLO, and how values lie."""
from __future__ import annotations

import math
import re
from typing import Any, Callable

import jax

from . import hlo

_KINDS = "all-reduce|all-gather|reduce-scatter|all-to-all|ragged-all-to-all|collective-permute|collective-broadcast"
_COLLECTIVE = re.compile(rf"= (.*?) ({_KINDS})(?:-start)?\(")
_CALLED = re.compile(r"(?:body|condition|calls|to_apply|true_computation|false_computation)=%?([\w.\-]+)|branch_computations=\{([^}]*)\}")
_TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d+)"\}')
_FRAME = re.compile(r"stack_frame_id=(\d+)")


def of_hlo(text: str, shorten: Callable[[str], str]) -> list[dict[str, Any]]:
    """One entry for each instruction: its kind, the bytes of its result on one device, how many devices meet, how often in one run (null: the
    compiler doesn't know the rounds of a loop around it), JAX's name stack, the line of Python. `shorten`: a path as captures have it."""
    module = hlo.Module(text)
    frames = Frames(text, shorten)
    out: list[dict[str, Any]] = []

    def walk(name: str, times: int | None) -> None:
        for line in module.computations.get(name, []):
            found = _COLLECTIVE.search(line)
            if found:
                file, number = frames.of(line)
                op = hlo.OP_NAME.search(line)
                out.append({"kind": found.group(2), "bytes": hlo.result_bytes(found.group(1), "-start(" in line), "members": _members(line),
                            "times": times, "op_name": op.group(1) if op else "", "file": file, "line": number})
                continue
            if " fusion(" in line or "to_apply=" in line and " call(" not in line:
                continue  # no collective stands in these
            trips = _TRIPS.search(line)
            inner = times if " while(" not in line else times * int(trips.group(1)) if trips and times is not None else None
            for one, several in _CALLED.findall(line):
                for called in [one] if one else [s.strip().lstrip("%") for s in several.split(",")]:
                    walk(called, inner)
    walk(module.entry, 1)
    return out


def specs(shardings: Any) -> list[str | None]:
    """Of each leaf, as `P('x', None)`; None: another kind of sharding, or dropped."""
    leaves = jax.tree.leaves(shardings, is_leaf=lambda s: s is None or isinstance(s, jax.sharding.Sharding))
    return [_spec(s.spec) if isinstance(s, jax.sharding.NamedSharding) else None for s in leaves]


def _spec(spec: Any) -> str:
    dims = [repr(tuple(map(str, d))) if isinstance(d, tuple) else repr(d) for d in spec]
    while dims and dims[-1] == "None":
        dims.pop()
    return f"P({', '.join(dims)})"


def _members(line: str) -> int:
    """How many devices one group has, in any of the ways in which XLA writes groups."""
    listed = re.search(r"replica_groups=\{\{([\d,]*)\}", line)
    if listed:
        return len(listed.group(1).split(","))
    counted = re.search(r"replica_groups=\[(\d+),(\d+)\]", line)
    if counted:
        return int(counted.group(2))
    named = re.search(r"replica_groups=mesh\[([^\]]*)\] \{([^}]*)\}", line)
    if named:
        sizes = dict(re.findall(r"'(\w+)'=(\d+)", named.group(1)))
        return math.prod(int(sizes[a]) for a in re.findall(r"'(\w+)'", named.group(2)))
    pairs = re.search(r"source_target_pairs=\{(.*?)\}\}", line)
    return pairs.group(1).count("{") if pairs else 1


class Frames:
    """The tables at the head of a module: which line of Python an instruction comes from."""

    def __init__(self, text: str, shorten: Callable[[str], str]):
        self._files = {n: shorten(f) for n, f in re.findall(r'^(\d+) "(.*)"$', _table(text, "FileNames"), re.M)}
        self._places = {n: (f, int(at)) for n, f, at in re.findall(r"^(\d+) \{file_name_id=(\d+) .*?\bline=(\d+)", _table(text, "FileLocations"), re.M)}
        self._frames = {n: (at, parent) for n, at, parent in re.findall(r"^(\d+) \{file_location_id=(\d+)(?: parent_frame_id=(\d+))?", _table(text, "StackFrames"), re.M)}

    def of(self, line: str) -> tuple[str, int]:
        """The innermost frame outside of installed packages."""
        found = _FRAME.search(line)
        frame, seen = found.group(1) if found else "", set()
        while frame in self._frames and frame not in seen:
            seen.add(frame)
            at, parent = self._frames[frame]
            file, number = self._places.get(at, ("", 0))
            name = self._files.get(file, "")
            if name and "site-packages" not in name and "<stdlib>" not in name:
                return name, number
            frame = str(int(parent) - 1) if parent else ""  # numbered from 1, 0 being none
        return "", 0


def _table(text: str, name: str) -> str:
    start = text.find(f"\n{name}\n")
    return text[start:text.find("\n\n", start + 1)] if start >= 0 else ""
