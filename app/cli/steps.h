// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "ir/program.h"

namespace jaxscope::cli {

/// The program after the given steps of `transform --apply`, left to right (command-line.md has the list).
/// Throws Error{BadUsage} for a step that isn't one, and whatever the transformation refuses.
ProgramPtr apply_steps(const Program& program, const std::vector<std::string>& steps);

/// For the help of --apply.
const char* step_help();

}  // namespace jaxscope::cli
