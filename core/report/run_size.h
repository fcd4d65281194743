// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "analysis/inspection.h"

namespace jaxscope {

/// Why a report shouldn't run the program without being asked: it and its policies would take minutes here, or most of this machine's
/// memory. Empty: it may. The time is a guess from the work, at a rate that a laptop's cores reach.
std::string why_not_run(const Inspection& inspection, int repeat);

}  // namespace jaxscope
