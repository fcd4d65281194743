// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "analysis/inspection.h"

namespace jaxscope {

/// In which pass of the step its planned peak stands.
enum class Phase : std::uint8_t { Unknown, Forward, Backward, Recomputed, Update };

/// What name stacks say of the step that stands there, those of the calls around it included; where they say nothing of it (a checkpoint's
/// own equations, an update), what they say of the steps before and behind it.
Phase phase_at_peak(const Inspection& inspection);
/// "in the forward pass"; empty: unknown.
std::string words(Phase phase);

}  // namespace jaxscope
