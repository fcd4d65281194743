# SPDX-License-Identifier: Apache-2.0
"""From a function and its arguments to a finished capture."""
from __future__ import annotations

import contextlib
import gc
import os
import sys
import time
from typing import Any, Callable, Iterator

import jax

from .version import VERSION, check_jax, doubt

check_jax()  # before the modules that look into JAX
from . import compat, program as programs, refs  # noqa: E402
from .compat import lowering
from .differentiation import regions
from .document import inlined, output
from .document.arrays import Arrays
from .document.tables import Paths, Tables
from .encoder import Encoder
from .errors import CaptureError
from .rules import memory as rule_memory, patterns
from .summary import summary
from .targets import backend


class Capture:
    """A finished capture: one JSON document, and the arrays too large to stand in it."""

    def __init__(self, document: dict[str, Any], members: dict[str, Any], equations: int, lowered_for: Callable[[str], bytes],
                 shown_path: Callable[[str], str]):
        self.document, self.members, self.equations = document, members, equations
        self._lowered_for, self._shown_path = lowered_for, shown_path

    def compile_for(self, target: str, python: str | None = None, timeout: float | None = None, tell: Callable[[str], None] = lambda text: None,
                    memory_only: bool = False) -> dict[str, Any]:
        """Adds what the compiler of `target` ("tpu:v5p", "tpu:v5p:2x2x1") says of the program, and returns it; raises TargetProblem where it can't be asked.

        `memory_only` ends the compiler once it has assigned its buffers: seconds, and no cost analysis. A program that doesn't fit has an entry all the same: `out_of_memory` says what would take the memory.
        """
        from .targets import names, request
        wanted = names.parse(target)
        deadline = None if timeout is None else time.monotonic() + timeout
        entry = request.compile_for(wanted, lambda: self._lowered_for("tpu"), python, deadline, tell, self._shown_path, memory_only,
                                    self.document["program"]["in_paths"])
        self.document["targets"] = [e for e in self.document.get("targets", []) if e["target"] != wanted.name] + [entry]
        return entry

    def save(self, path: str | os.PathLike[str], compress: bool = True) -> str:
        path = os.fspath(path)
        output.save(path, self.document, self.members, compress)
        return path

    def to_json(self) -> str:
        return "".join(output.chunks(self.document))

    @property
    def warnings(self) -> list[str]:
        return list(self.document.get("warnings", []))

    def _repr_html_(self) -> str:
        return summary(self.document, self.equations)

    def __repr__(self) -> str:
        n = len(self.document["regions"])
        return f"<jaxscope capture of {self.document['name']!r}: {self.equations} equations, {n} differentiation{'s' * (n != 1)}>"


def capture(fn: Any, *, values: str = "small", compile: bool = False, source: bool = True, root: str | None = None,
            absolute: bool = False, rule_depth: int = 4, axis_sizes: tuple[int, ...] = (), **options: Any) -> Callable[..., Capture]:
    unknown = set(options) - {"donate_argnums", "donate_argnames", "static_argnums", "static_argnames", "differentiate",
                              "has_aux", "name", "jit", "donate"}
    if unknown:
        raise TypeError(f"capture() got an unexpected keyword argument {sorted(unknown)[0]!r}")

    def captured(*args: Any, **kwargs: Any) -> Capture:
        p = programs.make_program(fn, args, kwargs, **options)
        return capture_program(p, values=values, compile=compile, source=source, root=root, absolute=absolute, rule_depth=rule_depth,
                               axis_sizes=axis_sizes)
    return captured


def capture_program(p: programs.Program, *, values: str = "small", compile: bool = False, source: bool = True,
                    root: str | None = None, absolute: bool = False, rule_depth: int = 4, axis_sizes: tuple[int, ...] = (),
                    origin: dict[str, str] | None = None) -> Capture:
    """`origin`: how a command line would capture it again (file, name, args, kwargs)."""
    if values not in ("all", "small", "none"):
        raise CaptureError(f"values: expected all, small or none, found {values!r}")
    with _no_collections(), rule_memory.kept(), inlined.watched(), compat.branches_named(), programs.opened(p) as opened:
        captured = _captured(opened, values, compile, source, root, absolute, rule_depth, axis_sizes)
    if origin is not None:
        captured.document["producer"]["origin"] = origin
    return captured


@contextlib.contextmanager
def _no_collections() -> Iterator[None]:
    """Python's cycle collector walks all jaxprs alive again and again while more of them are made: a fifth of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _captured(p: programs.Program, values: str, compile: bool, source: bool, root: str | None, absolute: bool, rule_depth: int,
              axis_sizes: tuple[int, ...]) -> Capture:
    tables = Tables(Paths(root or programs.project_root(p.fn), absolute), source)
    encoder = Encoder(tables, Arrays(tables, values), rule_depth, axis_sizes)
    flat = programs.flatten(p)
    closed, shapes = jax.make_jaxpr(flat.traced, static_argnums=flat.static_argnums, return_shape=True)(*flat.traced_args, **flat.traced_kwargs)
    if not closed.jaxpr.outvars:
        raise CaptureError(f"{p.name} returns no arrays: there is nothing to capture")
    leaked = next((c for c in closed.consts if isinstance(c, compat.Tracer)), None)
    if leaked is not None:
        raise CaptureError(f"{p.name} uses a value that escaped from another traced function "
                           f"(UnexpectedTracerError): {tables.paths.in_text(str(leaked).splitlines()[0])[:300]}", compat.why_escaped(leaked))
    found, marked, warnings = _marked_tracing(flat, encoder.patterns) if compat.is_differentiated(closed.jaxpr) else ([], None, [])
    closed = refs.discharged(closed) or closed
    marked = marked and (refs.discharged(marked) or marked)
    patterns.meet(encoder.patterns, closed, p, flat)
    for r in found:
        patterns.meet_region(encoder.patterns, refs.discharged_open(r.jaxpr), [i in set(r.diff_slots) for i in range(len(r.site.slots))])
    region_entries = [_region_entry(encoder, r, found) for r in found]
    entry = _program_entry(encoder, p, flat, closed, shapes)
    encoder.rules.finish()
    marked_entry = None
    if marked is not None and any(r.mark is not None for r in found):
        with encoder.rules.closed():
            whole = encoder.closed_or_open(marked.jaxpr, list(marked.consts), [i.path for i in flat.inputs], p.name)
            marked_entry = {"jaxpr": whole, "calls": list(encoder.marked_calls.values())}
            encoder.rules.finish()
    facts = backend.facts(p, tables.paths, closed.jaxpr) if compile else None
    if facts is not None:
        entry["donate_warnings"] = facts.pop("donate_warnings")
    document = _document(tables, encoder, p, entry, marked_entry, region_entries, facts, [*filter(None, [doubt(jax.__version__)]), *warnings])

    def lowered_for(platform: str) -> bytes:
        spread = [i.value.sharding if _is_distributed(i.value) else None for i in flat.inputs]
        if len(spread) != len(closed.jaxpr.invars):
            raise CaptureError("its arguments aren't those of its jaxpr, so where they stand isn't known")
        return lowering.lowered_module(closed, p.name, entry["donated"], p.keep_unused, platform, spread)
    return Capture(document, encoder.arrays.members, compat.count_eqns(closed.jaxpr), lowered_for, tables.paths.short)


def _marked_tracing(flat: programs.Flat, seen: patterns.Patterns | None = None) -> tuple[list[regions.Region], Any, list[str]]:
    """The second tracing, which finds the differentiations. Where it fails the program itself is still whole."""
    recorder = regions.Recorder()

    def again(*args: Any, **kwargs: Any) -> Any:
        dynamic = [a for i, a in enumerate(args) if i not in flat.static_argnums]
        leaves = jax.tree_util.tree_leaves((dynamic, dict(sorted(kwargs.items()))))
        if len(leaves) == len(flat.inputs):
            recorder.paths = {id(t): i.path for t, i in zip(leaves, flat.inputs)}
        return flat.traced(*args, **kwargs)
    try:
        with recorder.active(), patterns.watching(seen or patterns.Patterns()):
            marked = jax.make_jaxpr(again, static_argnums=flat.static_argnums)(*flat.traced_args, **flat.traced_kwargs)
    except Exception as e:
        text = str(e).splitlines()[0] if str(e) else ""
        return [], None, [f"differentiations could not be recorded: {type(e).__name__}: {text}"[:500]]
    return regions.settle(recorder, marked.jaxpr), marked, []


def _program_entry(encoder: Encoder, p: programs.Program, flat: programs.Flat, closed: Any, shapes: Any) -> dict[str, Any]:
    inputs = flat.inputs
    if len(inputs) != len(closed.jaxpr.invars):
        raise CaptureError(f"{p.name}: {len(closed.jaxpr.invars)} inputs traced, {len(inputs)} array leaves among its arguments")
    paths = [i.path for i in inputs]
    index = encoder.closed_or_open(closed.jaxpr, list(closed.consts), paths, p.name)
    values = []
    for i, v in zip(inputs, closed.jaxpr.invars):
        known = encoder.arrays.keep != "none" and not isinstance(i.value, jax.ShapeDtypeStruct)
        at = encoder.arrays.add(i.value, v.aval) if known else None
        values.append(at if at is not None and len(encoder.arrays.items[at]) > 1 else None)
    shardings = [encoder.params.value(getattr(i.value, "sharding", None)) if _is_distributed(i.value) else None for i in inputs]
    return {"jaxpr": index, "in_paths": paths,
            "out_paths": [jax.tree_util.keystr(q) for q, _ in jax.tree_util.tree_flatten_with_path(shapes)[0]],
            "arg_of_input": [i.argument for i in inputs], "arg_names": flat.arg_names,
            "donated": _donated(closed.jaxpr, inputs), "kept": [True] * len(inputs) if p.keep_unused else compat.kept_inputs(closed.jaxpr), "static": flat.static,
            "differentiate": None if p.differentiate is None else list(p.differentiate), "has_aux": p.has_aux, "jit": p.jit,
            "in_shardings": shardings if any(s is not None for s in shardings) else None, "out_shardings": None,
            "donate_warnings": [], "same_arrays": _same_arrays(inputs), "values": values}


def _type_mesh(encoder: Encoder) -> dict[str, Any]:
    """The mesh of explicitly sharded types, where there is one: JAX's derivatives name it."""
    meshes = list(encoder.tables.type_meshes.values())
    return {"type_mesh": encoder.params.value(meshes[0])} if len(meshes) == 1 else {}


def _donated(jaxpr: Any, inputs: list[programs.Input]) -> list[bool]:
    """As declared; else as the one jitted call says that the program is (pmap, a jitted function inside a plain one)."""
    declared = [i.donated for i in inputs]
    if any(declared) or len(jaxpr.eqns) != 1:
        return declared
    eqn = jaxpr.eqns[0]
    by_call = {id(v) for v, d in zip(eqn.invars, eqn.params.get("donated_invars") or ()) if d}
    return [id(v) in by_call for v in jaxpr.invars]


def _same_arrays(inputs: list[programs.Input]) -> list[list[int]]:
    """Inputs that are one array in memory: JAX refuses to run a program that donates one of them."""
    groups: dict[int, list[int]] = {}
    for n, i in enumerate(inputs):
        if isinstance(i.value, jax.Array) and not isinstance(i.value, compat.Tracer):
            groups.setdefault(id(i.value), []).append(n)
    return [g for g in groups.values() if len(g) > 1]


def _is_distributed(x: Any) -> bool:
    sharding = getattr(x, "sharding", None)
    if sharding is None:
        return False
    mesh = getattr(sharding, "mesh", None)  # an AbstractMesh has a size and no devices
    return (mesh.size if mesh is not None else len(getattr(sharding, "device_set", ()))) > 1


def _region_entry(encoder: Encoder, r: regions.Region, found: list[regions.Region]) -> dict[str, Any]:
    slots = r.site.slots
    paths = [s.path for s in slots]
    index = encoder.closed_or_open(refs.discharged_open(r.jaxpr), None, paths, r.site.name)
    differentiated = set(r.diff_slots)
    entry = {"name": r.site.name, "kind": r.site.kind, "jaxpr": index, "in_paths": paths,
             "arg_of_input": [s.argument for s in slots], "arg_names": r.site.arg_names, "out_paths": r.out_paths,
             "wrt": r.site.wrt, "wrt_inputs": [i in differentiated for i in range(len(slots))], "has_aux": r.has_aux,
             "outputs": r.n_out, "source": encoder.tables.source(r.source),
             "parent": found.index(r.parent) if r.parent in found else None, "mark": r.mark}
    if r.mark is None:
        entry["why_unmarked"] = r.why_unmarked
    return entry


def _document(tables: Tables, encoder: Encoder, p: programs.Program, entry: dict[str, Any], marked: Any,
              region_entries: list[Any], facts: Any, warnings: list[str]) -> dict[str, Any]:
    import jaxlib
    producer = {"jaxscope": VERSION, "jax": jax.__version__, "jaxlib": getattr(jaxlib, "__version__", "unknown"),
                "python": ".".join(map(str, sys.version_info[:3]))}
    document: dict[str, Any] = {"format": "jaxscope.capture", "version": 2, "producer": producer, "name": p.name,
                                "flags": {**compat.flags(), **_type_mesh(encoder)}}
    if tables.paths.absolute:
        document["root"] = tables.paths.root
    if warnings:
        document["warnings"] = warnings
    document.update(
        strings=tables.strings.items, avals=tables.avals.items, files=tables.files.items, frames=tables.frames.items,
        tracebacks=tables.tracebacks.items, name_stacks=tables.name_stacks.items, sources=tables.sources.items,
        contexts=tables.contexts.items, literals=tables.literals.items, arrays=encoder.arrays.items, params=tables.params.items,
        jaxprs=encoder.finished_jaxprs(), custom_rules=encoder.rules.items, program=entry, marked=marked, regions=region_entries, xla=facts)
    return document
