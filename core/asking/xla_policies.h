// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "analysis/inspection.h"
#include "asking/ask_xla.h"

namespace jaxscope {

/// Puts XLA's word beside the rows of `inspection.policies(given, ...)`: each row's step, derived under its policy, is compiled for the
/// question's targets as it would be planned (its donations included). A row that can't be derived or rebuilt says why, the others go on.
void ask_xla_of_policies(const Inspection& inspection, const std::vector<Choices>& given, const XlaQuestion& question,
                         std::vector<PolicyRow>& rows);

}  // namespace jaxscope
