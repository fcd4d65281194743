// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "ir/program.h"
#include "jit/jit.h"

namespace jaxscope {

/// What one of filter_jit's ways to donate would do to a program's memory.
struct DonateModeRow {
    std::string mode;                             ///< "all", "all-except-first", "warn", "warn-except-first", "none"
    bool chosen = false;                          ///< is it what the program was captured with? A capture doesn't tell "warn" from "all".
    int donated = 0, reused = 0;                  ///< leaves
    std::int64_t saved_bytes = 0;                 ///< of the reused ones
    std::int64_t lost_bytes = 0;                  ///< donated, but no output takes them
    std::int64_t planned_peak = 0;                ///< of the program as captured, with these pairs
    std::vector<std::string> consumed_arguments;  ///< names of the arguments whose arrays are gone after the call
    std::string warning;                          ///< what JAX would print; empty: nothing, or Equinox keeps it back
};

/// The five ways, in Equinox's order. The first argument is number 0; the function object's own arrays go with the others.
std::vector<DonateModeRow> donate_modes(const Program& program, const JitOptions& options = {});

}  // namespace jaxscope
