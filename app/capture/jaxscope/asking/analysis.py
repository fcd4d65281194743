# SPDX-License-Identifier: Apache-2.0
"""What the command line says of a program, as Python objects; and assertions about it for tests."""
from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import subprocess
import tempfile
from typing import Any, Callable, Iterator, Sequence

from ..api import Capture, capture
from .executable import executable
from ..errors import CaptureError


@dataclasses.dataclass(frozen=True)
class Residual:
    """One value that the backward pass keeps; `source` is JAX's string, `file` and `line` your own."""
    aval: str
    bytes: int
    source: str
    file: str
    line: int
    name: str


@dataclasses.dataclass(frozen=True)
class Residuals:
    total_bytes: int
    rows: tuple[Residual, ...]


@dataclasses.dataclass(frozen=True)
class Memory:
    """The plan of jaxscope's CPU JIT, in bytes; `at_peak`: (bytes, role, aval, source) of what is alive when memory is highest."""
    planned_peak: int
    arguments: int
    outputs: int
    aliased: int
    temporaries: int
    at_peak: tuple[tuple[int, str, str, str], ...]


@dataclasses.dataclass(frozen=True)
class DonatedLeaf:
    path: str
    aval: str
    bytes: int
    used: bool
    reason: str


@dataclasses.dataclass(frozen=True)
class Donation:
    donated: tuple[DonatedLeaf, ...]
    saved_bytes: int
    warning: str | None


@dataclasses.dataclass(frozen=True)
class PolicyRow:
    policy: str
    residual_bytes: int | None
    planned_peak: int | None
    recomputed_flops: float
    total_flops: float
    problem: str


class Analysis:
    """Asks the program jaxscope about one capture. `source`: a Capture, or the path of one."""

    def __init__(self, source: Capture | str | os.PathLike[str]):
        self.source = source

    def residuals(self, *, policy: str | None = None, wrt: int | str | Sequence[int] | None = None) -> Residuals:
        """`wrt`: the numbers of the arguments to differentiate by, or "all"."""
        found = self.ask("residuals", *_flags(policy=policy, wrt=wrt))
        return Residuals(found["total_bytes"], tuple(_made(Residual, r) for r in found["residuals"]))

    def memory(self, *, policy: str | None = None) -> Memory:
        m = self.ask("plan", *_flags(policy=policy))["memory"]
        rows = tuple((r["bytes"], r["role"], r["aval"], r["source"]) for r in m["at_peak"])
        return Memory(m["planned_peak"], m["arguments"], m["outputs"], m["aliased"], m["temporaries"], rows)

    def donation(self) -> Donation:
        found = self.ask("donation")
        return Donation(tuple(_made(DonatedLeaf, d) for d in found["donated"]), found["saved_bytes"], found["warning"])

    def policies(self, *policies: str) -> tuple[PolicyRow, ...]:
        given = [word for p in policies for word in ("--policy", p)]
        return tuple(_made(PolicyRow, r) for r in self.ask("policies", "--no-run", *given)["policies"])

    def ask(self, command: str, *arguments: str) -> dict[str, Any]:
        """Any command's JSON."""
        return json.loads(self.text(command, *arguments, "--json"))

    def text(self, command: str, *arguments: str) -> str:
        """Any command's page, as a terminal shows it. Raises CaptureError with what it says on standard error."""
        with self._file() as path:
            done = subprocess.run([executable(), command, path, *arguments], capture_output=True, text=True)
        if done.returncode not in (0, 1) or not done.stdout:
            raise CaptureError(done.stderr.strip().removeprefix("jaxscope: ") or f"{command} ended with code {done.returncode}",
                               exit_code=done.returncode)
        return done.stdout

    @contextlib.contextmanager
    def _file(self) -> Iterator[str]:
        if not isinstance(self.source, Capture):
            yield os.fspath(self.source)
            return
        with tempfile.TemporaryDirectory(prefix="jaxscope-") as folder:
            yield self.source.save(os.path.join(folder, "program.jaxscope"))


def _flags(**values: int | str | Sequence[int] | None) -> list[str]:
    return [f"--{name}={_word(value)}" for name, value in values.items() if value is not None]


def _word(value: int | str | Sequence[int]) -> str:
    return str(value) if isinstance(value, (int, str)) else ",".join(map(str, value))


def _made(kind: Any, row: dict[str, Any]) -> Any:
    return kind(**{f.name: row[f.name] for f in dataclasses.fields(kind)})


def analyze(fn: Any, args: Sequence[Any] | None = None, kwargs: dict[str, Any] | None = None, **options: Any) -> Analysis:
    """Of a function on these arguments; of a Capture or the path of one, which take none."""
    if isinstance(fn, (Capture, str, os.PathLike)):
        if args is not None or kwargs or options:
            raise TypeError("a capture is finished: it takes neither arguments nor options")
        return Analysis(fn)
    return Analysis(capture(fn, **options)(*(args or ()), **(kwargs or {})))


def hold(analysis: Analysis, *limits: str, note: Callable[[dict[str, Any]], None] = lambda figures: None) -> None:
    """Holds a program to limits of `jaxscope check`. What isn't kept is an AssertionError that says where and what to do. `note` gets its figures."""
    report = analysis.ask("check", *limits)
    note(report["programs"][0])
    if report["passed"]:
        return
    lines = []
    for f in report["findings"]:
        if f["level"] != "error":
            continue
        place = f"{f['file']}:{f['line']}: " if f["line"] else ""
        lines += [place + f["message"]] + ([f"    {f['remedy']}"] if f["remedy"] else [])
    raise AssertionError("\n".join(lines))


def assert_peak(fn: Any, args: Sequence[Any] | None = None, kwargs: dict[str, Any] | None = None, *, limit: int | str,
                **options: Any) -> None:
    """The planned peak is at most `limit` (bytes, or "1.5G")."""
    hold(analyze(fn, args, kwargs, **options), "--max-peak", str(limit))


def assert_residuals(fn: Any, args: Sequence[Any] | None = None, kwargs: dict[str, Any] | None = None, *, limit: int | str | None = None,
                     must_save: Sequence[str] = (), must_not_save: Sequence[str] = (), policy: str | None = None, **options: Any) -> None:
    """The backward pass keeps at most `limit`; these names (checkpoint_name) are among what it keeps, those aren't."""
    limits = [] if limit is None else ["--max-residuals", str(limit)]
    limits += [word for n in must_save for word in ("--must-save", n)] + [word for n in must_not_save for word in ("--must-not-save", n)]
    if not limits:
        raise TypeError("assert_residuals() needs limit, must_save or must_not_save")
    hold(analyze(fn, args, kwargs, **options), *limits, *_flags(policy=policy))


def assert_no_unused_donation(fn: Any, args: Sequence[Any] | None = None, kwargs: dict[str, Any] | None = None, **options: Any) -> None:
    """The memory of every donated leaf is taken by an output."""
    hold(analyze(fn, args, kwargs, **options), "--no-unused-donations")
