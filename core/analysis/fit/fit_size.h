// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/inspection.h"

namespace jaxscope {

/// One program for several sizes of an axis.
struct SizedProgram {
    std::int64_t captured = 0;                                      ///< the size that it has
    std::int64_t multiple = 1;                                      ///< sizes to try are multiples of it
    std::function<void(const std::vector<std::int64_t>&)> prepare;  ///< these sizes are asked for next
    std::function<ProgramPtr(std::int64_t)> program;                ///< throws Error for sizes that the program can't have
};

/// The largest size that fits under one policy.
struct SizeRow {
    std::string policy;                                 ///< as in the table of policies
    std::optional<Placement> around;                    ///< where its checkpoints stand, as there
    std::optional<std::int64_t> largest, planned_peak;  ///< null: no size that was tried fits; `problem` says so
    std::optional<std::int64_t> next, next_peak;        ///< the next size, which was planned and doesn't fit
    std::string problem;                                ///< why a figure is missing
};
struct SizeFit {
    std::int64_t budget = 0, captured = 0, multiple = 1;
    std::vector<SizeRow> rows;  ///< as it is, then under each policy
    std::int64_t tried = 0;     ///< (size, policy) pairs that were derived and planned
};

/// For the program as it is and under each policy (Inspection::policy_choices) the largest size whose planned peak is at most `budget`,
/// with the next size, which doesn't fit: peaks grow with the size, so these two settle it. Sizes between them and further out are not
/// tried. Throws Error{Cancelled}, and what planning the program for the size that it has throws.
SizeFit fit_sizes(const SizedProgram& program, const Choices& base, const std::vector<Choices>& given, std::int64_t budget);

}  // namespace jaxscope
