# SPDX-License-Identifier: Apache-2.0
"""A capture as a command line asked for it: traced with its options, written where it says, told about on standard error."""
from __future__ import annotations

import contextlib
import os
import sys
from typing import Any

from . import usercode
from ..errors import CaptureError, TargetProblem, TimeOut
from ..targets import names
from ..targets.refusal import sentence


def capture_program(p: Any, opt: Any, pid: int, what: str, **options: Any) -> dict[str, Any]:
    """Trace `p` and write it; what is printed about it. `what` names the user's code in errors, `pid` the process that may write."""
    from .. import api  # imports JAX
    captured = usercode.run(what, api.capture_program, p, values=opt.values, compile=opt.compile and not opt.targets, source=not opt.no_source, absolute=opt.absolute,
                            rule_depth=opt.rule_depth, axis_sizes=tuple(dict.fromkeys(opt.axis_size)), **options)
    if os.getpid() != pid:
        os._exit(0)
    captured.save(opt.path, compress=not opt.no_compress)
    for w in captured.warnings:
        say(f"warning: {w}")
    _compile_for_targets(captured, opt)
    return {"schema": "jaxscope.report/1", "output": opt.output, "equations": captured.equations,
            "jax_version": captured.document["producer"]["jax"]}


def _compile_for_targets(captured: Any, opt: Any) -> None:
    """The capture is written already; it is written anew with what each compiler says, so that nothing that stops us loses it."""
    problems = []
    unsaid = f"({opt.output} is written without its word)"
    for name in opt.targets:
        try:
            names.parse(name)
        except CaptureError as e:
            problems.append(f"{e} {unsaid}")
            continue
        try:
            entry = captured.compile_for(name, opt.target_python, None, tell, opt.memory_only)
            captured.save(opt.path, compress=not opt.no_compress)
            refused = entry["out_of_memory"]
            if refused is not None:
                problems.append(f"{entry['target']}: {sentence(refused)}")
        except TargetProblem as e:
            problems.append(f"{e} {unsaid}")
        except TimeOut as e:
            problems.append(f"{name}: {e} {unsaid}")
            break
    for problem in problems[:-1]:
        say(problem)
    if problems:
        raise CaptureError(problems[-1], exit_code=TimeOut.exit_code)


def say(text: str) -> None:
    """One line of ours."""
    tell(f"jaxscope: {usercode.on_one_line(text)}")


def tell(text: str) -> None:
    """On standard error; the one that Python had, where the user's code has put something else in its place."""
    for stream in (sys.stderr, sys.__stderr__):
        with contextlib.suppress(Exception):
            flushed(sys.stdout)
            print(text, file=stream, flush=True)
            if stream is sys.__stderr__:
                return
    with contextlib.suppress(OSError):
        os.write(2, (text + "\n").encode("utf-8", "backslashreplace"))


def flushed(stream: Any) -> None:
    with contextlib.suppress(Exception):  # closed or replaced by the user's code
        stream.flush()
