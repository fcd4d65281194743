// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

namespace jaxscope {

/// Gives back what loading a shared library left resident of its file: code, symbols, relocations that were read once. What is needed of it
/// later is mapped again from the system's cache.
/// `name`: what its file's name begins with, e.g. "libLLVM".
void give_back_pages_of(std::string_view name);

}  // namespace jaxscope
