// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "analysis/inspection.h"
#include "picture/opened_groups.h"

namespace jaxscope {

/// The picture of the program or of the split (`what`: "program", "split") as a Graphviz file: groups are clusters, residuals are bold
/// lines between the halves. Throws Error{BadUsage} for another `what`.
std::string inspection_dot(const Inspection& inspection, const std::string& what, Depth depth = {});

}  // namespace jaxscope
