# SPDX-License-Identifier: Apache-2.0
"""The process in which a target's compiler runs: started in its turn, listened to, ended with us."""
from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from typing import Any

from ..errors import TargetProblem, TimeOut
from . import assignment, lock, own_tpu
from .names import Target

_LOOK = 0.2  # for the texts of its buffer assignment
ONLY_MEMORY = "ended behind its buffer assignment"  # among an entry's options
_NOT_DONE = "XLA's compiler was not done"


class Compiler:
    """`texts`: a folder for those of its buffer assignment; with `memory_only` it is ended once they are there."""

    def __init__(self, target: Target, python: str, line: lock.Line, texts: str | None, memory_only: bool):
        self._target, self._python, self._line = target, python, line
        self._texts, self._memory_only = texts, memory_only

    def answer(self, asked: bytes) -> dict[str, Any]:
        with self._line.turn():
            while True:
                self._line.until_free()
                answer = self._run(asked)
                said = str(answer.get("topology") or answer.get("refused") or "")
                if not lock.is_taken(said):
                    return answer
                self._line.again(first_line(said))

    def _run(self, asked: bytes) -> dict[str, Any]:
        """The process doesn't outlive us: whatever ends this function ends it."""
        started = time.monotonic()
        try:
            process = subprocess.Popen([self._python, "-m", "jaxscope.targets.compiler"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       env=_environment(self._target, self._texts))
        except OSError as e:
            raise TargetProblem(self._target.name, f"{self._python} can't be run: {e.strerror}") from None
        try:
            spoken = self._communicate(process, asked)
        except subprocess.TimeoutExpired:
            raise TargetProblem(self._target.name, f"time-out: {_NOT_DONE}{self._line.waited()}") from None
        except TimeOut as e:
            raise TimeOut(f"{e}: {_NOT_DONE}{self._line.waited()}") from None
        finally:
            if process.poll() is None:
                process.kill()
                process.communicate()
            lock.tidy()
        if spoken is None:
            return {**self._assigned(), "compile_seconds": time.monotonic() - started, "ended": ONLY_MEMORY}
        with contextlib.suppress(ValueError):
            if process.returncode == 0:
                return dict(json.loads(spoken[0]))
        raise TargetProblem(self._target.name, f"XLA's compiler {_ending(process.returncode)}" + _last_words(spoken[1]))

    def _communicate(self, process: Any, asked: bytes) -> tuple[bytes, bytes] | None:
        """What it said, on both streams; None where it is ended behind its buffer assignment."""
        sent: bytes | None = asked
        while True:
            left = None if self._line.deadline is None else max(self._line.deadline - time.monotonic(), 0.01)
            try:
                return tuple(process.communicate(sent, timeout=min(_LOOK, left or _LOOK) if self._memory_only else left))  # type: ignore[return-value]
            except subprocess.TimeoutExpired:
                sent = None
                if self._memory_only and assignment.written(str(self._texts)):
                    return None
                if self._line.deadline is not None and time.monotonic() >= self._line.deadline:
                    raise

    def _assigned(self) -> dict[str, Any]:
        texts = str(self._texts)
        try:
            with open(os.path.join(texts, assignment.DEVICE), encoding="utf-8") as f:
                device = json.load(f)
            return {**device, **assignment.facts(str(assignment.written(texts)))}
        except (OSError, ValueError) as e:
            raise TargetProblem(self._target.name, f"the texts of XLA's buffer assignment can't be read: {first_line(str(e))}") from None


def first_line(text: str) -> str:
    first = next((line for line in text.splitlines() if line.strip()), "")
    return first.strip()[:300]


def _environment(target: Target, texts: str | None) -> dict[str, str]:
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    path = os.environ.get("PYTHONPATH")
    quiet = {"TPU_STDERR_LOG_LEVEL": "3", "TPU_MIN_LOG_LEVEL": "3", "TPU_LOG_DIR": "disabled", "TF_CPP_MIN_LOG_LEVEL": "3"}
    # The compiler's process has no devices but the CPU: a TPU of this machine stays the program's.
    dumping = {"XLA_FLAGS": assignment.flags(texts, os.environ.get("XLA_FLAGS", ""))} if texts else {}
    inherited = {name: value for name, value in os.environ.items() if (name, value) != own_tpu.KEPT_OFF}
    return {**quiet, **inherited, **target.environment, **dumping, "JAX_PLATFORMS": "cpu", "PYTHONPATH": package + (os.pathsep + path if path else "")}


def _ending(code: int) -> str:
    if code < 0:
        return f"was ended by {signal.Signals(-code).name}" + (" (the system ends what takes too much memory)" if code == -signal.SIGKILL else "")
    return f"ended with exit code {code}"


def _last_words(noise: bytes) -> str:
    lines = [line for line in noise.decode("utf-8", "replace").splitlines() if line.strip()]
    return f": {first_line(lines[-1])}" if lines else ""
