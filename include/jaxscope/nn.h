// SPDX-License-Identifier: Apache-2.0
#pragma once
// jax.nn
#include <jaxscope/numpy.h>

namespace jaxscope::jax::nn {

Array sigmoid(const Operand& x);
Array silu(const Operand& x);
Array swish(const Operand& x);
Array soft_sign(const Operand& x);
Array leaky_relu(const Operand& x);
Array leaky_relu(const Operand& x, const Operand& negative_slope);
Array gelu(const Operand& x, bool approximate = true);
/// `where`: the elements that count; the others become 0, -inf of log_softmax.
Array softmax(const Operand& x, const Axes& axis = -1, const Array& where = {});
Array log_softmax(const Operand& x, const Axes& axis = -1, const Array& where = {});
struct StandardizeOptions {
    std::int64_t axis = -1;
    double epsilon = 0;  ///< 0: 1e-5
};
/// Less the mean, divided by the deviation.
Array standardize(const Operand& x, const StandardizeOptions& options = {});
struct AttentionOptions {
    Array bias = {}, mask = {};  ///< (batch or 1, heads or 1, queries, keys)
    double scale = 0;            ///< 0: one divided by the root of a head's size
    Flag is_causal = false;
    Array query_seq_lengths = {}, key_value_seq_lengths = {};  ///< int32, one for each of the batch: what is behind them is padding
    /// Keys that a query sees before and behind its own place; negative: all.
    std::pair<std::int64_t, std::int64_t> local_window_size = {-1, -1};
};
/// Queries (batch, length, heads, size); keys and values may have fewer heads, which groups of queries share. Products of 16-bit floats
/// are summed in 32 bits; the shares are made in float32 always.
Array dot_product_attention(const Operand& query, const Operand& key, const Operand& value, const AttentionOptions& options = {});
struct ExponentialSum {
    Axes axis = {};
    Flag keepdims = false;
    Array b = {};  ///< what the exponentials are multiplied with
    Array where = {};
};
Array logsumexp(const Operand& x, const ExponentialSum& over = {});
Array logmeanexp(const Operand& x, const Reduction& over = {});  ///< of `over` the axis, keepdims and where count
struct OneHot {
    AsType dtype = {};  ///< none: float32
    std::int64_t axis = -1;
};
Array one_hot(const Operand& x, std::int64_t num_classes, const OneHot& how = {});
Array one_hot(const Operand& x, std::int64_t num_classes, dtype type);
Array tanh(const Operand& x);
Array identity(const Operand& x);
Array relu(const Operand& x);
Array relu6(const Operand& x);
Array elu(const Operand& x);
Array elu(const Operand& x, const Operand& alpha);
Array selu(const Operand& x);
Array celu(const Operand& x);
Array celu(const Operand& x, const Operand& alpha);
Array glu(const Operand& x, std::int64_t axis = -1);
Array hard_tanh(const Operand& x);
Array hard_sigmoid(const Operand& x);
Array hard_silu(const Operand& x);
Array hard_swish(const Operand& x);
Array softplus(const Operand& x);
Array mish(const Operand& x);
Array squareplus(const Operand& x);
Array log_sigmoid(const Operand& x);
Array log1mexp(const Operand& x);  ///< log(1 - exp(-x))
Array sparse_plus(const Operand& x);
Array sparse_sigmoid(const Operand& x);

}  // namespace jaxscope::jax::nn
