# SPDX-License-Identifier: Apache-2.0
"""XLA's word on one program that jaxscope made, of each target: rebuilt as a JAX function and compiled, or read from the disk, where answers are kept by content."""
from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import time
from typing import Any

import jax

from ..compat import lowering
from ..document import output
from ..errors import CaptureError, TargetProblem
from ..rebuild.load import load
from . import backend, names, refusal, request
from .process import ONLY_MEMORY


class Asker:
    def __init__(self, path: str, python: str | None, timeout: float | None):
        self._path, self._python, self._timeout = path, python, timeout
        self._rebuilt: Any = None

    def answer(self, target: str, started: str) -> dict[str, Any]:
        """{"facts": ..., "kept": whether they were on disk} or {"problem": why there are none}."""
        try:
            kept = _kept_file(self._path, target, self._python)
            facts = _read(kept)
            if facts is not None:
                return self._word(facts, True)
            tell(f"jaxscope: {started}: compiling")
            facts = self._compile(target)
            facts["notes"] = self._rebuilt.notes
            _write(kept, facts)
            return self._word(facts, False)
        except TargetProblem as e:
            return {"problem": e.why}
        except CaptureError as e:
            return {"problem": str(e).removeprefix(self._path + ": ")}

    @staticmethod
    def _word(facts: dict[str, Any], kept: bool) -> dict[str, Any]:
        refused = facts.get("out_of_memory")
        return {"facts": facts, "kept": kept, "notes": facts.get("notes", []), **({"problem": refusal.sentence(refused)} if refused else {})}

    def _compile(self, target: str) -> dict[str, Any]:
        if self._rebuilt is None:
            self._rebuilt = load(self._path)
        rebuilt = self._rebuilt
        with rebuilt.flags():
            if target == names.CPU:
                return backend.of_jaxpr(rebuilt.jaxpr, rebuilt.name, rebuilt.donated)
            deadline = None if not self._timeout else time.monotonic() + self._timeout
            return request.compile_for(names.parse(target), lambda: lowering.lowered_module(rebuilt.jaxpr, rebuilt.name, rebuilt.donated, False, "tpu"),
                                       self._python, deadline, tell, memory_only=True, inputs=rebuilt.in_paths)


def tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _kept_file(path: str, target: str, python: str | None) -> str:
    digest = hashlib.sha256()
    for part in (path, output.npz_path(path)):
        with contextlib.suppress(FileNotFoundError), open(part, "rb") as f:
            digest.update(f.read())
        digest.update(b"\0")
    full = target if target == names.CPU else names.parse(target).name
    for word in (full, jax.__version__, backend.compiler_version() if target == names.CPU else request.compiler_version(names.parse(target), python),
                 ONLY_MEMORY, os.environ.get("XLA_FLAGS", ""), os.environ.get("LIBTPU_INIT_ARGS", "")):
        digest.update(word.encode() + b"\0")
    return os.path.join(request.cache_folder(), "xla", digest.hexdigest()[:40] + ".json")


def _read(path: str) -> dict[str, Any] | None:
    try:
        with open(path, encoding="utf-8") as f:
            return dict(json.load(f))
    except (OSError, ValueError):
        return None


def _write(path: str, facts: dict[str, Any]) -> None:
    """What can't be kept is asked for again another time."""
    with contextlib.suppress(OSError, CaptureError):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with output.atomic(path) as f:
            f.write(json.dumps(facts).encode())
