#pragma once
// jax.nn
#include <jaxscope/numpy.h>

namespace jaxscope::jax::nn {

Array sigmoid(const Operand& x);
Array silu(const Operand& x);
Array swish(const Operand& x);
Array soft_sign(const Operand& x);
Array leaky_relu(const Operand& x, double negative_slope = 0.01);
Array gelu(const Operand& x, bool approximate = true);
Array softmax(const Operand& x, std::int64_t axis = -1);
Array log_softmax(const Operand& x, std::int64_t axis = -1);
Array logsumexp(const Operand& x, const Reduction& over = {});
Array one_hot(const Operand& x, std::int64_t num_classes, dtype type = dtype::float32);
Array tanh(const Operand& x);

}  // namespace jaxscope::jax::nn
