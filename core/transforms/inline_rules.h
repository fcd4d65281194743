// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "ir/program.h"

namespace jaxscope {

/// The program with the bodies of some custom_jvp and custom_vjp functions in place of their calls, wherever they stand (regions and
/// nested jaxprs too): autodiff then differentiates the body. For programs whose rules are not there, as in pasted text.
///
/// `names`   of the functions, as `print` shows them
/// Throws    Error{NotFound} that lists the functions there are, for a name that is none of them.
ProgramPtr inline_rules(const Program& program, const std::vector<std::string>& names);

}  // namespace jaxscope
