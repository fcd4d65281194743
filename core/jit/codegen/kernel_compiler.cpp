// SPDX-License-Identifier: Apache-2.0
#include "jit/codegen/kernel_compiler.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include <llvm/ADT/StringExtras.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/Host.h>
#include <llvm/Support/SHA1.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/DeadStoreElimination.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/GVN.h>
#include <llvm/Transforms/Scalar/IndVarSimplify.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopDeletion.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/LoopUnrollPass.h>
#include <llvm/Transforms/Scalar/SimpleLoopUnswitch.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/InjectTLIMappings.h>
#include <llvm/Transforms/Vectorize/LoopVectorize.h>

#include "base/cancel.h"
#include "jit/codegen/code_files.h"
#include "jit/codegen/loop_codegen.h"
#include "jit/codegen/runtime_math.h"
#include "jit/codegen/vector_library.h"

namespace jaxscope::exec {

namespace {

template <class T>
T expect(llvm::Expected<T> v) {
    if (!v) throw std::runtime_error("code generation: " + llvm::toString(v.takeError()));
    return std::move(*v);
}
void expect(llvm::Error e) {
    if (e) throw std::runtime_error("code generation: " + llvm::toString(std::move(e)));
}

struct Host {
    std::string triple, cpu, features;
    const llvm::Target* target = nullptr;
    bool masks = false;  ///< see emit_kernel
};
const Host& host() {
    static const Host h = [] {
        llvm::InitializeNativeTarget();
        llvm::InitializeNativeTargetAsmPrinter();
        Host out;
        out.triple = llvm::sys::getProcessTriple();
        out.cpu = llvm::sys::getHostCPUName().str();
        llvm::StringMap<bool> features;
        llvm::sys::getHostCPUFeatures(features);
        for (const auto& f : features)
            out.features += (out.features.empty() ? "" : ",") + std::string(f.second ? "+" : "-") + f.first().str();
        out.masks = features.lookup("avx512bw") && features.lookup("avx512vl");
        std::string error;
        out.target = llvm::TargetRegistry::lookupTarget(out.triple, error);
        if (!out.target) throw std::runtime_error("code generation: " + error);
        return out;
    }();
    return h;
}
std::unique_ptr<llvm::LLVMTargetMachine> target_machine() {
    llvm::TargetOptions options;
    options.AllowFPOpFusion = llvm::FPOpFusion::Fast;  // multiply-add, as XLA's CPU compiler does
    // Every target that makes object files has an LLVMTargetMachine.
    return std::unique_ptr<llvm::LLVMTargetMachine>(static_cast<llvm::LLVMTargetMachine*>(host().target->createTargetMachine(
        host().triple, host().cpu, host().features, options, llvm::Reloc::PIC_, {}, llvm::CodeGenOpt::Default, true)));
}

/// Those of O2's passes that find something to do in a function that calls nothing and whose loops turn at their end: kernels are made
/// like that. Measured over 100 programs: as fast as what all of O2 makes, in three fifths of its time.
llvm::FunctionPassManager passes_of_a_kernel() {
    llvm::FunctionPassManager out;
    out.addPass(llvm::EarlyCSEPass(true));
    out.addPass(llvm::InstCombinePass());
    out.addPass(llvm::SimplifyCFGPass());
    llvm::LoopPassManager hoisting, loops;  // the second keep no account of memory, which the first need
    hoisting.addPass(llvm::LICMPass());
    hoisting.addPass(llvm::SimpleLoopUnswitchPass());
    out.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(hoisting), true));
    loops.addPass(llvm::IndVarSimplifyPass());
    loops.addPass(llvm::LoopDeletionPass());
    loops.addPass(llvm::LoopFullUnrollPass(2));
    out.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(loops)));
    out.addPass(llvm::GVNPass());
    out.addPass(llvm::DSEPass());
    out.addPass(llvm::InstCombinePass());
    out.addPass(llvm::InjectTLIMappings());  // which functions have vector versions
    out.addPass(llvm::LoopVectorizePass());
    out.addPass(llvm::InstCombinePass());
    out.addPass(llvm::SimplifyCFGPass());
    out.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(), true));
    out.addPass(llvm::EarlyCSEPass());
    return out;
}

void optimise(llvm::Module& module, llvm::TargetMachine& machine) {
    llvm::LoopAnalysisManager loops;
    llvm::FunctionAnalysisManager functions;
    llvm::CGSCCAnalysisManager groups;
    llvm::ModuleAnalysisManager modules;
    llvm::PassBuilder passes(&machine);
    llvm::TargetLibraryInfoImpl library{llvm::Triple(module.getTargetTriple())};
    std::vector<llvm::VecDesc> vector_versions;
    for (const VectorFunction& f : vector_functions()) vector_versions.push_back({f.scalar, f.name, llvm::ElementCount::getFixed(f.lanes)});
    library.addVectorizableFunctions(vector_versions);
    functions.registerPass([&] { return llvm::TargetLibraryAnalysis(library); });
    passes.registerModuleAnalyses(modules);
    passes.registerCGSCCAnalyses(groups);
    passes.registerFunctionAnalyses(functions);
    passes.registerLoopAnalyses(loops);
    passes.crossRegisterProxies(loops, functions, groups, modules);
    llvm::ModulePassManager all;
    all.addPass(llvm::createModuleToFunctionPassAdaptor(passes_of_a_kernel()));
    all.run(module, modules);
}

/// A loop that can't be vectorised is slow, not wrong: no message about it.
struct Quiet final : llvm::DiagnosticHandler {
    bool handleDiagnostics(const llvm::DiagnosticInfo&) override { return true; }
};

struct Job {
    std::shared_ptr<const Kernel> kernel;
    std::vector<std::uint64_t> key;
};

/// One object file with the kernels of a few jobs.
struct Batch {
    std::vector<Job> jobs;
    std::string content;                         ///< a hash of the code before it is optimised, the processor and the compiler
    std::unique_ptr<llvm::MemoryBuffer> object;  ///< null: it is loaded already
    std::string symbol(std::size_t job) const { return "kernel_" + content + "_" + std::to_string(job); }
};

/// What is compiled, and for what: equal hashes, equal machine code.
std::string content_of(const llvm::Module& module) {
    llvm::SmallVector<char, 0> bytes;
    llvm::raw_svector_ostream stream(bytes);
    stream << "3 " << vector_functions().size() << ' ' << LLVM_VERSION_STRING << ' ' << host().triple << ' ' << host().cpu << ' '
           << host().features << '\n';
    llvm::WriteBitcodeToFile(module, stream);
    const auto hash = llvm::SHA1::hash(llvm::ArrayRef<std::uint8_t>(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()));
    return llvm::toHex(hash, true);
}

/// As TargetMachine::addPassesToEmitFile, without the second ordering of instructions, after registers are given out: out-of-order
/// processors gain nothing of it, and its time grows with the square of a block's length (seconds for one of 14,000 instructions).
void emit_object(llvm::Module& module, llvm::LLVMTargetMachine& machine, llvm::raw_pwrite_stream& out) {
    llvm::legacy::PassManager passes;
    auto* info = new llvm::MachineModuleInfoWrapperPass(&machine);  // NOLINT: the manager owns its passes
    llvm::TargetPassConfig* config = machine.createPassConfig(passes);
    config->disablePass(&llvm::PostRASchedulerID);
    config->setDisableVerify(true);
    passes.add(config);
    passes.add(info);
    const bool refused = config->addISelPasses();
    if (!refused) {
        config->addMachinePasses();
        config->setInitialized();
    }
    if (refused || machine.addAsmPrinter(passes, out, nullptr, llvm::CGFT_ObjectFile, info->getMMI().getContext()))
        throw std::runtime_error("code generation: no object files on this target");
    passes.add(llvm::createFreeMachineFunctionPass());
    passes.run(module);
}

std::unique_ptr<llvm::MemoryBuffer> machine_code(llvm::Module& module, llvm::LLVMTargetMachine& machine) {
    std::string problem;
    llvm::raw_string_ostream text(problem);
    if (llvm::verifyModule(module, &text)) throw std::runtime_error("code generation: " + text.str());
    check_cancelled();
    optimise(module, machine);
    llvm::SmallVector<char, 0> bytes;
    llvm::raw_svector_ostream stream(bytes);
    emit_object(module, machine, stream);
    return std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(bytes), "kernels");
}

/// `loaded` says of a content whether this process has it.
template <class Loaded>
void compile_object(Batch& batch, const Loaded& loaded) {
    const std::unique_ptr<llvm::LLVMTargetMachine> machine = target_machine();
    llvm::LLVMContext context;
    context.setDiagnosticHandler(std::make_unique<Quiet>());
    llvm::Module module("kernels", context);
    module.setTargetTriple(host().triple);
    module.setDataLayout(machine->createDataLayout());
    std::vector<llvm::Function*> functions;
    for (std::size_t i = 0; i < batch.jobs.size(); ++i) {
        check_cancelled();
        llvm::Function* f = emit_kernel(module, *batch.jobs[i].kernel, "kernel" + std::to_string(i), host().masks);
        f->addFnAttr("target-cpu", host().cpu);
        f->addFnAttr("target-features", host().features);
        f->addFnAttr("prefer-vector-width", "512");
        functions.push_back(f);
    }
    batch.content = content_of(module);
    if (loaded(batch.content) || (batch.object = read_code(batch.content))) return;
    for (std::size_t i = 0; i < functions.size(); ++i) functions[i]->setName(batch.symbol(i));
    batch.object = machine_code(module, *machine);
    write_code(batch.content, *batch.object);
}

/// Compiled code, for the life of the process.
class CodeStore {
public:
    CodeStore() {
        host();
        llvm::orc::LLJITBuilder builder;
        auto machine = expect(llvm::orc::JITTargetMachineBuilder::detectHost());
        machine.setRelocationModel(llvm::Reloc::PIC_);
        builder.setJITTargetMachineBuilder(std::move(machine));
        jit_ = expect(builder.create());
        auto& dylib = jit_->getMainJITDylib();
        dylib.addGenerator(expect(llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(jit_->getDataLayout().getGlobalPrefix())));
        llvm::orc::SymbolMap symbols;
        for (const RuntimeSymbol& s : runtime_math_symbols())
            symbols[jit_->mangleAndIntern(s.name)] =
                llvm::JITEvaluatedSymbol(llvm::pointerToJITTargetAddress(s.address), llvm::JITSymbolFlags::Exported);
        for (const VectorFunction& f : vector_functions())
            symbols[jit_->mangleAndIntern(f.name)] =
                llvm::JITEvaluatedSymbol(llvm::pointerToJITTargetAddress(f.address), llvm::JITSymbolFlags::Exported);
        expect(dylib.define(llvm::orc::absoluteSymbols(std::move(symbols))));
    }
    static CodeStore& get() {
        static auto& store = *new CodeStore;  // code must outlive every executable, also static ones
        return store;
    }
    void add(std::unique_ptr<llvm::MemoryBuffer> object) { expect(jit_->addObjectFile(std::move(object))); }
    KernelFunction find(const std::string& name) {
        return reinterpret_cast<KernelFunction>(expect(jit_->lookup(name)).getAddress());  // NOLINT: LLVM's addresses are integers
    }
    std::mutex mutex;  ///< of what follows; nobody holds it while code is made
    std::map<std::vector<std::uint64_t>, KernelFunction> known;
    std::set<std::string> loaded;                     ///< contents
    std::vector<std::shared_ptr<const Kernel>> keep;  ///< keys hold addresses of parameters: they must not be used again

private:
    std::unique_ptr<llvm::orc::LLJIT> jit_;
};

/// Few kernels are spread over a few objects, so that threads share them; of many, eight share what an object costs (1 ms). The number of
/// threads has no say: the same program makes the same objects, which stand in the cache on disk, with any.
std::size_t kernels_of_object(std::size_t kernels) { return std::clamp<std::size_t>((kernels + 3) / 4, 1, 8); }

/// Kernels that this process has no code for, each once, in their order.
std::vector<Batch> missing_code(CodeStore& store, const std::vector<std::shared_ptr<const Kernel>>& kernels,
                                const std::vector<std::vector<std::uint64_t>>& keys) {
    std::set<std::vector<std::uint64_t>> wanted;
    std::vector<Job> jobs;
    {
        const std::lock_guard lock(store.mutex);
        for (std::size_t k = 0; k < kernels.size(); ++k)
            if (!store.known.contains(keys[k]) && wanted.insert(keys[k]).second) jobs.push_back({kernels[k], keys[k]});
    }
    std::vector<Batch> batches;
    for (const std::size_t each = kernels_of_object(jobs.size()); Job & job : jobs) {
        if (batches.empty() || batches.back().jobs.size() == each) batches.emplace_back();
        batches.back().jobs.push_back(std::move(job));
    }
    return batches;
}

void compile_all(CodeStore& store, std::vector<Batch>& batches, int threads) {
    std::vector<std::exception_ptr> failures(batches.size());
    std::atomic<std::size_t> next{0};
    const auto loaded = [&store](const std::string& content) {
        const std::lock_guard lock(store.mutex);
        return store.loaded.contains(content);
    };
    const auto work = [&] {
        for (std::size_t i = next++; i < batches.size(); i = next++) {
            try {
                compile_object(batches[i], loaded);
            } catch (...) {
                failures[i] = std::current_exception();
            }
        }
    };
    std::vector<std::thread> helpers;
    const auto help = [&, of_starter = CancelScope::current()] {
        const CancelScope scope(of_starter);
        work();
    };
    for (int t = 1; t < threads && static_cast<std::size_t>(t) < batches.size(); ++t) helpers.emplace_back(help);
    work();
    for (std::thread& t : helpers) t.join();
    for (const std::exception_ptr& f : failures)
        if (f) std::rethrow_exception(f);
}

}  // namespace

std::vector<KernelFunction> compile_kernels(const std::vector<std::shared_ptr<const Kernel>>& kernels, int threads) {
    CodeStore& store = CodeStore::get();
    std::vector<std::vector<std::uint64_t>> keys;
    keys.reserve(kernels.size());
    for (const auto& k : kernels) keys.push_back(k->key());
    std::vector<Batch> batches = missing_code(store, kernels, keys);
    compile_all(store, batches, threads);
    const std::lock_guard lock(store.mutex);
    for (Batch& b : batches) {
        if (b.object && store.loaded.insert(b.content).second) store.add(std::move(b.object));
        for (std::size_t i = 0; i < b.jobs.size(); ++i)
            if (store.known.try_emplace(b.jobs[i].key, store.find(b.symbol(i))).second) store.keep.push_back(b.jobs[i].kernel);
    }
    std::vector<KernelFunction> out;
    out.reserve(keys.size());
    for (const auto& key : keys) out.push_back(store.known.at(key));
    return out;
}

}  // namespace jaxscope::exec
