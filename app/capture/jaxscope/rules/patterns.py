# SPDX-License-Identifier: Apache-2.0
"""Rules that look at how they are called (symbolic zeros, custom_vmap): which cases JAX asks for when a program is transformed.

Such a rule is another jaxpr in each case, so the capture has JAX transform the program, once for everything and once for each argument
alone, and notes what the rules were asked. What else somebody wants later is refused by name.
"""
from __future__ import annotations

import contextlib
import functools
import itertools
import threading
from dataclasses import dataclass
from typing import Any, Callable, Iterator

import jax

from .. import compat, older, program as programs
from ..document.identity import batch_axes, identity, memories
from . import foreign
from .memory import Backwards, meeting
from .structure import Structures

AXIS_SIZE = 8  # of an axis that nobody named: `jaxscope transform --apply vmap` takes so many examples
_MOST_EQUATIONS = 2_000  # a program that has more is transformed for one choice of arguments only,
_MOST_OF_RULES = 200  # and so is one with more in the functions that have such rules: JAX traces all of it anew in each
_MOST_ARGUMENTS = 8
_SMALL = 300  # equations: one that has more, and primitives of libraries, is asked for the usual cases alone


class Patterns:
    """What rules were asked while `watching`."""

    def __init__(self, axis_sizes: tuple[int, ...] = ()):
        self.axis_sizes = axis_sizes or (AXIS_SIZE,)
        self.axis_asked = bool(axis_sizes)  # somebody who names a size wants to map, whatever that takes
        self._cotangents: dict[Any, set[tuple[tuple[bool, ...] | None, tuple[bool, ...]]]] = {}
        self._batched: dict[int, set[tuple[int, tuple[bool, ...]]]] = {}
        self.backwards = Backwards()
        self._foreign: dict[tuple[str, Any], set[Any]] = {}
        self._structures = Structures()
        self._alive: list[Any] = []

    def application(self, primitive: Any, params: dict[str, Any], args: Any) -> Any:
        """What makes two applications of a library's primitive one to its rules."""
        return primitive, self._structures.of(params), tuple(_type_of(a) for a in args)

    def saw_foreign(self, kind: str, application: Any, case: Any) -> None:
        self._foreign.setdefault((kind, application), set()).add(case)

    def of_foreign(self, kind: str, application: Any) -> list[Any]:
        """Cases of a rule of a library's primitive: (perturbed,), (linear, zero cotangents) or (axis size, dims)."""
        return sorted(self._foreign.get((kind, application), ()), key=repr)

    def saw_cotangents(self, bwd: Any, in_zeros: Any, cotangents: Any) -> None:
        perturbed = None if in_zeros is None else tuple(not z for z in in_zeros)  # JAX 0.4.30 doesn't say
        self._cotangents.setdefault(of_function(bwd), set()).add((perturbed, tuple(compat.is_zero(c) for c in cotangents)))
        self._alive.append(bwd)

    def saw_batch(self, rule: Any, size: int, batched: tuple[bool, ...]) -> None:
        self._batched.setdefault(id(rule), set()).add((size, batched))
        self._alive.append(rule)

    def zero_cotangents(self, bwd: Any, perturbed: tuple[bool, ...]) -> list[tuple[bool, ...]]:
        met = self._cotangents.get(of_function(bwd), ())
        n = len(perturbed)
        return sorted({zeros for p, zeros in met if p is None or p[len(p) - n:] == perturbed})

    def batches(self, rule: Any, n: int) -> list[tuple[int, tuple[bool, ...]]]:
        """(axis size, which inputs have the axis): all and, for jvp, none, or every case where those are few; then what was met."""
        cases = itertools.product((True, False), repeat=n) if n <= 2 else [(True,) * n, (False,) * n]
        usual = [(size, mapped) for mapped in cases for size in self.axis_sizes]
        met = self._batched.get(id(rule), set())
        return [*usual, *sorted(met - set(usual))]


def of_function(rule: Any) -> Any:
    """Its Python function and what is bound to it, whatever but vmap was made of it."""
    key = identity(rule)[2]
    return (*key[:2], batch_axes(key)) if isinstance(key, tuple) else key


def perturbed(eqn: Any, kind: str, n: int) -> list[tuple[bool, ...]]:
    """Which inputs were perturbed where JAX asked for this rule: its thunks remember. A backward rule goes with a forward one."""
    thunk = eqn.params.get("fwd_jaxpr_thunk") or older.parameters(eqn).get("jvp_jaxpr_fun")
    met = {k for memory in memories(thunk) for k in memory
           if isinstance(k, tuple) and len(k) == n and all(isinstance(b, bool) for b in k)}
    # custom_jvp's thunk takes which are zero, custom_vjp's which are not.
    return sorted(k if kind.startswith("custom_vjp") else tuple(not b for b in k) for k in met)


def _type_of(x: Any) -> Any:
    aval = x if isinstance(x, compat.AbstractValue) else x.aval if hasattr(x, "aval") else compat.typeof(x)
    return getattr(aval, "shape", None), str(getattr(aval, "dtype", aval))


def _without_axis(x: Any, d: int | None) -> Any:
    aval = compat.typeof(x)
    return aval if d is None else compat.ShapedArray((*aval.shape[:d], *aval.shape[d + 1:]), aval.dtype)


# ---- Watching

_state = threading.local()
_lock = threading.Lock()
_users = 0
_originals: list[tuple[dict[Any, Any], Any, Any]] = []


@contextlib.contextmanager
def watching(patterns: Patterns) -> Iterator[None]:
    """JAX's two tables have our functions only while somebody captures; other threads pass through them."""
    global _users
    with _lock:
        _users += 1
        if _users == 1:
            for table, primitive, watched in _places():
                if primitive in table:
                    _originals.append((table, primitive, table[primitive]))
                    table[primitive] = watched(table[primitive])
    previous, _state.patterns = getattr(_state, "patterns", None), patterns
    try:
        yield
    finally:
        _state.patterns = previous
        with _lock:
            _users -= 1
            if not _users:
                for table, primitive, f in _originals:
                    table[primitive] = f
                _originals.clear()


def _places() -> list[tuple[dict[Any, Any], Any, Callable]]:
    jaxs_own = [(compat.TRANSPOSE_RULES, compat.custom_lin_p, _watched_transpose), (compat.BATCH_RULES, compat.custom_vmap_p, _watched_batcher)]
    watched = [(compat.JVP_RULES, _foreign_jvp), (compat.TRANSPOSE_RULES, _foreign_transpose), (compat.BATCH_RULES, _foreign_batcher)]
    return jaxs_own + [(table, p, functools.partial(watch, p)) for table, watch in watched for p in list(table) if foreign.is_foreign(p)]


def _foreign_jvp(primitive: Any, original: Callable) -> Callable:
    def jvp(primals: Any, tangents: Any, **params: Any) -> Any:
        seen = getattr(_state, "patterns", None)
        if seen is not None:
            kind = "linearize" if type(compat.current_trace()).__name__ == "JaxprTrace" else "jvp"
            seen.saw_foreign(kind, seen.application(primitive, params, primals), (tuple(not compat.is_zero(t) for t in tangents),))
        return original(primals, tangents, **params)
    return jvp


def _foreign_transpose(primitive: Any, original: Callable) -> Callable:
    def transpose(cotangents: Any, *args: Any, **params: Any) -> Any:
        seen = getattr(_state, "patterns", None)
        if seen is not None:
            cts = cotangents if primitive.multiple_results else [cotangents]
            seen.saw_foreign("transpose", seen.application(primitive, params, args),
                             (tuple(map(compat.is_linear_input, args)), tuple(map(compat.is_zero, cts))))
        return original(cotangents, *args, **params)
    return transpose


def _foreign_batcher(primitive: Any, original: Callable) -> Callable:
    def batch(*given: Any, **params: Any) -> Any:
        seen = getattr(_state, "patterns", None)
        args, dims = given[-2:]
        mapped = tuple(d if isinstance(d, int) else None for d in dims)
        if seen is not None and any(d is not None for d in mapped):
            size = next(x.shape[d] for x, d in zip(args, mapped) if d is not None)
            one = [_without_axis(x, d) for x, d in zip(args, mapped)]
            seen.saw_foreign("vmap", seen.application(primitive, params, one), (size, mapped))
        return original(*given, **params)
    return batch


def _watched_transpose(original: Callable) -> Callable:
    def transpose(cotangents: Any, *args: Any, **params: Any) -> Any:
        seen = getattr(_state, "patterns", None)
        if seen is not None and params.get("symbolic_zeros"):
            seen.saw_cotangents(params["bwd"], params.get("in_zeros"), cotangents)
            out = seen.backwards.transposed(of_function(params["bwd"]), cotangents, args, params) if "in_zeros" in params else None
            if out is not None:
                return out
        return original(cotangents, *args, **params)
    return transpose


def _watched_batcher(original: Callable) -> Callable:
    def batch(*given: Any, **params: Any) -> Any:
        seen = getattr(_state, "patterns", None)
        args, dims = given[-2:]
        mapped = [isinstance(d, int) for d in dims]
        if seen is not None and any(mapped):
            size = next(x.shape[d] for x, d in zip(args, dims) if isinstance(d, int))
            seen.saw_batch(params["rule"], size, tuple(mapped))
        return original(*given, **params)
    return batch


# ---- Asking JAX

@dataclass
class Asked:
    """What a program has that looks at how it is called, and how much of it."""
    symbolic: bool = False
    batched: bool = False
    foreign: bool = False
    few: bool = True
    small: bool = True  # each case of a library's rule is traced again by itself

    def __bool__(self) -> bool:
        return self.symbolic or self.batched or self.foreign


def _asked(jaxpr: Any) -> Asked:
    out, count, of_rules = Asked(), 0, 0
    for e in compat.iterate_eqns(jaxpr):
        count += 1
        mine = bool(e.params.get("symbolic_zeros")), e.primitive is compat.custom_vmap_p
        out.symbolic, out.batched = out.symbolic or mine[0], out.batched or mine[1]
        out.foreign = out.foreign or foreign.is_foreign(e.primitive)
        of_rules += sum(compat.count_eqns(s) for v in e.params.values() for s in compat.sub_jaxprs(v)) if any(mine) else 0
    out.small = count <= _SMALL
    out.few = count <= _MOST_EQUATIONS and of_rules <= _MOST_OF_RULES
    return out


def meet(patterns: Patterns, closed: Any, p: programs.Program, flat: programs.Flat) -> None:
    """The program differentiated by its arguments, under vmap, and under both where a library's primitives stand in it."""
    asked = _asked(closed.jaxpr)
    if not asked:
        return
    with watching(patterns), meeting(), compat.fresh_traces():
        inexact = [jax.numpy.issubdtype(getattr(v.aval, "dtype", bool), jax.numpy.inexact) for v in closed.jaxpr.invars]
        every = asked.few and (asked.small or not asked.foreign)
        wanted = _choices(p, flat, every)
        for chosen in wanted if asked.symbolic or asked.foreign else ():
            _quietly(_gradient, closed, [i for i in chosen if inexact[i]], p.has_aux)
        for chosen in _choices(None, flat, every) if asked.batched or asked.foreign else ():
            for size in patterns.axis_sizes:
                _quietly(_mapped, closed, set(chosen), size)
        if asked.foreign and wanted and (every or patterns.axis_asked):
            for size in patterns.axis_sizes:
                _quietly(_mapped_gradient, closed, [i for i in wanted[0] if inexact[i]], p.has_aux, size)


def meet_region(patterns: Patterns, jaxpr: Any, wanted: list[bool]) -> None:
    """A function that the program differentiates, by all of its arguments and by each alone, plainly and recomputed: `--wrt` and
    `--policy` ask for these."""
    asked = _asked(jaxpr)
    if not (asked.symbolic or asked.foreign):
        return
    closed = compat.ClosedJaxpr(compat.constvars_to_invars(jaxpr), [])
    inexact = [i for i, v in enumerate(closed.jaxpr.invars) if jax.numpy.issubdtype(getattr(v.aval, "dtype", bool), jax.numpy.inexact)]
    first = len(jaxpr.constvars)
    arguments = [i for i in inexact if i >= first]
    chosen = [arguments, [i for i in arguments if wanted[i - first]]]
    if asked.few and (asked.small or not asked.foreign) and len(arguments) <= _MOST_ARGUMENTS:
        chosen += [[i] for i in arguments]
    with watching(patterns), meeting(), compat.fresh_traces():
        for n, c in enumerate(chosen):
            if c and c not in chosen[:n]:
                _quietly(_gradient, closed, c, False)
                if asked.few and n < 2:
                    _quietly(_gradient, closed, c, False, jax.checkpoint)


def _choices(p: programs.Program | None, flat: programs.Flat, few: bool) -> list[list[int]]:
    """Inputs of the program: of all arguments, of those to differentiate, of each one alone."""
    arguments = sorted({i.argument for i in flat.inputs})
    wanted = [arguments if p is None or p.differentiate is None else list(p.differentiate)]
    if few and len(arguments) <= _MOST_ARGUMENTS:
        wanted += [arguments, *([a] for a in arguments)]
    choices = [[i for i, x in enumerate(flat.inputs) if x.argument in w] for w in wanted]
    return [c for n, c in enumerate(choices) if c and c not in choices[:n]]


def _quietly(transform: Callable, *args: Any) -> None:
    try:
        transform(*args)
    except Exception:  # JAX can't do it: then nobody will ask the rules for it
        pass


def _structs(closed: Any) -> list[Any]:
    return [compat.struct(v.aval) for v in closed.jaxpr.invars]


def _mapped_structs(closed: Any, size: int) -> list[Any]:
    return [compat.struct(v.aval, size) for v in closed.jaxpr.invars]


def _gradient(closed: Any, chosen: list[int], has_aux: bool, around: Callable = lambda f: f) -> None:
    if chosen:
        jax.make_jaxpr(_backward(closed, chosen, has_aux, around))(*_structs(closed))


def _backward(closed: Any, chosen: list[int], has_aux: bool, around: Callable = lambda f: f) -> Callable:
    def backward(*xs: Any) -> Any:
        def f(*diff: Any) -> Any:
            full = list(xs)
            for i, x in zip(chosen, diff):
                full[i] = x
            out = compat.eval_jaxpr(closed.jaxpr, closed.consts, *full)
            return out[:1] if has_aux else [o for o in out if jax.numpy.issubdtype(o.dtype, jax.numpy.inexact)]
        out, pull = jax.vjp(around(f), *[xs[i] for i in chosen])
        return pull([jax.numpy.ones_like(o) for o in out])
    return backward


def _mapped_gradient(closed: Any, chosen: list[int], has_aux: bool, size: int) -> None:
    """vmap of the gradient, and the gradient of vmap."""
    if not chosen:
        return
    structs = _mapped_structs(closed, size)
    _quietly(lambda: jax.make_jaxpr(jax.vmap(_backward(closed, chosen, has_aux)))(*structs))
    whole = jax.make_jaxpr(jax.vmap(lambda *xs: compat.eval_jaxpr(closed.jaxpr, closed.consts, *xs)))(*structs)
    _gradient(whole, chosen, has_aux)


def _mapped(closed: Any, chosen: set[int], size: int) -> None:
    structs = [m if i in chosen else s for i, (s, m) in enumerate(zip(_structs(closed), _mapped_structs(closed, size)))]
    axes = tuple(0 if i in chosen else None for i in range(len(structs)))
    jax.make_jaxpr(jax.vmap(lambda *xs: compat.eval_jaxpr(closed.jaxpr, closed.consts, *xs), in_axes=axes, axis_size=size))(*structs)
