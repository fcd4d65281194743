#include "jit/codegen/kernel_compiler.h"

#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/Host.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>

#include "base/cancel.h"
#include "jit/codegen/loop_codegen.h"
#include "jit/codegen/runtime_math.h"

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
        std::string error;
        out.target = llvm::TargetRegistry::lookupTarget(out.triple, error);
        if (!out.target) throw std::runtime_error("code generation: " + error);
        return out;
    }();
    return h;
}
std::unique_ptr<llvm::TargetMachine> target_machine() {
    llvm::TargetOptions options;
    options.AllowFPOpFusion = llvm::FPOpFusion::Fast;  // multiply-add, as XLA's CPU compiler does
    return std::unique_ptr<llvm::TargetMachine>(host().target->createTargetMachine(host().triple, host().cpu, host().features, options,
                                                                                   llvm::Reloc::PIC_, {}, llvm::CodeGenOpt::Default, true));
}

void optimise(llvm::Module& module, llvm::TargetMachine& machine) {
    llvm::PipelineTuningOptions tuning;
    tuning.LoopVectorization = true;
    tuning.LoopInterleaving = true;
    tuning.SLPVectorization = false;
    llvm::LoopAnalysisManager loops;
    llvm::FunctionAnalysisManager functions;
    llvm::CGSCCAnalysisManager groups;
    llvm::ModuleAnalysisManager modules;
    llvm::PassBuilder passes(&machine, tuning);
    passes.registerModuleAnalyses(modules);
    passes.registerCGSCCAnalyses(groups);
    passes.registerFunctionAnalyses(functions);
    passes.registerLoopAnalyses(loops);
    passes.crossRegisterProxies(loops, functions, groups, modules);
    passes.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(module, modules);
}

/// A loop that can't be vectorised is slow, not wrong: no message about it.
struct Quiet final : llvm::DiagnosticHandler {
    bool handleDiagnostics(const llvm::DiagnosticInfo&) override { return true; }
};

struct Job {
    std::shared_ptr<const Kernel> kernel;
    std::string name;
};

std::unique_ptr<llvm::MemoryBuffer> compile_object(const std::vector<Job>& jobs) {
    const std::unique_ptr<llvm::TargetMachine> machine = target_machine();
    llvm::LLVMContext context;
    context.setDiagnosticHandler(std::make_unique<Quiet>());
    llvm::Module module("kernels", context);
    module.setTargetTriple(host().triple);
    module.setDataLayout(machine->createDataLayout());
    for (const Job& j : jobs) {
        check_cancelled();
        llvm::Function* f = emit_kernel(module, *j.kernel, j.name);
        f->addFnAttr("target-cpu", host().cpu);
        f->addFnAttr("target-features", host().features);
        f->addFnAttr("prefer-vector-width", "512");
    }
    std::string problem;
    llvm::raw_string_ostream text(problem);
    if (llvm::verifyModule(module, &text)) throw std::runtime_error("code generation: " + text.str());
    check_cancelled();
    optimise(module, *machine);
    llvm::SmallVector<char, 0> bytes;
    llvm::raw_svector_ostream stream(bytes);
    llvm::legacy::PassManager emitter;
    if (machine->addPassesToEmitFile(emitter, stream, nullptr, llvm::CGFT_ObjectFile))
        throw std::runtime_error("code generation: no object files on this target");
    emitter.run(module);
    return std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(bytes), "kernels");
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
    std::mutex mutex;
    std::map<std::vector<std::uint64_t>, KernelFunction> known;
    std::vector<std::shared_ptr<const Kernel>> keep;  ///< keys hold addresses of parameters: they must not be used again
    std::uint64_t counter = 0;

private:
    std::unique_ptr<llvm::orc::LLJIT> jit_;
};

}  // namespace

std::vector<KernelFunction> compile_kernels(const std::vector<std::shared_ptr<const Kernel>>& kernels, int threads) {
    CodeStore& store = CodeStore::get();
    std::lock_guard lock(store.mutex);
    std::vector<std::vector<std::uint64_t>> keys;
    std::map<std::vector<std::uint64_t>, Job> wanted;
    for (const auto& k : kernels) {
        keys.push_back(k->key());
        if (!store.known.contains(keys.back())) wanted.try_emplace(keys.back(), Job{k, {}});
    }
    std::vector<std::vector<Job>> batches;
    for (auto& [key, job] : wanted) {
        job.name = "kernel_" + std::to_string(store.counter++);
        if (batches.empty() || batches.back().size() == 8) batches.emplace_back();
        batches.back().push_back(job);
    }
    std::vector<std::unique_ptr<llvm::MemoryBuffer>> objects(batches.size());
    std::vector<std::exception_ptr> failures(batches.size());
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
        for (std::size_t i = next++; i < batches.size(); i = next++) {
            try {
                objects[i] = compile_object(batches[i]);
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
    for (auto& o : objects) store.add(std::move(o));
    for (auto& [key, job] : wanted) {
        store.known[key] = store.find(job.name);
        store.keep.push_back(job.kernel);
    }
    std::vector<KernelFunction> out;
    for (const auto& key : keys) out.push_back(store.known.at(key));
    return out;
}

}  // namespace jaxscope::exec
