// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "ir/compiler_dump.h"

namespace jaxscope {

/// The texts of one compilation, where somebody finds them: files (of XLA's, of jax.export), "-" for standard input, folders of
/// xla_dump_to. `module` says which compilation of a folder, by a part of its name; `python` reads files of jax.export (empty:
/// JAXSCOPE_PYTHON, else python3). Throws Error{BadInput, BadUsage, NotFound, CannotRun, Cancelled}.
std::vector<CompilerDump> read_xla_texts(const std::vector<std::string>& paths, const std::string& module = {},
                                         const std::string& python = {});

/// Is it a file, or a folder, of what XLA writes? By its first bytes.
bool is_xla_text(const std::string& path);

}  // namespace jaxscope
