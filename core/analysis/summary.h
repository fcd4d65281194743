// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "analysis/stages/stages.h"

namespace jaxscope {

/// What is in a program: inputs, outputs, equations by primitive, regions, what jaxscope can't differentiate or run.
ProgramSummary summarize(const Program& program);

/// Equations by primitive name, a sub-jaxpr counted once for each equation that names it. Saturates at 2^63-1.
std::map<std::string, std::int64_t> count_primitives(const Jaxpr& jaxpr);

/// Constants of the program and its sub-jaxprs that have no values: a run puts zeros in their place.
std::vector<MadeUpConstant> made_up_constants(const Jaxpr& program);

}  // namespace jaxscope
