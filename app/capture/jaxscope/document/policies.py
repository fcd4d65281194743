# SPDX-License-Identifier: Apache-2.0
"""Checkpoint policies by name and parameters, as they are written in Python; JAX keeps them as objects and closures."""
from __future__ import annotations

import types
from typing import Any, Callable

import jax

_BY_NAME = {n: f for n, f in vars(jax.checkpoint_policies).items() if callable(f)} if hasattr(jax, "checkpoint_policies") else {}
_PLAIN = ["everything_saveable", "nothing_saveable", "dots_saveable", "dots_with_no_batch_dims_saveable"]
# Factories whose policies are closures: their cells, by the names of the variables that they close over.
_FACTORIES = ["offload_dot_with_no_batch_dims", "save_anything_except_these_names", "save_any_names_but_these",
              "save_only_these_names", "save_from_both_policies", "save_and_offload_only_these_names"]


def describe(policy: Any, other: Callable[[Any], Any]) -> dict[str, Any] | None:
    """{"policy": name, "args": [...]}; `other` makes what stands in for a policy that is none of JAX's."""
    for name in _PLAIN:
        if policy is _BY_NAME.get(name):
            return {"policy": name, "args": []}
    found = _dataclass_policy(policy) or _closure_policy(policy, other)
    return found if found is not None else other(policy)


def _dataclass_policy(policy: Any) -> dict[str, Any] | None:
    kind = type(policy).__name__
    if kind == "DotsSaveable":
        return {"policy": _PLAIN[3] if policy.only_if_no_batch_dims else _PLAIN[2], "args": []}
    if kind == "SaveOnlyTheseNames":
        return {"policy": "save_only_these_names", "args": sorted(policy.saveable_names)}
    if kind == "SaveAnyNamesButThese":
        return {"policy": "save_any_names_but_these", "args": sorted(policy.names)}
    return None


def _closure_policy(policy: Any, other: Callable[[Any], Any]) -> dict[str, Any] | None:
    if not isinstance(policy, types.FunctionType) or not policy.__module__.startswith("jax."):
        return None
    factory = policy.__qualname__.split(".")[0]
    if factory not in _FACTORIES:
        return None
    cells = {n: c.cell_contents for n, c in zip(policy.__code__.co_freevars, policy.__closure__ or ())}
    if factory == "offload_dot_with_no_batch_dims":
        return {"policy": factory, "args": [str(cells["offload_src"]), str(cells["offload_dst"])]}
    if factory == "save_from_both_policies":
        return {"policy": factory, "args": [describe(cells[n], other) for n in ("policy_1", "policy_2")]}
    if factory == "save_and_offload_only_these_names":
        return {"policy": factory, "args": [sorted(cells["names_which_can_be_saved"]), sorted(cells["names_which_can_be_offloaded"]),
                                            str(cells["offload_src"]), str(cells["offload_dst"])]}
    # 0.10's save_anything_except_these_names forgets its names: `lambda *_, **__: True`.
    names = next((v for v in cells.values() if isinstance(v, (set, frozenset, tuple, list))), ())
    return {"policy": factory, "args": sorted(map(str, names))}


def is_policy(key: str, value: Any) -> bool:
    return key == "policy" and callable(value)


def verdict(policy: Callable, eqn: Any) -> Any:
    """What a policy of the user's says about one equation, in the words of the format."""
    try:
        answer = policy(eqn.primitive, *[v.aval for v in eqn.invars], **eqn.params)
    except Exception:
        return "unknown"
    kind = type(answer).__name__
    if kind == "Offloadable":
        return ["offload", str(answer.src), str(answer.dst)]
    if answer is True or kind == "SaveableType":
        return "save"
    if answer is False or kind == "RecomputeType":  # JAX refuses anything else, None too
        return "recompute"
    return "unknown"
