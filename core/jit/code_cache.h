// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace jaxscope {

/// Compiled code that outlives the process: files in `folder`, found by the content of what was compiled, for this processor and this
/// compiler. Empty: none (the default: a library writes into nobody's home). Several processes may use one folder at a time. It is held to
/// 256 MiB, the code used longest ago goes first. Code that isn't what was written is compiled anew; a folder that others may write into
/// isn't used. Affects what is compiled from then on.
void use_code_cache(const std::string& folder);

/// Where it belongs by the XDG rules: $XDG_CACHE_HOME/jaxscope/code, else ~/.cache/jaxscope/code; empty when neither is known.
std::string usual_code_cache();

/// Since the process began: objects that were found on the disk, and that were compiled.
struct CodeCacheUse {
    int found = 0, compiled = 0;
};
CodeCacheUse code_cache_use();

}  // namespace jaxscope
