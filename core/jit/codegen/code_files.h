// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>

#include "jit/code_cache.h"

namespace llvm {
class MemoryBuffer;
}

namespace jaxscope::exec {

/// The object file of that content (a hash in hexadecimal), or null: there is no cache, it isn't there, or isn't whole.
std::unique_ptr<llvm::MemoryBuffer> read_code(const std::string& content);
/// Keeps it, if there is a cache. What goes wrong is no error: the code is compiled again next time.
void write_code(const std::string& content, const llvm::MemoryBuffer& object);

}  // namespace jaxscope::exec
