# SPDX-License-Identifier: Apache-2.0
"""XLA's out-of-memory text, taken apart: how much is needed, how much there is, and which buffers take it by name and line."""
from __future__ import annotations

import re
from typing import Any, Callable, Sequence

_UNITS = {"": 1, "B": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SIZE = r"([0-9]+(?:\.[0-9]+)?)([KMGT]?)(?:i?B)?"
_TOTAL = [re.compile(rf"Used {_SIZE} of {_SIZE} hbm", re.I),
          re.compile(rf"total memory required for [^(]*\({_SIZE}\) exceeds available HBM \({_SIZE}\)", re.I),
          re.compile(rf"Attempting to allocate {_SIZE}\. That was not possible\. There are {_SIZE} free", re.I)]
_WITH_ARGUMENTS = re.compile(rf"^Total hbm usage >= {_SIZE}:", re.I | re.M)
_LEAF = re.compile(r"leaves\[(\d+)\]")  # an argument of what is lowered
_ENTRY = re.compile(rf"^\s*\d+\.\s+Size:\s+{_SIZE}\s*$")
_FIELD = {"op_name": re.compile(r'op_name="((?:[^"\\]|\\.)*)"'), "file": re.compile(r'source_file="((?:[^"\\]|\\.)*)"'),
          "line": re.compile(r"source_line=(\d+)"), "shape": re.compile(r"^\s*Shape:\s+(\S+)"), "kind": re.compile(r"^\s*Allocation type:\s+(.+?)\s*$")}


def bytes_of(number: str, unit: str) -> int:
    return round(float(number) * _UNITS[unit.upper()])


def is_out_of_memory(text: str) -> bool:
    return "RESOURCE_EXHAUSTED" in text or "Ran out of memory" in text


def out_of_memory(text: str, shown_path: Callable[[str], str] = str, assigned: dict[str, Any] | None = None, inputs: Sequence[str] = ()) -> dict[str, Any]:
    """`needed` and `available` are null where the text doesn't say them; `buffers` is empty where neither it nor what XLA `assigned` lists any. `inputs`: the arguments' names.

    One of XLA's texts calls all that the program needs its temporaries, another counts the arguments apart: what is said is the whole."""
    total = next((m for p in _TOTAL if (m := p.search(text))), None)
    said = [bytes_of(m[1], m[2]) for m in (total, _WITH_ARGUMENTS.search(text)) if m] + ([assigned["total"]] if assigned else [])
    buffers = _buffers(text, shown_path) or (assigned or {}).get("buffers", [])
    return {"needed": max(said) if total else None, "available": bytes_of(total[3], total[4]) if total else None,
            "buffers": [{**b, "op_name": _argument(b["op_name"], inputs)} for b in buffers], "text": text[:16_000]}


def sentence(report: dict[str, Any]) -> str:
    """What doesn't fit, in one line."""
    needed, available = report["needed"], report["available"]
    how = f"XLA needs {_shown(needed)} of {_shown(available)}" if needed is not None else "XLA ran out of memory"
    if not report["buffers"]:
        return f"the program doesn't fit: {how}"
    first = max(report["buffers"], key=lambda b: b["bytes"])
    place = f", {first['file']}:{first['line']}" if first["file"] and first["line"] else ""
    return f"the program doesn't fit: {how}; most is {_shown(first['bytes'])} for {first['op_name'] or first['kind'] or 'a buffer'}{place}"


def _shown(n: int) -> str:
    return f"{n / (1 << 30):.2f} GiB" if n >= 1 << 30 else f"{n / (1 << 20):.1f} MiB"


def _buffers(text: str, shown_path: Callable[[str], str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for line in text.splitlines():
        if entry := _ENTRY.match(line):
            found.append({"bytes": bytes_of(entry[1], entry[2]), "shape": None, "op_name": None, "kind": None, "file": None, "line": None})
        elif found:
            for name, pattern in _FIELD.items():
                if found[-1][name] is None and (m := pattern.search(line)):
                    found[-1][name] = int(m[1]) if name == "line" else shown_path(m[1]) if name == "file" else m[1]
    return found


def _argument(op_name: str | None, inputs: Sequence[str]) -> str | None:
    leaf = _LEAF.fullmatch(op_name or "")
    return inputs[int(leaf[1])] if leaf and int(leaf[1]) < len(inputs) else op_name
