// SPDX-License-Identifier: Apache-2.0
#pragma once
// jax.lax: operations without promotion or broadcasting.
#include <jaxscope/numpy.h>

namespace jaxscope::jax::lax {

Array add(const Operand& x, const Operand& y);
Array sub(const Operand& x, const Operand& y);
Array mul(const Operand& x, const Operand& y);
Array div(const Operand& x, const Operand& y);
Array rem(const Operand& x, const Operand& y);
Array pow(const Operand& x, const Operand& y);
Array max(const Operand& x, const Operand& y);
Array min(const Operand& x, const Operand& y);
Array neg(const Operand& x);
Array abs(const Operand& x);
Array log1p(const Operand& x);
Array eq(const Operand& x, const Operand& y);
Array ne(const Operand& x, const Operand& y);
Array lt(const Operand& x, const Operand& y);
Array le(const Operand& x, const Operand& y);
Array gt(const Operand& x, const Operand& y);
Array ge(const Operand& x, const Operand& y);
Array sign(const Operand& x);
Array floor(const Operand& x);
Array ceil(const Operand& x);
Array round(const Operand& x);
Array is_finite(const Operand& x);
Array bitwise_not(const Operand& x);
Array population_count(const Operand& x);
Array clz(const Operand& x);
Array mulhi(const Operand& x, const Operand& y);  ///< the upper half of the product
Array asin(const Operand& x);
Array acos(const Operand& x);
Array atan(const Operand& x);
Array sinh(const Operand& x);
Array cosh(const Operand& x);
Array asinh(const Operand& x);
Array acosh(const Operand& x);
Array atanh(const Operand& x);
Array bessel_i0e(const Operand& x);
Array bessel_i1e(const Operand& x);
Array real(const Operand& x);
Array imag(const Operand& x);
Array conj(const Operand& x);
Array expm1(const Operand& x);
Array exp2(const Operand& x);
Array tan(const Operand& x);
Array cbrt(const Operand& x);
Array reciprocal(const Operand& x);
Array atan2(const Operand& x, const Operand& y);
Array nextafter(const Operand& x, const Operand& y);
Array bitwise_and(const Operand& x, const Operand& y);
Array bitwise_or(const Operand& x, const Operand& y);
Array bitwise_xor(const Operand& x, const Operand& y);
Array shift_left(const Operand& x, const Operand& y);
Array shift_right_logical(const Operand& x, const Operand& y);
Array shift_right_arithmetic(const Operand& x, const Operand& y);
Array polygamma(const Operand& x, const Operand& y);
Array igamma(const Operand& a, const Operand& x);
Array igammac(const Operand& a, const Operand& x);
Array betainc(const Operand& a, const Operand& b, const Operand& x);
Array zeta(const Operand& x, const Operand& q);
Array complex(const Operand& x, const Operand& y);
Array exp(const Operand& x);
Array log(const Operand& x);
Array sin(const Operand& x);
Array cos(const Operand& x);
Array tanh(const Operand& x);
Array logistic(const Operand& x);
Array erf(const Operand& x);
Array erfc(const Operand& x);
Array erf_inv(const Operand& x);
Array lgamma(const Operand& x);
Array digamma(const Operand& x);
Array rsqrt(const Operand& x);
Array sqrt(const Operand& x);
Array square(const Operand& x);
Array integer_pow(const Operand& x, std::int64_t y);
Array stop_gradient(const Operand& x);
/// Of every leaf of a tree.
template <class T>
requires detail::TreeOfArrays<T> T stop_gradient(const T& tree, Where where = {}) {
    return tree_map([&](const Array& a) { return stop_gradient(Operand(a, where.file, where.line, where.function)); }, tree);
}
Array select(const Operand& pred, const Operand& on_true, const Operand& on_false);
/// `cases[which]`, element by element; of a boolean the first case is that of false.
Array select_n(const Operand& which, const Arrays& cases);
Array clamp(const Operand& low, const Operand& x, const Operand& high);
Array convert_element_type(const Operand& x, dtype type);
Array bitcast_convert_type(const Operand& x, dtype type);
struct Dot {
    Array operator()(const Operand& x, const Operand& y, const numpy::ProductOptions& how = {}) const;
};
inline constexpr Dot dot{};
Array full(const Shape& shape, const Operand& value);
Array iota(dtype type, std::int64_t size, Where where = {});
Array broadcasted_iota(dtype type, const Shape& shape, std::int64_t dimension, Where where = {});
Array expand_dims(const Operand& x, const Shape& axes);
Array dynamic_slice(const Operand& x, const Arrays& starts, const Shape& sizes);
Array dynamic_update_slice(const Operand& x, const Operand& update, const Arrays& starts);
Array dynamic_slice_in_dim(const Operand& x, const Operand& start_index, std::int64_t slice_size, std::int64_t axis = 0);
Array dynamic_index_in_dim(const Operand& x, const Operand& index, std::int64_t axis = 0, bool keepdims = true);
Array dynamic_update_slice_in_dim(const Operand& x, const Operand& update, const Operand& start_index, std::int64_t axis);
Array dynamic_update_index_in_dim(const Operand& x, const Operand& update, const Operand& index, std::int64_t axis);
Array cumsum(const Operand& x, std::int64_t axis = 0, bool reverse = false);
Array cumprod(const Operand& x, std::int64_t axis = 0, bool reverse = false);
Array cummax(const Operand& x, std::int64_t axis = 0, bool reverse = false);
Array sort(const Operand& x, std::int64_t axis = -1);
/// All of them in the order of the first `num_keys`.
std::vector<Array> sort(const std::vector<Array>& operands, std::int64_t dimension = -1, std::int64_t num_keys = 1, Flag is_stable = true,
                        Where where = {});
std::pair<Array, Array> sort_key_val(const Operand& keys, const Operand& values, std::int64_t dimension = -1);
std::pair<Array, Array> top_k(const Operand& x, std::int64_t k);
/// What accelerators find faster by missing some; on CPUs none is missed.
struct Approximation {
    std::int64_t reduction_dimension = -1;
    double recall_target = 0.95;
    std::int64_t reduction_input_size_override = -1;
    Flag aggregate_to_topk = true;
};
std::pair<Array, Array> approx_max_k(const Operand& x, std::int64_t k, const Approximation& how = {});
std::pair<Array, Array> approx_min_k(const Operand& x, std::int64_t k, const Approximation& how = {});
/// Rounded to what a float of so many bits could hold, in its own type.
Array reduce_precision(const Operand& x, int exponent_bits, int mantissa_bits);
Array reduce_sum(const Operand& x, const Shape& axes);
Array reduce_max(const Operand& x, const Shape& axes);
Array reduce_min(const Operand& x, const Shape& axes);
Array reduce_prod(const Operand& x, const Shape& axes);
Array reduce_and(const Operand& x, const Shape& axes);
Array reduce_or(const Operand& x, const Shape& axes);
Array reduce_xor(const Operand& x, const Shape& axes);
Array argmax(const Operand& x, std::int64_t axis, dtype index_dtype = dtype::int32);
Array argmin(const Operand& x, std::int64_t axis, dtype index_dtype = dtype::int32);
Array cummin(const Operand& x, std::int64_t axis = 0, bool reverse = false);
Array cumlogsumexp(const Operand& x, std::int64_t axis = 0, bool reverse = false);

// ---- Shapes
Array reshape(const Operand& x, const Shape& new_sizes);
Array transpose(const Operand& x, const Shape& permutation);
Array squeeze(const Operand& x, const Shape& dimensions);
Array rev(const Operand& x, const Shape& dimensions);
/// Dimensions from `start` on, up to `stop` (all that follow where it is left out), as one.
Array collapse(const Operand& x, std::int64_t start, std::int64_t stop);
Array collapse(const Operand& x, std::int64_t start);
Array broadcast(const Operand& x, const Shape& sizes);
Array broadcast_in_dim(const Operand& x, const Shape& shape, const Shape& broadcast_dimensions);
Array concatenate(const Arrays& operands, std::int64_t dimension, Where where = {});
Array slice(const Operand& x, const Shape& start_indices, const Shape& limit_indices, const Shape& strides = {});
Array slice_in_dim(const Operand& x, std::int64_t start_index, std::int64_t limit_index, std::int64_t stride = 1, std::int64_t axis = 0);
Array index_in_dim(const Operand& x, std::int64_t index, std::int64_t axis = 0, bool keepdims = true);
struct Padding {
    std::int64_t low = 0, high = 0, interior = 0;
};
Array pad(const Operand& x, const Operand& padding_value, const std::vector<Padding>& padding_config);

// ---- Barriers
/// The same values, none of which is there before all are.
std::vector<Array> optimization_barrier(const std::vector<Array>& operands, Where where = {});
Array optimization_barrier(const Operand& x);
template <class T>
requires(detail::TreeOfArrays<T> && !std::is_same_v<T, std::vector<Array>>) T optimization_barrier(const T& tree, Where where = {}) {
    return tree_unflatten(tree, optimization_barrier(tree_leaves(tree), where));
}

// ---- Products
struct DotDimensionNumbers {
    Shape lhs_contracting = {}, rhs_contracting = {}, lhs_batch = {}, rhs_batch = {};
};
/// `{.preferred_element_type = jnp::int32}`: the sums in a type of their own, of int8 operands.
Array dot_general(const Operand& x, const Operand& y, const DotDimensionNumbers& dimension_numbers, const numpy::ProductOptions& how = {});
Array dot_general(const Operand& x, const Operand& y, const DotDimensionNumbers& dimension_numbers, dtype preferred_element_type);
/// Rows of groups, which follow each other, by a matrix for each group.
Array ragged_dot(const Operand& lhs, const Operand& rhs, const Operand& group_sizes, const numpy::ProductOptions& how = {});
Array batch_matmul(const Operand& x, const Operand& y, Precision precision = {});
/// Of a convolution: "SAME", "VALID", or a pair for each spatial dimension.
class ConvPadding {
public:
    ConvPadding(const char* same_or_valid);                                          // NOLINT(google-explicit-constructor)
    ConvPadding(std::vector<std::pair<std::int64_t, std::int64_t>> list);            // NOLINT(google-explicit-constructor)
    ConvPadding(std::initializer_list<std::pair<std::int64_t, std::int64_t>> list);  ///< one pair, too: `{{1, 0}}`
    std::string name;
    std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
};
struct ConvOptions {
    Shape lhs_dilation = {}, rhs_dilation = {};
    std::vector<std::string> dimension_numbers = {};  ///< {"NHWC", "HWIO", "NHWC"}; none: {"NCHW", "OIHW", "NCHW"} for two dimensions
    std::int64_t feature_group_count = 1, batch_group_count = 1;
    Precision precision = {};
    AsType preferred_element_type = {};
};
Array conv_general_dilated(const Operand& lhs, const Operand& rhs, const Shape& window_strides, const ConvPadding& padding,
                           const ConvOptions& options = {});
Array conv(const Operand& lhs, const Operand& rhs, const Shape& window_strides, const char* padding);
Array conv_with_general_padding(const Operand& lhs, const Operand& rhs, const Shape& window_strides, const ConvPadding& padding,
                                const Shape& lhs_dilation = {}, const Shape& rhs_dilation = {});

/// As a convolution's gradient by its operand, with fractional strides. `padding`: that of the convolution; pairs are its own.
struct ConvTransposeOptions {
    Shape rhs_dilation = {};
    std::vector<std::string> dimension_numbers = {};  ///< none: {"NHWC", "HWIO", "NHWC"} for two dimensions
    Precision precision = {};
    AsType preferred_element_type = {};
};
Array conv_transpose(const Operand& lhs, const Operand& rhs, const Shape& strides, const ConvPadding& padding,
                     const ConvTransposeOptions& options = {});
/// What `computation` makes of each window: `lax::add` from 0, `lax::max` from -inf, `lax::min` from inf.
using Computation = Array (*)(const Operand&, const Operand&);
Array reduce_window(const Operand& x, const Operand& init_value, Computation computation, const Shape& window_dimensions,
                    const Shape& window_strides, const ConvPadding& padding);

}  // namespace jaxscope::jax::lax
