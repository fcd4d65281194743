# SPDX-License-Identifier: Apache-2.0
"""What older versions of JAX write otherwise, in the form of 0.10.2, which is the one that captures have.

Names of primitives that only changed (`pjit`, `checkpoint`) stay as they are: readers know them, and show what the user's JAX shows.
"""
from __future__ import annotations

import enum
from typing import Any, Callable


class ArrayCopySemantics(enum.Enum):
    """0.10.2's, whose own lives in jaxlib."""
    REUSE_INPUT = 0
    ALWAYS_COPY = 1
    DONATE_INPUT = 2


class FftType(enum.IntEnum):
    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


def primitive_name(eqn: Any) -> str:
    """0.4.30 has two primitives for custom_vjp functions: with a traced body it is what `custom_vjp_call` is today. Its sums inside of a
    shard_map that counts copies are what they are in one that doesn't, which is what such a shard_map is written as."""
    if eqn.primitive.name == "pbroadcast" and "source" in eqn.params:
        return "pbroadcast"  # lax's own; shard_map's of that name became pvary
    return _NAMES.get(eqn.primitive.name, eqn.primitive.name)


def parameters(eqn: Any) -> dict[str, Any]:
    """The parameters by their present names; those that came later have the value that says what the older version did."""
    change = _CHANGES.get(eqn.primitive.name)
    return eqn.params if change is None else change(eqn, dict(eqn.params))


def _top_k(eqn: Any, p: dict[str, Any]) -> dict[str, Any]:
    p.setdefault("axis", eqn.invars[0].aval.ndim - 1)
    return p


def _fft(eqn: Any, p: dict[str, Any]) -> dict[str, Any]:
    # An enum of jaxlib's until 0.6: its members have names, but it is none of Python's.
    p["fft_type"] = FftType[p["fft_type"].name]
    return p


_COPIES = {"ALIAS": "REUSE_INPUT", "COPY": "ALWAYS_COPY", "DONATE": "DONATE_INPUT"}


def _device_put(eqn: Any, p: dict[str, Any]) -> dict[str, Any]:
    p["devices"], p["srcs"] = tuple(p["devices"]), tuple(p["srcs"])
    words = [s.name for s in p["copy_semantics"]] if "copy_semantics" in p else ["REUSE_INPUT"] * len(p["devices"])
    p["copy_semantics"] = tuple(ArrayCopySemantics[_COPIES.get(w, w)] for w in words)
    return p


def _custom_jvp(eqn: Any, p: dict[str, Any]) -> dict[str, Any]:
    if "jvp_jaxpr_thunk" in p:
        p["jvp_jaxpr_fun"] = p.pop("jvp_jaxpr_thunk")
    return p


def _custom_vjp(eqn: Any, p: dict[str, Any]) -> dict[str, Any]:
    p["call_jaxpr"] = p.pop("fun_jaxpr")
    return p


def _shard_map(eqn: Any, p: dict[str, Any]) -> dict[str, Any]:
    """Names of axes by dimension were specs from 0.6 on. Types that say over which axes a value varies are younger than `check_rep`: without
    them nothing can be checked."""
    if "in_names" in p:
        p["in_specs"] = tuple(_spec(n) for n in p.pop("in_names"))
        p["out_specs"] = tuple(_spec(n) for n in p.pop("out_names"))
        p["check_vma"] = False
        p["newly_manual_axes"] = frozenset(p["mesh"].axis_names) - frozenset(p.pop("auto"))
        p.pop("check_rep"), p.pop("rewrite")
    elif "manual_axes" in p:
        p["newly_manual_axes"] = p.pop("manual_axes")
    return p


def _spec(names: dict[int, tuple[str, ...]]) -> Any:
    from jax.sharding import PartitionSpec
    by_dimension = [names.get(d, ()) for d in range(max(names, default=-1) + 1)]
    return PartitionSpec(*(n if len(n) > 1 else n[0] if n else None for n in by_dimension))


def _without_groups(eqn: Any, p: dict[str, Any]) -> dict[str, Any]:
    """0.10 has no groups of devices there; where there are some, readers name the parameter."""
    if p.get("axis_index_groups") is None:
        p.pop("axis_index_groups", None)
    return p


_NAMES = {"custom_vjp_call_jaxpr": "custom_vjp_call", "psum2": "psum", "pbroadcast": "pvary"}
_CHANGES: dict[str, Callable[[Any, dict[str, Any]], dict[str, Any]]] = {
    "top_k": _top_k, "fft": _fft, "device_put": _device_put, "custom_jvp_call": _custom_jvp, "custom_vjp_call_jaxpr": _custom_vjp,
    "shard_map": _shard_map, "pbroadcast": _without_groups, "pvary": _without_groups,
    "psum_invariant": _without_groups, "all_gather_invariant": _without_groups}
