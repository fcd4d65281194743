# SPDX-License-Identifier: Apache-2.0
"""The same program for other sizes of some axes of its arguments: which batch, or which length, would fit."""
from __future__ import annotations

import copy
from typing import Any

import jax

from .. import naming, program
from ..errors import CaptureError, meant
from .request import capture_program, say, tell


def capture_sizes(p: program.Program, opt: Any, pid: int, what: str, **options: Any) -> dict[str, Any]:
    """One capture for each of `opt.sizes`: OUT with the size in the place of {}. What can't be captured at one size doesn't stop the others."""
    axes = [_axis(text) for text in opt.resize]
    size = captured_size(p, axes)
    captures: list[dict[str, Any]] = []
    for n in opt.sizes or [size]:
        one = copy.copy(opt)
        one.output, one.path = opt.output.replace("{}", str(n)), opt.path.replace("{}", str(n))
        try:
            captures.append({"size": n, **capture_program(resized(p, axes, n), one, pid, what, **options)})
        except CaptureError as e:
            if e.traceback_text and n == size:
                tell(e.traceback_text.rstrip())
            captures.append({"size": n, "problem": str(e)})
        say(f"captured for {', '.join(opt.resize)} = {n}")
    return {"schema": "jaxscope.report/1", "size": size, "captures": captures}


def _axis(text: str) -> tuple[str, int]:
    """`batch['x']:0`; an argument's number stands for its name."""
    path, colon, axis = text.rpartition(":")
    if not colon or not path or not axis.lstrip("-").isdigit():
        raise CaptureError(f"expected ARG:AXIS, such as x:0, found {text!r}")
    return path, int(axis)


def _below(path: str, wanted: str) -> bool:
    return path.startswith(wanted) and (len(path) == len(wanted) or path[len(wanted)] in "[.")


def _chosen(p: Any, path: str) -> str:
    """What a number stands for, or a word that the function doesn't know but its caller passes: x for `kw['x']`."""
    names = _names(p)
    if path.isdigit() and int(path) < len(names):
        return names[int(path)]
    if any(_below(path, name) for name in names):
        return path
    return next((name + path[len(k):] for k, name in zip(p.kwargs, names[len(p.args):]) if _below(path, k)), path)


def _dimension(path: str, leaf: Any, axis: int) -> int:
    shape = getattr(leaf, "shape", None)
    if shape is None or not -len(shape) <= axis < len(shape):
        found = f"shape {tuple(shape)}" if shape is not None else type(leaf).__name__
        raise CaptureError(f"{path}: expected an array with axis {axis}, found {found}")
    return axis % len(shape)


def captured_size(p: Any, axes: list[tuple[str, int]]) -> int:
    """How long these axes are in the program as it is: all of them equally."""
    found: dict[str, int] = {}
    paths = [(path, leaf) for name, tree in _arguments(p) for path, leaf in naming.leaf_paths(name, tree)]
    for wanted, axis in axes:
        below = [(path, leaf) for path, leaf in paths if _below(path, _chosen(p, wanted))]
        if not below:
            names = [path for path, _ in paths]
            raise CaptureError(f"expected an argument {wanted!r}, found {', '.join(names[:12])}{', ...' if len(names) > 12 else ''}{meant(wanted, names)}")
        for path, leaf in below:
            found[f"{path}:{axis}"] = leaf.shape[_dimension(path, leaf, axis)]
    if len(set(found.values())) > 1:
        raise CaptureError("expected axes of one size, found " + ", ".join(f"{k} = {v}" for k, v in found.items()))
    return next(iter(found.values()))


def _names(p: Any) -> list[str]:
    return naming.argument_names(p.fn, len(p.args), p.kwargs)


def _arguments(p: Any) -> list[tuple[str, Any]]:
    names = _names(p)
    args = [(n, a) for i, (n, a) in enumerate(zip(names, p.args)) if i not in p.static_argnums]
    return args + [(n, a) for n, (k, a) in zip(names[len(p.args):], p.kwargs.items()) if k not in p.static_argnames]


def resized(p: program.Program, axes: list[tuple[str, int]], size: int) -> program.Program:
    """`p` with shapes in the place of the arrays that were chosen: nothing of that size is allocated."""
    wanted = [(_chosen(p, path), axis) for path, axis in axes]

    def tree(name: str, value: Any) -> Any:
        leaves = [_leaf(path, leaf, wanted, size) for path, leaf in naming.leaf_paths(name, value)]
        return jax.tree_util.tree_unflatten(jax.tree_util.tree_structure(value), leaves)
    out = copy.copy(p)
    trees = {name: tree(name, value) for name, value in _arguments(p)}
    names = _names(p)
    out.args = tuple(trees.get(n, a) for n, a in zip(names, p.args))
    out.kwargs = {k: trees.get(n, a) for n, (k, a) in zip(names[len(p.args):], p.kwargs.items())}
    return out


def _leaf(path: str, leaf: Any, wanted: list[tuple[str, int]], size: int) -> Any:
    shape = None
    for name, axis in wanted:
        if _below(path, name):
            shape = list(leaf.shape if shape is None else shape)
            shape[_dimension(path, leaf, axis)] = size
    if shape is None:
        return leaf
    spread = getattr(leaf, "sharding", None)
    spread = spread if isinstance(spread, jax.sharding.NamedSharding) else None
    return jax.ShapeDtypeStruct(tuple(shape), leaf.dtype, sharding=spread)
