# SPDX-License-Identifier: Apache-2.0
"""The only folder that knows in which JAX version which internal lives, from 0.4.30 on."""
from __future__ import annotations

import contextlib
import functools
import itertools
import os
import weakref
from typing import Any, Callable, Iterator, NamedTuple

import jax
import numpy as np
from jax._src import config, core, custom_batching, dtypes, sharding_impls, source_info_util
from jax._src.interpreters import ad, batching, partial_eval as pe
from jax._src.lax.control_flow import conditionals

try:
    from jax._src import traceback_util
except ImportError:  # pragma: no cover
    traceback_util = None

Jaxpr = core.Jaxpr
ClosedJaxpr = core.ClosedJaxpr
Literal = core.Literal
DropVar = core.DropVar
Tracer = core.Tracer
Var = core.Var
Primitive = core.Primitive
AbstractValue = core.AbstractValue
ShapedArray = core.ShapedArray
UNSPECIFIED: Any = getattr(sharding_impls, "UNSPECIFIED", None)
custom_vmap_p = custom_batching.custom_vmap_p
CustomVJPException: Any = getattr(ad, "CustomVJPException", ())
SymbolicZero = jax.custom_derivatives.SymbolicZero
VERSION: tuple[int, ...] = tuple(int(p) for p in jax.__version__.split(".")[:3] if p.isdigit())
PACKAGE_DIR = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
# As Python found it, `..` and all, which is what stands in our frames; and as it is.
_PACKAGE_DIRS = (PACKAGE_DIR, os.path.dirname(os.path.dirname(__file__)) + os.sep)
JAX_DIR = os.path.dirname(os.path.abspath(jax.__file__)) + os.sep

# Our own frames stand between the user's and JAX's in every traceback; without this they'd be what JAX prints.
for _path in dict.fromkeys(_PACKAGE_DIRS):
    source_info_util.register_exclusion(_path)
    if traceback_util is not None:
        traceback_util.register_exclusion(_path)


class Frame(NamedTuple):
    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    function: str


def raw_frames(source_info: Any) -> list[tuple[Any, int]]:
    """(code, instruction offset) of every frame of an equation's traceback, innermost first."""
    tb = source_info.traceback
    if tb is None:
        return []
    code, lasti = tb.raw_frames()
    return list(zip(code, lasti))


def resolve_frame(code: Any, lasti: int) -> Frame:
    f = source_info_util.raw_frame_to_frame(code, lasti)
    return Frame(f.file_name, f.start_line, f.start_column, f.end_line, f.end_column, f.function_name)


def is_user_file(path: str) -> bool:
    return source_info_util.is_user_filename(path) and not path.startswith(_PACKAGE_DIRS)


_bust = itertools.count(1)


def _make_user_context() -> Any:
    if hasattr(jax, "make_user_context"):
        return jax.make_user_context(default_value=None)
    # Part of every cache key too; XLA looks at it when it compiles, which nobody does in here.
    return getattr(config, "jax_xla_profile_version", None)


_user_context = _make_user_context()


def fresh_traces(token: int | None = None) -> contextlib.AbstractContextManager:
    """Inside, no trace of an earlier `jit` is reused: a jaxpr from a cache would have been made without our hooks.

    JAX keys its caches by its configuration; this sets a part of it that nothing else looks at. (jax.clear_caches would
    do too, but makes every eager operation compile again.)
    """
    if _user_context is None:
        jax.clear_caches()
        return contextlib.nullcontext()
    return _user_context(1_000_000 + next(_bust) if token is None else token)


def new_token() -> int:
    return 1_000_000 + next(_bust)


def typeof(x: Any) -> Any:
    if hasattr(core, "typeof"):
        return core.typeof(x)
    return core.raise_to_shaped(core.get_aval(x))


def partitions(spec: Any) -> tuple[Any, ...]:
    """A PartitionSpec's dimensions. One with unreduced axes refuses to be gone through since 0.10, lest these be lost: its text keeps them."""
    return tuple(spec.partitions) if hasattr(spec, "partitions") else tuple(spec)


def struct(aval: Any, size: int | None = None) -> Any:
    """What to trace a function with in the place of a value: how devices have it and along which axes it varies belong to its type.
    `size`: of a leading axis that it gets."""
    more: dict[str, Any] = {"weak_type": True} if getattr(aval, "weak_type", False) else {}
    sharding = getattr(aval, "sharding", None)
    if sharding is not None and not sharding.mesh.empty:
        more["sharding"] = sharding if size is None else _with_leading(sharding)
    varying = getattr(aval, "mat", None)
    if varying is not None and not varying.empty:
        more["manual_axis_type"] = varying
    elif getattr(aval, "vma", None):  # before 0.10
        more["vma"] = aval.vma
    shape = aval.shape if size is None else (size, *aval.shape)
    try:
        return jax.ShapeDtypeStruct(shape, aval.dtype, **more)
    except TypeError:  # 0.4.30 has no weak ones, but takes avals
        return aval if size is None else ShapedArray(shape, aval.dtype)


def _with_leading(sharding: Any) -> Any:
    spec = sharding.spec
    longer = (None, *partitions(spec))
    return sharding.update(spec=spec.update(partitions=longer) if hasattr(spec, "update") else longer)


def shaped(shape: tuple[int, ...], dtype: Any, weak_type: bool = False, space: str | None = None) -> Any:
    """A type to trace with; `space` names a memory space that isn't the device's."""
    more = {"memory_space": getattr(core.MemorySpace, space.capitalize())} if space else {}
    return ShapedArray(shape, dtype, weak_type=weak_type, **more)


def key_dtype(impl: str) -> Any:
    return jax.eval_shape(lambda: jax.random.key(0, impl=impl)).dtype


def key_impl(dtype: Any) -> Any:
    return dtype._impl


def why_escaped(tracer: Any) -> str | None:
    """JAX's own words about a leaked tracer: which function was traced, and which line made the value."""
    try:
        return str(core.escaped_tracer_error(tracer))
    except Exception:
        return None


def debug_source(info: Any) -> str | None:
    return getattr(info, "func_src_info", None)


def debug_name(jaxpr: Any) -> str | None:
    text = debug_source(getattr(jaxpr, "debug_info", None))
    return text.split(" ")[0] if text else None


def argument_names(jaxpr: Any) -> list[Any]:
    names = getattr(getattr(jaxpr, "debug_info", None), "arg_names", None)
    return list(names) if names and len(names) == len(jaxpr.invars) else [""] * len(jaxpr.invars)


# Of branches of cond, by their inputs: names of these, '' for what the branch closes over. JAX forgets them when it gives all branches the same inputs.
_branch_arguments: dict[tuple[Any, ...], list[str]] = {}


def branch_argument_names(jaxpr: Any) -> list[str]:
    return _branch_arguments.get(tuple(jaxpr.invars), [])


@contextlib.contextmanager
def branches_named() -> Iterator[None]:
    """Inside, `branch_argument_names` knows the branches of what is traced."""
    original = getattr(conditionals, "_merge_common_consts", None)
    if original is None:  # older JAX, which merges constants elsewhere
        yield
        return

    def merged(jaxprs: Any, all_consts: Any) -> Any:
        out, consts = original(jaxprs, all_consts)
        operands = argument_names(jaxprs[0].jaxpr)[len(all_consts[0]):]
        for j in out:
            _branch_arguments[tuple(j.jaxpr.invars)] = [""] * len(consts) + [n or "_" for n in operands]
        return out, consts
    conditionals._merge_common_consts = merged
    try:
        yield
    finally:
        conditionals._merge_common_consts = original
        _branch_arguments.clear()


def named(jaxpr: Any, arguments: list[str] | None = None, results: list[str] | None = None) -> dict[str, Any]:
    """What to pass to `jaxpr.replace` so that its debug info still fits its inputs or outputs."""
    info = getattr(jaxpr, "debug_info", None)
    if info is None or not hasattr(info, "result_paths"):
        return {}
    change: dict[str, Any] = {}
    if arguments is not None:
        change["arg_names"] = tuple(arguments)
    if results is not None and isinstance(info.result_paths, tuple):
        change["result_paths"] = tuple(results)
    return {"debug_info": info._replace(**change)}


def current_trace() -> Any:
    """What JAX is doing where a rule runs; None before 0.4.36, which didn't say."""
    return getattr(getattr(core, "trace_ctx", None), "trace", None)


def eval_jaxpr(jaxpr: Any, consts: Any, *args: Any) -> list[Any]:
    return core.eval_jaxpr(jaxpr, consts, *args)


def register_batching(primitive: Any, rule: Callable, otherwise: Callable) -> None:
    """`rule` takes JAX's description of the vmap (its `axis_data`) first; JAX before 0.4.36 has none, and asks `otherwise`."""
    if hasattr(batching, "AxisData"):
        batching.fancy_primitive_batchers[primitive] = rule
    else:
        batching.primitive_batchers[primitive] = otherwise


# ---- The tables in which a primitive's rules stand

JVP_RULES: dict[Any, Callable] = ad.primitive_jvps
TRANSPOSE_RULES: dict[Any, Callable] = ad.primitive_transposes
# In 0.10 `primitive_batchers` is a way to write into another table, whose functions take the axis first.
BATCH_RULES: dict[Any, Callable] = batching.primitive_batchers if isinstance(batching.primitive_batchers, dict) else batching.fancy_primitive_batchers
LINEARIZES = hasattr(ad, "fallback_linearize_rule")  # older JAX linearizes by forward mode and partial evaluation of the whole
custom_lin_p: Any = getattr(ad, "custom_lin_p", None)


def linearize_rule(primitive: Any) -> Callable:
    return ad.primitive_linearizations.get(primitive) or functools.partial(ad.fallback_linearize_rule, primitive)


def has_batch_rule(primitive: Any) -> bool:
    return primitive in getattr(batching, "fancy_primitive_batchers", batching.primitive_batchers)


def apply_batch_rule(primitive: Any, size: int, args: Any, dims: Any, params: dict[str, Any]) -> tuple[Any, Any]:
    axis = batching.AxisData(core.no_axis_name, size, None, None)
    return batching.fancy_primitive_batchers[primitive](axis, tuple(args), tuple(dims), **params)


def linear_input(aval: Any) -> Any:
    """What a transposition gets in the place of an input that it is to give a cotangent for."""
    return ad.UndefinedPrimal(aval)


def is_linear_input(x: Any) -> bool:
    return bool(ad.is_undefined_primal(x))


def batched(closed: Any, axis: Any, dims: tuple[int | None, ...]) -> tuple[Any, tuple[int | None, ...]]:
    """The jaxpr under vmap, and where its results have the axis."""
    out, out_dims = batching.batch_jaxpr2(closed, axis, dims)
    return out, tuple(out_dims)


def uses_axis(closed: Any, axis: Any) -> bool:
    """Does the jaxpr compute along the named axis of this vmap (psum, axis_index)?"""
    return any(isinstance(e, core.NamedAxisEffect) and e.name == axis.name for e in closed.effects)


def with_jvp(jaxpr: Any) -> list[Any]:
    """The jaxpr, and what becomes of it under forward differentiation by all its inexact inputs."""
    closed = pe.close_jaxpr(jaxpr) if not jaxpr.constvars else ClosedJaxpr(pe.convert_constvars_jaxpr(jaxpr), ())
    nonzero = [dtypes.issubdtype(getattr(v.aval, "dtype", np.int32), np.inexact) for v in closed.jaxpr.invars]
    try:
        return [jaxpr, ad.jvp_jaxpr(closed, nonzero, False)[0].jaxpr]
    except Exception:  # what can't be differentiated is not asked about either
        return [jaxpr]


def kept_inputs(jaxpr: Any) -> list[bool]:
    """Which inputs `jit` keeps; it drops those that nothing reads (keep_unused=False)."""
    used = pe.dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars))[1]
    return [bool(u) for u in used]


def constvars_to_invars(jaxpr: Any) -> Any:
    return pe.convert_constvars_jaxpr(jaxpr) if jaxpr.constvars else jaxpr


def invars_to_constvars(jaxpr: Any, n: int) -> Any:
    if n == 0:
        return jaxpr
    return pe.convert_invars_to_constvars(jaxpr, n)


def zero(aval: Any) -> Any:
    return ad.Zero(aval)


def is_zero(x: Any) -> bool:
    return type(x) in (ad.Zero, SymbolicZero)


def is_no_cotangent(x: Any) -> bool:
    """Rules of transposition may say so with None, with the class itself, or with a zero."""
    return x is None or x is ad.Zero or is_zero(x) or is_float0(x)


def variable_of(tracer: Any) -> Any:
    """The variable that a tracer of a tracing that is over stands for. None where this JAX writes other ones into the jaxpr."""
    return getattr(tracer, "val", None)


def position_in_its_trace(tracer: Any, body: Any) -> int | None:
    """Which input a tracer is of the equation with this body. Until 0.6 a finished jaxpr has new variables, but the tracing has the old ones."""
    frame = getattr(getattr(tracer, "_trace", None), "frame", None)
    var = getattr(frame, "tracer_to_var", {}).get(id(tracer))
    for e in getattr(frame, "eqns", ()) if var is not None else ():
        if any(e.params.get(k) is body for k in ("call_jaxpr", "fun_jaxpr")) and var in e.invars:
            return list(e.invars).index(var)
    return None


def tangent_aval(aval: Any) -> Any:
    return aval.to_tangent_aval() if hasattr(aval, "to_tangent_aval") else aval.at_least_vspace()


def cotangent_aval(tangent_aval: Any) -> Any:
    return tangent_aval.to_ct_aval() if hasattr(tangent_aval, "to_ct_aval") else tangent_aval


def is_float0(aval: Any) -> bool:
    return getattr(aval, "dtype", None) == dtypes.float0


def transpose_linear(jaxpr: Any, residuals: Any, cotangents: list[Any]) -> list[Any]:
    """Cotangents of the inputs of a linear jaxpr whose constvars are `residuals`."""
    if hasattr(ad, "backward_pass3"):
        accums = [ad.ValAccum(cotangent_aval(v.aval)) for v in jaxpr.invars]
        ad.backward_pass3(jaxpr, True, residuals, accums, cotangents)
        return [a.freeze() for a in accums]
    dummies = [ad.UndefinedPrimal(v.aval) for v in jaxpr.invars]
    return ad.backward_pass(jaxpr, True, residuals, dummies, cotangents)


def signature(fn: Callable) -> Any:
    import inspect
    try:
        return inspect.signature(fn)
    except (TypeError, ValueError):
        return None


def flags() -> dict[str, Any]:
    names = ["jax_enable_x64", "jax_default_matmul_precision", "jax_default_prng_impl", "jax_threefry_partitionable",
             "jax_numpy_dtype_promotion", "jax_remat3", "jax_disable_jit", "jax_softmax_custom_jvp"]
    out = {}
    for n in names:
        value = getattr(jax.config, n, None)
        out[n] = value if value is None or isinstance(value, (bool, int, str)) else str(value)
    out["jax_remat3"] = bool(out["jax_remat3"])
    return out


def iterate_eqns(jaxpr: Any) -> Iterator[Any]:
    """All equations, those of nested jaxprs included, each jaxpr once."""
    seen: set[int] = set()
    stack = [jaxpr]
    while stack:
        j = stack.pop()
        if id(j) in seen:
            continue
        seen.add(id(j))
        for e in j.eqns:
            yield e
            for v in e.params.values():
                stack.extend(sub_jaxprs(v))


def is_differentiated(jaxpr: Any) -> bool:
    """Whether autodiff has been at work in a program: JAX says so in the name stacks of what it made."""
    stacks = {e.source_info.name_stack for e in iterate_eqns(jaxpr)}
    return any(type(part).__name__ == "Transform" and part.name in ("jvp", "transpose") for s in stacks for part in s.stack)


def sub_jaxprs(v: Any) -> list[Any]:
    if isinstance(v, ClosedJaxpr):
        return [v.jaxpr]
    if isinstance(v, Jaxpr):
        return [v]
    if isinstance(v, (tuple, list)):
        return [s for e in v for s in sub_jaxprs(e)]
    return []


def count_eqns(jaxpr: Any) -> int:
    """A sub-jaxpr counts once for each equation that names it."""
    memo: dict[int, int] = {}

    def go(j: Any) -> int:
        if id(j) not in memo:
            memo[id(j)] = len(j.eqns) + sum(go(s) for e in j.eqns for v in e.params.values() for s in sub_jaxprs(v))
        return memo[id(j)]
    return go(jaxpr)


@functools.cache
def _counts_without_static() -> bool:
    info = getattr(jax.jit(lambda a, b: b, static_argnums=0, donate_argnums=1), "_jit_info", None)
    return info is None or tuple(info.donate_argnums) == (0,)


def donated_numbers(info: Any) -> tuple[int, ...]:
    """Donated arguments of a jitted function by their own numbers: older JAX keeps them counted without the static arguments."""
    donated = tuple(info.donate_argnums)
    if not _counts_without_static():
        return donated
    static = set(info.static_argnums)
    traced = (i for i in range(len(static) + max(donated, default=-1) + 1) if i not in static)
    return tuple(i for k, i in enumerate(traced) if k in donated)


@contextlib.contextmanager
def in_shard_map(eqn: Any) -> Iterator[None]:
    """What is in force where an equation of a shard_map's body stands: the mesh that it remembers, its manual axes, whether types say what varies over them."""
    mesh = getattr(getattr(eqn, "ctx", None), "cur_abstract_mesh", None)
    manual = tuple(getattr(mesh, "manual_axes", None) or ())
    checked = getattr(config, "_check_vma", None)
    if not manual or checked is None or not hasattr(core, "extend_axis_env_nd"):
        yield
        return
    varies = any(getattr(v.aval, "vma", None) or getattr(getattr(v.aval, "mat", None), "varying", None) for v in (*eqn.invars, *eqn.outvars))
    with jax.sharding.use_abstract_mesh(mesh), checked(varies), core.extend_axis_env_nd([(name, mesh.shape[name]) for name in manual]):
        yield


@contextlib.contextmanager
def bodies_inlined(met: Callable[[Any, list[Any]], None]) -> Any:
    """Inside, `met` gets the body of every jit(inline=True) that is put into a trace, and what its equations are there (None: gone again)."""
    original = getattr(pe, "inline_jaxpr_into_trace", None)
    if original is None:  # an older JAX
        yield
        return

    def inline(trace: Any, *given: Any) -> Any:
        made = getattr(trace.frame, "tracing_eqns", [])
        before = len(made)
        out = original(trace, *given)
        jaxpr = next(g for g in given if isinstance(g, core.Jaxpr))  # the first, until 0.4 had it told where the call stands
        if jaxpr.eqns and len(made) - before == len(jaxpr.eqns):  # none was folded
            met(jaxpr, [e() if isinstance(e, weakref.ref) else e for e in made[before:]])
        return out
    pe.inline_jaxpr_into_trace = inline
    try:
        yield
    finally:
        pe.inline_jaxpr_into_trace = original


def open_jaxpr(jaxpr: Any) -> Any:
    return jaxpr.jaxpr if isinstance(jaxpr, ClosedJaxpr) else jaxpr
