# SPDX-License-Identifier: Apache-2.0
"""`capture --call NAME -- python train.py ...`: a script runs as it is, and a call of one of its jitted functions is captured."""
from __future__ import annotations

import contextlib
import os
import runpy
import sys
from typing import Any, Callable, Iterator

from . import attach, usercode
from ..errors import CaptureError
from .request import capture_program, say
from .watch import Captured, Watch, install, jax_is_there


@contextlib.contextmanager
def _as_script(words: list[str]) -> Iterator[Callable[[], Any]]:
    """sys.argv and sys.path as `python train.py ...` would have them."""
    words = list(words)
    if words and os.path.basename(words[0]).startswith("python"):
        words.pop(0)
    if not words:
        raise CaptureError("--call: expected the script to run behind --, as in: --call train_step -- python train.py")
    before, path = list(sys.argv), list(sys.path)
    try:
        if words[0] in ("-m", "-c") and len(words) < 2:
            raise CaptureError(f"--call: expected something to run behind {words[0]}")
        if words[0] == "-c":
            sys.argv = ["-c", *words[2:]]
            sys.path.insert(0, "")
            code = compile(words[1], "<string>", "exec")
            yield lambda: exec(code, {"__name__": "__main__"})
        elif words[0] == "-m":
            sys.argv = [words[1], *words[2:]]
            sys.path.insert(0, os.getcwd())
            yield lambda: runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        else:
            if not os.path.isfile(words[0]):
                raise CaptureError(f"{words[0]}: no such file")
            sys.argv = words
            sys.path.insert(0, os.path.dirname(os.path.abspath(words[0])))
            yield lambda: runpy.run_path(words[0], run_name="__main__")
    finally:
        sys.argv, sys.path[:] = before, path


def run(opt: Any, words: list[str]) -> dict[str, Any]:
    if words and not _is_python(words):
        return attach.run(opt, words)
    watch = Watch(opt.call, opt.nth, lambda p: capture_program(p, opt, watch.pid, f"tracing {opt.call}"), opt.go_on)
    install(watch)
    stop: CaptureError | None = None
    with _as_script(words) as script, attach.environment(opt) as (post, variables):
        os.environ.update(variables)
        if not opt.go_on:
            attach.interrupt_when_captured(post, Captured())
        try:
            usercode.run(os.path.basename(words[0]) if not words[0].startswith("-") else words[-1], _until_captured, script, watch)
        except CaptureError as e:
            stop = e
        elsewhere, error, seen = post.read("result"), post.read("error"), post.seen()
    if watch.result is None and error is not None:
        raise CaptureError(error["text"], error["traceback"], error["exit_code"])
    if watch.error is not None:
        raise watch.error
    result = watch.result or elsewhere
    if result is None:
        calls = {**(seen or {}), **watch.calls} if jax_is_there() or seen is not None else None
        raise stop if stop is not None else CaptureError(attach.never_called(opt, calls, sorted(watch.nested)))
    if stop is not None and stop.traceback_text:  # --continue: the capture is whole, the script failed afterwards
        print(stop.traceback_text.rstrip(), file=sys.stderr)
        say(f"warning: after the capture, {stop}")
    return result


def _is_python(words: list[str]) -> bool:
    first = os.path.basename(words[0])
    return first.startswith("python") or first.endswith(".py") or words[0] in ("-m", "-c")


def _until_captured(script: Callable[[], Any], watch: Watch) -> None:
    try:
        script()
    except Captured:
        pass
    except SystemExit as e:
        if watch.result is None and e.code not in (0, None):
            raise
