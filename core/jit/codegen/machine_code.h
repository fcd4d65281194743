// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

namespace llvm {
class LLVMTargetMachine;
class MemoryBuffer;
class Module;
}  // namespace llvm

namespace jaxscope::exec {

/// A target machine for one thread's use.
class TargetMachineLease {
public:
    TargetMachineLease();
    ~TargetMachineLease();
    TargetMachineLease(const TargetMachineLease&) = delete;
    TargetMachineLease& operator=(const TargetMachineLease&) = delete;
    llvm::LLVMTargetMachine& operator*() const { return *machine_; }

private:
    std::unique_ptr<llvm::LLVMTargetMachine> machine_;
};

/// An object file for this processor of a module of kernels, which it optimises. `loops`: there are functions among them that call
/// kernels and have memory of their own (whole_loop.h). Throws Error{Cancelled}.
std::unique_ptr<llvm::MemoryBuffer> machine_code(llvm::Module& module, llvm::LLVMTargetMachine& machine, bool loops = false);

}  // namespace jaxscope::exec
