// SPDX-License-Identifier: Apache-2.0
#pragma once
// Floor `jit/codegen`: the only place with LLVM. Comes in: fused kernels. Goes out: functions on plain pointers. Never here: which
// kernel runs when or on what memory, and LLVM's types in a header that other floors include.
#include <cstdint>
#include <memory>
#include <vector>

#include "jit/graph/kernel.h"

namespace jaxscope::exec {

using KernelFunction = void (*)(void** buffers, std::int64_t begin, std::int64_t end, void* scratch);

/// Machine code for kernels, in their order. Equal kernels are compiled once in the life of the process; the rest on `threads`
/// threads. Throws Error{Cancelled}, or what a lowering rule throws.
std::vector<KernelFunction> compile_kernels(const std::vector<std::shared_ptr<const Kernel>>& kernels, int threads);

}  // namespace jaxscope::exec
