# SPDX-License-Identifier: Apache-2.0
"""The equations of a capture, evaluated by JAX: traced by whoever asks, so that a jaxpr, a module or numbers come out."""
from __future__ import annotations

import contextlib
from typing import Any, Callable, Iterator

import jax

from .. import compat
from . import names
from .names import CannotRebuild
from .values import Tables

# Calls whose body says all: what compiles is the body, their rules have been applied or aren't asked for.
_BODIES = {"custom_jvp_call": "call_jaxpr", "custom_vjp_call": "call_jaxpr", "custom_vmap_call": "call", "custom_transpose_call": "call",
           "linear_call": "callee", "closed_call": "call_jaxpr", "core_call": "call_jaxpr", "remat": "jaxpr"}
_FUNCTIONS = {"computation"}
_JITS = ("jit", "pjit")
_PRINTS = ("debug_callback", "debug_print")
_CALLBACKS = ("pure_callback", "io_callback", "ffi_call", "pallas_call")
_DEVICES = ("shard_map", "xla_pmap", "sharding_constraint", "mesh_cast", "reshard", "psum_invariant", "ppermute", "all_to_all", "all_gather", "reduce_scatter",
            "axis_index", "pvary")
_OVER_AXES = ("psum", "pmax", "pmin")  # over names of devices' axes, or over an array's own


class Rebuilt:
    """A captured program as a function of its inputs' leaves. `jaxpr` is JAX's own of it."""

    def __init__(self, document: dict[str, Any], members: Any):
        if document.get("format") != "jaxscope.capture":
            raise CannotRebuild("it is no capture of jaxscope's")
        if compat.VERSION < (0, 10):
            raise CannotRebuild(f"captures are written with the parameters of JAX 0.10; this is JAX {jax.__version__}")
        self.document = document
        self.notes: list[str] = []
        self._tables = Tables(document, members, self._traced)
        self._traces: dict[tuple[int, bool], Any] = {}
        self._jitted: dict[int, Callable[..., Any]] = {}
        self._params: dict[int, dict[str, Any]] = {}
        program = document["program"]
        entry = document["jaxprs"][program["jaxpr"]]
        self.name = document.get("name") or "program"
        self.inputs = [self._tables.aval(a) for a in entry["invars"]]
        if any(str(getattr(a, "memory_space", "device")).lower().endswith("host") for a in self.inputs):
            raise CannotRebuild("programs with arguments in the host's memory aren't rebuilt yet")
        self.in_paths = list(program.get("in_paths") or [])
        self.donated = list(program.get("donated") or [False] * len(self.inputs))
        with self.flags():
            self.jaxpr = self._traced(program["jaxpr"], True)
        if self._tables.made_up:
            self.notes.append(f"{len(self._tables.made_up)} constants have no values in the capture: normal random numbers stand for them")

    def __call__(self, *leaves: Any) -> list[Any]:
        self._check(leaves)
        with self.flags():
            return compat.eval_jaxpr(self.jaxpr.jaxpr, self.jaxpr.consts, *leaves)

    def _check(self, leaves: tuple[Any, ...]) -> None:
        if len(leaves) != len(self.inputs):
            raise TypeError(f"{self.name}: expected {len(self.inputs)} leaves, found {len(leaves)}")
        for i, (leaf, of) in enumerate(zip(leaves, self.inputs)):
            found = compat.typeof(leaf)
            if found.shape != of.shape or found.dtype != of.dtype:
                path = self.in_paths[i] if i < len(self.in_paths) else f"leaf {i}"
                raise TypeError(f"{self.name}: expected {_shown(of)} for {path}, found {_shown(found)}")

    @contextlib.contextmanager
    def flags(self) -> Iterator[None]:
        """JAX configured as it was when the program was traced."""
        wanted = {k: v for k, v in (self.document.get("flags") or {}).items() if k in ("jax_enable_x64", "jax_threefry_partitionable", "jax_numpy_dtype_promotion")}
        before = {k: getattr(jax.config, k) for k in wanted}
        for k, v in wanted.items():
            jax.config.update(k, v)
        try:
            yield
        finally:
            for k, v in before.items():
                jax.config.update(k, v)

    def _traced(self, index: int, closed: bool) -> Any:
        key = (index, closed)
        if key not in self._traces:
            entry = self.document["jaxprs"][index]
            types = [self._tables.aval(a) for a in ([] if closed else entry["constvars"]) + entry["invars"]]
            made = jax.make_jaxpr(lambda *args: self._evaluate(index, list(args), closed))(*types)
            if not closed and made.consts:
                raise CannotRebuild(f"constants inside the open jaxpr of {entry.get('name') or 'an equation'} can't be rebuilt yet")
            self._traces[key] = made if closed else made.jaxpr
        return self._traces[key]

    def _evaluate(self, index: int, args: list[Any], closed: bool) -> list[Any]:
        entry = self.document["jaxprs"][index]
        env = [self._tables.array(a) for a in entry.get("consts") or []] if closed else []
        env.extend(args)

        def read(v: int) -> Any:
            return self._tables.literal(-1 - v) if v < 0 else env[v]
        for row in entry["eqns"]:
            name = self.document["strings"][row[0]]
            try:
                results = self._equation(name, row[3], [read(v) for v in row[1]])
            except CannotRebuild as e:
                raise (e if e.placed else CannotRebuild(f"'{name}'{self._place(row)}: {e}", placed=True)) from None
            except (TypeError, ValueError) as e:
                raise CannotRebuild(f"'{name}'{self._place(row)}: JAX refuses it: {e}", placed=True) from e
            if len(results) != len(row[2]):
                raise CannotRebuild(f"'{name}'{self._place(row)}: JAX gives {len(results)} results where the capture has {len(row[2])}")
            env.extend(results)
        return [read(v) for v in entry["outvars"]]

    def _place(self, row: list[Any]) -> str:
        sources = self.document.get("sources") or []
        text = sources[row[4]][2] if len(row) > 4 and row[4] is not None and row[4] < len(sources) else ""
        return f" at {text}" if text else " at an equation without a line"

    def _equation(self, name: str, params: int, args: list[Any]) -> list[Any]:
        raw = self.document["params"][params] if self.document.get("params") else {}
        if "jaxscope_rules" in raw:
            return self._own_rule(raw["jaxscope_rules"]["rule"], args)
        if name in _JITS:
            return list(self._jit(raw)(*args))
        if name in _BODIES:
            return self._inline(raw[_BODIES[name]], args)
        if name in _PRINTS:
            note = "calls of debug_print are left out: their Python isn't in the capture"
            if note not in self.notes:
                self.notes.append(note)
            return []
        if name in _CALLBACKS:
            raise CannotRebuild("it calls code that a capture doesn't hold")
        if name in _DEVICES or (name in _OVER_AXES and any(isinstance(a, str) for a in raw.get("axes", ()))):
            raise CannotRebuild("it stands over several devices, and programs over several aren't rebuilt yet")
        given = self._parameters(params, raw)
        primitive = names.primitive(name)
        out = primitive.bind(*args, **given)
        return list(out) if primitive.multiple_results else [out]

    def _parameters(self, index: int, raw: dict[str, Any]) -> dict[str, Any]:
        if index not in self._params:
            given = {k: self._tables.value(v) for k, v in raw.items() if k not in _FUNCTIONS or "jaxpr" not in raw}
            for k in _FUNCTIONS & raw.keys() - given.keys():
                given[k] = self._function_of(given["jaxpr"])
            self._params[index] = given
        return self._params[index]

    @staticmethod
    def _function_of(jaxpr: Any) -> Callable[..., Any]:
        """The function that a jaxpr beside it was traced from."""
        def function(*args: Any) -> Any:
            out = compat.eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *args)
            return out[0] if len(out) == 1 else tuple(out)
        return function

    def _jit(self, raw: dict[str, Any]) -> Callable[..., Any]:
        body = raw["jaxpr"]["closed_jaxpr"]
        if body not in self._jitted:
            def function(*args: Any) -> list[Any]:
                return self._evaluate(body, list(args), True)
            function.__name__ = function.__qualname__ = str(raw.get("name") or "jitted")
            self._jitted[body] = jax.jit(function, keep_unused=True)
        return self._jitted[body]

    def _inline(self, body: dict[str, Any], args: list[Any]) -> list[Any]:
        closed = "closed_jaxpr" in body
        return self._evaluate(body["closed_jaxpr"] if closed else body["jaxpr"], args, closed)

    def _own_rule(self, rule: int, args: list[Any]) -> list[Any]:
        entry = self.document["custom_rules"][rule]
        if entry.get("jaxpr") is None:
            raise CannotRebuild(entry.get("why") or "the capture doesn't say how it is computed")
        return self._evaluate(entry["jaxpr"], args, True)


def _shown(of: Any) -> str:
    return f"{of.dtype}[{','.join(map(str, of.shape))}]"
