// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace jaxscope {

/// JSON has no zero bytes, and its parser takes the first one for the end: throws Error{BadInput} where `chunk`, with `before` bytes in
/// front of it in the file `name`, has one.
void refuse_zero_bytes(std::string_view chunk, std::int64_t before, const std::string& name);

}  // namespace jaxscope
