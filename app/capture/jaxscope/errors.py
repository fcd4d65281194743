# SPDX-License-Identifier: Apache-2.0
"""What the user did wrong, as one line; the traceback of their code, where there is one, goes above it."""
from __future__ import annotations

import difflib
from typing import Iterable


class CaptureError(Exception):
    """Bad input: printed as `jaxscope: TEXT`, exit code 2."""

    def __init__(self, text: str, traceback_text: str | None = None, exit_code: int = 2):
        super().__init__(text)
        self.traceback_text, self.exit_code = traceback_text, exit_code


def meant(text: str, names: Iterable[str]) -> str:
    """Which of the names was probably meant, as the end of a message; "" where none is near."""
    near = difflib.get_close_matches(text, list(names), 1)
    return f"; did you mean {near[0]}?" if near else ""


class TargetProblem(Exception):
    """Why a target's compiler couldn't be asked, in one line. Nothing is known of the program then."""

    def __init__(self, target: str, why: str):
        super().__init__(f"{target}: {why}")
        self.why = why


class TimeOut(BaseException):
    """Raised by the alarm wherever the program happens to be; not an Exception, so that `except Exception` lets it through."""

    exit_code = 3
