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
Array select(const Operand& pred, const Operand& on_true, const Operand& on_false);
Array clamp(const Operand& low, const Operand& x, const Operand& high);
Array convert_element_type(const Operand& x, dtype type);
Array bitcast_convert_type(const Operand& x, dtype type);
Array dot(const Operand& x, const Operand& y);
Array full(const Shape& shape, const Operand& value);
Array iota(dtype type, std::int64_t size, Where where = {});
Array expand_dims(const Operand& x, const Shape& axes);
Array dynamic_slice(const Operand& x, const Arrays& starts, const Shape& sizes);
Array dynamic_update_slice(const Operand& x, const Operand& update, const Arrays& starts);
Array cumsum(const Operand& x, std::int64_t axis = 0);
Array cumprod(const Operand& x, std::int64_t axis = 0);
Array cummax(const Operand& x, std::int64_t axis = 0);
Array sort(const Operand& x, std::int64_t axis = -1);
std::pair<Array, Array> top_k(const Operand& x, std::int64_t k);
Array reduce_sum(const Operand& x, const Shape& axes);
Array reduce_max(const Operand& x, const Shape& axes);

}  // namespace jaxscope::jax::lax
