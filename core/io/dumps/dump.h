// SPDX-License-Identifier: Apache-2.0
#pragma once
// Floor `io/dumps`: texts that XLA writes. Comes in: their characters. Goes out: what they say, as a CompilerDump. Never here: a program to
// hold them against.
#include <optional>
#include <string>
#include <string_view>

#include "ir/compiler_dump.h"

namespace jaxscope {

/// Which of XLA's texts begins, or contains, what stands here; nothing for any other text.
std::optional<DumpKind> dump_kind(std::string_view text);

/// Reads one of XLA's texts; `file` is for messages. Lines of a log around it are left out. Throws Error{BadInput} with a line where it is
/// none of them, or breaks off.
CompilerDump read_dump(std::string_view text, const std::string& file);

}  // namespace jaxscope
