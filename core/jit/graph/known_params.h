// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "ir/primitive.h"

namespace jaxscope {

/// Throws Error{BadInput} where an equation has a parameter that none of its primitive's rules knows: to compute as if it weren't there
/// would be to guess. A rule knows what its struct of parameters lists, what it asks for by name, and what its text hides or respells.
void refuse_unknown_params(const Op& op);

}  // namespace jaxscope
