// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace jaxscope {

/// What became of a BudgetFit once it was written into the user's sources and captured from there.
struct FitProof {
    std::string patch;    ///< a unified diff of the sources
    std::string problem;  ///< why it could not be written or captured; the figures are empty then
    std::optional<std::int64_t> planned_peak, residual_bytes, measured_peak;
    std::int64_t unplanned = 0;  ///< of measured_peak: what libraries took for themselves, which no plan knows
    std::string not_measured;    ///< why measured_peak is missing
    bool holds = false;          ///< planned_peak is within the budget
};

}  // namespace jaxscope
