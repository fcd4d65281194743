# SPDX-License-Identifier: Apache-2.0
"""What a target's compiler says of a program: asked in a process of its own, one at a time, and not beyond a time."""
from __future__ import annotations

import contextlib
import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time
from typing import Any, Callable

import jax

from .. import compat
from . import assignment
from .names import Target
from .refusal import is_out_of_memory, out_of_memory

_LOCK = os.environ.get("JAXSCOPE_LIBTPU_LOCK", "/tmp/libtpu_lockfile")  # libtpu's own: it ends a second process. The variable is for tests
_POLL = 0.5
_LOOK = 0.2  # for the texts of its buffer assignment
ONLY_MEMORY = "ended behind its buffer assignment"  # among an entry's options


class TargetProblem(Exception):
    """Why a target couldn't be asked, in one line. Nothing is known of the program then."""


def compile_for(target: Target, module: Callable[[], bytes], python: str | None = None, deadline: float | None = None,
                tell: Callable[[str], None] = lambda text: None, shown_path: Callable[[str], str] = str, memory_only: bool = False) -> dict[str, Any]:
    """The capture's entry for `target`. `deadline` is one of time.monotonic(). `memory_only`: the compiler is ended once it has assigned its buffers; code isn't made, and
    no cost analysis."""
    python = python or _python_with_compiler(target)
    try:
        program = module()
    except Exception as e:
        raise TargetProblem(f"{target.name}: JAX doesn't lower the program for it: {type(e).__name__}: {_line(str(e))}") from None
    answer = _ask(target, python, program, deadline, tell, memory_only)
    entry = {"target": target.name, "device": answer["device"], "libtpu": answer.get("libtpu"), "compile_seconds": round(answer["compile_seconds"], 3),
             "options": "; ".join(filter(None, [os.environ.get("LIBTPU_INIT_ARGS"), answer.get("ended")])) or None, "memory_analysis": answer.get("memory_analysis"),
             "cost_analysis": answer.get("cost_analysis"), "input_output_alias": answer.get("input_output_alias"), "out_of_memory": None}
    refused = answer.get("refused")
    if refused is not None:
        if not is_out_of_memory(refused):
            raise TargetProblem(f"{target.name}: XLA refuses the program: {_line(refused)}")
        entry["out_of_memory"] = out_of_memory(refused, shown_path)
    return entry


def cache_folder() -> str:
    return os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache"), "jaxscope")


def advised_python() -> str:
    return os.path.join(cache_folder(), f"tpu-{jax.__version__}", "bin", "python")


def compiler_version(target: Target, python: str | None) -> str:
    """Of the compiler that would be asked; asking costs no start of JAX."""
    program = "import importlib.metadata as m; print(m.version('libtpu'))"
    done = subprocess.run([python or _python_with_compiler(target), "-c", program], capture_output=True, text=True)
    return done.stdout.strip()


def _python_with_compiler(target: Target) -> str:
    import importlib.util
    if importlib.util.find_spec("libtpu") is not None:
        return sys.executable
    advised = advised_python()
    if os.path.exists(advised):
        return advised
    folder = os.path.dirname(os.path.dirname(advised))
    raise TargetProblem(f"{target.name}: this Python ({sys.executable}) has no libtpu, which holds XLA's TPU compiler: pip install libtpu, or beside it "
                        f"python3 -m venv {folder} && {folder}/bin/pip install 'jax[tpu]=={jax.__version__}', where it is found, or --target-python EXE")


def _ask(target: Target, python: str, module: bytes, deadline: float | None, tell: Callable[[str], None], memory_only: bool) -> dict[str, Any]:
    _wait_for_lock(target, deadline, tell)
    asked: dict[str, Any] = {"jax": jax.__version__, "topology": f"{target.kind}:{target.topology}"}
    with tempfile.TemporaryDirectory(prefix="jaxscope-xla-", ignore_cleanup_errors=True) if memory_only else contextlib.nullcontext() as texts:
        if texts:
            asked["texts"] = texts
        answer = _run(target, python, json.dumps(asked).encode() + b"\n" + module, deadline, texts)
    if "unusable" in answer:
        raise TargetProblem(f"{target.name}: {python} {answer['unusable']}: pip install 'jax[tpu]=={jax.__version__}' there, or --target-python EXE")
    if "topology" in answer:
        raise TargetProblem(f"{target.name}: XLA's compiler knows no such topology, or doesn't fit this JAX: {_line(answer['topology'])}")
    if "other" in answer:
        raise TargetProblem(f"{target.name}: {answer['other']}: tpu:{target.kind}:TOPOLOGY names one of that size")
    return answer


def _run(target: Target, python: str, given: bytes, deadline: float | None, texts: str | None) -> dict[str, Any]:
    """The process doesn't outlive us: whatever ends this function ends it."""
    started = time.monotonic()
    try:
        process = subprocess.Popen([python, "-m", "jaxscope.targets.compiler"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=_environment(target, texts))
    except OSError as e:
        raise TargetProblem(f"{target.name}: {python} can't be run: {e.strerror}") from None
    try:
        spoken = _communicate(process, given, deadline, texts)
    except subprocess.TimeoutExpired:
        raise TargetProblem(f"{target.name}: time-out: XLA's compiler was not done") from None
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
        _tidy()
    if spoken is None:
        return {**_assigned(target, str(texts)), "compile_seconds": time.monotonic() - started, "ended": ONLY_MEMORY}
    with contextlib.suppress(ValueError):
        if process.returncode == 0:
            return dict(json.loads(spoken[0]))
    raise TargetProblem(f"{target.name}: XLA's compiler {_ending(process.returncode)}" + _last_words(spoken[1]))


def _communicate(process: Any, given: bytes, deadline: float | None, texts: str | None) -> tuple[bytes, bytes] | None:
    """What it said, on both streams; None where the texts of its buffer assignment are there before it ends."""
    sent: bytes | None = given
    while True:
        left = None if deadline is None else max(deadline - time.monotonic(), 0.01)
        try:
            return tuple(process.communicate(sent, timeout=left if texts is None else min(_LOOK, left or _LOOK)))  # type: ignore[return-value]
        except subprocess.TimeoutExpired:
            sent = None
            if texts is not None and assignment.written(texts):
                return None
            if deadline is not None and time.monotonic() >= deadline:
                raise


def _assigned(target: Target, texts: str) -> dict[str, Any]:
    try:
        with open(os.path.join(texts, assignment.DEVICE), encoding="utf-8") as f:
            device = json.load(f)
        return {**device, **assignment.facts(str(assignment.written(texts)))}
    except (OSError, ValueError) as e:
        raise TargetProblem(f"{target.name}: the texts of XLA's buffer assignment can't be read: {_line(str(e))}") from None


def _environment(target: Target, texts: str | None) -> dict[str, str]:
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    path = os.environ.get("PYTHONPATH")
    quiet = {"TPU_STDERR_LOG_LEVEL": "3", "TPU_MIN_LOG_LEVEL": "3", "TPU_LOG_DIR": "disabled", "TF_CPP_MIN_LOG_LEVEL": "3"}
    # The compiler's process has no devices but the CPU: a TPU of this machine stays the program's.
    dumping = {"XLA_FLAGS": assignment.flags(texts, os.environ.get("XLA_FLAGS", ""))} if texts else {}
    return {**quiet, **os.environ, **target.environment, **dumping, "JAX_PLATFORMS": "cpu", "PYTHONPATH": package + (os.pathsep + path if path else "")}


def _ending(code: int) -> str:
    if code < 0:
        return f"was ended by {signal.Signals(-code).name}" + (" (the system ends what takes too much memory)" if code == -signal.SIGKILL else "")
    return f"ended with exit code {code}"


def _last_words(noise: bytes) -> str:
    lines = [line for line in noise.decode("utf-8", "replace").splitlines() if line.strip()]
    return f": {_line(lines[-1])}" if lines else ""


def _line(text: str) -> str:
    first = next((line for line in text.splitlines() if line.strip()), "")
    return first.strip()[:300]


def _wait_for_lock(target: Target, deadline: float | None, tell: Callable[[str], None]) -> None:
    """Until no process holds libtpu's lock; who holds it is said once."""
    said = False
    while holder := _lock_holder():
        if not said:
            tell(f"jaxscope: {target.name}: process {holder} uses libtpu ({_LOCK}): waiting for it")
            said = True
        if deadline is not None and time.monotonic() > deadline:
            raise TargetProblem(f"{target.name}: time-out: process {holder} held libtpu's lock ({_LOCK}) all the time")
        time.sleep(_POLL)


def _lock_holder() -> int | None:
    """Asked without taking the lock: a libtpu that starts meanwhile would find it taken."""
    import fcntl
    try:
        fd = os.open(_LOCK, os.O_RDONLY)
    except OSError:  # nobody has used it, or another user: libtpu says that itself
        return None
    try:
        asked = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        kind, *_, pid = struct.unpack("hhqqi4x", fcntl.fcntl(fd, fcntl.F_GETLK, asked))
        return None if kind == fcntl.F_UNLCK else pid
    except OSError:
        return None
    finally:
        os.close(fd)


def _tidy() -> None:
    """libtpu leaves its lock file behind where it is killed, and another user's libtpu couldn't open that."""
    with contextlib.suppress(OSError):
        if os.stat(_LOCK).st_uid == os.getuid() and _lock_holder() is None:
            os.unlink(_LOCK)
