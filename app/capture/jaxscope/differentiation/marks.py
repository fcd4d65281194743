# SPDX-License-Identifier: Apache-2.0
"""Two calls, `jaxscope_forward_K` and `jaxscope_backward_K`, in the place of one differentiation.

They are primitives of our own while JAX traces (jit would prune forwarded outputs, and its differentiation rules would
keep the name for something of another type), and are written to the capture as `jit`. vmap maps their bodies and notes
in `batch` how; where another transformation meets one its body is inlined, so a mark that stands in the finished
program is always whole.
"""
from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
from jax._src import core
from jax._src.interpreters import ad, batching, mlir

from .. import compat

call_p = core.Primitive("jaxscope_call")
call_p.multiple_results = True
linear_p = core.Primitive("jaxscope_linear")
linear_p.multiple_results = True


@dataclass(frozen=True, eq=False)
class Level:
    """One vmap around a call: where the inputs and results of its body, as it was before, have the new axis (None: nowhere)."""
    axis: Any  # JAX's description of the vmap: the same object in the forward and in the backward call
    size: int
    ins: tuple[int | None, ...]
    outs: tuple[int | None, ...]


_state = threading.local()


def forget() -> None:
    """A new recording begins."""
    _state.dissolved = {}


def why_dissolved(name: str) -> str | None:
    """What became of a call that was inlined."""
    return getattr(_state, "dissolved", {}).get(name)


def _dissolve(name: str, why: str) -> None:
    if not hasattr(_state, "dissolved"):
        forget()
    _state.dissolved.setdefault(name, why)


def call(args: list[Any], closed: Any, name: str) -> list[Any]:
    return call_p.bind(*args, jaxpr=closed, name=name, batch=())


def _inline(args: Any, closed: Any) -> list[Any]:
    return compat.eval_jaxpr(closed.jaxpr, closed.consts, *args)


@call_p.def_impl
def _call_impl(*args: Any, jaxpr: Any, name: str, batch: Any) -> list[Any]:
    return _inline(args, jaxpr)


def _call_abstract(*_: Any, jaxpr: Any, name: str, batch: Any) -> Any:
    return jaxpr.out_avals, jaxpr.effects


call_p.def_effectful_abstract_eval(_call_abstract)


mlir.register_lowering(call_p, mlir.lower_fun(lambda *args, jaxpr, name, batch: _inline(args, jaxpr), multiple_results=True))


def _inlined_batch(args: Any, dims: Any, *, jaxpr: Any, name: str, batch: Any) -> Any:
    _dissolve(name, "it is mapped by a vmap that this JAX doesn't let us follow")
    outs = jax.vmap(lambda *xs: _inline(xs, jaxpr), in_axes=tuple(None if not isinstance(d, int) else d for d in dims))(*args)
    return outs, [0] * len(outs)


def _call_batch(axis: Any, args: Any, dims: Any, *, jaxpr: Any, name: str, batch: Any) -> Any:
    dims = tuple(dims)
    if compat.uses_axis(jaxpr, axis):
        # Its body mapped anew would need the axis of this vmap: it stays as it is, but is no mark any more.
        _dissolve(name, f"it computes along the axis {axis.name!r} of a vmap")
        mapped, out_dims = compat.batched(jaxpr, axis, dims)
        return _inline(args, mapped), out_dims
    if all(d is None for d in dims):
        return call_p.bind(*args, jaxpr=jaxpr, name=name, batch=batch), [None] * len(jaxpr.out_avals)
    mapped, out_dims = compat.batched(jaxpr, axis, dims)
    level = Level(axis, int(axis.size), dims, tuple(out_dims))
    return call_p.bind(*args, jaxpr=mapped, name=name, batch=(*batch, level)), out_dims


compat.register_batching(call_p, _call_batch, _inlined_batch)


def _call_jvp(primals: Any, tangents: Any, *, jaxpr: Any, name: str, batch: Any) -> Any:
    _dissolve(name, "it is differentiated further")
    return _differentiated(jaxpr, primals, tangents)


def _differentiated(jaxpr: Any, primals: Any, tangents: Any) -> Any:
    """The derivative of a closed jaxpr where it stands: what has no tangent gets none, as where no mark was."""
    moves = [not compat.is_zero(t) and not compat.is_float0(compat.typeof(t)) for t in tangents]
    made, out_moves = ad.jvp_jaxpr(jaxpr, moves, instantiate=False)
    flat = _inline([*primals, *(t for t, m in zip(tangents, moves) if m)], made)
    n = len(jaxpr.out_avals)
    given = iter(flat[n:])
    return flat[:n], [next(given) if m else compat.zero(compat.tangent_aval(a)) for m, a in zip(out_moves, jaxpr.out_avals)]


ad.primitive_jvps[call_p] = _call_jvp


class Linear:
    """The linear half of a differentiation: what it computes, and how its transposition is to be named."""

    def __init__(self, jaxpr: Any, mark: int):
        self.jaxpr, self.mark = jaxpr, mark
        self.n_res = len(jaxpr.constvars)
        self.backward: Any = None
        # Inputs without a tangent space (integers) have no cotangent either.
        self.wanted = [not compat.is_float0(v.aval) for v in jaxpr.invars]

    def transposed(self, res: Any, cts: Any) -> Any:
        """The closed jaxpr (residuals, cotangents of the outputs) -> cotangents of the inputs; traced once."""
        if self.backward is None:
            def backward(res: Any, cts: Any) -> Any:
                out = compat.transpose_linear(self.jaxpr, list(res), list(cts))
                return [ad.instantiate_zeros(c) for c, w in zip(out, self.wanted) if w]
            self.backward = jax.make_jaxpr(backward)(list(res), list(cts))
        return self.backward

    # A parameter of an equation: compared by identity, printed short.
    def __repr__(self) -> str:
        return f"linear_{self.mark}"


@linear_p.def_impl
def _linear_impl(*args: Any, linear: Linear) -> list[Any]:
    return compat.eval_jaxpr(linear.jaxpr, args[:linear.n_res], *args[linear.n_res:])


@linear_p.def_abstract_eval
def _linear_abstract(*_: Any, linear: Linear) -> Any:
    return [v.aval for v in linear.jaxpr.outvars]


def _linear_batch(args: Any, dims: Any, *, linear: Linear) -> Any:
    axes = tuple(None if not isinstance(d, int) else d for d in dims)
    outs = jax.vmap(partial(_linear_impl, linear=linear), in_axes=axes)(*args)
    return outs, [0] * len(outs)


batching.primitive_batchers[linear_p] = _linear_batch


def _linear_jvp(primals: Any, tangents: Any, *, linear: Linear) -> Any:
    return _differentiated(core.ClosedJaxpr(compat.constvars_to_invars(linear.jaxpr), ()), primals, tangents)


ad.primitive_jvps[linear_p] = _linear_jvp


def _linear_transpose(cts: Any, *args: Any, linear: Linear) -> Any:
    res = list(args[:linear.n_res])
    full = [ad.instantiate_zeros(c) for c in cts]
    outs = iter(call(res + full, linear.transposed(res, full), f"jaxscope_backward_{linear.mark}"))
    grads = [next(outs) if w else compat.zero(compat.cotangent_aval(v.aval))
             for v, w in zip(linear.jaxpr.invars, linear.wanted)]
    return [None] * linear.n_res + grads


ad.primitive_transposes[linear_p] = _linear_transpose


def linear_jaxpr(linear: Linear, residuals: list[Any]) -> Any:
    """A jaxpr with the residuals as constvars whose one equation is the linear half; what `vjp` will transpose."""
    tangents = [compat.struct(v.aval) for v in linear.jaxpr.invars]
    closed = jax.make_jaxpr(lambda res, ts: linear_p.bind(*res, *ts, linear=linear))(residuals, tangents)
    return compat.invars_to_constvars(closed.jaxpr, len(residuals)) if not closed.consts else None


def stands_in(jaxpr: Any) -> set[str]:
    """Names of the marked calls in a finished program."""
    return {e.params["name"] for e in compat.iterate_eqns(jaxpr) if e.primitive is call_p}


def description(name: str, batch: tuple[Level, ...], axes: dict[int, int]) -> dict[str, Any]:
    """What the capture says of a call beside its jaxpr. `axes` numbers vmaps."""
    half, mark = name.removeprefix("jaxscope_").rsplit("_", 1)
    return {"mark": int(mark), "half": half,
            "batch": [{"axis": axes.setdefault(id(level.axis), len(axes)), "size": level.size, "in": list(level.ins), "out": list(level.outs)}
                      for level in batch]}
