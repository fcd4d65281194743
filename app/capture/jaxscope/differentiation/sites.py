# SPDX-License-Identifier: Apache-2.0
"""Who differentiates what: read off the Python frames above JAX's `linearize`.

JAX hands its linearize a function of the differentiated arguments alone. What the user wrote (their function, all its
arguments, which of them by name) stands in the local variables of the frames of `value_and_grad`, `vjp`, ... above it;
functions made by `jax.value_and_grad` before we were imported are seen this way too.
"""
from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from .. import compat, naming


@dataclass(eq=False)
class Slot:
    """One array leaf of the user's arguments."""
    path: str
    argument: int
    value: Any
    diff: int | None = None  # which of the differentiated leaves it is


@dataclass(eq=False)
class Site:
    kind: str
    function: Any
    arg_names: list[str]
    slots: list[Slot]
    wrt: list[int]
    name: str = ""
    scalar: bool = True
    extra: dict[str, Any] = field(default_factory=dict)


_ENTRY = {"value_and_grad_f": "value_and_grad", "jacfun": "jacrev", "vjp": "vjp", "linearize": "linearize", "fwd": "vjp"}
_PLUMBING = ("jax/_src/api.py", "jax/_src/traceback_util.py", "jax/_src/api_util.py", "jax/_src/interpreters/ad.py")
# Derivatives that JAX takes to make a rule of its own (custom_root, ...): nobody asked for them.
_INTERNAL = ("jax/_src/lax/control_flow/solves.py", "jax/_src/custom_derivatives.py", "jax/_src/public_test_util.py",
             "jax/_src/ad_checkpoint.py")


def find(program_paths: dict[int, str], depth: int = 2) -> Site | None:
    """The differentiation that the calling `linearize` serves; None for those that JAX's own code makes for itself.

    `program_paths`: tracers of the program's own inputs, by id."""
    frame = sys._getframe(depth)
    entry, kind = None, None
    while frame is not None and _is_in(frame, _PLUMBING):
        code = frame.f_code
        if code.co_name in _ENTRY and code.co_filename.endswith("api.py"):
            entry, kind = frame, _ENTRY[code.co_name]
        elif code.co_name.startswith("grad_f") and kind == "value_and_grad":
            kind = "grad"
        frame = frame.f_back
    made_for_a_rule = frame is not None and _is_in(frame, _INTERNAL) and kind in ("vjp", "linearize")
    if entry is None or made_for_a_rule:
        return None
    return _library_site(frame, entry, kind, program_paths) or _jax_site(entry, kind)


def _is_in(frame: Any, files: tuple[str, ...]) -> bool:
    return frame.f_code.co_filename.replace("\\", "/").endswith(files)


def _is_array(x: Any) -> bool:
    return isinstance(x, (compat.Tracer, jax.Array, np.ndarray, np.generic))


def _jax_site(entry: Any, kind: str) -> Site | None:
    local = entry.f_locals
    fun = local.get("fun")
    if entry.f_code.co_name in ("vjp", "linearize"):
        args, kwargs, wrt = tuple(local["primals"]), {}, list(range(len(local["primals"])))
    else:
        args, kwargs, argnums = tuple(local["args"]), dict(local["kwargs"]), local["argnums"]
        wrt = [argnums] if isinstance(argnums, int) else list(argnums)
        wrt = [i % len(args) for i in wrt]
    names = naming.differentiated_names(fun, len(args), kwargs)
    per_arg = [jax.tree_util.tree_flatten_with_path(a)[0] for a in [*args, *kwargs.values()]]
    # Differentiated leaves are numbered in the order of argnums, slots stand in the order of the arguments.
    first = {}
    n = 0
    for i in wrt:
        first[i] = n
        n += len(per_arg[i])
    slots = []
    for i, leaves in enumerate(per_arg):
        for k, (path, leaf) in enumerate(leaves):
            if i in first:
                slots.append(Slot(names[i] + naming.keystr(path), i, leaf, first[i] + k))
            elif _is_array(leaf):
                slots.append(Slot(names[i] + naming.keystr(path), i, leaf))
    return Site(kind, fun, names, slots, wrt, naming.function_name(fun))


def _library_site(frame: Any, entry: Any, kind: str, program_paths: dict[int, str]) -> Site | None:
    """Equinox and NNX differentiate a function of their own around the user's."""
    while frame is not None and frame.f_code.co_filename.endswith("jax/_src/traceback_util.py"):
        frame = frame.f_back
    if frame is None:
        return None
    name = frame.f_code.co_filename.replace("\\", "/")
    if name.endswith("equinox/_ad.py") and kind in ("vjp", "jacrev"):
        return _equinox_other(frame)
    if kind not in ("grad", "value_and_grad"):
        return None
    if name.endswith("equinox/_ad.py") and hasattr(frame.f_locals.get("self"), "_fun"):
        return _equinox_site(frame, entry)
    if name.endswith("flax/nnx/transforms/autodiff.py"):
        return _nnx_site(entry, kind, program_paths)
    return None


def _equinox_site(frame: Any, entry: Any) -> Site:
    fun = frame.f_locals["self"]._fun
    diff_x, nondiff_x, *rest = entry.f_locals["args"]
    kwargs = entry.f_locals["kwargs"]
    x = frame.f_locals["x"]
    names = naming.differentiated_names(fun, 1 + len(rest), kwargs)
    slots: list[Slot] = []
    differentiated = iter(enumerate(jax.tree_util.tree_leaves(diff_x)))
    others = iter(jax.tree_util.tree_leaves(nondiff_x))
    is_diff = [leaf is not None for leaf in jax.tree_util.tree_leaves(diff_x, is_leaf=lambda v: v is None)]
    leaves = jax.tree_util.tree_flatten_with_path(x, is_leaf=lambda v: v is None)[0]
    for (path, leaf), diff in zip(leaves, is_diff):
        if diff:
            k, value = next(differentiated)
            slots.append(Slot(names[0] + naming.keystr(path), 0, value, k))
        elif leaf is not None:
            value = next(others)
            if _is_array(value):
                slots.append(Slot(names[0] + naming.keystr(path), 0, value))
    for i, a in enumerate([*rest, *kwargs.values()], 1):
        slots += [Slot(names[i] + naming.keystr(p), i, v)
                  for p, v in jax.tree_util.tree_flatten_with_path(a)[0] if _is_array(v)]
    above = frame.f_back
    kind = "eqx.filter_value_and_grad"
    while above is not None and above.f_code.co_filename.startswith(compat.JAX_DIR):
        above = above.f_back
    if above is not None and above.f_code.co_name == "__call__" and hasattr(above.f_locals.get("self"), "_fun_value_and_grad"):
        kind = "eqx.filter_grad"
    return Site(kind, fun, names, slots, [0], naming.function_name(fun))


def _equinox_other(frame: Any) -> Site | None:
    """filter_vjp differentiates all its arguments' arrays, filter_jacrev those of the first."""
    local = frame.f_locals
    if frame.f_code.co_name == "filter_vjp":
        fun, args, kwargs, diff, kind = local["fun"], local["primals"], {}, local["diff"], "eqx.filter_vjp"
    elif frame.f_code.co_name == "__call__" and "diff_x" in local:
        fun, args, kwargs, diff, kind = local["self"].fun, (local["x"], *local["args"]), local["kwargs"], (local["diff_x"],), "eqx.filter_jacrev"
    else:
        return None
    names = naming.differentiated_names(fun, len(args), kwargs)
    slots: list[Slot] = []
    count = 0
    for i, whole in enumerate([*args, *kwargs.values()]):
        is_diff = [d is not None for d in jax.tree_util.tree_leaves(diff[i], is_leaf=lambda v: v is None)] if i < len(diff) else None
        for k, (path, leaf) in enumerate(jax.tree_util.tree_flatten_with_path(whole, is_leaf=lambda v: v is None)[0]):
            differentiated = is_diff is not None and is_diff[k]
            if differentiated or _is_array(leaf):
                slots.append(Slot(names[i] + naming.keystr(path), i, leaf, count if differentiated else None))
            count += differentiated
    return Site(kind, fun, names, slots, list(range(len(diff))), naming.function_name(fun))


def _nnx_site(entry: Any, kind: str, program_paths: dict[int, str]) -> Site | None:
    """NNX splits a module into the state to differentiate and the rest, which its own function takes from a queue.

    The user's function takes the module whole: all of its state are inputs here. Leaves that are inputs of the program
    have its names for them, since a module has no leaves that its user could name."""
    site = _jax_site(entry, kind)
    inner = getattr(site.function, "f", None) if site else None
    if inner is None:
        return site
    names = naming.differentiated_names(inner, len(entry.f_locals["args"]))
    for s in site.slots:
        s.path = names[s.argument] + naming.nnx_path(s.path[len(site.arg_names[s.argument]):])
    rest = [s for s in getattr(site.function, "nondiff_states", ()) if s is not None]
    for argument, state in zip(site.wrt, rest):
        more = [Slot(path, argument, leaf) for path, leaf in naming.leaf_paths(names[argument], state) if _is_array(leaf)]
        at = max(i for i, s in enumerate(site.slots) if s.argument == argument) + 1
        site.slots[at:at] = more
    for s in site.slots:
        s.path = program_paths.get(id(s.value), s.path)
    site.kind, site.function, site.arg_names, site.name = "nnx." + kind, inner, names, naming.function_name(inner)
    return site
