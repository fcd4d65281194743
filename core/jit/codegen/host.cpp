// SPDX-License-Identifier: Apache-2.0
#include "jit/codegen/host.h"

#include <memory>
#include <stdexcept>

#include <llvm/ADT/StringMap.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/Host.h>
#include <llvm/Support/TargetSelect.h>

namespace jaxscope::exec {

const Host& host() {
    static const Host h = [] {
        llvm::InitializeNativeTarget();
        llvm::InitializeNativeTargetAsmPrinter();
        Host out;
        out.triple = llvm::sys::getProcessTriple();
        out.cpu = llvm::sys::getHostCPUName().str();
        std::string error;
        out.target = llvm::TargetRegistry::lookupTarget(out.triple, error);
        if (!out.target) throw std::runtime_error("code generation: " + error);
        llvm::StringMap<bool> features;
        llvm::sys::getHostCPUFeatures(features);
        const std::unique_ptr<const llvm::MCSubtargetInfo> usual(out.target->createMCSubtargetInfo(out.triple, out.cpu, ""));
        for (const auto& f : features)
            if (usual->checkFeatures("+" + f.first().str()) != f.second)
                out.features += (out.features.empty() ? "" : ",") + std::string(f.second ? "+" : "-") + f.first().str();
        out.masks = features.lookup("avx512bw") && features.lookup("avx512vl");
        out.halves = features.lookup("f16c");
        return out;
    }();
    return h;
}

}  // namespace jaxscope::exec
