# SPDX-License-Identifier: Apache-2.0
"""What a budget advises, written into copies of the user's sources: names for values, and checkpoints with a policy.

The user's files stay as they are. The program is made from the changed texts, so that what is printed as a patch is what was captured."""
from __future__ import annotations

import ast
import difflib
import importlib.machinery
import os
from typing import Any, Callable, Iterator

from ..errors import CaptureError

_GRADS = ("grad", "value_and_grad", "vjp", "linearize", "filter_grad", "filter_value_and_grad", "filter_vjp")
_CHECKPOINTS = ("checkpoint", "remat", "filter_checkpoint")


class Text:
    """One source file, and what is to be put into it: pieces by byte offset, so that places of the original stay right."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            with open(path, "rb") as f:
                self.data = f.read()
            self.tree = ast.parse(self.data)
        except (OSError, SyntaxError, ValueError) as e:
            raise CaptureError(f"expected the source {path} as it was captured, found: {e}") from None
        self._lines = [0]
        for line in self.data.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))
        self._pieces: list[tuple[int, int, int, bytes]] = []  # begin, end, order, text
        self.needs: set[str] = set()

    def at(self, line: int, column: int) -> int:
        return self._lines[line - 1] + column

    def span(self, node: Any) -> tuple[int, int]:
        return self.at(node.lineno, node.col_offset), self.at(node.end_lineno, node.end_col_offset)

    def source(self, node: Any) -> str:
        begin, end = self.span(node)
        return self.data[begin:end].decode()

    def replace(self, begin: int, end: int, text: str) -> None:
        self._pieces.append((begin, end, len(self._pieces), text.encode()))

    def wrap(self, node: Any, before: str, after: str) -> None:
        """What is wrapped first stays innermost."""
        begin, end = self.span(node)
        order = len(self._pieces)
        self._pieces += [(begin, begin, -order, before.encode()), (end, end, order, after.encode())]

    def nodes(self, *kinds: type) -> Iterator[Any]:
        return (n for n in ast.walk(self.tree) if isinstance(n, kinds))

    def changed(self) -> bytes:
        out, done = [], 0
        for begin, end, _, text in sorted(self._pieces):
            if begin < done:
                raise CaptureError(f"{self.path}: expected changes apart from each other, found two of one expression")
            out += [self.data[done:begin], text]
            done = end
        data = b"".join([*out, self.data[done:]])
        lines = "".join(f"{n}\n" for n in sorted(self.needs - self._imported())).encode()
        at = self._behind_head()
        text = data[:at] + lines + data[at:]
        ast.parse(text)
        return text

    def _imported(self) -> set[str]:
        """What the module imports at its top, an import of one name each."""
        out = set()
        for node in self.tree.body:
            if isinstance(node, ast.Import):
                out |= {f"import {a.name.split('.')[0]}" for a in node.names if a.asname is None}
            elif isinstance(node, ast.ImportFrom):
                out |= {f"from {node.module} import {a.name}" for a in node.names if a.asname is None}
        return out

    def _behind_head(self) -> int:
        """Behind the docstring and `from __future__`, before which no import may stand. Nothing is changed there."""
        line = 1
        for k, node in enumerate(self.tree.body):
            doc = k == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if not doc and not (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
                line = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
                break
        return self.at(line, 0)


def _last(node: Any) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _calls(text: Text, name: str | tuple[str, ...], line: int = 0) -> list[Any]:
    names = (name,) if isinstance(name, str) else name
    return [n for n in text.nodes(ast.Call) if _last(n.func) in names and (not line or n.lineno <= line <= n.end_lineno)]


def _name_value(text: Text, saved: dict[str, Any]) -> None:
    """The expression that JAX says the value was made by gets a name."""
    place = (saved["line"], saved["column"], saved["end_line"], saved["end_column"])
    text.needs.add("from jax.ad_checkpoint import checkpoint_name")
    for node in text.nodes(ast.expr, ast.AugAssign):
        if (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset) != place:
            continue
        if isinstance(node, ast.AugAssign):
            if not isinstance(node.target, ast.Name):
                break
            value = text.span(node.value)
            begin, end = text.span(node)
            sign = text.data[text.span(node.target)[1]:value[0]].decode().strip().removesuffix("=")
            target = node.target.id
            text.replace(begin, value[0], f"{target} = checkpoint_name({target} {sign} (")
            text.replace(end, end, f'), "{saved["name"]}")')
            return
        text.wrap(node, "checkpoint_name(", f', "{saved["name"]}")')
        return
    raise CaptureError(f"{text.path}:{saved['line']}: expected an expression whose value can be given a name, found none where {saved['primitive']} was traced")


def _checkpointed(text: Text, node: Any, policy: str) -> None:
    text.needs.add("import jax")
    text.wrap(node, "jax.checkpoint(", f", policy={policy})")


def _place_function(text: Text, where: dict[str, Any], policy: str) -> bool:
    """Where it is differentiated, else at its definition."""
    name = where["function"]
    calls = [c for c in _calls(text, _GRADS) if c.args and _last(c.args[0]) == name]
    for c in calls:
        _checkpointed(text, c.args[0], policy)
    if calls:
        return True
    for d in text.nodes(ast.FunctionDef):
        if d.name == name:
            begin = text.at(d.lineno, 0)  # innermost
            indent = " " * d.col_offset
            text.needs |= {"import functools", "import jax"}
            text.replace(begin, begin, f"{indent}@functools.partial(jax.checkpoint, policy={policy})\n")
            return True
    return False


def _place_blocks(text: Text, where: dict[str, Any], policy: str) -> bool:
    calls = _calls(text, where["function"], where["line"])
    for c in calls:
        _checkpointed(text, c.func, policy)
    return bool(calls)


def _place_scan(text: Text, where: dict[str, Any], policy: str) -> bool:
    calls = [c for c in _calls(text, "scan", where["line"]) if c.args]
    if len(calls) != 1:
        return False
    _checkpointed(text, calls[0].args[0], policy)
    return True


def _place_existing(text: Text, where: dict[str, Any], policy: str) -> bool:
    """Each jax.checkpoint of the file: a call, a decorator, or the first argument of functools.partial."""
    found = False
    inner = {id(c.func) for c in text.nodes(ast.Call)}
    for c in text.nodes(ast.Call):
        if _last(c.func) in _CHECKPOINTS or (_last(c.func) == "partial" and c.args and _last(c.args[0]) in _CHECKPOINTS):
            given = next((k for k in c.keywords if k.arg == "policy"), None)
            if given is not None:
                text.replace(*text.span(given.value), policy)
            else:
                end = text.span(c)[1] - 1
                inside = text.data[:end].rstrip()
                text.replace(end, end, f"{'' if inside.endswith((b',', b'(')) else ', '}policy={policy}")
            found = True
    for d in text.nodes(ast.FunctionDef, ast.AsyncFunctionDef):
        for mark in d.decorator_list:
            if _last(mark) in _CHECKPOINTS and id(mark) not in inner:
                text.needs.add("import functools")
                text.wrap(mark, "functools.partial(", f", policy={policy})")
                found = True
    if found:
        text.needs.add("import jax")
    return found


_PLACES: dict[str, Callable[[Text, dict[str, Any], str], bool]] = {
    "function": _place_function, "blocks": _place_blocks, "scan body": _place_scan, "existing": _place_existing}


def rewritten(asked: dict[str, Any], root: str) -> dict[str, bytes]:
    """Real path -> new text of the files that change. `asked`: `names` to save, `saved` [{name, primitive, file, line, column, end_line, end_column}] of
    which don't have their name yet, `placement` {kind, function, file, line}, `files` (the user's own); their paths as captures have them, below `root` where they aren't absolute."""
    texts: dict[str, Text] = {}

    def text_of(path: str) -> Text:
        path = os.path.realpath(os.path.join(root, path))
        if path not in texts:
            texts[path] = Text(path)
        return texts[path]
    for saved in asked["saved"]:
        _name_value(text_of(saved["file"]), saved)
    where, names = asked["placement"], ", ".join(f'"{n}"' for n in asked["names"])
    policy = f"jax.checkpoint_policies.save_only_these_names({names})" if names else "jax.checkpoint_policies.nothing_saveable"
    placed = False
    for path in [where["file"]] if where["file"] and where["kind"] != "existing" else asked["files"]:
        if os.path.isfile(os.path.join(root, path)) and _PLACES[where["kind"]](text_of(path), where, policy):
            placed = True
            if where["kind"] != "existing":
                break
    if not placed:
        what = f"a call of {where['function']}" if where["function"] else f"a place for the checkpoint ({where['kind']})"
        raise CaptureError(f"{where['file'] or 'the sources'}{':' + str(where['line']) if where['line'] else ''}: expected {what}, found none")
    out = {}
    for path, text in texts.items():
        new = text.changed()
        if new != text.data:
            out[path] = new
    return out


def patch(texts: dict[str, bytes]) -> str:
    """A unified diff, as `patch -p0` and `git apply -p0` take it, with paths below the current folder where they are."""
    out = []
    for path, new in texts.items():
        with open(path, encoding="utf-8", errors="replace") as f:
            old = f.read()
        shown = os.path.relpath(path)
        shown = path if shown.startswith("..") else shown
        out += difflib.unified_diff(old.splitlines(keepends=True), new.decode("utf-8", "replace").splitlines(keepends=True), shown, shown)
    return "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in out)


def import_instead(texts: dict[str, bytes]) -> None:
    """From now on these files are imported with these texts, and no compiled file of theirs is read or written."""
    read, stats = importlib.machinery.SourceFileLoader.get_data, importlib.machinery.SourceFileLoader.path_stats

    def get_data(self: Any, path: str) -> bytes:
        return texts.get(os.path.realpath(path)) or read(self, path)

    def path_stats(self: Any, path: str) -> Any:
        if os.path.realpath(path) in texts:
            raise OSError("changed in memory")
        return stats(self, path)
    importlib.machinery.SourceFileLoader.get_data = get_data  # type: ignore[method-assign]
    importlib.machinery.SourceFileLoader.path_stats = path_stats  # type: ignore[method-assign]
