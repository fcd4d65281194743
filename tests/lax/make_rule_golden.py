"""Writes golden/shape_rules.json: what the rules of JAX 0.10.2 answer for applications of primitives that move elements.

    python tests/lax/make_rule_golden.py

For each application: result types (or that it is refused), and the equations of its forward mode, transposition and vmap.
Parameters are encoded as in captures (docs/capture-format.md); jaxprs in parameters as the names of their equations.
"""
import enum
import json
import os

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax._src import core
from jax._src import dispatch
from jax._src.random import prng
from jax._src.ad_util import Zero
from jax._src.core import ShapedArray
from jax._src.interpreters import ad
from jax._src.lax import convolution, fft, linalg, slicing
from jax._src.lax import lax as laxlax
from jax._src.lax import windowed_reductions as windowed

CASES = []


def encode(v):
    if v is None or isinstance(v, (bool, np.bool_)):
        return v if v is None else bool(v)
    if isinstance(v, enum.Enum):
        return {"enum": [type(v).__name__, v.name]}
    if isinstance(v, (int, np.integer)):
        return int(v)
    if isinstance(v, (float, np.floating)):
        return "nan" if np.isnan(v) else float(v)
    if isinstance(v, str):
        return v
    if isinstance(v, jax.sharding.NamedSharding) and v.mesh.empty:
        return None
    if isinstance(v, prng.PRNGImpl):
        return v.tag
    if isinstance(v, core.Primitive):
        return {"primitive": v.name}
    if isinstance(v, core.Jaxpr):
        return {"jaxpr": [e.primitive.name for e in v.eqns]}
    if isinstance(v, tuple) and hasattr(v, "_fields"):
        return {"record": type(v).__name__, "fields": [[k, encode(getattr(v, k))] for k in v._fields]}
    if isinstance(v, (tuple, list)):
        return [encode(x) for x in v]
    if isinstance(v, np.dtype) or (isinstance(v, type) and issubclass(v, np.generic)):
        return {"dtype": np.dtype(v).name}
    if isinstance(v, dict):
        return {k: encode(x) for k, x in v.items()}
    raise TypeError(f"{v!r} ({type(v)})")


def text(aval):
    return aval.str_short(short_dtypes=True) + (" weak" if aval.weak_type else "")


def equations(jaxpr):
    """Variables are numbered: constants and inputs first, then results in order. Inner jits (of fft, ...) are spliced in."""
    rows = []
    count = 0

    def fresh():
        nonlocal count
        count += 1
        return f"v{count - 1}"

    def literal(a):
        v = np.asarray(a.val).item()
        return f"{v}:{a.aval.str_short(short_dtypes=True)}"

    def walk(jaxpr, names):
        atom = lambda a: literal(a) if isinstance(a, core.Literal) else names[a]
        for e in jaxpr.eqns:
            if e.primitive.name == "jit":
                inner = e.params["jaxpr"]
                assert not inner.consts
                names.update(zip(e.outvars, walk(inner.jaxpr, dict(zip(inner.jaxpr.invars, map(atom, e.invars))))))
                continue
            rows.append({"prim": e.primitive.name, "in": [atom(a) for a in e.invars], "params": encode(dict(e.params)),
                         "out": [text(v.aval) for v in e.outvars]})
            names.update({v: fresh() for v in e.outvars})
        return [atom(a) for a in jaxpr.outvars]

    return {"eqns": rows, "results": walk(jaxpr, {v: fresh() for v in [*jaxpr.constvars, *jaxpr.invars]})}


def trace(f, *avals):
    return equations(jax.make_jaxpr(f)(*avals).jaxpr)


def refuse(f):
    try:
        return f()
    except Exception as e:  # every refusal of JAX counts, whatever its type
        return {"refused": type(e).__name__}


def bind(prim, xs, params):
    out = prim.bind(*xs, **params)
    return tuple(out) if prim.multiple_results else (out,)


def jvp(prim, avals, params, perturbed):
    def f(*args):
        xs, ts = args[: len(avals)], list(args[len(avals):])
        tangents = [ts.pop(0) if p else Zero(a.to_tangent_aval()) for p, a in zip(perturbed, avals)]
        y, dy = ad.primitive_jvps[prim](list(xs), tangents, **params)
        ys, dys = (list(y), list(dy)) if prim.multiple_results else ([y], [dy])
        return ys + [t for t in dys if type(t) is not Zero]

    return trace(f, *avals, *[a for a, p in zip(avals, perturbed) if p])


def transpose(prim, avals, params, linear):
    """Inputs: those that aren't linear, then the cotangents of all results."""
    known = [a for a, l in zip(avals, linear) if not l]
    out = jax.eval_shape(lambda *xs: bind(prim, xs, params), *avals)

    def f(*args):
        ks, cts = list(args[: len(known)]), args[len(known):]

        def linear_part(*lin):
            lin, rest = list(lin), list(ks)
            return bind(prim, [lin.pop(0) if l else rest.pop(0) for l in linear], params)

        return jax.linear_transpose(linear_part, *[a for a, l in zip(avals, linear) if l])(tuple(cts))

    return trace(f, *known, *[ShapedArray(o.shape, o.dtype) for o in out])


def batch(prim, avals, params, dims, size):
    def widen(a, d):
        return a if d is None else a.update(shape=(*a.shape[:d], size, *a.shape[d:]))

    f = jax.vmap(lambda *xs: bind(prim, xs, params), in_axes=tuple(dims), out_axes=0, axis_size=size)
    return trace(f, *[widen(a, d) for a, d in zip(avals, dims)])


def run(prim, avals, params):
    """Inputs and results, flattened: floats count up from 1, indices reach beyond both ends."""
    rng = np.random.default_rng(0)

    def values(a):
        n = int(np.prod(a.shape))
        # 7 is prime to most sizes: every number once, out of order
        return (np.arange(1, n + 1) * 7 % (n + 1) if a.dtype.kind == "f" else rng.integers(-3, 9, n)).astype(a.dtype).reshape(a.shape)

    flat = lambda x: [v if np.isfinite(v) else str(v) for v in np.asarray(x).reshape(-1).tolist()]
    xs = [values(a) for a in avals]
    out = jax.jit(lambda *args: bind(prim, args, params))(*xs)
    return {"in": [flat(x) for x in xs], "out": [flat(y) for y in out]}


RUN = {"broadcast_in_dim", "reshape", "squeeze", "transpose", "rev", "iota", "tile", "pad", "concatenate", "split", "stack", "unstack", "slice",
       "dynamic_slice", "gather", "device_put", "reduce_window_sum", "reduce_window_max", "reduce_window_min", "select_and_gather_add",
       "select_and_scatter_add"}


def case(prim, avals, params, *, jvps=(), transposes=(), batches=(), size=3):
    def evaluate():
        out, _ = prim.abstract_eval(*avals, **params)
        return [text(a) for a in (out if prim.multiple_results else [out])]

    out = refuse(evaluate)
    plain = {str(a.dtype) for a in avals} <= {"float32", "int32"} and str(params.get("dtype", "int32")) in ("float32", "int32")
    runs = {"run": run(prim, avals, params)} if isinstance(out, list) and prim.name in RUN and plain else {}
    CASES.append({
        "prim": prim.name,
        "params": encode(params),
        "in": [[a.dtype.name, list(a.shape), a.weak_type] for a in avals],
        "out": out,
        **runs,
        "jvp": [{"perturbed": p, **refuse(lambda: jvp(prim, avals, params, p))} for p in jvps],
        "transpose": [{"linear": l, **refuse(lambda: transpose(prim, avals, params, l))} for l in transposes],
        "batch": [{"dims": [-1 if d is None else d for d in ds], "size": size, **refuse(lambda: batch(prim, avals, params, ds, size))}
                  for ds in batches],
    })


def arr(*shape, dtype="float32", weak=False):
    return ShapedArray(shape, np.dtype(jnp.dtype(dtype)), weak_type=weak)


T, F, N = True, False, None
ONE = dict(jvps=[[T]], transposes=[[T]])


def shape_cases():
    for shape, dims, out in [((), (), (2, 3)), ((3,), (1,), (2, 3)), ((1, 3), (0, 1), (2, 3)), ((1, 1), (0, 2), (4, 5, 1)), ((0,), (1,), (2, 0)),
                             ((3, 1), (0, 2), (3, 2, 4))]:
        bs = [[d] for d in range(len(shape) + 1)]
        case(laxlax.broadcast_in_dim_p, [arr(*shape)], dict(shape=out, broadcast_dimensions=dims, sharding=None), batches=bs, **ONE)
    for shape, dims, out in [((3,), (0,), (2, 3)), ((3,), (5,), (2, 3)), ((3,), (), (3,)), ((3, 3), (0, 0), (3, 3))]:
        case(laxlax.broadcast_in_dim_p, [arr(*shape)], dict(shape=out, broadcast_dimensions=dims, sharding=None))
    for dtype in ["int32", "bfloat16", "bool", "complex64", "float8_e4m3fn"]:
        case(laxlax.broadcast_in_dim_p, [arr(dtype=dtype, weak=dtype == "int32")], dict(shape=(2,), broadcast_dimensions=(), sharding=None))

    for shape, new, dims in [((2, 6), (3, 4), None), ((2, 3), (6,), None), ((), (1, 1), None), ((0, 3), (3, 0), None), ((2, 3), (6,), (1, 0)),
                             ((2, 3, 4), (4, 6), (2, 0, 1)), ((1, 5), (5, 1), None)]:
        bs = [[d] for d in range(len(shape) + 1)]
        case(laxlax.reshape_p, [arr(*shape)], dict(new_sizes=new, dimensions=dims, sharding=None), batches=bs, **ONE)
    case(laxlax.reshape_p, [arr(2, 3)], dict(new_sizes=(6,), dimensions=(0, 0), sharding=None))
    case(laxlax.reshape_p, [arr(2, 3)], dict(new_sizes=(-6,), dimensions=None, sharding=None))

    for shape, dims in [((1, 3), (0,)), ((1, 2, 1), (0, 2)), ((1,), (0,)), ((3, 1), (1,))]:
        case(laxlax.squeeze_p, [arr(*shape)], dict(dimensions=dims), batches=[[d] for d in range(len(shape) + 1)], **ONE)
    for shape, dims in [((2, 3), (0,)), ((1, 1), (0, 0)), ((1,), (1,))]:
        case(laxlax.squeeze_p, [arr(*shape)], dict(dimensions=dims))

    for shape, perm in [((2, 3), (1, 0)), ((2, 3, 4), (2, 0, 1)), ((0, 2), (1, 0)), ((2, 3), (0, 1))]:
        case(laxlax.transpose_p, [arr(*shape, dtype="bfloat16")], dict(permutation=perm), batches=[[d] for d in range(len(shape) + 1)], **ONE)
    case(laxlax.transpose_p, [arr(2, 3)], dict(permutation=(0, 0)))
    case(laxlax.transpose_p, [arr(2, 3)], dict(permutation=(0,)))

    for shape, dims in [((2, 3), (1,)), ((2, 3), (0, 1)), ((0,), (0,)), ((3,), ())]:
        case(laxlax.rev_p, [arr(*shape)], dict(dimensions=dims), batches=[[d] for d in range(len(shape) + 1)], **ONE)
    case(laxlax.rev_p, [arr(2)], dict(dimensions=(0, 0)))
    case(laxlax.rev_p, [arr(2)], dict(dimensions=(1,)))

    for dtype, shape, dim in [("int32", (3,), 0), ("float32", (2, 3), 1), ("bfloat16", (0,), 0), ("complex64", (4,), 0), ("bool", (2,), 0),
                              ("int32", (2,), 1)]:
        case(laxlax.iota_p, [], dict(dtype=np.dtype(jnp.dtype(dtype)), shape=shape, dimension=dim, sharding=None))

    for shape, reps in [((2,), (3,)), ((2, 3), (1, 2)), ((0, 2), (2, 0))]:
        case(laxlax.tile_p, [arr(*shape)], dict(reps=reps), batches=[[d] for d in range(len(shape) + 1)], **ONE)
    case(laxlax.tile_p, [arr(2)], dict(reps=(1, 2)))

    both = dict(jvps=[[T, F], [F, T], [T, T]], transposes=[[T, F], [T, T]])
    for shape, config in [((3,), ((1, 2, 0),)), ((3,), ((-1, 0, 0),)), ((3, 2), ((0, 1, 2), (-1, 3, 1))), ((0,), ((2, 1, 1),)), ((), ())]:
        bs = [[0, N], [len(shape), N], [N, 0]] + ([[0, 0]] if shape else [])
        case(laxlax.pad_p, [arr(*shape), arr()], dict(padding_config=config), batches=bs, **both)
    case(laxlax.pad_p, [arr(3), arr(1)], dict(padding_config=((0, 0, 0),)))
    case(laxlax.pad_p, [arr(3), arr(dtype="int32")], dict(padding_config=((0, 0, 0),)))
    case(laxlax.pad_p, [arr(3), arr()], dict(padding_config=((0, 0, -1),)))
    case(laxlax.pad_p, [arr(3), arr()], dict(padding_config=((-2, -2, 0),)))
    case(laxlax.pad_p, [arr(3), arr(weak=True)], dict(padding_config=((1, 0, 0),)))


def joining_cases():
    two = dict(jvps=[[T, F], [T, T]], transposes=[[T, T], [F, T]])
    case(laxlax.concatenate_p, [arr(2, 3), arr(1, 3)], dict(dimension=0), batches=[[0, 0], [N, 1], [2, N]], **two)
    case(laxlax.concatenate_p, [arr(2, 3), arr(2, 0)], dict(dimension=1), **two)
    for a, b, d in [(arr(2), arr(2), 1), (arr(2, 3), arr(2, 4), 0), (arr(2), arr(2, dtype="int32"), 0), (arr(2), arr(2, 1), 0)]:
        case(laxlax.concatenate_p, [a, b], dict(dimension=d))
    case(laxlax.split_p, [arr(5, 2)], dict(sizes=(2, 0, 3), axis=0), batches=[[0], [1], [2]], **ONE)
    case(laxlax.split_p, [arr(5)], dict(sizes=(2, 2), axis=0))
    case(laxlax.split_p, [arr(5)], dict(sizes=(6, -1), axis=0))
    case(laxlax.stack_p, [arr(2, 3), arr(2, 3)], dict(axis=1), batches=[[0, 0], [2, 2], [0, N], [N, 1]], **two)
    case(laxlax.stack_p, [arr(2), arr(3)], dict(axis=0))
    case(laxlax.unstack_p, [arr(2, 3)], dict(axis=0), batches=[[0], [2]], **ONE)
    case(laxlax.unstack_p, [arr(2, 3)], dict(axis=1), batches=[[0], [1]], **ONE)


def slicing_cases():
    for shape, start, limit, strides in [((5,), (1,), (4,), N), ((5,), (0,), (5,), (2,)), ((7, 4), (1, 0), (6, 4), (3, 1)), ((3,), (2,), (2,), N),
                                         ((5,), (1,), (1,), (2,)), ((4, 4), (1, 1), (3, 3), (1, 1))]:
        bs = [[d] for d in range(len(shape) + 1)]
        case(slicing.slice_p, [arr(*shape)], dict(start_indices=start, limit_indices=limit, strides=strides), batches=bs, **ONE)
    for start, limit, strides in [((-1,), (2,), N), ((0,), (6,), N), ((3,), (2,), N), ((0, 0), (1, 1), N), ((0,), (2,), (1, 1))]:
        case(slicing.slice_p, [arr(5)], dict(start_indices=start, limit_indices=limit, strides=strides))

    i = arr(dtype="int32")
    one = dict(jvps=[[T, F, F]], transposes=[[T, F, F]])
    case(slicing.dynamic_slice_p, [arr(5, 3), i, i], dict(slice_sizes=(2, 3)), batches=[[0, N, N], [2, N, N], [N, 0, N], [1, 0, 0]], **one)
    case(slicing.dynamic_slice_p, [arr(5), i], dict(slice_sizes=(2,)), jvps=[[T, F]], transposes=[[T, F]], batches=[[0, N], [N, 0], [1, 0]])
    case(slicing.dynamic_slice_p, [arr(5, weak=True), arr(dtype="uint8")], dict(slice_sizes=(0,)))
    for avals, sizes in [([arr(5), i], (6,)), ([arr(5), arr()], (1,)), ([arr(5), arr(1, dtype="int32")], (1,)), ([arr(5), i], (-1,))]:
        case(slicing.dynamic_slice_p, avals, dict(slice_sizes=sizes))

    two = dict(jvps=[[T, F, F], [F, T, F], [T, T, F]], transposes=[[T, T, F], [F, T, F], [T, F, F]])
    case(slicing.dynamic_update_slice_p, [arr(5), arr(2), i], {}, batches=[[0, 0, N], [N, 0, N], [N, 1, 0], [1, N, 0]], **two)
    case(slicing.dynamic_update_slice_p, [arr(5, 3), arr(2, 3), i, i], {}, batches=[[0, N, N, N], [N, N, 0, 0]])
    for avals in [[arr(5), arr(6), i], [arr(5), arr(2, dtype="int32"), i], [arr(5), arr(2, 2), i], [arr(5), arr(2)], [arr(5), arr(2), arr()]]:
        case(slicing.dynamic_update_slice_p, avals, {})


MODES = slicing.GatherScatterMode


def gather_cases():
    def params(offset, collapsed, index_map, sizes, mode=MODES.PROMISE_IN_BOUNDS, ob=(), ib=(), fill=None, unique=False):
        return dict(dimension_numbers=lax.GatherDimensionNumbers(offset, collapsed, index_map, ob, ib), slice_sizes=sizes, unique_indices=unique,
                    indices_are_sorted=False, mode=mode, fill_value=fill)

    two = dict(jvps=[[T, F]], transposes=[[T, F]], batches=[[0, N], [1, N], [N, 0], [N, 2], [1, 0]])
    ix = arr(4, 1, dtype="int32")
    case(slicing.gather_p, [arr(5, 3), ix], params((1,), (0,), (0,), (1, 3)), **two)
    case(slicing.gather_p, [arr(5, 3), ix], params((1,), (0,), (0,), (1, 3), MODES.FILL_OR_DROP, fill=float("nan"), unique=True), **two)
    case(slicing.gather_p, [arr(5, 3), ix], params((0, 1), (), (1,), (5, 2), MODES.CLIP), **two)
    case(slicing.gather_p, [arr(5, 3), arr(5, 1, dtype="int32")], params((), (1,), (1,), (1, 1), ob=(0,), ib=(0,)), **two)
    case(slicing.gather_p, [arr(5, dtype="int32", weak=True), arr(0, 1, dtype="uint8")], params((), (0,), (0,), (1,)))
    for a, x, p in [(arr(5), arr(4, 1), params((), (0,), (0,), (1,))), (arr(5), ix, params((), (0,), (0,), (2,))), (arr(5), ix, params((0,), (0,), (0,), (1,))),
                    (arr(5), ix, params((), (0,), (1,), (1,))), (arr(5), ix, params((1,), (), (0,), (6,))), (arr(5), ix, params((1,), (), (0,), (1, 1)))]:
        case(slicing.gather_p, [a, x], p)


def scatter_cases():
    def params(prim, window, inserted, to_operand, mode=MODES.FILL_OR_DROP, ob=(), ib=(), unique=False):
        combine = {"scatter-add": lax.add, "scatter-sub": lax.sub, "scatter-mul": lax.mul, "scatter-min": lax.min, "scatter-max": lax.max}.get(prim.name)
        jaxpr, consts = laxlax._reduction_jaxpr(combine, arr()) if combine else (None, ())
        return dict(dimension_numbers=lax.ScatterDimensionNumbers(window, inserted, to_operand, ob, ib), indices_are_sorted=False, unique_indices=unique,
                    mode=mode, update_jaxpr=jaxpr, update_consts=consts)

    prims = [slicing.scatter_p, slicing.scatter_add_p, slicing.scatter_sub_p, slicing.scatter_mul_p, slicing.scatter_min_p, slicing.scatter_max_p]
    ix = arr(4, 1, dtype="int32")
    for prim in prims:
        linear = prim.name in ("scatter", "scatter-add", "scatter-sub")
        for unique in (False, True):
            p = params(prim, (1,), (0,), (0,), unique=unique)
            case(prim, [arr(5, 3), ix, arr(4, 3)], p, jvps=[[T, F, T], [T, F, F], [F, F, T]],
                 transposes=[[T, F, T], [F, F, T]] if linear and (unique or prim.name != "scatter") else [[T, F, F]] if prim.name == "scatter-mul" else [],
                 batches=[[0, N, 0], [N, 0, N], [N, 1, 2], [0, N, N]])
        case(prim, [arr(5), arr(2, 1, dtype="int32"), arr(2)], params(prim, (), (0,), (0,), MODES.CLIP), jvps=[[T, F, T]])
    case(slicing.scatter_add_p, [arr(5, 3), arr(5, 1, dtype="int32"), arr(5)], params(slicing.scatter_add_p, (), (1,), (1,), ob=(0,), ib=(0,)),
         jvps=[[T, F, T]], transposes=[[T, F, T]], batches=[[0, 0, 0], [N, 0, N]])
    for avals, p in [([arr(5), ix, arr(4, 1)], params(prims[1], (), (0,), (0,))), ([arr(5), ix, arr(3)], params(prims[1], (), (0,), (0,))),
                     ([arr(5), ix, arr(4, dtype="int32")], params(prims[1], (), (0,), (0,))), ([arr(5), arr(4, 1), arr(4)], params(prims[1], (), (0,), (0,))),
                     ([arr(5), ix, arr(4, 6)], params(prims[1], (1,), (), (0,)))]:
        case(prims[1], avals, p)


def dot_cases():
    def params(lc, rc, lb=(), rb=(), preferred=None):
        return dict(dimension_numbers=((lc, rc), (lb, rb)), precision=None, out_sharding=None,
                    preferred_element_type=None if preferred is None else np.dtype(jnp.dtype(preferred)))

    two = dict(jvps=[[T, F], [F, T], [T, T]], transposes=[[T, F], [F, T]])
    for l, r, p in [((3, 4), (4, 5), params((1,), (0,))), ((4,), (4,), params((0,), (0,))), ((3, 4), (4,), params((1,), (0,))), ((3,), (5,), params((), ())),
                    ((2, 3, 4), (2, 4, 5), params((2,), (1,), (0,), (0,))), ((3, 4, 2), (5, 2, 4), params((1, 2), (2, 1))),
                    ((3, 2, 4, 5), (4, 5, 6, 3), params((2, 3), (0, 1), (0,), (3,))), ((0, 4), (4, 5), params((1,), (0,))), ((3, 0), (0, 5), params((1,), (0,)))]:
        bs = [[0, 0], [len(l), N], [0, N], [N, 0], [N, len(r)], [len(l), 0]]
        case(laxlax.dot_general_p, [arr(*l), arr(*r)], p, batches=bs, **two)
    m = params((1,), (0,))
    for a, b in [("bfloat16", "float32"), ("int8", "int8"), ("int32", "float32"), ("complex64", "float32"), ("float16", "bfloat16"), ("int8", "uint8"),
                 ("bool", "bool"), ("int16", "int32"), ("float32", "float32")]:
        case(laxlax.dot_general_p, [arr(2, 3, dtype=a, weak=True), arr(3, 2, dtype=b, weak=a == b)], m)
        case(laxlax.dot_general_p, [arr(2, 3, dtype=a), arr(3, 2, dtype=b)], params((1,), (0,), preferred="float32"), jvps=[], transposes=[])
    case(laxlax.dot_general_p, [arr(2, 3, dtype="bfloat16"), arr(3, 2, dtype="bfloat16")], params((1,), (0,), preferred="float32"), **two)
    for l, r, p in [((3, 4), (5, 4), m), ((3, 4), (4, 5), params((2,), (0,))), ((3, 4), (3, 4), params((1,), (1,), (0,), ())), ((3, 4), (3, 4), params((0,), (0,), (0,), (0,))),
                    ((2, 4), (3, 4), params((1,), (1,), (0,), (0,)))]:
        case(laxlax.dot_general_p, [arr(*l), arr(*r)], p)


def conv_cases():
    def params(spec, strides, padding, lhs_dilation=None, rhs_dilation=None, fg=1, bg=1, preferred=None):
        n = len(strides)
        return dict(window_strides=strides, padding=padding, lhs_dilation=lhs_dilation or (1,) * n, rhs_dilation=rhs_dilation or (1,) * n,
                    dimension_numbers=convolution.ConvDimensionNumbers(*spec), feature_group_count=fg, batch_group_count=bg, precision=None,
                    preferred_element_type=preferred, out_sharding=None)

    two = dict(jvps=[[T, F], [T, T]], transposes=[[T, F], [F, T]], batches=[[0, 0], [1, N], [N, 0], [2, 1]], size=2)
    nchw = ((0, 1, 2, 3), (0, 1, 2, 3), (0, 1, 2, 3))
    nhwc = ((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))
    p2 = ((1, 1), (0, 2))
    for l, r, p in [((2, 3, 5, 6), (4, 3, 3, 2), params(nchw, (1, 1), p2)), ((2, 5, 6, 3), (3, 2, 3, 4), params(nhwc, (2, 1), p2)),
                    ((2, 5, 6, 4), (3, 2, 2, 4), params(nhwc, (1, 2), p2, (2, 1), (1, 2), fg=2)), ((4, 5, 6, 3), (3, 2, 3, 4), params(nhwc, (1, 1), p2, bg=2)),
                    ((1, 2, 7), (3, 2, 4), params(((0, 1, 2),) * 3, (3,), ((-1, 2),))), ((2, 3), (4, 3), params(((0, 1),) * 3, (), ()))]:
        case(convolution.conv_general_dilated_p, [arr(*l), arr(*r)], p, **two)
    c1 = ((0, 1, 2),) * 3
    for l, r, p in [((1, 2, 3), (4, 2, 5), params(c1, (1,), ((0, 0),))), ((1, 2, 3), (4, 3, 2), params(c1, (1,), ((0, 0),))), ((1, 3, 3), (4, 2, 2), params(c1, (1,), ((0, 0),), fg=2)),
                    ((3, 2, 3), (4, 2, 2), params(c1, (1,), ((0, 0),), bg=2)), ((1, 2, 3), (4, 2, 2), params(c1, (1,), ((-2, -2),))), ((1, 2, 3), (4, 2), params(c1, (1,), ((0, 0),)))]:
        case(convolution.conv_general_dilated_p, [arr(*l), arr(*r)], p)


def sort_cases():
    p = dict(dimension=0, is_stable=True, num_keys=1)
    case(laxlax.sort_p, [arr(5)], p, jvps=[[T]], batches=[[0], [1]])
    case(laxlax.sort_p, [arr(2, 4), arr(2, 4, dtype="int32")], dict(dimension=1, is_stable=False, num_keys=2), jvps=[[T, F]], batches=[[0, N], [2, 0], [N, 1]])
    case(laxlax.sort_p, [arr(5), arr(4)], p)
    for shape, k, axis in [((5,), 2, 0), ((2, 5), 3, 1), ((5, 2), 0, 0)]:
        case(laxlax.top_k_p, [arr(*shape)], dict(k=k, axis=axis), jvps=[[T]], batches=[[0], [len(shape)]])
    for a, k, axis in [(arr(5), 6, 0), (arr(5), -1, 0), (arr(5, dtype="complex64"), 1, 0), (arr(5), 1, 1), (arr(), 0, 0)]:
        case(laxlax.top_k_p, [a], dict(k=k, axis=axis))


def window_cases():
    def params(window, strides, padding, base=None, dilation=None):
        n = len(window)
        return dict(window_dimensions=window, window_strides=strides, padding=padding, base_dilation=base or (1,) * n, window_dilation=dilation or (1,) * n)

    cases = [((5,), params((2,), (2,), ((0, 1),))), ((5, 6), params((3, 2), (1, 2), ((1, 1), (0, 0)))), ((5,), params((2,), (1,), ((1, 2),), (2,))),
             ((7,), params((2,), (2,), ((0, 0),), N, (3,))), ((2, 9), params((1, 7), (1, 1), ((0, 0), (3, 3)))), ((3,), params((5,), (1,), ((0, 0),)))]
    for prim in [windowed.reduce_window_sum_p, windowed.reduce_window_max_p, windowed.reduce_window_min_p]:
        for shape, p in cases:
            ts = [[T]] if prim is windowed.reduce_window_sum_p else []
            case(prim, [arr(*shape)], p, jvps=[[T]], transposes=ts, batches=[[0], [len(shape)]])
        for p in [params((2,), (0,), ((0, 0),)), params((2, 2), (1, 1), ((0, 0), (0, 0)))]:
            case(prim, [arr(5)], p)
    for select in [laxlax.ge_p, laxlax.le_p]:
        for shape, p in cases:
            p = dict(p, select_prim=select)
            ts = [[T, F]] if all(d == 1 for d in p["window_dilation"]) else []
            case(windowed.select_and_gather_add_p, [arr(*shape), arr(*shape)], p, jvps=[[T, F], [T, T], [F, T]], transposes=ts, batches=[[0, N], [1, 1]])
            if all(d == 1 for d in (*p["window_dilation"], *p["base_dilation"])) and shape != (3,):
                out = windowed.reduce_window_shape_tuple(shape, p["window_dimensions"], p["window_strides"], p["padding"])
                q = {k: p[k] for k in ("select_prim", "window_dimensions", "window_strides", "padding")}
                case(windowed.select_and_scatter_add_p, [arr(*out), arr(*shape)], q, jvps=[[T, F], [F, T]], transposes=[[T, F]], batches=[[0, N], [N, 1]])


def linalg_cases():
    def solve(left, lower, transpose_a, unit=False, conjugate=False):
        return dict(left_side=left, lower=lower, transpose_a=transpose_a, conjugate_a=conjugate, unit_diagonal=unit)

    m = linalg.cholesky_p
    for shape in [(3, 3), (2, 3, 3), (0, 0)]:
        case(m, [arr(*shape)], {}, jvps=[[T]], batches=[[0], [len(shape)]])
    case(m, [arr(3, 3, dtype="complex64")], {}, jvps=[[T]])
    case(m, [arr(3, 3, weak=True)], {})
    for a in [arr(2, 3), arr(3), arr(3, 3, dtype="int32")]:
        case(m, [a], {})
    two = dict(jvps=[[T, F], [F, T], [T, T]], transposes=[[F, T]])
    for a, b, p in [((3, 3), (3, 2), solve(T, T, F)), ((3, 3), (3, 5), solve(T, F, T)), ((3, 3), (2, 3), solve(F, T, F)), ((3, 3), (4, 3), solve(F, F, T, T)),
                    ((2, 3, 3), (2, 3, 3), solve(T, T, T, T))]:
        case(linalg.triangular_solve_p, [arr(*a), arr(*b)], p, batches=[[0, 0], [N, 0], [N, len(b)], [1, N]], **two)
    case(linalg.triangular_solve_p, [arr(3, 3, dtype="complex64"), arr(3, 1, dtype="complex64")], solve(T, T, T, conjugate=True), **two)
    for a, b in [((3, 2), (3, 2)), ((3, 3), (2, 3)), ((2, 3, 3), (3, 3))]:
        case(linalg.triangular_solve_p, [arr(*a), arr(*b)], solve(T, T, F))
    for shape in [(3, 3), (4, 2), (2, 3, 5)]:
        bs = [[0], [len(shape)]]
        case(linalg.lu_p, [arr(*shape)], {}, jvps=[[T]] if len(shape) == 2 else [], batches=bs)
        for full in (F, T):
            thin = not full and shape[-2] >= shape[-1]
            case(linalg.qr_p, [arr(*shape)], dict(pivoting=full, full_matrices=full, use_magma=None), jvps=[[T]] if thin else [], batches=bs)
            case(linalg.svd_p, [arr(*shape, dtype="complex64")], dict(full_matrices=full, compute_uv=T, subset_by_index=None, algorithm=None), batches=bs)
        for a in [arr(*shape), arr(*shape, dtype="complex64")]:
            case(linalg.svd_p, [a], dict(full_matrices=F, compute_uv=F, subset_by_index=None, algorithm=None), jvps=[[T]])
            for full in (F, T):
                case(linalg.svd_p, [a], dict(full_matrices=full, compute_uv=T, subset_by_index=None, algorithm=None), jvps=[[T]])
        case(linalg.geqrf_p, [arr(*shape)], {}, batches=bs)
        case(linalg.eigh_p, [arr(*shape, dtype="complex64")], dict(lower=T, sort_eigenvalues=T, subset_by_index=None, algorithm=None))
        if shape[-2] == shape[-1]:
            for a in [arr(*shape), arr(*shape, dtype="complex64"), arr(2, *shape)]:
                case(linalg.eigh_p, [a], dict(lower=F, sort_eigenvalues=T, subset_by_index=None, algorithm=None), jvps=[[T]])
        case(linalg.eig_p, [arr(*shape)], dict(compute_left_eigenvectors=F, compute_right_eigenvectors=T, enable_eigvec_derivs=F, implementation=None))
    case(linalg.lu_p, [arr(2, 4)], {}, jvps=[[T]])
    for a in [arr(2, 4, 3), arr(3, 2, dtype="complex64")]:
        case(linalg.qr_p, [a], dict(pivoting=F, full_matrices=F, use_magma=None), jvps=[[T]])
    case(linalg.householder_product_p, [arr(4, 3), arr(3)], {}, batches=[[0, 0], [N, 0]])
    case(linalg.householder_product_p, [arr(3, 4), arr(3)], {})
    case(linalg.lu_pivots_to_permutation_p, [arr(3, dtype="int32")], dict(permutation_size=5), batches=[[0]])
    case(linalg.lu_pivots_to_permutation_p, [arr(3, dtype="int32")], dict(permutation_size=2))
    kind = fft.FftType
    for dtype, shape, typ, lengths in [("complex64", (4, 6), kind.FFT, (6,)), ("complex64", (4, 6), kind.IFFT, (4, 6)), ("float32", (2, 6), kind.RFFT, (6,)),
                                       ("float32", (3, 5), kind.RFFT, (3, 5)), ("complex64", (2, 4), kind.IRFFT, (6,)), ("complex64", (2, 3), kind.IRFFT, (5,))]:
        case(fft.fft_p, [arr(*shape, dtype=dtype)], dict(fft_type=typ, fft_lengths=lengths), jvps=[[T]], transposes=[[T]], batches=[[0], [1], [2]])
    for dtype, shape, typ, lengths in [("float32", (4,), kind.FFT, (4,)), ("complex64", (4,), kind.RFFT, (4,)), ("complex64", (4,), kind.FFT, (5,))]:
        case(fft.fft_p, [arr(*shape, dtype=dtype)], dict(fft_type=typ, fft_lengths=lengths))


def placement_cases():
    reuse = laxlax.ArrayCopySemantics.REUSE_INPUT if hasattr(laxlax, "ArrayCopySemantics") else dispatch.ArrayCopySemantics.REUSE_INPUT
    case(dispatch.device_put_p, [arr(2, 3)], dict(devices=(None,), srcs=(None,), copy_semantics=(reuse,)), jvps=[[T]], transposes=[[T]], batches=[[1]])
    case(laxlax.copy_p, [arr(2, 3, weak=True)], {}, jvps=[[T]], transposes=[[T]], batches=[[1]])
    case(laxlax.rng_bit_generator_p, [arr(4, dtype="uint32")], dict(shape=(3, 2), dtype=np.dtype("uint32"), algorithm=lax.RandomAlgorithm.RNG_DEFAULT, out_sharding=None))


def write(name):
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden", name)
    with open(path, "w") as f:
        f.write(f'{{"oracle": "jax {jax.__version__}", "cases": [\n' + ",\n".join(json.dumps(c, separators=(",", ":")) for c in CASES) + "\n]}\n")


def main():
    shape_cases()
    joining_cases()
    slicing_cases()
    gather_cases()
    scatter_cases()
    dot_cases()
    conv_cases()
    sort_cases()
    window_cases()
    linalg_cases()
    placement_cases()
    write("shape_rules.json")


if __name__ == "__main__":
    main()
