// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace llvm {
class Target;
}  // namespace llvm

namespace jaxscope::exec {

/// This processor, as LLVM knows it.
struct Host {
    std::string triple, cpu;
    std::string features;  ///< those that its `cpu` hasn't by itself, and those that it hasn't in spite of it
    const llvm::Target* target = nullptr;
    bool masks = false;   ///< see emit_kernel
    bool halves = false;  ///< converts float16 by instructions
};
const Host& host();

}  // namespace jaxscope::exec
