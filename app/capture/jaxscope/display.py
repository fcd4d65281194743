"""`jaxscope.show`: the window, or in a notebook the report."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from typing import Any, Callable

from .api import Capture, capture
from .errors import CaptureError


def show(fn: Any, **options: Any) -> Callable[..., Any]:
    """Captures `fn` on the arguments that the result is called with, and shows it."""
    def shown(*args: Any, **kwargs: Any) -> Any:
        return show_capture(capture(fn, **options)(*args, **kwargs))
    return shown


def executable() -> str:
    """JAXSCOPE names it; else it is looked for in the PATH and in the build next to this package."""
    here = os.path.dirname(os.path.abspath(__file__))
    root = os.path.dirname(os.path.dirname(os.path.dirname(here)))
    places = [os.environ.get("JAXSCOPE"), shutil.which("jaxscope"), os.path.join(root, "build", "release", "jaxscope"),
              os.path.join(root, "build", "jaxscope")]
    for place in places:
        if place and os.path.isfile(place) and os.access(place, os.X_OK):
            return place
    raise CaptureError("the program jaxscope was not found: put it into the PATH, or name it in the variable JAXSCOPE")


def in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    current = shell.get_ipython() if shell is not None else None
    return current is not None and type(current).__name__ == "ZMQInteractiveShell"


def show_capture(captured: Capture) -> Any:
    program = executable()
    folder = tempfile.mkdtemp(prefix="jaxscope-")
    path = captured.save(os.path.join(folder, "program.jaxscope"))
    if in_notebook():
        return _report(program, path, folder)
    # The window outlives the call: a training script goes on while its user looks at it.
    subprocess.Popen([program, "open", path], stdin=subprocess.DEVNULL, start_new_session=True)
    return captured


def _report(program: str, path: str, folder: str) -> Any:
    from IPython.display import HTML
    page = os.path.join(folder, "report.html")
    try:
        done = subprocess.run([program, "export", path, "-o", page], capture_output=True, text=True, timeout=300)
        if done.returncode != 0:
            raise CaptureError(done.stderr.strip().removeprefix("jaxscope: ") or f"export ended with code {done.returncode}")
        with open(page, encoding="utf-8") as f:
            return HTML(f.read())
    finally:
        shutil.rmtree(folder, ignore_errors=True)
