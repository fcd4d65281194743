// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/correspondence.h"

namespace jaxscope {

/// What a residual takes where the program runs: of a program over several devices, on each of them.
inline std::int64_t held_bytes(const ResidualRow& row) { return row.device_bytes.value_or(row.bytes); }

/// What one line of the user's source holds. Bytes; of a program over several devices, on each of them.
struct LineCost {
    int line = 0;                       ///< from 1
    std::int64_t saved = 0;             ///< for the backward pass, by values that this line makes
    std::int64_t at_peak = 0;           ///< of what this line made, alive when memory is highest
    std::optional<ResidualId> largest;  ///< of the saved values
    std::optional<BufferId> most;       ///< the largest buffer at the peak
};

/// The lines of one file that hold something, by number.
struct FileCosts {
    std::string path;  ///< as in Program::files
    std::vector<LineCost> lines;
    std::int64_t saved = 0, at_peak = 0;
    const LineCost* at(int line) const;
};

/// Every file of the program's own, the one that holds most first; those that hold nothing last. Stages that aren't known count as nothing.
std::vector<FileCosts> line_costs(const Program& program, const KnownStages& stages);

/// The user's own line of what is picked: of a residual, of an equation in the program, of a buffer; nothing of arguments.
std::optional<std::pair<std::string, int>> own_line(const Program& program, const KnownStages& stages, const Picked& picked);

}  // namespace jaxscope
