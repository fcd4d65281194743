// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "ir/primitive.h"
#include "ir/value.h"

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

    /// A device's part, where factors that are summed over, or `placed`, are cut and the operation itself doesn't give it.
    struct Part {
        const Op& op;                 ///< the whole
        const Values& in;             ///< what the device has of the operands
        ParamsRef params;             ///< for these
        AvalRef out;                  ///< of its part of the result
        std::optional<Value> of_sum;  ///< which part of what is summed over it has: a scalar; none: all of it
        std::optional<Value> place;   ///< the same of `placed`
    };
    /// Null: the operation itself. With it, factors that are summed over are cut where that sends less than to gather operands.
    Value (*part)(Builder& b, const Part& part) = nullptr;
    /// A factor of results that is cut by `part` alone: it has to know which part of it the device has.
    int placed = kWhole;

    /// Result k depends on operand k alone: one axis may cut several of them, each by itself.
    bool apart = false;

    int new_factor(std::int64_t divided = 0) {
        divides.push_back(divided);
        return static_cast<int>(divides.size()) - 1;
    }
};

}  // namespace jaxscope
