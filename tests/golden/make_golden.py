"""Writes primitives/*.jaxpr and programs/*.jaxpr: small programs and what JAX 0.10.2 makes of them.

    python tests/golden/make_golden.py

Each file holds a program as JAX prints it, and behind each command the text that JAX itself gives for that transformation. The driver
never changes these: a difference is ours. Cases where our text differs from JAX's for a stated reason stand in DIFFERENT.
"""
import functools
import re
import warnings
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax._src import core
from jax._src.lax import ann, convolution, fft, linalg, slicing, special
from jax._src.lax import lax as laxlax
from jax._src.random import threefry2x32

assert jax.__version__ == "0.10.2", jax.__version__
HERE = Path(__file__).parent
CASES = {}  # name: (function, avals)


def aval(text):
    """f32[3,4]"""
    names = {"f32": "float32", "i32": "int32", "u32": "uint32", "u8": "uint8", "bool": "bool", "c64": "complex64", "bf16": "bfloat16", "i8": "int8", "f64": "float64"}
    dtype, shape = re.fullmatch(r"(\w+)\[([\d,]*)\]", text).groups()
    return jax.ShapeDtypeStruct(tuple(int(d) for d in shape.split(",") if d), names[dtype])


def case(name, f, *avals):
    assert name not in CASES, name
    CASES[name] = (f, [aval(a) for a in avals])


def scalar(x):
    """Of whatever f gives, a real scalar: gradients start there."""
    return lax.reduce_sum(lax.real(x) if jnp.iscomplexobj(x) else x, tuple(range(x.ndim)))


def summed(f):
    return lambda *a: scalar(f(*a))


# ---- element-wise ----------------------------------------------------------------------------------------------------------------
for _name in ("neg abs sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh exp exp2 expm1 log log1p sqrt rsqrt cbrt logistic erf erfc erf_inv "
              "lgamma digamma bessel_i0e bessel_i1e square").split():
    case(_name, summed(getattr(lax, _name)), "f32[3]")
for _name in "floor ceil sign".split():
    case(_name, summed(getattr(lax, _name)), "f32[3]")
case("round", lambda x: lax.round(x), "f32[3]")
case("is_finite", lambda x: lax.is_finite(x), "f32[3]")
case("integer_pow", summed(lambda x: lax.integer_pow(x, 3)), "f32[3]")
case("reduce_precision", summed(lambda x: lax.reduce_precision(x, 5, 10)), "f32[3]")
for _name in "add sub mul div max min pow atan2 rem nextafter".split():
    case(_name, summed(getattr(lax, _name)), "f32[3]", "f32[3]")
case("add_any", lambda x, y: laxlax.add_jaxvals(x, y) if hasattr(laxlax, "add_jaxvals") else jax._src.ad_util.add_jaxvals(x, y), "f32[3]", "f32[3]")
case("mulhi", lambda x, y: laxlax.mulhi_p.bind(x, y), "i32[3]", "i32[3]") if hasattr(laxlax, "mulhi_p") else None
for _name in "igamma igammac random_gamma_grad".split():
    case(_name, summed(getattr(lax, _name)), "f32[3]", "f32[3]")
case("igamma_grad_a", lambda a, x: lax.igamma_grad_a(a, x), "f32[3]", "f32[3]")
case("polygamma", lambda m, x: lax.polygamma(m, x), "f32[3]", "f32[3]")
case("zeta", lambda x, q: lax.zeta(x, q), "f32[3]", "f32[3]")
case("regularized_incomplete_beta", lambda a, b, x: lax.betainc(a, b, x), "f32[3]", "f32[3]", "f32[3]")
for _name in "and or xor shift_left shift_right_logical shift_right_arithmetic".split():
    f = {"and": lax.bitwise_and, "or": lax.bitwise_or, "xor": lax.bitwise_xor}.get(_name) or getattr(lax, _name)
    case(_name, f, "i32[3]", "i32[3]")
for _name in "not population_count clz".split():
    case(_name, {"not": lax.bitwise_not}.get(_name) or getattr(lax, _name), "i32[3]")
for _name in "eq ne lt le gt ge".split():
    case(_name, getattr(lax, _name), "f32[3]", "f32[3]")
case("eq_to", lambda x, y: laxlax.eq_to_p.bind(x, y), "f32[3]", "f32[3]")
case("le_to", lambda x, y: laxlax.le_to_p.bind(x, y), "f32[3]", "f32[3]")
case("lt_to", lambda x, y: laxlax.lt_to_p.bind(x, y), "f32[3]", "f32[3]")
case("select_n", summed(lambda p, x, y: lax.select_n(p, x, y)), "bool[3]", "f32[3]", "f32[3]")
case("clamp", summed(lambda lo, x, hi: lax.clamp(lo, x, hi)), "f32[3]", "f32[3]", "f32[3]")
case("conj", summed(lax.conj), "c64[3]")
case("real", lambda z: lax.reduce_sum(lax.real(z), (0,)), "c64[3]")
case("imag", lambda z: lax.reduce_sum(lax.imag(z), (0,)), "c64[3]")
case("complex", lambda x, y: scalar(lax.complex(x, y)), "f32[3]", "f32[3]")
case("convert_element_type", lambda x: scalar(lax.convert_element_type(x, jnp.bfloat16)), "f32[3]")
case("bitcast_convert_type", lambda x: lax.bitcast_convert_type(x, jnp.int32), "f32[3]")
case("stop_gradient", lambda x: scalar(lax.mul(lax.stop_gradient(x), x)), "f32[3]")

# ---- reductions, scans of one operation -------------------------------------------------------------------------------------------
case("reduce_sum", lambda x: lax.reduce_sum(lax.sin(x), (0, 1)), "f32[3,4]")
case("reduce_prod", summed(lambda x: lax.reduce_prod(x, (1,))), "f32[3,4]")
case("reduce_max", summed(lambda x: lax.reduce_max(x, (1,))), "f32[3,4]")
case("reduce_min", summed(lambda x: lax.reduce_min(x, (1,))), "f32[3,4]")
for _name in "and or xor".split():
    case(f"reduce_{_name}", lambda x, n=_name: getattr(lax, f"reduce_{n}")(x, (0,)), "i32[3]")
for _name in "argmax argmin".split():
    case(_name, lambda x, n=_name: getattr(lax, n)(x, 1, jnp.int32), "f32[3,4]")
for _name in "cumsum cumprod cummax cummin cumlogsumexp".split():
    case(_name, summed(lambda x, n=_name: getattr(lax, n)(x, 0)), "f32[4]")
case("reduce", lambda x: lax.reduce(x, np.float32(0), lambda a, b: lax.add(lax.mul(a, b), b), (0,)), "f32[4]")
case("reduce_window", lambda x: lax.reduce_window(x, np.float32(0), lambda a, b: lax.mul(a, lax.sin(b)), (2,), (1,), "VALID"), "f32[4]")
case("reduce_window_sum", summed(lambda x: lax.reduce_window(x, np.float32(0), lax.add, (2, 2), (1, 1), "VALID")), "f32[4,4]")
case("reduce_window_max", summed(lambda x: lax.reduce_window(x, -np.float32(np.inf), lax.max, (2, 2), (2, 2), "VALID")), "f32[4,4]")
case("reduce_window_min", summed(lambda x: lax.reduce_window(x, np.float32(np.inf), lax.min, (2, 2), (2, 2), "VALID")), "f32[4,4]")
case("select_and_scatter_add", lambda s, x: slicing and __import__("jax._src.lax.windowed_reductions", fromlist=["x"])._select_and_scatter_add(
    s, x, lax.ge_p, (2, 2), (2, 2), ((0, 0), (0, 0))), "f32[2,2]", "f32[4,4]")
case("select_and_gather_add", lambda t, x: __import__("jax._src.lax.windowed_reductions", fromlist=["x"])._select_and_gather_add(
    t, x, lax.ge_p, (2, 2), (2, 2), ((0, 0), (0, 0)), (1, 1), (1, 1)), "f32[4,4]", "f32[4,4]")

# ---- shapes -----------------------------------------------------------------------------------------------------------------------
case("broadcast_in_dim", summed(lambda x: lax.broadcast_in_dim(x, (2, 3), (1,))), "f32[3]")
case("reshape", summed(lambda x: lax.reshape(x, (6,))), "f32[2,3]")
case("transpose", summed(lambda x: lax.transpose(x, (1, 0))), "f32[2,3]")
case("squeeze", summed(lambda x: lax.squeeze(x, (1,))), "f32[2,1,3]")
case("expand_dims", summed(lambda x: lax.expand_dims(x, (1,))), "f32[3]")
case("rev", summed(lambda x: lax.rev(x, (0,))), "f32[3]")
case("pad", summed(lambda x, v: lax.pad(x, v, [(1, 2, 1)])), "f32[3]", "f32[]")
case("concatenate", summed(lambda x, y: lax.concatenate([x, y], 0)), "f32[3]", "f32[2]")
case("split", lambda x: scalar(lax.mul(*lax.split(x, (2, 2)))), "f32[4]")
case("iota", lambda x: lax.mul(x, lax.iota(jnp.float32, 3)), "f32[3]")
case("copy", summed(lambda x: laxlax.copy_p.bind(x)), "f32[3]")
case("slice", summed(lambda x: lax.slice(x, (1,), (5,), (2,))), "f32[6]")
case("dynamic_slice", summed(lambda x, i: lax.dynamic_slice(x, (i,), (2,))), "f32[6]", "i32[]")
case("dynamic_update_slice", summed(lambda x, u, i: lax.dynamic_update_slice(x, u, (i,))), "f32[6]", "f32[2]", "i32[]")
_dn = lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,))
case("gather", summed(lambda x, i: lax.gather(x, i, _dn, (1, 3), mode="clip")), "f32[5,3]", "i32[2,1]")
_sn = lax.ScatterDimensionNumbers(update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,))
for _name, _f in {"scatter": lax.scatter, "scatter_add": lax.scatter_add, "scatter_mul": lax.scatter_mul, "scatter_min": lax.scatter_min,
                  "scatter_max": lax.scatter_max, "scatter_sub": getattr(lax, "scatter_sub", None)}.items():
    if _f:
        case(_name, summed(lambda x, i, u, f=_f: f(x, i, u, _sn, mode="clip", unique_indices=True)), "f32[5,3]", "i32[2,1]", "f32[2,3]")
case("sort", summed(lambda x: lax.sort(x)), "f32[5]")
case("top_k", lambda x: lax.top_k(x, 2), "f32[5]")
case("clamp_scalars", summed(lambda x: lax.clamp(np.float32(0), x, np.float32(1))), "f32[3]")

# ---- products ---------------------------------------------------------------------------------------------------------------------
case("dot_general", lambda x, y: scalar(lax.dot_general(x, y, (((1,), (0,)), ((), ())))), "f32[3,4]", "f32[4,5]")
case("dot_general_batched", lambda x, y: scalar(lax.dot_general(x, y, (((2,), (1,)), ((0,), (0,))), preferred_element_type=jnp.float32)), "f32[2,3,4]", "f32[2,4,5]")
case("conv_general_dilated", summed(lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))), "f32[1,4,4,2]", "f32[3,3,2,3]")
case("ragged_dot_general", summed(lambda x, y, g: lax.ragged_dot(x, y, g)), "f32[6,3]", "f32[2,3,4]", "i32[2]")
case("scaled_dot", lambda x, y, s, t: lax.scaled_dot(x, y, lhs_scale=s, rhs_scale=t), "bf16[2,8]", "bf16[8,3]", "bf16[2,2]", "bf16[4,3]")
case("fft", lambda x: scalar(fft.fft_p.bind(x, fft_type=lax.FftType.FFT, fft_lengths=(4,))), "c64[4]")

# ---- linear algebra ---------------------------------------------------------------------------------------------------------------
case("cholesky", summed(lambda x: linalg.cholesky_p.bind(x)), "f32[3,3]")
case("lu", lambda x: linalg.lu_p.bind(x), "f32[3,3]")
case("qr", lambda x: linalg.qr_p.bind(x, full_matrices=False, pivoting=False, use_magma=None), "f32[4,3]")
case("eigh", lambda x: linalg.eigh_p.bind(x, lower=True, sort_eigenvalues=True, subset_by_index=None, implementation=None), "f32[3,3]")
case("svd", lambda x: linalg.svd_p.bind(x, full_matrices=False, compute_uv=True, subset_by_index=None, algorithm=None), "f32[4,3]")
case("eig", lambda x: linalg.eig_p.bind(x, compute_left_eigenvectors=False, compute_right_eigenvectors=True, implementation=None), "f32[3,3]")
case("schur", lambda x: linalg.schur_p.bind(x, compute_schur_vectors=True, sort_eig_vals=False, select_callable=None), "f32[3,3]")
case("hessenberg", lambda x: linalg.hessenberg_p.bind(x), "f32[3,3]")
case("cholesky_update", lambda r, w: linalg.cholesky_update_p.bind(r, w), "f32[3,3]", "f32[3]")
case("symmetric_product", lambda a, c: linalg.symmetric_product_p.bind(a, c, alpha=2.0, beta=0.5), "f32[3,2]", "f32[3,3]")
case("tridiagonal", lambda x: linalg.tridiagonal_p.bind(x, lower=True), "f32[3,3]")
case("approx_top_k", lambda x: lax.approx_max_k(x, 3, aggregate_to_topk=False), "f32[2,1000]")
case("tridiagonal_solve", lambda a, b, c, d: linalg.tridiagonal_solve_p.bind(a, b, c, d), "f32[3]", "f32[3]", "f32[3]", "f32[3,1]")
case("ormqr", lambda a, t, c: linalg.ormqr_p.bind(a, t, c, left=False, transpose=True), "f32[4,3]", "f32[3]", "f32[2,4]")
case("householder_product", lambda a, t: linalg.householder_product_p.bind(a, t), "f32[4,3]", "f32[3]")
case("lu_pivots_to_permutation", lambda p: linalg.lu_pivots_to_permutation_p.bind(p, permutation_size=3), "i32[3]")
case("triangular_solve", summed(lambda a, b: linalg.triangular_solve_p.bind(a, b, left_side=True, lower=True, transpose_a=False, conjugate_a=False, unit_diagonal=False)), "f32[3,3]", "f32[3,2]")

# ---- randomness -------------------------------------------------------------------------------------------------------------------
case("threefry2x32", lambda a, b, c, d: threefry2x32.threefry2x32_p.bind(a, b, c, d), "u32[]", "u32[]", "u32[4]", "u32[4]")
case("random_bits", lambda k: jax.random.bits(jax.random.wrap_key_data(k), (3,)), "u32[2]")
case("random_wrap_split_fold_in", lambda k: jax.random.key_data(jax.random.fold_in(jax.random.split(jax.random.wrap_key_data(k))[0], 3)), "u32[2]")
case("random_seed", lambda s: jax.random.key_data(jax.random.key(s)), "i32[]")
case("random_clone", lambda k: jax.random.key_data(jax.random.clone(jax.random.wrap_key_data(k))), "u32[2]")
case("random_gamma", lambda k, a: __import__("jax._src.random.core", fromlist=["x"]) and jax.random.gamma(jax.random.wrap_key_data(k), a), "u32[2]", "f32[3]")
case("rng_bit_generator", lambda k: lax.rng_bit_generator(k, (3,), jnp.uint32), "u32[4]")
case("rng_uniform", lambda a, b: lax.rng_uniform(a, b, (3,)), "f32[]", "f32[]")

# ---- what jaxscope types and does little else with ------------------------------------------------------------------------------------
case("iota_2x32_shape", lambda: jax._src.random.prng.iota_2x32_shape((3, 2)))
case("debug_print", lambda x: (jax.debug.print("x {}", x), scalar(lax.sin(x)))[1], "f32[3]")
case("debug_callback", lambda x: (jax.debug.callback(print, x), scalar(lax.sin(x)))[1], "f32[3]")
for _name in "psum pmax pmin".split():  # over a dimension of the operand: what vmap leaves of an axis name
    case(_name, lambda x, f=getattr(lax, _name): scalar(jax.vmap(lambda y: lax.sin(f(y, "i")), axis_name="i", out_axes=None)(x)), "f32[3,2]")

# ---- calls ------------------------------------------------------------------------------------------------------------------------
sin2 = lambda x: lax.sin(lax.sin(x))
case("jit", lambda x: scalar(jax.jit(sin2)(x)), "f32[3]")
case("remat2", lambda x: scalar(jax.checkpoint(sin2)(x)), "f32[3]")
case("remat2_policy", lambda x: scalar(jax.checkpoint(lambda y: lax.sin(lax.dot(y, y)), policy=jax.checkpoint_policies.dots_saveable)(x)), "f32[3,3]")
case("name", lambda x: scalar(lax.sin(jax.ad_checkpoint_name(lax.sin(x), "h")) if hasattr(jax, "ad_checkpoint_name") else
                              lax.sin(__import__("jax.ad_checkpoint", fromlist=["x"]).checkpoint_name(lax.sin(x), "h"))), "f32[3]")
case("scan", lambda c, xs: lax.reduce_sum(lax.scan(lambda c, x: (lax.mul(c, lax.sin(x)), lax.cos(c)), c, xs)[1], (0,)), "f32[]", "f32[4]")
case("while", lambda x: lax.while_loop(lambda c: lax.lt(c[0], np.int32(3)), lambda c: (lax.add(c[0], np.int32(1)), lax.sin(c[1])), (np.int32(0), x))[1], "f32[3]")
case("cond", lambda p, x: scalar(lax.cond(p, lax.sin, lax.cos, x)), "bool[]", "f32[3]")
case("cond_grad", lambda x: scalar(lax.cond(lax.gt(lax.squeeze(lax.slice(x, (0,), (1,)), (0,)), np.float32(0)), lax.sin, lax.cos, x)), "f32[3]")
case("optimization_barrier", lambda x: scalar(lax.optimization_barrier(x)), "f32[3]")
case("platform_index", lambda x: lax.platform_dependent(x, cpu=lax.sin, default=lax.cos), "f32[3]")


@jax.custom_jvp
def custom(x):
    return lax.sin(x)


custom.defjvp(lambda p, t: (lax.sin(p[0]), lax.mul(t[0], lax.cos(p[0]))))
case("custom_jvp_call", lambda x: scalar(custom(x)), "f32[3]")


@jax.custom_vjp
def custom2(x):
    return lax.sin(x)


custom2.defvjp(lambda x: (lax.sin(x), x), lambda x, g: (lax.mul(g, lax.cos(x)),))
case("custom_vjp_call", lambda x: scalar(custom2(x)), "f32[3]")


@jax.custom_batching.custom_vmap
def custom3(x):
    return lax.sin(x)


custom3.def_vmap(lambda axis_size, in_batched, x: (lax.cos(x), True))
case("custom_vmap_call", lambda x: scalar(custom3(x)), "f32[3]")
case("linear_call", lambda r, x: jax.custom_derivatives.linear_call(lambda r, x: x * r, lambda r, ct: ct * r, r, x), "f32[3]", "f32[3]")
case("custom_linear_solve", lambda b: lax.custom_linear_solve(lambda x: lax.mul(x, np.float32(2)), b, lambda mv, b: lax.div(b, np.float32(2)), symmetric=True), "f32[3]")

case("tile", summed(lambda x: laxlax.tile_p.bind(x, reps=(2,))), "f32[3]")
case("stack", summed(lambda x, y: laxlax.stack_p.bind(x, y, axis=0)), "f32[3]", "f32[3]")
case("unstack", lambda x: lax.mul(*laxlax.unstack_p.bind(x, axis=0)), "f32[2]")
case("device_put", lambda x: scalar(jax.device_put(x)), "f32[3]")
case("geqrf", lambda x: linalg.geqrf_p.bind(x), "f32[3,3]")

# ---- programs: steps that end in more than one equation of interest -----------------------------------------------------------------
case("mlp_loss", lambda w, b, x: lax.reduce_sum(lax.square(lax.sub(lax.tanh(lax.add(lax.dot(x, w), lax.broadcast_in_dim(b, (2, 4), (1,)))), np.float32(1))), (0, 1)),
     "f32[3,4]", "f32[4]", "f32[2,3]")
case("scan_of_remat", lambda c, xs: lax.scan(jax.checkpoint(lambda c, x: (lax.sin(lax.mul(c, x)), None)), c, xs)[0], "f32[]", "f32[4]")
case("remat_in_remat", lambda x: jax.checkpoint(lambda y: lax.cos(jax.checkpoint(sin2)(y)))(x), "f32[]")
case("jit_used_twice", lambda x, f=jax.jit(sin2): lax.mul(f(x), f(x)), "f32[]")

# Where our text is another than JAX's, and why.
DIFFERENT = {"ragged_dot_general vmap": "jaxscope expands it to a product of masked rows"}
TEXT_HAS_NO_RULES = {"custom_jvp_call", "custom_vjp_call", "custom_vmap_call", "linear_call"}
UNKNOWN = {"random_gamma"}


def compared(name, step):
    return f"{name} {step}" not in DIFFERENT and name not in TEXT_HAS_NO_RULES | UNKNOWN


_plain = {}


def plain(v):
    """Batching rules leave NumPy integers in axes; JAX prints them as such, which says nothing about the program."""
    if isinstance(v, np.integer):
        return int(v)
    if isinstance(v, tuple) and hasattr(v, "_fields"):
        return type(v)(*map(plain, v))
    if type(v) in (tuple, list):
        return type(v)(map(plain, v))
    if isinstance(v, (core.ClosedJaxpr, core.Jaxpr)):  # what is one object stays one
        if id(v) not in _plain:
            _plain[id(v)] = v, (v.replace(jaxpr=plain(v.jaxpr)) if isinstance(v, core.ClosedJaxpr) else
                                v.replace(eqns=[e.replace(params={k: plain(x) for k, x in e.params.items()}) for e in v.eqns]))
        return _plain[id(v)][1]
    return v


def print_of(f, avals):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return str(plain(jax.make_jaxpr(f)(*avals)))


def tangents(avals):
    return [a for a in avals if jnp.issubdtype(a.dtype, jnp.inexact)]


def jvp(f, avals):
    def g(*args):
        xs, ts = args[:len(avals)], list(args[len(avals):])
        moving = [i for i, a in enumerate(avals) if jnp.issubdtype(a.dtype, jnp.inexact)]

        def h(*m):
            full = list(xs)
            for i, x in zip(moving, m):
                full[i] = x
            return f(*full)
        return jax.jvp(h, [xs[i] for i in moving], ts)
    return print_of(g, [*avals, *tangents(avals)])


ORACLES = {
    "jvp": ("transform --apply jvp --print", jvp),
    "grad": ("transform --apply grad --print", lambda f, a: print_of(jax.grad(f, argnums=tuple(range(len(a)))), a)),
    "vmap": ("transform --apply vmap@5 --print",
             lambda f, a: print_of(jax.vmap(f), [jax.ShapeDtypeStruct((5, *x.shape), x.dtype) for x in a])),
}


def write(path, f, avals):
    text = print_of(f, avals)
    parts = [f"# ORACLE: JAX {jax.__version__}, written by make_golden.py", text, "# RUN: print", "# EXPECT", text]
    for step, (command, oracle) in ORACLES.items():
        try:
            expected = oracle(f, avals)
        except Exception:  # whatever JAX refuses, by whatever exception
            continue
        if compared(path.stem, step):
            parts += [f"# RUN: {command}", "# EXPECT", expected]
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(parts) + "\n")


if __name__ == "__main__":
    for old in (HERE / "primitives").glob("*.jaxpr"):
        old.unlink()
    for name, (f, avals) in CASES.items():
        write(HERE / "primitives" / f"{name}.jaxpr", f, avals)
    print(len(CASES), "cases")
