// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "jit/plan/computation.h"

namespace llvm {
class Function;
class Module;
}  // namespace llvm

namespace jaxscope::exec {

/// Is what a turn of this scan, while or cond does so little that calling its steps one by one would cost a good part of it? Nothing
/// in it may be a routine's, unless that is a handful of instructions (written_calls.h): what routines allocate has their equation's name.
bool is_worth_one_function(const Computation& around, const Thunk& loop);

/// Adds to `module` a KernelFunction `name` that runs the loop, its steps written out in it: what a turn hands to the next, and one step
/// to another, stays in registers where it is small. Buffers are the loop's operands, its results, then constants_of_bodies;
/// `scratch` is the loop's, tasks are ignored. It returns early when what its thread does is to be stopped.
llvm::Function* emit_whole_loop(llvm::Module& module, const Computation& around, const Thunk& loop, const std::string& name, bool masks);

}  // namespace jaxscope::exec
