# SPDX-License-Identifier: Apache-2.0
"""`--compile`: what XLA says about the program, for display beside our own numbers."""
from __future__ import annotations

import re
import time
import warnings
from typing import Any

import jax

from ..compat import lowering
from ..document.tables import Paths, number_json
from . import collectives, operations
from .names import CPU

_MEMORY = ["argument_size_in_bytes", "output_size_in_bytes", "alias_size_in_bytes", "temp_size_in_bytes",
           "generated_code_size_in_bytes", "peak_memory_in_bytes", "host_temp_size_in_bytes"]
_ALIAS = re.compile(r"\{(\d*)\}: \((\d+), \{\}(?:, ([a-z-]+))?\)")


def facts(p: Any, paths: Paths, captured: Any) -> dict[str, Any]:
    """`captured`: the program's jaxpr as the capture has it."""
    marks = operations.Marks()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with lowering.lowered_as(marks.into):
            lowered = _lower(p)
        start = time.monotonic()
        compiled = lowered.compile()
        seconds = time.monotonic() - start
    compiled = getattr(compiled, "compiled", compiled)
    device = _device(compiled)
    text = compiled.as_text() or ""
    return {"device": device.device_kind, "version": compiler_version(), "compile_seconds": round(seconds, 3), **_figures(compiled, device.platform, text),
            **_over_devices(compiled, paths, operations.without_marks(text)), "operations": operations.of_hlo(text, marks, captured),
            "donate_warnings": [paths.in_text(str(w.message)) for w in caught if "onat" in str(w.message)]}


def of_jaxpr(closed: Any, name: str, donated: list[bool]) -> dict[str, Any]:
    """The same of a closed jaxpr, as an entry of a capture's `targets`: of this machine's CPU."""
    start = time.monotonic()
    compiled = lowering.lowered(closed, name, donated, False, CPU).compile()
    return {"target": CPU, "device": jax.devices(CPU)[0].device_kind, "libtpu": None, "version": compiler_version(), "compile_seconds": round(time.monotonic() - start, 3), "options": None,
            **_figures(compiled, CPU, compiled.as_text() or ""), "out_of_memory": None}


def _device(compiled: Any) -> Any:
    """The first of those that it was compiled for."""
    sharding = next(iter(jax.tree.leaves(_attempt(lambda: (compiled.output_shardings, compiled.input_shardings)))), None)
    return min(sharding.device_set, key=lambda d: d.id) if hasattr(sharding, "device_set") else jax.devices()[0]


def _figures(compiled: Any, platform: str, text: str) -> dict[str, Any]:
    memory = memory_json(_attempt(compiled.memory_analysis))
    return {"memory_analysis": _with_whole_peak(memory) if memory and platform == CPU else memory, "cost_analysis": cost_json(_attempt(compiled.cost_analysis)),
            "input_output_alias": aliases(text)}


def _with_whole_peak(memory: dict[str, int]) -> dict[str, int]:
    """XLA's CPU compiler leaves its temporaries out of the peak; they are one allocation there, which stands as long as the program runs."""
    return {**memory, "peak_memory_in_bytes": memory["argument_size_in_bytes"] + memory["output_size_in_bytes"] - memory["alias_size_in_bytes"] + memory["temp_size_in_bytes"]}


def _over_devices(compiled: Any, paths: Paths, text: str) -> dict[str, Any]:
    """Where devices meet, and how inputs and results lie. Nothing of a program for one."""
    devices = re.search(r"num_partitions=(\d+)", text[:text.find("\n")])
    if not devices or int(devices.group(1)) < 2:
        return {}
    return {"collectives": collectives.of_hlo(text, paths.in_text), "input_specs": collectives.specs(_attempt(lambda: compiled.input_shardings)),
            "output_specs": collectives.specs(_attempt(lambda: compiled.output_shardings))}


def compiler_version() -> str:
    return str(jax.lib.__version__)


def memory_json(memory: Any) -> dict[str, int] | None:
    return {k: int(getattr(memory, k)) for k in _MEMORY if hasattr(memory, k)} if memory is not None else None


def cost_json(cost: Any) -> dict[str, Any]:
    """`cost`: a mapping, or a list of one for each executable."""
    cost = cost[0] if isinstance(cost, list) and cost else cost
    return {k: number_json(v) for k, v in sorted((cost or {}).items()) if k in ("flops", "bytes accessed", "transcendentals")}


def _lower(p: Any) -> Any:
    if p.jit == "eqx":
        import equinox as eqx
        fn = p.fn if hasattr(p.fn, "lower") else eqx.filter_jit(p.fn, donate=p.donate)
        return fn.lower(*p.args, **p.kwargs)
    if hasattr(p.fn, "lower"):
        return p.fn.lower(*p.args, **p.kwargs)
    options = {k: v for k, v in dict(static_argnums=p.static_argnums, static_argnames=p.static_argnames,
                                     donate_argnums=p.donate_argnums, donate_argnames=p.donate_argnames).items() if v}
    return jax.jit(p.fn, **options).lower(*p.args, **p.kwargs)


def _attempt(f: Any) -> Any:
    try:
        return f()
    except Exception:  # not every backend answers
        return None


def aliases(hlo: str) -> list[list[int]]:
    """[output, parameter] pairs of the compiled module; parameters are the kept inputs."""
    start = hlo.find("input_output_alias={")
    if start < 0:
        return []
    start += len("input_output_alias=")
    depth = 0
    end = start
    for end in range(start, len(hlo)):
        depth += (hlo[end] == "{") - (hlo[end] == "}")
        if depth == 0:
            break
    return [[int(o) if o else 0, int(i)] for o, i, _ in _ALIAS.findall(hlo[start:end + 1])]
