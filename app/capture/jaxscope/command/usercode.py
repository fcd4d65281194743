# SPDX-License-Identifier: Apache-2.0
"""Running the user's Python: what goes wrong in it becomes its traceback and one line; how this process ends after it."""
from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
import threading
import traceback
from typing import Any, Callable, NoReturn

from ..errors import CaptureError, TimeOut
from ..version import check_jax

_LINE, _TRACEBACK = 500, 16_000  # characters that are shown
_LEAVING = 2.0  # seconds for the exit handlers of the user's libraries


def run(what: str, f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call something of the user's; what it raises becomes a CaptureError with their traceback."""
    try:
        return f(*args, **kwargs)
    except (CaptureError, KeyboardInterrupt):
        raise
    except TimeOut as e:
        raise CaptureError(str(e), _traceback(e), TimeOut.exit_code) from None
    except SystemExit as e:
        how = f" (exit code {e.code or 0})" if e.code is None or isinstance(e.code, int) else f": {one_line(_text(e.code))}"
        raise CaptureError(f"{what} ended the Python process{how}" + _advice(e)) from None
    except BaseException as e:
        if isinstance(e, ModuleNotFoundError) and (e.name or "").split(".")[0] in ("jax", "jaxlib"):
            import_jax()
        said = one_line(_text(e))
        raise CaptureError(f"{what} raised {type(e).__name__}" + (f": {said}" if said else "") + _advice(e), _traceback(e)) from None


def _advice(e: BaseException) -> str:
    if type(e).__name__ == "TraceContextError" and type(e).__module__.startswith("flax"):
        return "; a function that changes modules of NNX is captured as nnx.jit(FUNCTION), which takes and returns what they hold"
    if isinstance(e, SystemExit) and e.code and any(f.f_globals.get("__name__") == "argparse" for f, _ in traceback.walk_tb(e.__traceback__)):
        return "; a script that needs a command line is captured with it: capture --call FUNCTION -- python FILE.py ARGS..."
    return ""


def import_jax() -> Any:
    try:
        import jax
    except ImportError as e:
        raise CaptureError(f"this Python ({sys.executable}) has no JAX ({e}): choose another one with --python, or install it: pip install jax") from None
    check_jax()
    return jax


def _text(value: Any) -> str:
    try:
        return str(value)
    except Exception as e:
        return f"<its text can't be had: {type(e).__name__}>"


def one_line(text: str) -> str:
    """The first line that says something, cut, without characters that terminals act upon."""
    first = next((line for line in text[:10 * _LINE].split("\n") if line.strip()), "")
    return _plain(first if len(first) <= _LINE else first[:_LINE] + "...").strip()


def on_one_line(text: str) -> str:
    """All of it: a name of the user's with a line break in it begins no line of its own, which a CI might act upon."""
    return _plain(text, "")


def _plain(text: str, kept: str = "\n\t") -> str:
    return "".join(c if c.isprintable() or c in kept else c.encode("unicode_escape").decode() for c in text)


def _traceback(e: BaseException) -> str:
    """Without our own frames at the top: the user's error is not about them."""
    package = os.path.dirname(os.path.dirname(__file__))
    here = os.path.abspath(package) + os.sep
    tb = e.__traceback__
    while tb is not None and tb.tb_frame.f_code.co_filename.startswith((here, package + os.sep, "<frozen ")):
        tb = tb.tb_next
    if isinstance(e, TimeOut):  # what counts is where it stood, not how it was stopped
        stood = [f for f in traceback.extract_tb(tb) if not f.filename.startswith(here)]
        return "Traceback (most recent call last):\n" + "".join(traceback.format_list(stood))
    text = "".join(traceback.format_exception(type(e), e, tb))
    if len(text) > _TRACEBACK:
        half = _TRACEBACK // 2
        text = f"{text[:half]}\n... ({len(text) - 2 * half} characters left out) ...\n{text[-half:]}"
    return _plain(text)


def leave(code: int) -> NoReturn:
    """End this process now. A capture that is made shouldn't wait for what the script started: threads, workers, slow exit handlers."""
    def end(*_: Any) -> None:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)
    try:
        watch = threading.Timer(_LEAVING, end)
        watch.daemon = True
        watch.start()
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)
        threading.excepthook = lambda _: None  # what a pool's thread says of the workers that are killed here is no news of the user's
        processes = sys.modules.get("multiprocessing.process")
        for child in processes.active_children() if processes is not None else ():
            child.kill()
        atexit._run_exitfuncs()
    finally:
        end()
    os._exit(code)
