// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "ir/primitive.h"

namespace jaxscope {

/// How the parts of a result over which an operation sums (or takes the extremum) are put together.
enum class Combine : std::uint8_t { Whole, Sum, Max, Min };

/// How an application may be cut for devices: which dimensions of operands and results are one. Each such dimension is a *factor*, with a
/// number; a device that has a part of a factor computes that part alone. Factors of results are cut freely. A factor that no result has is
/// summed over: each device computes a part of the sum, and `combine` puts the parts together (Whole: it can't be cut).
struct PartitionRule {
    static constexpr int kWhole = -1;  ///< this dimension is needed, or made, as a whole
    std::vector<std::vector<int>> in, out;
    Combine combine = Combine::Whole;
    /// Per factor a size that its parts must divide, 0 for none: dimensions that come of reshaping don't cut anywhere.
    Dims divides = {};
    /// Parameters for the parts that a device has, from the shapes of its results; null: they stay.
    ParamsRef (*params)(const Op& op, const std::vector<Dims>& out) = nullptr;

    /// Result k depends on operand k alone: one axis may cut several of them, each by itself.
    bool apart = false;

    int new_factor(std::int64_t divided = 0) {
        divides.push_back(divided);
        return static_cast<int>(divides.size()) - 1;
    }
};

}  // namespace jaxscope
