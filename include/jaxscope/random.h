#pragma once
// jax.random with typed threefry keys.
#include <jaxscope/numpy.h>

namespace jaxscope::jax::random {

Array key(const Operand& seed);
Array split(const Operand& key, const Shape& num = 2);
Array fold_in(const Operand& key, const Operand& data);
Array key_data(const Operand& key);
Array bits(const Operand& key, const Shape& shape = {});
Array uniform(const Operand& key, const Shape& shape = {}, double minval = 0., double maxval = 1.);
Array normal(const Operand& key, const Shape& shape = {});
/// The numbers below `n` in an order by chance.
Array permutation(const Operand& key, std::int64_t n);
Array bernoulli(const Operand& key, double p, const Shape& shape = {});

}  // namespace jaxscope::jax::random
