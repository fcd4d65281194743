// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "report/check/findings.h"

namespace jaxscope {

/// Findings name files as the capture does, relative to where it was made: from here on relative to the folder where this runs, as CI
/// systems read them. A file stands below `project`, or below this folder, under the path in the capture; of several the one whose text the
/// capture holds. Where that doesn't say which, it isn't guessed: the name stays, and a note says so. Lines of libraries are the capture's
/// findings.
void put_at_sources(std::vector<Finding>& findings, const Program& program, const std::string& project);

}  // namespace jaxscope
