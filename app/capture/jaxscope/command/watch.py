# SPDX-License-Identifier: Apache-2.0
"""Waiting, in a process that runs the user's code, for the call of a jitted or pmapped function.

JAX asks `_infer_params` (jax._src.pjit) about every call of a jitted function that its C++ cache doesn't answer; a call of
a pmapped one is that of what pmap jits. It is
replaced when JAX gets imported, and the cache is kept from answering, so that every call can be counted. `jax.jit`
itself stays what it is: what the script's libraries test for (types, attributes) is untouched.
"""
from __future__ import annotations

import importlib.abc
import importlib.machinery
import os
import sys
from typing import Any, Callable

from ..errors import CaptureError

_PJIT = "jax._src.pjit"


class Captured(BaseException):
    """Ends the script; not an Exception, so that the script's own handlers let it through."""


class Watch:
    def __init__(self, name: str, nth: int, take: Callable[[Any], dict[str, Any] | None], go_on: bool):
        self.name, self.nth, self.take, self.go_on = name, nth, take, go_on
        self.calls: dict[str, int] = {}
        self.nested: set[str] = set()
        self.result: dict[str, Any] | None = None
        self.error: CaptureError | None = None
        self.busy = False
        self.pid = os.getpid()
        self.fail: Callable[[CaptureError], None] | None = None  # instead of ending the script by an exception

    def seen(self, fun: Any, info: Any, args: tuple, kwargs: dict[str, Any]) -> None:
        if self.busy or self.result is not None or os.getpid() != self.pid:
            return
        from ..naming import function_name
        called = _pmap_call(fun)
        if called is not None:
            fun, args, kwargs = called.fun, called.args, called.kwargs
        name = function_name(fun)
        if name != self.name and _is_called(self.name, fun):
            name = self.name
        if _is_jaxs(fun) and name != self.name:
            return
        if _has_tracers(args, kwargs):
            self.nested.add(name)
            return
        self.calls[name] = self.calls.get(name, 0) + 1
        if self.name not in (name, getattr(fun, "__qualname__", None)) or self.calls[name] != self.nth:
            return
        self.busy = True
        try:
            self.result = self.take(_program(fun, info, args, kwargs, name, called))
        except CaptureError as e:
            self.error = e
            if self.fail is not None:
                self.fail(e)
            raise Captured from None
        finally:
            self.busy = False
        if self.result is not None and not self.go_on:
            raise Captured


def _is_jaxs(fun: Any) -> bool:
    """Or what filter_pmap asks for the types of its results with."""
    module = getattr(fun, "__module__", None) or ""
    return module.split(".")[0] in ("jax", "jaxlib") or module == "equinox._vmap_pmap"


def _is_called(name: str, fun: Any) -> bool:
    """Whether the caller knows a function of another name by this one: `update = jax.jit(partial(step, lr=0.1))`."""
    frame = sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__", "").startswith(("jax.", "jaxscope.")):
        frame = frame.f_back
    if frame is None:
        return False
    known = frame.f_locals.get(name, frame.f_globals.get(name))
    return known is not None and getattr(known, "__wrapped__", None) is fun


def _has_tracers(args: tuple, kwargs: dict[str, Any]) -> bool:
    import jax
    return any(isinstance(x, jax.core.Tracer) for x in jax.tree_util.tree_leaves((args, kwargs)))


def _program(fun: Any, info: Any, args: tuple, kwargs: dict[str, Any], name: str, called: Any) -> Any:
    from .. import compat, program
    if called is not None:
        return program.make_program(called.pmapped(), args, kwargs, name=name)
    code = getattr(fun, "__code__", None)
    if code is not None and code.co_filename.replace("\\", "/").endswith("equinox/_jit.py"):
        found = _equinox_call()
        if found is not None:
            wrapper, a, k = found
            p = program.make_program(wrapper, a, k, name=name)
            p.fn = wrapper.__wrapped__
            return p
    return program.make_program(fun, args, kwargs, name=name, static_argnums=info.static_argnums, static_argnames=info.static_argnames,
                                donate_argnums=compat.donated_numbers(info), donate_argnames=info.donate_argnames)


def _pmap_call(fun: Any) -> Any:
    """pmap and filter_pmap hand JAX functions of their own; the user's call stands further up."""
    from ..compat import pmapped
    called = pmapped.pmap_call(fun, sys._getframe(2))
    code = getattr(called.fun, "__code__", None) if called is not None else None
    if code is None or not code.co_filename.replace("\\", "/").endswith("equinox/_vmap_pmap.py"):
        return called
    frame = called.frame.f_back
    while frame is not None and not (frame.f_code.co_name == "_call" and frame.f_code.co_filename == code.co_filename):
        frame = frame.f_back
    if frame is None:
        return called
    wrapper = frame.f_locals["self"]
    return called._replace(fun=wrapper.__wrapped__, args=tuple(frame.f_locals["args"]), kwargs={}, pmapped=lambda: wrapper)


def _equinox_call() -> Any:
    """filter_jit hands JAX a function of its own; the user's call stands further up."""
    frame = sys._getframe(2)
    for _ in range(40):
        if frame is None:
            return None
        if frame.f_code.co_filename.endswith("equinox/_jit.py") and frame.f_code.co_name == "_call":
            local = frame.f_locals
            return local["jit_wrapper"], tuple(local["args"]), dict(local["kwargs"])
        frame = frame.f_back
    return None


def _patch(module: Any, watch: Watch) -> None:
    import inspect
    original, fastpath = module._infer_params, module._get_fastpath_data
    takes_fun = list(inspect.signature(original).parameters)[0] == "fun"

    def infer_params(*a: Any) -> Any:
        fun, info, args, kwargs = a if takes_fun else (getattr(a[0], "fun", None), *a)
        watch.seen(fun, info, tuple(args), dict(kwargs))
        return original(*a)
    module._infer_params = infer_params
    module._get_fastpath_data = lambda *a, **k: fastpath(*a, **k) if watch.result is not None else None


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, watch: Watch):
        self.watch = watch

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        if fullname != _PJIT:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        if spec is None or spec.loader is None:
            return spec
        run = spec.loader.exec_module

        def exec_module(module: Any) -> None:
            run(module)
            _patch(module, self.watch)
        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def install(watch: Watch) -> None:
    if _PJIT in sys.modules:
        _patch(sys.modules[_PJIT], watch)
    else:
        sys.meta_path.insert(0, _Finder(watch))


def jax_is_there() -> bool:
    return _PJIT in sys.modules
