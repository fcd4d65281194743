# SPDX-License-Identifier: Apache-2.0
"""What a target's compiler says of a program: asked in a process of its own, one at a time, and not beyond a time."""
from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from typing import Any, Callable, Sequence

import jax

from ..errors import TargetProblem
from . import lock, refused_buffers
from .names import Target
from .process import Compiler, first_line
from .refusal import is_out_of_memory, out_of_memory


def compile_for(target: Target, module: Callable[[], bytes], python: str | None = None, deadline: float | None = None,
                tell: Callable[[str], None] = lambda text: None, shown_path: Callable[[str], str] = str, memory_only: bool = False,
                inputs: Sequence[str] = ()) -> dict[str, Any]:
    """The capture's entry for `target`. `deadline` is one of time.monotonic(). `memory_only`: the compiler is ended once it has assigned its buffers; code isn't made, and
    no cost analysis. `inputs`: what the program's arguments are called."""
    python = python or _python_with_compiler(target)
    try:
        program = module()
    except Exception as e:
        raise TargetProblem(target.name, f"JAX doesn't lower the program for it: {type(e).__name__}: {first_line(str(e))}") from None
    answer = _ask(target, python, program, lock.Line(target.name, deadline, tell), memory_only, shown_path)
    entry = {"target": target.name, "device": answer["device"], "libtpu": answer.get("libtpu"), "compile_seconds": round(answer["compile_seconds"], 3),
             "options": "; ".join(filter(None, [os.environ.get("LIBTPU_INIT_ARGS"), answer.get("ended")])) or None, "memory_analysis": answer.get("memory_analysis"),
             "cost_analysis": answer.get("cost_analysis"), "input_output_alias": answer.get("input_output_alias"), "out_of_memory": None}
    refused = answer.get("refused")
    if refused is not None:
        if not is_out_of_memory(refused):
            raise TargetProblem(target.name, f"XLA refuses the program: {first_line(refused)}")
        entry["out_of_memory"] = out_of_memory(refused, shown_path, answer.get("assigned"), inputs)
    return entry


def cache_folder() -> str:
    return os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache"), "jaxscope")


def advised_python() -> str:
    return os.path.join(cache_folder(), f"tpu-{jax.__version__}", "bin", "python")


def compiler_version(target: Target, python: str | None) -> str:
    """Of the compiler that would be asked; asking costs no start of JAX."""
    program = "import importlib.metadata as m; print(m.version('libtpu'))"
    try:
        return subprocess.run([python or _python_with_compiler(target), "-c", program], capture_output=True, text=True).stdout.strip()
    except OSError:  # who asks it says so
        return ""


def _python_with_compiler(target: Target) -> str:
    import importlib.util
    if importlib.util.find_spec("libtpu") is not None:
        return sys.executable
    advised = advised_python()
    if os.path.exists(advised):
        return advised
    folder = os.path.dirname(os.path.dirname(advised))
    raise TargetProblem(target.name, f"this Python ({sys.executable}) has no libtpu, which holds XLA's TPU compiler: pip install libtpu, or beside it "
                        f"python3 -m venv {folder} && {folder}/bin/pip install 'jax[tpu]=={jax.__version__}', where it is found, or --target-python EXE")


def _ask(target: Target, python: str, module: bytes, line: lock.Line, memory_only: bool, shown_path: Callable[[str], str]) -> dict[str, Any]:
    asked: dict[str, Any] = {"jax": jax.__version__, "topology": f"{target.kind}:{target.topology}"}
    with _texts(memory_only) as texts:
        if texts:
            asked["texts"] = texts
        answer = Compiler(target, python, line, texts, memory_only).answer(json.dumps(asked).encode() + b"\n" + module)
        if texts and is_out_of_memory(answer.get("refused", "")):
            answer["assigned"] = refused_buffers.found(texts, shown_path)
    if "unusable" in answer:
        raise TargetProblem(target.name, f"{python} {answer['unusable']}: pip install 'jax[tpu]=={jax.__version__}' there, or --target-python EXE")
    if "topology" in answer:
        raise TargetProblem(target.name, f"XLA's compiler knows no such topology, or doesn't fit this JAX: {first_line(answer['topology'])}")
    if "other" in answer:
        raise TargetProblem(target.name, f"{answer['other']}: tpu:{target.kind}:TOPOLOGY names one of that size")
    return answer


def _texts(memory_only: bool) -> contextlib.AbstractContextManager[str | None]:
    """A folder for the texts of XLA's buffer assignment; they tell what takes the memory of a program that is refused, too. None where the user has them written elsewhere."""
    if not memory_only and "--xla_dump_to" in os.environ.get("XLA_FLAGS", ""):
        return contextlib.nullcontext()
    return tempfile.TemporaryDirectory(prefix="jaxscope-xla-", ignore_cleanup_errors=True)
