# SPDX-License-Identifier: Apache-2.0
"""Captures in processes that somebody else starts: `capture --call NAME -- env A=1 python train.py`, `uv run ...`, a launcher's workers.

The command runs as it is. An environment variable tells every Python in it what to look for; the first that comes to the call
writes the capture, then a file that says so. Names that were seen are noted for the message that it never came.
"""
from __future__ import annotations

import atexit
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from argparse import Namespace
from typing import Any, Iterator, Sequence

from . import usercode
from ..errors import CaptureError, meant
from .request import capture_program
from .watch import Watch, install, jax_is_there

_VARIABLE = "JAXSCOPE_CALL"
_POLL = 0.1


class Post:
    """A folder in which the processes leave word: `taken` (by the one that captures), `result`, `error`, `seen` (a line a process)."""

    def __init__(self, folder: str):
        self.folder = folder

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def take(self) -> bool:
        try:
            os.close(os.open(self.path("taken"), os.O_CREAT | os.O_EXCL))
        except OSError:
            return False
        return True

    def leave(self, name: str, what: Any) -> None:
        with open(self.path(name + ".new"), "w") as f:
            json.dump(what, f)
        os.replace(self.path(name + ".new"), self.path(name))

    def read(self, name: str) -> Any | None:
        try:
            with open(self.path(name)) as f:
                return json.load(f)
        except (OSError, ValueError):
            return None

    def saw(self, calls: dict[str, int]) -> None:
        with contextlib.suppress(OSError), open(self.path("seen"), "a") as f:
            f.write(json.dumps(calls) + "\n")

    def seen(self) -> dict[str, int] | None:
        """None: no process imported jax."""
        calls: dict[str, int] = {}
        try:
            with open(self.path("seen")) as f:
                for line in f:
                    for name, n in json.loads(line).items():
                        calls[name] = max(n, calls.get(name, 0))
        except (OSError, ValueError):
            return None
        return calls


@contextlib.contextmanager
def environment(opt: Any) -> Iterator[tuple[Post, dict[str, str]]]:
    """What a process has to have in its environment so that it and its children watch."""
    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    folder = tempfile.mkdtemp(prefix="jaxscope-")
    plain = {k: v for k, v in vars(opt).items() if v is None or isinstance(v, (bool, int, float, str, list, tuple))}
    paths = [os.path.join(here, "inject"), here, *filter(None, [os.environ.get("PYTHONPATH")])]
    try:
        yield Post(folder), {_VARIABLE: json.dumps({**plain, "post": folder}), "PYTHONPATH": os.pathsep.join(paths)}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def watch() -> None:
    """In a process of the command, before its own code."""
    opt = Namespace(**json.loads(os.environ[_VARIABLE]))
    post = Post(opt.post)

    def take(p: Any) -> dict[str, Any] | None:
        if not post.take():  # another process was first
            return None
        result = capture_program(p, opt, seen.pid, f"tracing {opt.call}")
        post.leave("result", result)
        if not opt.go_on:
            usercode.leave(0)
        return result

    def fail(e: CaptureError) -> None:
        post.leave("error", {"text": str(e), "traceback": e.traceback_text, "exit_code": e.exit_code})
        usercode.leave(e.exit_code)
    seen = Watch(opt.call, opt.nth, take, opt.go_on)
    seen.fail = fail
    install(seen)
    atexit.register(lambda: post.saw(seen.calls) if seen.pid == os.getpid() and jax_is_there() else None)


def run(opt: Any, words: Sequence[str]) -> dict[str, Any]:
    """Start the command, wait for word of a capture or for its end."""
    with environment(opt) as (post, variables):
        try:
            process = subprocess.Popen(list(words), env={**os.environ, **variables}, start_new_session=True)
        except OSError as e:
            raise CaptureError(f"cannot run {words[0]}: {e.strerror}") from None
        try:
            while process.poll() is None and (opt.go_on or not _word(post)):
                time.sleep(_POLL)
        finally:
            _end(process)
        _raise_error(post)
        result = post.read("result")
        if result is None:
            code = process.returncode
            ended = "" if code == 0 else f"; it ended with exit code {code}" if code > 0 else f"; it was ended by signal {-code}"
            raise CaptureError(never_called(opt, post.seen()) + ended)
        return result


def _word(post: Post) -> bool:
    return os.path.exists(post.path("result")) or os.path.exists(post.path("error"))


def _raise_error(post: Post) -> None:
    error = post.read("error")
    if error is not None:
        raise CaptureError(error["text"], error["traceback"], error["exit_code"])


def _end(process: subprocess.Popen) -> None:
    for sent, patience in ((signal.SIGTERM, 1.0), (signal.SIGKILL, 1.0)):
        if process.poll() is not None:
            break
        with contextlib.suppress(OSError):
            os.killpg(process.pid, sent)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(patience)
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)  # what it started


def never_called(opt: Any, calls: dict[str, int] | None, nested: Sequence[str] = ()) -> str:
    if calls is None:
        return "no Python process of the command imported jax"
    count = calls.get(opt.call.split(".")[-1], 0)
    if count:
        return f"{opt.call} was called {count} time{'s' * (count != 1)}, not {opt.nth}"
    if opt.call in nested:
        return f"{opt.call} is only called inside other jitted functions: {_listed(calls)}"
    return f"no jitted function {opt.call!r} was called" + (f"; there were {_listed(calls)}{meant(opt.call, calls)}" if calls else "")


def _listed(calls: dict[str, int]) -> str:
    names = sorted(calls)
    return ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")


def interrupt_when_captured(post: Post, ended: BaseException) -> None:
    """Our own process runs a script that waits for others (a launcher written in Python): stop it when one of them has captured."""
    def stop(*_: Any) -> None:
        raise ended

    def look() -> None:
        while os.path.isdir(post.folder):
            if _word(post):
                os.kill(os.getpid(), signal.SIGUSR1)
                return
            time.sleep(_POLL)
    with contextlib.suppress(ValueError, AttributeError):
        signal.signal(signal.SIGUSR1, stop)
        threading.Thread(target=look, daemon=True).start()
