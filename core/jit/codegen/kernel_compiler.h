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

/// Compiles and loads a kernel that nobody runs, past the cache on disk: LLVM's start, and pages of its library that are read for the first
/// time, are half of what the first kernel of a process waits for. Once in a process.
void rehearse_compilation(const Kernel& kernel);

}  // namespace jaxscope::exec
