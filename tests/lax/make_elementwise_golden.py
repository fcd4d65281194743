"""Writes golden/elementwise_rules.json: what the rules of JAX 0.10.2 answer for element-wise primitives, reductions and random bits.

    python tests/lax/make_elementwise_golden.py

Written as make_rule_golden.py writes its file.
"""
import jax
import numpy as np
from jax import lax
from jax._src import ad_checkpoint
from jax._src.random import prng, threefry2x32
from jax._src.core import ShapedArray
from jax._src.lax import lax as laxlax
from jax._src.lax import special
from jax._src.lax.control_flow import loops

from make_rule_golden import F, N, ONE, T, arr, case, write

DTYPES = ["float32", "bfloat16", "float16", "float8_e4m3fn", "int32", "int8", "uint8", "bool", "complex64"]


def types(prim, params, arity=1):
    """Result types only: every dtype, weak types, and operands that don't fit each other."""
    for dtype in DTYPES:
        case(prim, [arr(2, 0, 3, dtype=dtype)] * arity, params)
        case(prim, [arr(dtype=dtype, weak=dtype in ("float32", "int32", "complex64"))] * arity, params)
    if arity == 2:
        for a, b in [(arr(3), arr(3, weak=True)), (arr(3, weak=True), arr(3, weak=True)), (arr(3), arr()), (arr(), arr(2, 3)), (arr(1, 3), arr(2, 3)),
                     (arr(3), arr(4)), (arr(3), arr(1, 3)), (arr(3), arr(3, dtype="int32")), (arr(3, dtype="int32"), arr(3)),
                     (arr(3, dtype="bfloat16"), arr(3)), (arr(3, dtype="complex64"), arr(3))]:
            case(prim, [a, b], params)
    case(prim, [arr(2)] * (arity + 1), params)


def unary(prim, kinds="f", forward=True, **params):
    types(prim, params)
    jvps = [[T]] if forward else []
    for dtype in ["float32", "bfloat16"] * ("f" in kinds) + ["complex64"] * ("c" in kinds):
        case(prim, [arr(2, 3, dtype=dtype)], params, jvps=jvps, batches=[[0], [1], [2]])
        case(prim, [arr(dtype=dtype)], params, jvps=jvps)
        case(prim, [arr(dtype=dtype, weak=True)], params, jvps=jvps)
    if kinds == "i":
        case(prim, [arr(2, 3, dtype="int32")], params, batches=[[0], [2]])


def unary_cases():
    accurate = [lax.exp_p, lax.exp2_p, lax.log_p, lax.log1p_p, lax.expm1_p, lax.tanh_p, lax.logistic_p, lax.sin_p, lax.cos_p, lax.tan_p, lax.sqrt_p, lax.rsqrt_p]
    for prim in accurate:
        unary(prim, "fc", accuracy=None)
    for prim in [lax.tanh_p, lax.logistic_p, lax.expm1_p]:
        case(prim, [arr(2, 3)], dict(accuracy=lax.AccuracyMode.HIGHEST), jvps=[[T]])
    unary(lax.cbrt_p, accuracy=None)
    for prim in [lax.asin_p, lax.acos_p, lax.atan_p, lax.sinh_p, lax.cosh_p, lax.asinh_p, lax.acosh_p, lax.atanh_p, lax.neg_p, lax.sign_p, lax.abs_p, lax.square_p]:
        unary(prim, "fc")
    for prim in [lax.floor_p, lax.ceil_p, lax.is_finite_p, lax.erf_p, lax.erfc_p, lax.erf_inv_p, lax.lgamma_p, special.digamma_p]:
        unary(prim)
    for prim in [special.bessel_i0e_p, special.bessel_i1e_p]:
        unary(prim)
    for method in lax.RoundingMethod:
        unary(lax.round_p, rounding_method=method)
    for prim in [lax.not_p, lax.population_count_p, lax.clz_p]:
        unary(prim, "i")
    for y in [-3, -2, -1, 0, 1, 2, 3, 4, 7]:
        unary(lax.integer_pow_p, "fc", y=y)
    for prim in [lax.real_p, lax.imag_p]:
        unary(prim, "c")
        case(prim, [arr(2, 3, dtype="complex64")], {}, transposes=[[T]])
    for dtype in ["float32", "complex64"]:
        case(lax.conj_p, [arr(2, 3, dtype=dtype)], dict(input_dtype=np.dtype(dtype)), jvps=[[T]], transposes=[[T]], batches=[[1]])
    case(lax.neg_p, [arr(2, 3)], {}, transposes=[[T]])


BOTH = [[T, F], [F, T], [T, T]]
MIXED = [[0, 0], [1, 1], [0, 1], [N, 0], [1, N], [2, N]]


def binary(prim, jvps=BOTH, transposes=(), kinds=("float32",), **params):
    types(prim, params, 2)
    for dtype in kinds:
        two = arr(2, 3, dtype=dtype)
        case(prim, [two, two], params, jvps=jvps, transposes=transposes, batches=MIXED)
        case(prim, [two, arr(dtype=dtype)], params, jvps=jvps, transposes=transposes, batches=[[0, 0], [1, N], [N, 0]])
        case(prim, [arr(dtype=dtype), two], params, jvps=jvps, transposes=transposes, batches=[[0, 0], [N, 2], [0, N]])
        case(prim, [arr(dtype=dtype, weak=True), arr(dtype=dtype)], params, jvps=jvps, transposes=transposes)


def binary_cases():
    linear = [[T, F], [F, T], [T, T]]
    numbers = ("float32", "bfloat16", "complex64")
    binary(lax.add_p, transposes=linear, kinds=numbers)
    binary(lax.sub_p, transposes=linear, kinds=numbers)
    binary(lax.mul_p, transposes=[[T, F], [F, T]], kinds=numbers, out_dtype=None)
    case(lax.mul_p, [arr(2, 3, dtype="bfloat16")] * 2, dict(out_dtype=np.dtype("float32")), jvps=BOTH, transposes=[[T, F], [F, T]])
    binary(lax.div_p, transposes=[[T, F]], kinds=numbers)
    for prim in [lax.max_p, lax.min_p, lax.atan2_p, lax.pow_p]:
        binary(prim)
    binary(lax.rem_p)
    case(lax.pow_p, [arr(2, 3), arr(2, 3, dtype="int32")], {}, jvps=[[T, F]])
    case(lax.pow_p, [arr(2, 3), arr(dtype="int32", weak=True)], {}, jvps=[[T, F]])
    case(lax.pow_p, [arr(3, dtype="complex64")] * 2, {}, jvps=BOTH)
    case(lax.complex_p, [arr(2, 3)] * 2, {}, jvps=BOTH, transposes=linear)
    types(lax.complex_p, {}, 2)
    binary(special.igamma_p, jvps=[[F, T]])
    binary(special.igammac_p, jvps=[[F, T]])
    for prim in [special.polygamma_p, special.zeta_p, special.igamma_grad_a_p]:
        binary(prim, jvps=[])
    case(special.regularized_incomplete_beta_p, [arr(3)] * 3, {}, jvps=[[F, F, T]])
    for prim in [lax.eq_p, lax.ne_p, lax.lt_p, lax.le_p, lax.gt_p, lax.ge_p]:
        binary(prim)
    binary(lax.nextafter_p, jvps=[])
    for prim in [lax.and_p, lax.or_p, lax.xor_p, lax.shift_left_p, lax.shift_right_logical_p, lax.shift_right_arithmetic_p, lax.mulhi_p]:
        binary(prim, jvps=[], kinds=("int32",))
    add_any = jax._src.ad_util.add_jaxvals_p
    case(add_any, [arr(2, 3)] * 2, {}, jvps=BOTH, transposes=linear, batches=[[0, 0], [1, N], [0, 1]])


def choice_cases():
    x, which, i = arr(2, 3), arr(2, 3, dtype="bool"), arr(2, 3, dtype="int32")
    for p, cases in [(which, 2), (arr(dtype="bool"), 2), (i, 3), (arr(dtype="int32"), 1)]:
        case(lax.select_n_p, [p] + [x] * cases, {}, jvps=[[F] + [T] * cases, [F, T] + [F] * (cases - 1)],
             transposes=[[F] + [T] * cases, [F, T] + [F] * (cases - 1)])
    for p in [which, arr(dtype="bool")]:
        case(lax.select_n_p, [p, x, x], {}, batches=[[0, 0, 0], [0, N, N], [N, 0, 0], [N, 1, N], [0, 1, N], [N, N, 2]])
    case(lax.select_n_p, [arr(dtype="bool"), arr(), arr()], {}, batches=[[0, 0, 0], [0, N, N], [N, 0, N]])
    case(lax.select_n_p, [which, arr(2, 3, weak=True), arr(2, 3, weak=True)], {})
    for avals in [[which], [arr(3, dtype="bool"), x, x], [which, x, i], [which, x, arr(3)], [which, x, x, x], [arr(2, 3), x, x], [which, x, arr(2, 3, weak=True)]]:
        case(lax.select_n_p, avals, {})

    s = arr()
    for lo, hi in [(s, s), (x, x)]:
        case(lax.clamp_p, [lo, x, hi], {}, jvps=[[F, T, F], [T, F, F], [F, F, T], [T, T, T]], batches=[[N, 0, N], [0, 0, 0], [0, N, N], [N, 1, 0]])
    case(lax.clamp_p, [arr(weak=True), arr(weak=True), arr(weak=True)], {})
    for avals in [[arr(2), x, s], [s, x, i], [s, x, arr(3)], [s, arr(dtype="bool"), s]]:
        case(lax.clamp_p, avals, {})


def convert_cases():
    dtypes = [np.dtype(jax.numpy.dtype(d)) for d in DTYPES]
    for old in DTYPES:
        for new in dtypes:
            case(lax.convert_element_type_p, [arr(2, 3, dtype=old)], dict(new_dtype=new, weak_type=False, sharding=None))
            case(lax.bitcast_convert_type_p, [arr(2, 4, dtype=old)], dict(new_dtype=new))
    for old, new in [("float32", "bfloat16"), ("bfloat16", "float32"), ("float32", "complex64"), ("complex64", "float32")]:
        case(lax.convert_element_type_p, [arr(2, 3, dtype=old)], dict(new_dtype=np.dtype(jax.numpy.dtype(new)), weak_type=False, sharding=None),
             batches=[[0], [2]], **ONE)
    case(lax.convert_element_type_p, [arr(weak=True)], dict(new_dtype=np.dtype("float32"), weak_type=False, sharding=None), **ONE)
    case(lax.convert_element_type_p, [arr(3)], dict(new_dtype=np.dtype("int32"), weak_type=False, sharding=None), jvps=[[T]])
    case(lax.convert_element_type_p, [arr(dtype="int32")], dict(new_dtype=np.dtype("float32"), weak_type=True, sharding=None))
    case(lax.bitcast_convert_type_p, [arr(3, 4, dtype="uint8")], dict(new_dtype=np.dtype("float32")), batches=[[0], [1]])
    case(lax.bitcast_convert_type_p, [arr(3)], dict(new_dtype=np.dtype("int32")), jvps=[[T]])
    types(lax.reduce_precision_p, dict(exponent_bits=5, mantissa_bits=10))
    case(lax.reduce_precision_p, [arr(2, 3)], dict(exponent_bits=5, mantissa_bits=10), jvps=[[T]], batches=[[1]])
    for e, m in [(0, 3), (3, -1)]:
        case(lax.reduce_precision_p, [arr(3)], dict(exponent_bits=e, mantissa_bits=m))
    case(ad_checkpoint.name_p, [arr(2, 3, weak=True)], dict(name="y"), jvps=[[T]], batches=[[1]])
    case(laxlax.copy_p, [arr(2, 3, weak=True)], {}, jvps=[[T]], transposes=[[T]], batches=[[1]])
    case(laxlax.optimization_barrier_p, [arr(2, 3), arr(4, dtype="int32")], {}, batches=[[0, N], [N, 1], [1, 0]])
    case(laxlax.optimization_barrier_p, [arr(2, 3), arr(4)], {}, jvps=BOTH, transposes=[[T, T]])


def reduce_cases():
    def extra(prim):
        return dict(out_sharding=None) if prim is lax.reduce_sum_p else {}

    arithmetic = [lax.reduce_sum_p, lax.reduce_prod_p, lax.reduce_max_p, lax.reduce_min_p]
    for prim in [*arithmetic, lax.reduce_and_p, lax.reduce_or_p, lax.reduce_xor_p]:
        for dtype in DTYPES:
            case(prim, [arr(2, 3, dtype=dtype)], dict(axes=(1,), **extra(prim)))
            case(prim, [arr(2, 0, dtype=dtype, weak=dtype == "int32")], dict(axes=(0,), **extra(prim)))
        # JAX lets negative and repeated axes of the logical ones pass; they are malformed all the same
        for axes in [(2,)] + [(-1,), (0, 0)] * (prim in arithmetic):
            case(prim, [arr(2, 3, dtype="bool" if prim not in arithmetic else "float32")], dict(axes=axes, **extra(prim)))
        case(prim, [arr(2, 3, 4, dtype="float32" if prim in arithmetic else "bool")], dict(axes=(0, 2), **extra(prim)), batches=[[0], [1], [2], [3]])
    for prim in arithmetic:
        for shape, axes in [((2, 3, 4), (1,)), ((2, 3, 4), (0, 2)), ((3,), (0,)), ((2, 3), (0, 1)), ((2, 3), ()), ((), ()), ((2, 3), (1, 0))]:
            case(prim, [arr(*shape)], dict(axes=axes, **extra(prim)), jvps=[[T]], transposes=[[T]] if prim is lax.reduce_sum_p else [])
        case(prim, [arr(5, dtype="bfloat16", weak=True)], dict(axes=(0,), **extra(prim)), jvps=[[T]])
    for prim in [lax.argmax_p, lax.argmin_p]:
        for dtype in DTYPES:
            case(prim, [arr(2, 3, dtype=dtype)], dict(axes=(1,), index_dtype=np.dtype("int32")))
        for shape, axes, index in [((2, 3), (0,), "uint8"), ((2, 3), (0, 1), "int32"), ((2, 0), (1,), "int32"), ((3,), (1,), "int32"), ((3,), (0,), "float32")]:
            case(prim, [arr(*shape, weak=True)], dict(axes=axes, index_dtype=np.dtype(index)))
        case(prim, [arr(2, 3)], dict(axes=(1,), index_dtype=np.dtype("int32")), jvps=[[T]], batches=[[0], [1], [2]])


def cumulative_cases():
    for prim in [lax.cumsum_p, lax.cumprod_p, lax.cummax_p, lax.cummin_p, lax.cumlogsumexp_p]:
        for dtype in DTYPES if prim is not lax.cumlogsumexp_p else DTYPES[:4]:
            case(prim, [arr(2, 3, dtype=dtype)], dict(axis=1, reverse=False))
        for axis in [-1, 2]:
            case(prim, [arr(2, 3)], dict(axis=axis, reverse=False))
        case(prim, [arr(3, weak=True)], dict(axis=0, reverse=True))
        transposes = [[T]] if prim is lax.cumsum_p else []
        jvps = [[T]] if prim is not lax.cumlogsumexp_p else []
        for shape, axis, reverse in [((5,), 0, False), ((5,), 0, True), ((2, 4, 3), 1, False), ((1,), 0, False), ((0,), 0, False), ((2, 7), 1, True)]:
            case(prim, [arr(*shape)], dict(axis=axis, reverse=reverse), jvps=jvps, transposes=transposes, batches=[[0], [len(shape)]])


def random_cases():
    for name in ["threefry2x32", "rbg", "unsafe_rbg"]:
        impl = prng.prngs[name]
        dtype = prng.KeyTy(impl)
        key = lambda *shape: ShapedArray(shape, dtype)
        words = impl.key_shape[0]
        for shape in [(), (3,)]:
            for width in [8, 16, 32]:
                case(prng.random_bits_p, [key(*shape)], dict(bit_width=width, shape=(2, 0)))
            case(prng.random_split_p, [key(*shape)], dict(shape=(2, 4)))
            case(prng.random_unwrap_p, [key(*shape)], {})
            case(prng.random_wrap_p, [arr(*shape, words, dtype="uint32")], dict(impl=impl))
            case(prng.random_seed_p, [arr(*shape, dtype="int32")], dict(impl=impl))
            case(prng.random_fold_in_p, [key(*shape), arr(*shape, dtype="uint32")], {})
        case(prng.random_fold_in_p, [key(), arr(3, dtype="uint32")], {})
    word = arr(4, dtype="uint32")
    case(threefry2x32.threefry2x32_p, [arr(dtype="uint32"), arr(dtype="uint32"), word, word], {})
    case(threefry2x32.threefry2x32_p, [word] * 4, {}, batches=[[0, 0, 0, 0], [N, N, 0, 0], [1, N, N, N]])


def main():
    unary_cases()
    binary_cases()
    choice_cases()
    convert_cases()
    reduce_cases()
    cumulative_cases()
    random_cases()
    write("elementwise_rules.json")


if __name__ == "__main__":
    main()
