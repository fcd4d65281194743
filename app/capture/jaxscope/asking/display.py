# SPDX-License-Identifier: Apache-2.0
"""`jaxscope.show`: the window, or in a notebook the report."""
from __future__ import annotations

import html
import os
import shutil
import subprocess
import sys
import tempfile
from typing import Any, Callable

from ..api import Capture, capture
from ..errors import CaptureError
from .executable import executable


def show(fn: Any, **options: Any) -> Callable[..., Any]:
    """Captures `fn` on the arguments that the result is called with, and shows it."""
    def shown(*args: Any, **kwargs: Any) -> Any:
        return show_capture(capture(fn, **options)(*args, **kwargs))
    return shown


def in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    current = shell.get_ipython() if shell is not None else None
    return current is not None and type(current).__name__ == "ZMQInteractiveShell"


def show_capture(captured: Capture) -> Any:
    program = executable()
    folder = tempfile.mkdtemp(prefix="jaxscope-")
    path = captured.save(os.path.join(folder, "program.jaxscope"))
    if in_notebook():
        return _report(program, path, folder, captured.document["name"])
    # The window outlives the call: a training script goes on while its user looks at it.
    subprocess.Popen([program, "open", path], stdin=subprocess.DEVNULL, start_new_session=True)
    return captured


class Report:
    """A page for a notebook, in a frame of its own: its style is not the notebook's."""

    def __init__(self, page: str, name: str):
        self.page, self.name = page, name

    def _repr_html_(self) -> str:
        return (f'<iframe title="{html.escape(self.name)}" sandbox="allow-scripts allow-popups" style="width:100%;height:720px;border:0" '
                f'srcdoc="{html.escape(self.page)}"></iframe>')

    def __repr__(self) -> str:
        return f"<jaxscope report on {self.name!r}: a notebook shows it>"


def _report(program: str, path: str, folder: str, name: str) -> Report:
    page = os.path.join(folder, "report.html")
    try:
        done = subprocess.run([program, "export", path, "-o", page], capture_output=True, text=True, timeout=300)
        if done.returncode != 0:
            raise CaptureError(done.stderr.strip().removeprefix("jaxscope: ") or f"export ended with code {done.returncode}")
        with open(page, encoding="utf-8") as f:
            return Report(f.read(), name)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
