// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace jaxscope::jax::detail {

/// How one line became another, as Python's difflib.ndiff marks it: both lines and, where they are alike, signs below what changed.
std::string line_difference(const std::string& a, const std::string& b);

}  // namespace jaxscope::jax::detail
