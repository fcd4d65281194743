"""What the user did wrong, as one line; the traceback of their code, where there is one, goes above it."""
from __future__ import annotations


class CaptureError(Exception):
    """Bad input: printed as `jaxscope: TEXT`, exit code 2."""

    def __init__(self, text: str, traceback_text: str | None = None):
        super().__init__(text)
        self.traceback_text = traceback_text


class TimeOut(BaseException):
    """Raised by the alarm wherever the program happens to be; not an Exception, so that `except Exception` lets it through."""
