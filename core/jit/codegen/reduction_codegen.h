// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "jit/codegen/element_codegen.h"

namespace jaxscope::exec {

/// What a kernel's reductions hold while they go over their elements: one accumulator, two for complex numbers.
class ReductionCodegen {
public:
    ReductionCodegen(ElementCodegen& code, const Kernel& kernel) : code_(code), ops_(code.ops()), k_(kernel) {}

    std::vector<llvm::Value*> start(std::uint32_t node);
    /// With the element at the current row and column.
    std::vector<llvm::Value*> add_element(std::uint32_t node, const std::vector<llvm::Value*>& acc);
    /// Accumulators of a block of columns in memory, part by part: those of the column at `position` in it.
    void write(llvm::Value* block, llvm::Value* position, const std::vector<llvm::Value*>& acc);
    std::vector<llvm::Value*> read(std::uint32_t node, llvm::Value* block, llvm::Value* position);
    Number result(std::uint32_t node, const std::vector<llvm::Value*>& acc);

private:
    llvm::Value* address(llvm::Value* block, llvm::Value* position, llvm::Type* t, std::size_t part);

    ElementCodegen& code_;
    ScalarOps& ops_;
    const Kernel& k_;
};

}  // namespace jaxscope::exec
