// SPDX-License-Identifier: Apache-2.0
#pragma once
// LLVM stays inside the code generator: include this from codegen files only.
#include <vector>

#include "jit/codegen/scalar_ops.h"
#include "jit/graph/graph.h"

namespace jaxscope::exec {

/// Is what a routine does a handful of instructions here? Small products of floats, places of extremes in short lines, one window that is
/// written into an array (scatter, dynamic_update_slice).
bool can_be_written_out(const Node& call);
/// Emits those. Operands and results are pointers.
void write_out_call(llvm::IRBuilder<>& builder, const Node& call, const std::vector<llvm::Value*>& in,
                    const std::vector<llvm::Value*>& out);

}  // namespace jaxscope::exec
