# SPDX-License-Identifier: Apache-2.0
"""`%load_ext jaxscope`, then `%jaxscope step(state, batch)`: what jaxscope says of a call, without making it."""
from __future__ import annotations

import ast
from typing import Any

from .analysis import Analysis
from ..api import capture
from .display import in_notebook, show_capture
from ..errors import CaptureError, meant

COMMANDS = ("report", "residuals", "split", "donation", "plan", "policies", "inspect", "print")


def run(line: str, namespace: dict[str, Any]) -> Any:
    """`[COMMAND] fn(args)`: the call's function and arguments are evaluated, the call isn't made."""
    first, _, rest = line.strip().partition(" ")
    command, text = (first, rest) if first in COMMANDS else ("report", line.strip())
    try:
        call = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        call = None
    if not isinstance(call, ast.Call):
        hint = "" if first in COMMANDS else meant(first, COMMANDS)
        raise CaptureError(f"expected [{'|'.join(COMMANDS)}] and a call such as step(state, batch), found {text.strip()!r}{hint}")

    def value(node: ast.expr) -> Any:
        return eval(compile(ast.fix_missing_locations(ast.Expression(node)), "<%jaxscope>", "eval"), namespace)

    args: list[Any] = []
    for a in call.args:
        args.extend(value(a.value)) if isinstance(a, ast.Starred) else args.append(value(a))
    kwargs: dict[str, Any] = {}
    for k in call.keywords:
        kwargs.update(value(k.value) if k.arg is None else {k.arg: value(k.value)})
    captured = capture(value(call.func))(*args, **kwargs)
    if command == "report" and in_notebook():
        return show_capture(captured)
    print(Analysis(captured).text(command, *(["--no-run"] if command in ("report", "policies") else [])))
    return None


def register(shell: Any) -> None:
    shell.register_magic_function(lambda line: run(line, shell.user_ns), "line", "jaxscope")
