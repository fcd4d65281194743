// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "jit/graph/kernel.h"

namespace llvm {
class Function;
class Module;
}  // namespace llvm

namespace jaxscope::exec {

/// Adds to `module` the function `void name(i8** buffers, i64 begin, i64 end, i8* scratch)` that runs tasks [begin, end) of a kernel
/// (Kernel::tasks): buffers are the externs, then the stores; `scratch` is Kernel::scratch_bytes of this thread's own memory.
/// `masks`: the processor reads and writes parts of its vectors (any type of element) as fast as whole ones.
/// `all`: it is called for all tasks at once, and its loops are made for that; what is small is written out.
/// Inner loops are single blocks without calls or branches wherever the equations allow it, and marked free of dependences.
llvm::Function* emit_kernel(llvm::Module& module, const Kernel& kernel, const std::string& name, bool masks, bool all = false);

}  // namespace jaxscope::exec
