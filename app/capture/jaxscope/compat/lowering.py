# SPDX-License-Identifier: Apache-2.0
"""From a jaxpr to what XLA reads, and makes of it."""
from __future__ import annotations

import contextlib
import io
import warnings
from typing import Any, Callable, Iterator

import jax
import numpy as np
from jax._src import core
from jax._src.interpreters import mlir

from . import VERSION


def lowering_rules(primitive: Any) -> list[Any]:
    """What writes the compiler's code for it: on a CPU, then on any platform."""
    entries = [mlir._platform_specific_lowerings.get("cpu", {}).get(primitive), mlir._lowerings.get(primitive)]
    return [getattr(e, "rule", e) for e in entries if e]


def lowered(closed: Any, name: str, donated: list[bool], keep_unused: bool, platform: str, shardings: list[Any] | None = None) -> Any:
    """A closed jaxpr, lowered as `jax.jit` would for `platform`, whose devices needn't be there. `shardings`: of arguments that are spread over devices."""
    def program(*leaves: Any) -> Any:
        return core.jaxpr_as_fun(closed)(*leaves)
    program.__name__ = program.__qualname__ = name
    jitted = jax.jit(program, donate_argnums=tuple(i for i, d in enumerate(donated) if d), keep_unused=keep_unused)
    # Structs of older JAX know no weak types; what is computed is the jaxpr's either way.
    leaves = [jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype, **({"weak_type": True} if getattr(v.aval, "weak_type", False) and VERSION >= (0, 5) else {}),
                                   **({"sharding": sharding} if sharding is not None else {}))
              for v, sharding in zip(closed.jaxpr.invars, shardings or [None] * len(closed.jaxpr.invars))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of donations: the capture's own pairs say it
        return jitted.trace(*leaves).lower(lowering_platforms=(platform,))


def lowered_module(closed: Any, name: str, donated: list[bool], keep_unused: bool, platform: str, shardings: list[Any] | None = None) -> bytes:
    """The same as the bytes of its StableHLO."""
    written = io.BytesIO()
    lowered(closed, name, donated, keep_unused, platform, shardings).compiler_ir("stablehlo").operation.write_bytecode(written)
    return written.getvalue()


class OtherTopology(Exception):
    """A program over more or fewer devices than the topology has."""


def compile_module(module: bytes, devices: Any) -> Any:
    """What XLA makes of the bytes of `lowered_module` for a topology that is described, not attached: for its first device, or spread over all of them."""
    from jax._src import compiler
    from jax._src.lib import xla_client
    from jax._src.lib.mlir import ir
    with mlir.make_ir_context():
        parsed = ir.Module.parse(module)
        attributes = parsed.operation.attributes
        parts = ir.IntegerAttr(attributes["mhlo.num_partitions"]).value if "mhlo.num_partitions" in attributes else 1
        if parts not in (1, len(devices)):
            raise OtherTopology(f"the program is spread over {parts} devices, the topology has {len(devices)}")
        used = tuple(devices[:parts])
        options = compiler.get_compile_options(num_replicas=1, num_partitions=parts, device_assignment=np.array([[d.id for d in used]]))
        if hasattr(compiler, "backend_compile_and_load"):
            return compiler.backend_compile_and_load(used[0].client, parsed, xla_client.DeviceList(used), options, [])
        return compiler.backend_compile(used[0].client, parsed, options, [])


def stablehlo_text(artifact: bytes) -> str | None:
    """The text of a portable artifact of StableHLO with names and lines, which JAX's own text leaves out; None where this version can't say."""
    try:
        from jaxlib.mlir.dialects import stablehlo
        with mlir.make_ir_context() as context:
            return str(stablehlo.deserialize_portable_artifact(context, artifact).operation.get_asm(enable_debug_info=True))
    except (ImportError, AttributeError):
        return None


@contextlib.contextmanager
def lowered_as(change: Callable[[Any], Any]) -> Iterator[None]:
    """Inside, jit lowers what `change` makes of its closed jaxpr. Versions that lower on another way never ask it."""
    from jax._src import pjit
    original = getattr(pjit, "_resolve_and_lower", None)
    if original is None:
        yield
        return

    def resolve_and_lower(*args: Any, **params: Any) -> Any:
        if "jaxpr" in params:
            params["jaxpr"] = change(params["jaxpr"])
        return original(*args, **params)
    pjit._resolve_and_lower = resolve_and_lower
    try:
        yield
    finally:
        pjit._resolve_and_lower = original
