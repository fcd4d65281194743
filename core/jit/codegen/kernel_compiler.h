// SPDX-License-Identifier: Apache-2.0
#pragma once
// Floor `jit/codegen`: the only place with LLVM. Comes in: fused kernels and small loops of them. Goes out: functions on plain
// pointers. Never here: which kernel runs when or on what memory, and LLVM's types in a header that other floors include.
#include <cstdint>
#include <memory>
#include <vector>

#include "jit/plan/computation.h"

namespace jaxscope::exec {

/// A kernel, or a loop that is one function with all that is in it (whole_loop.h).
struct CodeWish {
    std::shared_ptr<const Kernel> kernel;
    const Thunk* loop = nullptr;
    const Computation* around = nullptr;  ///< of the loop
};
/// Machine code, in the order of the wishes. Equal kernels are compiled once in the life of the process; the rest on `threads`
/// threads. Throws Error{Cancelled}, or what a lowering rule throws.
std::vector<KernelFunction> compile_code(const std::vector<CodeWish>& wishes, int threads);

/// Compiles and loads a kernel that nobody runs, past the cache on disk: LLVM's start, and pages of its library that are read for the first
/// time, are half of what the first kernel of a process waits for. Once in a process.
void rehearse_compilation(std::shared_ptr<const Kernel> kernel);

}  // namespace jaxscope::exec
