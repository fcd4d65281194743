// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace jaxscope::jax::detail {

/// All of a file. Throws Error{NotFound} where there is none, Error{BadInput} for what can't be read, such as a folder. `what` it should
/// have been: "a file of NumPy's".
std::string file_bytes(const std::string& path, const char* what);

}  // namespace jaxscope::jax::detail
