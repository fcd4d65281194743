// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

namespace jaxscope {

enum class Keep { Nothing, Newlines };
/// `text` with bytes that are no UTF-8, and control characters (but newlines and tabs of a text of several lines), as \xNN; cut to
/// `max_bytes` with "..." when longer. `printable` is this for what stands in one line.
std::string escaped(std::string_view text, Keep keep, std::size_t max_bytes = std::string_view::npos);
/// A name as it stands in a policy's text and in Python: in double quotes, with Python's escapes.
std::string quoted_name(std::string_view name);

}  // namespace jaxscope
