// SPDX-License-Identifier: Apache-2.0
#pragma once
// In which order einsum contracts three and more operands. In: the names of their dimensions, sizes. Out: pairs, as opt_einsum's 'auto'
// finds them, which JAX asks: the best order of up to four operands, likely ones of up to fourteen. Never here: what a contraction emits
// (einsum.cpp).
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace jaxscope::jax::detail {

struct EinsumStep {
    std::size_t x, y;  ///< positions of the operands, x < y: both go, the result comes last
    std::string out;   ///< names of the result
};
using SizesOfNames = std::array<std::int64_t, 128>;
std::vector<EinsumStep> einsum_path(std::vector<std::string> in, const std::string& out, const SizesOfNames& sizes);

}  // namespace jaxscope::jax::detail
