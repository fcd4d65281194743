// SPDX-License-Identifier: Apache-2.0
#include "jit/codegen/machine_code.h"

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include <llvm/Analysis/BasicAliasAnalysis.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar.h>
#include <llvm/Transforms/Scalar/DeadStoreElimination.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/GVN.h>
#include <llvm/Transforms/Scalar/IndVarSimplify.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopDeletion.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/LoopStrengthReduce.h>
#include <llvm/Transforms/Scalar/LoopUnrollPass.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimpleLoopUnswitch.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/InjectTLIMappings.h>
#include <llvm/Transforms/Vectorize/LoopVectorize.h>

#include "base/cancel.h"
#include "jit/codegen/half_floats.h"
#include "jit/codegen/host.h"
#include "jit/codegen/vector_library.h"

namespace jaxscope::exec {

namespace {

std::unique_ptr<llvm::LLVMTargetMachine> new_target_machine() {
    llvm::TargetOptions options;
    options.AllowFPOpFusion = llvm::FPOpFusion::Fast;  // multiply-add, as XLA's CPU compiler does
    // Every target that makes object files has an LLVMTargetMachine.
    return std::unique_ptr<llvm::LLVMTargetMachine>(static_cast<llvm::LLVMTargetMachine*>(host().target->createTargetMachine(
        host().triple, host().cpu, host().features, options, llvm::Reloc::PIC_, {}, llvm::CodeGenOpt::Default, true)));
}

/// Target machines that nobody works with: what they know of the processor takes them a millisecond, once for each.
struct IdleMachines {
    std::mutex mutex;
    std::vector<std::unique_ptr<llvm::LLVMTargetMachine>> all;
    static IdleMachines& get() {
        static auto& machines = *new IdleMachines;  // compilations may go on while the process ends
        return machines;
    }
};

}  // namespace

TargetMachineLease::TargetMachineLease() {
    IdleMachines& idle = IdleMachines::get();
    {
        const std::lock_guard lock(idle.mutex);
        if (!idle.all.empty()) {
            machine_ = std::move(idle.all.back());
            idle.all.pop_back();
        }
    }
    if (!machine_) machine_ = new_target_machine();
}
TargetMachineLease::~TargetMachineLease() {
    IdleMachines& idle = IdleMachines::get();
    const std::lock_guard lock(idle.mutex);
    idle.all.push_back(std::move(machine_));
}

namespace {

/// Does a loop work out where it reads or writes with more than additions? Then steps from one turn to the next are cheaper.
bool computes_addresses(const llvm::Loop& loop) {
    for (const llvm::BasicBlock* block : loop.blocks())
        for (const llvm::Instruction& i : *block) {
            const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
            if (call &&
                (call->getIntrinsicID() == llvm::Intrinsic::masked_gather || call->getIntrinsicID() == llvm::Intrinsic::masked_scatter))
                return true;
            if (!i.getType()->isIntegerTy(64)) continue;
            const unsigned code = i.getOpcode();
            if (code == llvm::Instruction::Mul || code == llvm::Instruction::Shl || i.isIntDivRem()) return true;
        }
    return false;
}

/// Loop strength reduction takes a quarter of all that code generation takes, and finds nothing in loops of vectors side by side.
struct StrengthReduction : llvm::PassInfoMixin<StrengthReduction> {
    static llvm::PreservedAnalyses run(llvm::Function& f, llvm::FunctionAnalysisManager& analyses) {
        const auto loops = analyses.getResult<llvm::LoopAnalysis>(f).getLoopsInPreorder();
        if (std::none_of(loops.begin(), loops.end(), [](const llvm::Loop* l) { return l->isInnermost() && computes_addresses(*l); }))
            return llvm::PreservedAnalyses::all();
        return llvm::createFunctionToLoopPassAdaptor(llvm::LoopStrengthReducePass()).run(f, analyses);
    }
};

/// counter % 64 is the counter's lowest bits, of which LLVM would make places side by side wherever they don't begin anew, asks before the
/// loop whether they do, finds that they always do, and runs a number at a time. Frozen, they are places that it knows nothing of, and
/// gathers. Of a short body that costs as much as what it saves.
struct RemaindersBeginAnew : llvm::PassInfoMixin<RemaindersBeginAnew> {
    static llvm::PreservedAnalyses run(llvm::Function& f, llvm::FunctionAnalysisManager& analyses) {
        const auto& loops = analyses.getResult<llvm::LoopAnalysis>(f);
        auto& evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(f);
        std::vector<llvm::Instruction*> remainders;
        for (llvm::BasicBlock& block : f) {
            constexpr std::size_t kLongBody = 48;  // instructions
            if (loops.getLoopFor(&block) == nullptr || block.size() < kLongBody) continue;
            for (llvm::Instruction& i : block) {
                if (i.getOpcode() != llvm::Instruction::And || !llvm::isa<llvm::ConstantInt>(i.getOperand(1))) continue;
                const auto* extended = llvm::dyn_cast<llvm::SCEVZeroExtendExpr>(evolution.getSCEV(&i));
                if (extended && llvm::isa<llvm::SCEVAddRecExpr>(extended->getOperand())) remainders.push_back(&i);
            }
        }
        for (llvm::Instruction* i : remainders) i->setOperand(0, new llvm::FreezeInst(i->getOperand(0), "", i));
        if (remainders.empty()) return llvm::PreservedAnalyses::all();
        llvm::PreservedAnalyses blocks;
        blocks.preserveSet<llvm::CFGAnalyses>();
        return blocks;
    }
};

struct HalfCallsLowered : llvm::PassInfoMixin<HalfCallsLowered> {
    static llvm::PreservedAnalyses run(llvm::Function& f, llvm::FunctionAnalysisManager&) {
        if (!lower_half_calls(f)) return llvm::PreservedAnalyses::all();
        llvm::PreservedAnalyses blocks;
        blocks.preserveSet<llvm::CFGAnalyses>();
        return blocks;
    }
};

/// Those of O2's passes that find something to do in a function that calls nothing and whose loops turn at their end: kernels are made
/// like that. Measured over 100 programs: as fast as what all of O2 makes, in three fifths of its time.
llvm::FunctionPassManager passes_of_a_kernel(bool loops) {
    llvm::FunctionPassManager out;
    if (loops) out.addPass(llvm::SROAPass());
    out.addPass(llvm::EarlyCSEPass(true));
    out.addPass(llvm::InstCombinePass());
    out.addPass(llvm::SimplifyCFGPass());
    llvm::LoopPassManager hoisting, turns;  // the second keep no account of memory, which the first need
    hoisting.addPass(llvm::LICMPass());
    hoisting.addPass(llvm::SimpleLoopUnswitchPass());
    out.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(hoisting), true));
    turns.addPass(llvm::IndVarSimplifyPass());
    turns.addPass(llvm::LoopDeletionPass());
    turns.addPass(llvm::LoopFullUnrollPass(2));
    out.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(turns)));
    if (loops) {  // what was read and written turn by turn has a fixed place now
        out.addPass(llvm::SROAPass());
        out.addPass(llvm::InstCombinePass());
        out.addPass(llvm::SimplifyCFGPass());
    }
    out.addPass(llvm::GVNPass());
    out.addPass(llvm::DSEPass());
    out.addPass(llvm::InstCombinePass());
    out.addPass(llvm::InjectTLIMappings());  // which functions have vector versions
    out.addPass(RemaindersBeginAnew());
    out.addPass(llvm::LoopVectorizePass());
    out.addPass(llvm::InstCombinePass());
    out.addPass(llvm::SimplifyCFGPass());
    out.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(), true));
    out.addPass(llvm::EarlyCSEPass());
    out.addPass(HalfCallsLowered());
    out.addPass(StrengthReduction());
    return out;
}

void optimise(llvm::Module& module, llvm::TargetMachine& machine, bool loops_of_kernels) {
    llvm::LoopAnalysisManager loops;
    llvm::FunctionAnalysisManager functions;
    llvm::CGSCCAnalysisManager groups;
    llvm::ModuleAnalysisManager modules;
    llvm::PassBuilder passes(&machine);
    llvm::TargetLibraryInfoImpl library{llvm::Triple(module.getTargetTriple())};
    std::vector<llvm::VecDesc> vector_versions;
    for (const VectorFunction& f : vector_functions()) vector_versions.push_back({f.scalar, f.name, llvm::ElementCount::getFixed(f.lanes)});
    library.addVectorizableFunctions(vector_versions);
    library.addVectorizableFunctions(llvm::ArrayRef(half_calls().data(), half_calls().size()));
    functions.registerPass([&] { return llvm::TargetLibraryAnalysis(library); });
    passes.registerModuleAnalyses(modules);
    passes.registerCGSCCAnalyses(groups);
    passes.registerFunctionAnalyses(functions);
    passes.registerLoopAnalyses(loops);
    passes.crossRegisterProxies(loops, functions, groups, modules);
    llvm::ModulePassManager all;
    if (loops_of_kernels) all.addPass(llvm::AlwaysInlinerPass(false));
    all.addPass(llvm::createModuleToFunctionPassAdaptor(passes_of_a_kernel(loops_of_kernels)));
    all.run(module, modules);
}

/// As TargetMachine::addPassesToEmitFile, but
///   of the passes over IR those that kernels need: no strength reduction (see above), nothing for libraries' and collectors' calls;
///   without the second ordering of instructions, after registers are given out: out-of-order processors gain nothing of it, and its
///   time grows with the square of a block's length (seconds for one of 14,000 instructions).
void emit_object(llvm::Module& module, llvm::LLVMTargetMachine& machine, llvm::raw_pwrite_stream& out) {
    llvm::legacy::PassManager passes;
    auto* info = new llvm::MachineModuleInfoWrapperPass(&machine);  // NOLINT: the manager owns its passes
    llvm::TargetPassConfig* config = machine.createPassConfig(passes);
    config->disablePass(&llvm::PostRASchedulerID);
    config->setDisableVerify(true);
    passes.add(config);
    passes.add(info);
    passes.add(llvm::createTargetTransformInfoWrapperPass(machine.getTargetIRAnalysis()));
    passes.add(llvm::createBasicAAWrapperPass());
    passes.add(llvm::createInterleavedAccessPass());
    passes.add(llvm::createScalarizeMaskedMemIntrinLegacyPass());
    passes.add(llvm::createExpandReductionsPass());
    config->addCodeGenPrepare();
    config->addISelPrepare();
    const bool refused = config->addInstSelector();
    if (!refused) {
        passes.add(llvm::Pass::createPass(&llvm::FinalizeISelID));
        config->addMachinePasses();
        config->setInitialized();
    }
    if (refused || machine.addAsmPrinter(passes, out, nullptr, llvm::CGFT_ObjectFile, info->getMMI().getContext()))
        throw std::runtime_error("code generation: no object files on this target");
    passes.add(llvm::createFreeMachineFunctionPass());
    passes.run(module);
}

}  // namespace

std::unique_ptr<llvm::MemoryBuffer> machine_code(llvm::Module& module, llvm::LLVMTargetMachine& machine, bool loops) {
    std::string problem;
    llvm::raw_string_ostream text(problem);
    if (llvm::verifyModule(module, &text)) throw std::runtime_error("code generation: " + text.str());
    check_cancelled();
    optimise(module, machine, loops);
    check_cancelled();
    llvm::SmallVector<char, 0> bytes;
    llvm::raw_svector_ostream stream(bytes);
    emit_object(module, machine, stream);
    return std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(bytes), "kernels");
}

}  // namespace jaxscope::exec
