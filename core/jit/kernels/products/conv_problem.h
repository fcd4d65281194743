// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "jit/kernels/products/conv_sides.h"

namespace jaxscope::exec {

/// conv_general_dilated as the matrix library knows it: a forward convolution, or the gradient of one by its data or its weights, in the
/// forms that JAX's transposition makes (dilation of the left operand; batch and feature swapped). All three sides keep JAX's memory.
struct ConvProblem {
    enum class Direction : std::uint8_t { Forward, Data, Weights } direction = Direction::Forward;
    ConvSide lhs, rhs, out;
    Dims strides, dilation, before, after;  ///< of the forward convolution
    std::int64_t groups = 1;
    /// Weights: the operands have changed places, `lhs` is the equation's right one, and the result runs backwards.
    bool swapped = false;

    /// Sizes and strides of what the library calls source, weights and destination. Data: the left operand is the destination, its result
    /// the source, its weights run backwards. Weights: the right operand is the destination, the result the weights.
    ConvSide source() const, weights() const, destination() const;
    /// The same of a left operand that has its padding, zeros, in memory: without gaps, features last. Not of Direction::Data.
    ConvProblem with_padded_operand() const;
    /// Part `i` of `n` of the work, cut where no sum is cut.
    std::vector<ConvProblem> cut(std::int64_t parts, bool single_images) const;
};

/// What the equation is to the library, one problem for each group of the batch; empty where it is none of the three.
std::vector<ConvProblem> conv_problems(const Op& op, const ConvKernel& k);

}  // namespace jaxscope::exec
