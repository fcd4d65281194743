# SPDX-License-Identifier: Apache-2.0
"""`python -m jaxscope.targets.ask`: what XLA says of programs that jaxscope made (a step under another policy), rebuilt as JAX functions.

In, on standard input: {"targets": [...], "target_python": null, "timeout": null, "programs": [{"label", "file"}, ...]}. Out: one line of JSON for each program and
target, as soon as it is known. Answers are kept on disk by content, so that whoever stops it and asks again goes on where it stood.
"""
from __future__ import annotations

import json
import os
import sys
from typing import Any

from ..errors import CaptureError
from . import names

_NO_JAX = 127  # as a shell ends where there is no such command: who started us says it in a line


def main() -> int:
    asked = json.load(sys.stdin)
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # XLA prints
    try:
        for target in asked["targets"]:
            if target != names.CPU:
                names.parse(target)
        asker = _asker()
    except CaptureError as e:
        print(json.dumps({"refused": str(e).replace("--target: ", "--xla: ")}), file=out, flush=True)
        return e.exit_code
    if asker is None:
        return _NO_JAX
    total = len(asked["programs"]) * len(asked["targets"])
    done = 0
    for program in asked["programs"]:
        one = asker(program["file"], asked.get("target_python"), asked.get("timeout"))
        for target in asked["targets"]:
            done += 1
            started = f"{target}: {program['label']} ({done} of {total})"
            print(json.dumps({"label": program["label"], "target": target, **one.answer(target, started)}), file=out, flush=True)
    return 0


def _asker() -> Any:
    """None: this Python has no JAX. One that can't be used is a CaptureError."""
    try:
        import jax  # noqa: F401
    except ModuleNotFoundError as e:
        if e.name in ("jax", "jaxlib"):
            return None
        raise CaptureError(f"--python: {sys.executable} can't import JAX: {e}") from None
    except Exception as e:  # an installation that is broken, or two versions that don't fit
        raise CaptureError(f"--python: {sys.executable} can't import JAX: {type(e).__name__}: {e}") from None
    from ..version import check_jax
    check_jax()
    from .asker import Asker
    return Asker


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
