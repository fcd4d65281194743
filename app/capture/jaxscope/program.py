# SPDX-License-Identifier: Apache-2.0
"""What is captured: a function, its arguments, and how it is to be run."""
from __future__ import annotations

import contextlib
import functools
import os
import re
import sys
from dataclasses import dataclass, field
from typing import Any, Callable, Iterator

import jax

from . import compat, naming
from .compat import pmapped
from .errors import CaptureError


@dataclass(eq=False)
class Program:
    fn: Callable
    args: tuple = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    donate_argnums: tuple[int, ...] = ()
    donate_argnames: tuple[str, ...] = ()
    static_argnums: tuple[int, ...] = ()
    static_argnames: tuple[str, ...] = ()
    differentiate: tuple[int, ...] | None = None
    has_aux: bool = False
    jit: str = "jax"
    donate: str = "none"
    name: str = "program"
    keep_unused: bool = False  # of the jit that `fn` is


def _tuple(v: Any, kind: type) -> tuple:
    if v is None:
        return ()
    return (v,) if isinstance(v, kind) else tuple(v)


def make_program(fn: Any, args: Any = (), kwargs: Any = None, *, donate_argnums: Any = (), donate_argnames: Any = (), static_argnums: Any = (),
                 static_argnames: Any = (), differentiate: Any = None, has_aux: bool = False, jit: str = "jax",
                 donate: str = "none", name: str | None = None, **_: Any) -> Program:
    """Keys that we don't know are left alone: the mapping may carry things for others."""
    if not callable(fn):
        raise CaptureError(f"fn: expected a function, found {type(fn).__name__}")
    if jit not in ("jax", "eqx"):
        raise CaptureError(f"jit: expected 'jax' or 'eqx', found {jit!r}")
    if not isinstance(args, (tuple, list)):
        raise CaptureError(f"args: expected a tuple of arguments, found {type(args).__name__}")
    p = Program(fn, tuple(args), dict(kwargs or {}), _tuple(donate_argnums, int), _tuple(donate_argnames, str),
                _tuple(static_argnums, int), _tuple(static_argnames, str),
                None if differentiate is None else _tuple(differentiate, int), bool(has_aux), jit, donate,
                name or naming.function_name(fn))
    _take_from_jit(p)
    _normalise(p)
    _refuse_as_jit(p)
    return p


def _refuse_as_jit(p: Program) -> None:
    """What jax.jit refuses, as it says it: arguments both static and donated, names that the function hasn't."""
    if p.jit == "eqx" or getattr(p.fn, "_jit_info", None) is not None:
        return
    given = {k: v for k in ("static_argnums", "static_argnames", "donate_argnums", "donate_argnames") if (v := getattr(p, k))}
    if not given:
        return
    try:
        jax.jit(p.fn, **given)
    except (TypeError, ValueError) as e:
        raise CaptureError(f"{p.name}: {e}") from None


def _take_from_jit(p: Program) -> None:
    """A function that is jitted already brings its donation and its static arguments along."""
    info = getattr(p.fn, "_jit_info", None)
    if info is not None:
        p.static_argnums = p.static_argnums or tuple(info.static_argnums)
        p.static_argnames = p.static_argnames or tuple(info.static_argnames)
        p.donate_argnums = p.donate_argnums or compat.donated_numbers(info)
        p.donate_argnames = p.donate_argnames or tuple(info.donate_argnames)
        p.keep_unused = bool(getattr(info, "keep_unused", False))
        return
    if pmapped.is_pmapped(p.fn):  # what it donates stands in the call that it makes
        p.static_argnums = p.static_argnums or pmapped.pmap_static(p.fn)
        return
    if _is_filter_pmap(p.fn):
        p.donate = "all" if p.fn._pmapkwargs.get("donate_argnums") else "none"
        return
    if type(p.fn).__name__ == "_JitWrapper" and type(p.fn).__module__.startswith("equinox"):
        p.jit = "eqx"
        first, rest = bool(getattr(p.fn, "donate_first", False)), bool(getattr(p.fn, "donate_rest", False))
        p.donate = {(True, True): "all", (False, True): "all-except-first", (True, False): "first", (False, False): "none"}[first, rest]


def _normalise(p: Program) -> None:
    """Numbers and names of arguments tell of the same ones; arguments passed by keyword stay there."""
    n = len(p.args)
    names = naming.positional_names(p.fn, n)

    def both(nums: tuple[int, ...], words: tuple[str, ...], what: str, from_end: bool = True) -> tuple[tuple[int, ...], tuple[str, ...]]:
        sig = compat.signature(p.fn)
        by_position = list(sig.parameters) if sig is not None else names
        out, out_names = set(), set(words)
        for i in nums:
            if not -n <= i < n and not (0 <= i < len(by_position)):
                raise CaptureError(f"{what}: argument {i} of {len(by_position)} arguments of {naming.function_name(p.fn)}")
            if -n <= i < n:
                if i >= 0 or from_end:
                    out.add(i % n)
            elif by_position[i] in p.kwargs:
                out_names.add(by_position[i])
        out |= {names.index(w) for w in words if w in names}
        return tuple(sorted(out)), tuple(sorted(w for w in out_names if w in p.kwargs))
    p.static_argnums, p.static_argnames = both(p.static_argnums, p.static_argnames, "static_argnums")
    # JAX accepts donated numbers that count from the end and donates nothing for them.
    p.donate_argnums, p.donate_argnames = both(p.donate_argnums, p.donate_argnames, "donate_argnums", from_end=False)
    for i in p.differentiate or ():
        if not -n <= i < n:
            raise CaptureError(f"differentiate: argument {i} of {n}")
    if p.differentiate is not None:
        p.differentiate = tuple(i % n for i in p.differentiate)


@contextlib.contextmanager
def opened(p: Program) -> Iterator[Program]:
    """What nnx.jit makes changes its modules in place, so that what it returns isn't all that it computes: meanwhile the jitted function inside of it, which takes
    their arrays and returns the changed ones, is the program."""
    kind = type(p.fn)
    if not getattr(kind, "__module__", "").startswith("flax.nnx") or not kind.__name__.endswith("JitWrapped"):
        yield p
        return
    module = sys.modules[kind.__module__]
    graph = getattr(module, "graphlib", None) or getattr(module, "graph", None)
    if kind.__name__ != "JitWrapped" or not hasattr(graph, "update_context") or not hasattr(p.fn, "_get_pure_args_kwargs"):
        raise CaptureError(f"{p.name} is a function of nnx.jit, whose {kind.__name__} jaxscope can't open: capture it where the program calls it, with --call {p.name}")
    with graph.update_context(p.fn):
        args, kwargs = p.fn._get_pure_args_kwargs(p.args, p.kwargs)
        yield make_program(p.fn.jitted_fn, args, kwargs, differentiate=p.differentiate, has_aux=p.has_aux, name=p.name)


@dataclass(eq=False)
class Input:
    """One array leaf that the program takes."""
    path: str
    argument: int
    value: Any
    donated: bool


@dataclass(eq=False)
class Flat:
    """The program as JAX traces it: a function of trees of arrays, and what its flat inputs are."""
    traced: Callable
    traced_args: tuple
    traced_kwargs: dict[str, Any]
    static_argnums: tuple[int, ...]
    inputs: list[Input]
    arg_names: list[str]
    static: list[dict[str, str]]


def flatten(p: Program) -> Flat:
    return _flatten_equinox(p) if p.jit == "eqx" or _is_filter_pmap(p.fn) else _flatten_jax(p)


def _is_filter_pmap(fn: Any) -> bool:
    """What filter_pmap makes: arrays are traced and all else is static, as under filter_jit, but nothing is added to the compiled function."""
    return type(fn).__name__ == "_PmapWrapper" and type(fn).__module__.startswith("equinox")


def _flatten_jax(p: Program) -> Flat:
    names = naming.argument_names(p.fn, len(p.args), p.kwargs)
    inputs: list[Input] = []
    static: list[dict[str, str]] = []
    numbers = _keyword_numbers(p)
    for i, a in enumerate(p.args):
        if i in p.static_argnums:
            static.append({"path": names[i], "text": _short(a)})
            continue
        inputs += [Input(path, i, v, i in p.donate_argnums) for path, v in naming.leaf_paths(names[i], a)]
    for k, i in numbers.items():
        if k in p.static_argnames:
            static.append({"path": names[i], "text": _short(p.kwargs[k])})
            continue
        inputs += [Input(path, i, v, k in p.donate_argnames) for path, v in naming.leaf_paths(names[i], p.kwargs[k])]
    fixed = {k: v for k, v in p.kwargs.items() if k in p.static_argnames}
    fn = _with_fixed(p.fn, fixed) if fixed else p.fn
    free = {k: p.kwargs[k] for k in numbers if k not in fixed}
    return Flat(fn, p.args, free, p.static_argnums, inputs, names, static)


def _keyword_numbers(p: Program) -> dict[str, int]:
    """Arguments are numbered as they are passed; JAX takes those passed by keyword sorted."""
    return dict(sorted((k, i) for i, k in enumerate(p.kwargs, len(p.args))))


def _with_fixed(fn: Callable, fixed: dict[str, Any]) -> Callable:
    @functools.wraps(fn)
    def bound(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs, **fixed)
    return bound


def _flatten_equinox(p: Program) -> Flat:
    """filter_jit: every array leaf of every argument is traced, all else is static."""
    import equinox as eqx
    fn = _equinox_function(p.fn)
    names = naming.argument_names(p.fn, len(p.args), p.kwargs)
    # The function may hold arrays itself (a module, a bound method): donated like the other arguments, behind the first one.
    whole = (p.args[:1], fn, p.args[1:], p.kwargs)
    def is_array(x: Any) -> bool:  # a shape stands for an array
        return eqx.is_array(x) or isinstance(x, jax.ShapeDtypeStruct)
    arrays, static_part = eqx.partition(whole, is_array)

    def flat_fn(arrays: Any) -> Any:
        first_arg, function, args, kwargs = eqx.combine(arrays, static_part)
        return eqx.partition(function(*first_arg, *args, **kwargs), eqx.is_array)[0]
    flat_fn.__name__ = flat_fn.__qualname__ = p.name
    first, rest = _equinox_donation(p.donate)
    inputs, static = [], []
    own = [Input(path, -1, leaf, rest) for path, leaf in naming.leaf_paths("fn", fn) if is_array(leaf)]
    passed = [*enumerate(p.args), *((i, p.kwargs[k]) for k, i in _keyword_numbers(p).items())]
    for at, (i, a) in enumerate(passed):
        if at == 1 or not p.args:
            inputs, own = inputs + own, []
        for path, leaf in naming.leaf_paths(names[i], a):
            if is_array(leaf):
                inputs.append(Input(path, i, leaf, first if at == 0 else rest))
            else:
                static.append({"path": path, "text": _short(leaf)})
    return Flat(flat_fn, (arrays,), {}, (), inputs + own, names, static)


def _equinox_function(fn: Any) -> Any:
    """What filter_jit was given: its arrays are arguments of the compiled function."""
    while type(fn).__name__ == "_JitWrapper" and type(fn).__module__.startswith("equinox"):
        fn = fn.__wrapped__
    return fn


def _equinox_donation(donate: str) -> tuple[bool, bool]:
    """(first argument, the others); the warn variants donate too, they only warn when it can't be used."""
    table = {"none": (False, False), "first": (True, False)}
    for word in ("all", "warn"):
        table[word] = (True, True)
        table[word + "-except-first"] = (False, True)
    if donate not in table:
        raise CaptureError(f"donate: expected one of {', '.join(sorted(table))}, found {donate!r}")
    return table[donate]


def _short(v: Any) -> str:
    try:
        return re.sub(r"0x[0-9a-f]{6,}", "0x_", " ".join(repr(v).split()))[:200]
    except Exception as e:
        return f"<{type(v).__name__}: {type(e).__name__}>"


def project_root(fn: Any) -> str:
    """The directory that paths are shown relative to when nobody says: that of the file of the function."""
    for _ in range(16):  # through jits, partials, and the libraries' own objects around a function
        inner = next((f for name in ("__wrapped__", "func", "fun", "_fun") if callable(f := getattr(fn, name, None))), None)
        if inner is None:
            break
        fn = inner
    code = getattr(fn, "__code__", None)
    if code is not None and os.path.isfile(code.co_filename) and "site-packages" not in code.co_filename:
        return os.path.dirname(os.path.abspath(code.co_filename))
    return os.getcwd()
