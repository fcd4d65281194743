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
    """0.4.30 has two primitives for custom_vjp functions: with a traced body it is what `custom_vjp_call` is today."""
    name = eqn.primitive.name
    return "custom_vjp_call" if name == "custom_vjp_call_jaxpr" else name


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


_CHANGES: dict[str, Callable[[Any, dict[str, Any]], dict[str, Any]]] = {
    "top_k": _top_k, "fft": _fft, "device_put": _device_put, "custom_jvp_call": _custom_jvp, "custom_vjp_call_jaxpr": _custom_vjp}
