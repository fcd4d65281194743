# SPDX-License-Identifier: Apache-2.0
"""`python -m jaxscope FILE.py:NAME -o OUT`."""
from __future__ import annotations

import argparse
import ast
import contextlib
import importlib.machinery
import importlib.util
import inspect
import json
import os
import signal
import sys
from typing import Any, Iterator, Sequence

from . import usercode
from ..errors import CaptureError, TimeOut, meant
from ..targets import own_tpu
from .request import capture_program, flushed, say, tell

_AGAIN = 0.05


def parser() -> argparse.ArgumentParser:
    ap = argparse.ArgumentParser(prog="python -m jaxscope", description="Capture a JAX program for jaxscope. This runs FILE.py.",
                                 usage="python -m jaxscope FILE.py:NAME -o OUT [options]\n       python -m jaxscope --call NAME -o OUT [options] -- train.py ARGS...")
    ap.add_argument("target", nargs="?", help="FILE.py:NAME, a callable that returns a mapping with fn and args")
    ap.add_argument("script", nargs="*", help=argparse.SUPPRESS)
    ap.add_argument("-o", "--output", required=True, metavar="OUT")
    ap.add_argument("--args", metavar="EXPR", help="NAME is the function itself; a tuple of its arguments, evaluated in FILE.py")
    ap.add_argument("--kwargs", metavar="EXPR", help="with --args: a mapping of keyword arguments")
    ap.add_argument("--values", choices=["all", "small", "none"], default="small", help="which array values are kept (small: up to 1 MiB each)")
    ap.add_argument("--compile", action="store_true", help="ask XLA for its memory and cost analysis")
    ap.add_argument("--target", dest="targets", action="append", default=[], metavar="T", help="with --compile: ask the compiler of tpu:KIND[:TOPOLOGY] instead, e.g. tpu:v5p")
    ap.add_argument("--target-python", metavar="EXE", help="a Python with the target's compiler (jax[tpu]), where this one has none")
    ap.add_argument("--memory-only", action="store_true", help="with --target: end its compiler once it has assigned its buffers (seconds; no cost analysis)")
    ap.add_argument("--timeout", type=float, metavar="S", help="give up after S seconds")
    ap.add_argument("--no-source", action="store_true", help="leave the text of your files out")
    ap.add_argument("--no-compress", action="store_true", help="plain JSON")
    ap.add_argument("--absolute", action="store_true", help="keep absolute paths")
    ap.add_argument("--rule-depth", type=int, default=4, metavar="N", help="how deep rules inside rules are traced")
    ap.add_argument("--axis-size", type=int, action="append", default=[], metavar="N", help="trace custom_vmap rules for axes of this size (8 if not given)")
    ap.add_argument("--call", metavar="NAME", help="capture a call of the jitted function NAME in a script that runs as it is")
    ap.add_argument("--nth", type=int, default=1, metavar="N", help="with --call: the N-th call")
    ap.add_argument("--continue", dest="go_on", action="store_true", help="with --call: let the script go on afterwards")
    ap.add_argument("--resize", action="append", default=[], metavar="ARG:AXIS", help="capture for other sizes of this axis; OUT has {} where the size goes")
    ap.add_argument("--size", dest="sizes", type=int, action="append", default=[], metavar="N", help="with --resize: such a size (default: as it is)")
    ap.add_argument("--rewrite", metavar="EDITS.json", help="capture what the sources would be with these names and checkpoints (what `plan --prove` asks for)")
    ap.add_argument("--json", action="store_true", help="print a JSON object about what was captured")
    return ap


def main(argv: Sequence[str] | None = None) -> int:
    ap = parser()
    argv = list(sys.argv[1:] if argv is None else argv)
    script: list[str] = []
    if "--" in argv:
        at = argv.index("--")
        argv, script = argv[:at], argv[at + 1:]
    try:
        opt = ap.parse_args(argv)
    except SystemExit as e:
        return 0 if e.code in (0, None) else 2
    if opt.targets:
        own_tpu.keep_off()
    pid, words = os.getpid(), sys.argv
    opt.path = os.path.abspath(opt.output)  # the user's code may change the directory
    try:
        _end_cleanly()
        if opt.timeout:
            _limit(opt.timeout)
        with _own_stdout() if opt.json else contextlib.nullcontext(sys.stdout) as out:
            result = _run(opt, script)
            if result is not None:
                print(json.dumps(result) if opt.json else _told(result), file=out)
                out.flush()
    except CaptureError as e:
        if e.traceback_text:
            tell(e.traceback_text.rstrip())
        if opt.resize or opt.rewrite:  # our own command line asks for these, and says in its words what went wrong
            print(json.dumps({"problem": str(e)}), flush=True)
        else:
            say(str(e))
        return e.exit_code
    except TimeOut as e:
        say(str(e))
        return TimeOut.exit_code
    except KeyboardInterrupt:
        say("interrupted")
        return 130
    finally:
        sys.argv = words
        if os.getpid() != pid:  # a fork of the user's code that came back to us: its parent does the capturing
            os._exit(0)
    return 0


@contextlib.contextmanager
def _own_stdout() -> Iterator[Any]:
    """Standard output for us alone; what the user's code and its child processes print there goes to standard error."""
    sys.stdout.flush()
    own = os.dup(1)
    os.dup2(2, 1)
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(line_buffering=True)
    try:
        with os.fdopen(own, "w", closefd=False) as f:
            yield f
    finally:
        flushed(sys.stdout)
        os.dup2(own, 1)
        os.close(own)


def _end_cleanly() -> None:
    """SIGTERM, which our command line sends, is like Ctrl-C: temporary files go before the process does."""
    def stop(*_: Any) -> None:
        raise KeyboardInterrupt
    with contextlib.suppress(ValueError):  # not the main thread
        signal.signal(signal.SIGTERM, stop)


def _limit(seconds: float) -> None:
    def expire(*_: Any) -> None:
        raise TimeOut(f"time-out: not finished after {seconds:g} s")
    before = sys.unraisablehook

    def swallowed(unraisable: Any) -> None:
        if not issubclass(unraisable.exc_type, TimeOut):
            return before(unraisable)
        signal.setitimer(signal.ITIMER_REAL, _AGAIN)
    if hasattr(signal, "SIGALRM"):
        sys.unraisablehook = swallowed  # the alarm may fall into a callback of the garbage collector (JAX has one), which nothing leaves
        signal.signal(signal.SIGALRM, expire)
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _run(opt: Any, script: list[str]) -> dict[str, Any] | None:
    folder = os.path.dirname(opt.path)
    if not os.path.isdir(folder):
        raise CaptureError(f"cannot write {opt.output}: there is no directory {folder}")
    if opt.call:
        from . import runner
        return runner.run(opt, script or [*([opt.target] if opt.target else []), *opt.script])
    if opt.target and opt.target.endswith(".jaxscope"):
        _again(opt)
    if not opt.target or ":" not in opt.target:
        raise CaptureError(f"expected FILE.py:NAME, found {opt.target!r}{_candidates(opt.target)}")
    path, name = opt.target.rsplit(":", 1)
    pid = os.getpid()
    changes = _rewritten(opt.rewrite, path) if opt.rewrite else None
    sys.argv = [path]  # as `python FILE.py` has them: what reads the command line there is not to read ours
    module = load(path)
    usercode.import_jax()
    what, options = f"{name} in {os.path.basename(path)}", {"root": os.path.dirname(os.path.abspath(path)), "origin": _origin(path, name, opt)}
    p = resolve(module, path, name, opt)
    if opt.resize:
        from . import resize
        return resize.capture_sizes(p, opt, pid, what, **options)
    result = capture_program(p, opt, pid, what, **options)
    return {**result, "patch": changes} if changes is not None else result


def _rewritten(edits: str, path: str) -> str:
    """From here on the user's files are imported as they would be with these changes; what is returned says them as a patch."""
    from . import rewrite
    with open(edits, encoding="utf-8") as f:
        asked = json.load(f)
    texts = rewrite.rewritten(asked, os.path.dirname(os.path.realpath(path)))
    rewrite.import_instead(texts)
    return rewrite.patch(texts)


def _candidates(path: str | None) -> str:
    """Functions of a file that was named without one; those that need no arguments first, as only they can be captured without --args."""
    try:
        with open(path or "", "rb") as f:
            found = [n for n in ast.parse(f.read()).body if isinstance(n, ast.FunctionDef) and not n.name.startswith("_")]
    except (OSError, SyntaxError, ValueError):
        return ""
    found.sort(key=lambda n: len(n.args.posonlyargs + n.args.args) > len(n.args.defaults) or any(d is None for d in n.args.kw_defaults))
    names = [n.name for n in found[:12]]
    return f"; functions in it: {', '.join(names)}{', ...' if len(found) > len(names) else ''}" if names else ""


def _again(opt: Any) -> None:
    """What a capture was made from stands in for it: beside the working folder, or beside the capture."""
    from ..rebuild.load import read_document
    origin = read_document(opt.target)["producer"].get("origin")
    if origin is None:
        raise CaptureError(f"{opt.target} doesn't say what it was captured from (`capture FILE.py:NAME` does): name FILE.py:NAME itself")
    beside = [origin["file"], os.path.join(os.path.dirname(opt.target), os.path.basename(origin["file"]))]
    found = next((f for f in beside if os.path.isfile(f)), None)
    if found is None:
        raise CaptureError(f"{opt.target} was captured from {origin['file']}:{origin['name']}, and there is no such file here: name FILE.py:NAME itself")
    opt.target, opt.args, opt.kwargs = f"{found}:{origin['name']}", opt.args or origin.get("args"), opt.kwargs or origin.get("kwargs")


def _origin(path: str, name: str, opt: Any) -> dict[str, str]:
    """How the program is captured again. A file elsewhere on this machine is known by its name alone."""
    elsewhere = os.path.isabs(path) or os.path.normpath(path).startswith("..")
    said = {"file": os.path.basename(path) if elsewhere else path, "name": name, "args": opt.args, "kwargs": opt.kwargs}
    return {k: v for k, v in said.items() if v is not None}


def _told(result: dict[str, Any]) -> str:
    return "\n".join(usercode.on_one_line(f"size {r['size']}: {r['problem']}" if "problem" in r else f"{r['output']}: {r['equations']} equations, JAX {r['jax_version']}")
                     for r in result.get("captures", [result]))


def _file_meant(path: str) -> str:
    folder, name = os.path.split(path)
    try:
        found = sorted(n for n in os.listdir(folder or ".") if n.endswith(".py"))
    except OSError:
        return ""
    return meant(name, found)


class _Script(importlib.machinery.SourceFileLoader):
    """Keeps no byte code, as Python keeps none of the script that it runs. On a full disk half of it would be written, and read next time."""
    def set_data(self, path: str, data: Any, *, _mode: int = 0o666) -> None:
        pass


def load(path: str) -> Any:
    if not os.path.isfile(path):
        raise CaptureError(f"{path}: a directory, not a file" if os.path.isdir(path) else f"{path}: no such file{_file_meant(path)}")
    spec = importlib.util.spec_from_file_location("jaxscope_program", path)
    if spec is None or spec.loader is None:
        raise CaptureError(f"{path}: expected a Python file")
    if isinstance(spec.loader, importlib.machinery.SourceFileLoader):
        spec.loader = _Script(spec.name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["jaxscope_program"] = module
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    usercode.run(os.path.basename(path), spec.loader.exec_module, module)
    return module


def _arguments_of(f: Any) -> list[str]:
    """Those that a call can't do without."""
    try:
        parameters = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]


def resolve(module: Any, path: str, name: str, opt: Any) -> Any:
    from .. import program
    target = module
    for part in name.split("."):
        if not hasattr(target, part):
            names = [n for n, v in vars(module).items() if callable(v) and not n.startswith("_") and getattr(v, "__module__", "") == "jaxscope_program"]
            raise CaptureError(f"{path}: there is no {name!r} in it" + (f"; it has {', '.join(names[:12])}" if names else "") + meant(name, names))
        target = getattr(target, part)
    if opt.args is not None:
        args = usercode.run("--args", eval, opt.args, vars(module))
        kwargs = usercode.run("--kwargs", eval, opt.kwargs, vars(module)) if opt.kwargs else {}
        return program.make_program(target, args if isinstance(args, tuple) else (args,), kwargs)
    if not callable(target):
        raise CaptureError(f"{path}:{name}: expected a function, found {type(target).__name__}")
    if wanted := _arguments_of(target):
        raise CaptureError(f"{path}:{name}: expected a function without arguments that returns a mapping with fn and args, found one that takes "
                           f"{', '.join(wanted)}; --args \"(...)\" captures the function itself, called with these")
    mapping = usercode.run(f"{name}()", target)
    if not hasattr(mapping, "keys") or "fn" not in mapping or "args" not in mapping:
        found = f"a mapping with {', '.join(map(str, mapping.keys()))}" if hasattr(mapping, "keys") else type(mapping).__name__
        raise CaptureError(f"{path}:{name}: expected a function that returns a mapping with fn and args, found {found} "
                           "(--args captures the function itself)")
    known = {k: mapping[k] for k in mapping.keys()}
    known.setdefault("name", getattr(module, "NAME", None) or None)
    return program.make_program(known.pop("fn"), known.pop("args"), known.pop("kwargs", None), **known)
