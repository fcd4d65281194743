"""A capture as a command line asked for it: traced with its options, written where it says, told about on standard error."""
from __future__ import annotations

import contextlib
import os
import sys
from typing import Any

from . import usercode


def capture_program(p: Any, opt: Any, pid: int, what: str, **options: Any) -> dict[str, Any]:
    """Trace `p` and write it; what is printed about it. `what` names the user's code in errors, `pid` the process that may write."""
    from .. import api  # imports JAX
    captured = usercode.run(what, api.capture_program, p, values=opt.values, compile=opt.compile, source=not opt.no_source, absolute=opt.absolute,
                            rule_depth=opt.rule_depth, axis_sizes=tuple(dict.fromkeys(opt.axis_size)), **options)
    if os.getpid() != pid:
        os._exit(0)
    captured.save(opt.path, compress=not opt.no_compress)
    for w in captured.warnings:
        tell(f"jaxscope: warning: {w}")
    return {"schema": "jaxscope.report/1", "output": opt.output, "equations": captured.equations,
            "jax_version": captured.document["producer"]["jax"]}


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
