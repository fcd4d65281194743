// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include <jaxscope/shape.h>

namespace jaxscope::jax::detail {

/// Does nobody know of it yet? JAX warns where it compiles, and compiles once.
bool is_news(std::string text);

/// On standard error, once for each place, as Python's filters do by default. `category`: "FutureWarning".
void warn(const char* category, const std::string& text, const Where& where);

}  // namespace jaxscope::jax::detail
