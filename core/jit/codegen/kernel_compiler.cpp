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
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SHA1.h>
#include <llvm/Target/TargetMachine.h>

#include "base/cancel.h"
#include "jit/codegen/code_files.h"
#include "jit/codegen/host.h"
#include "jit/codegen/loop_codegen.h"
#include "jit/codegen/machine_code.h"
#include "jit/codegen/runtime_math.h"
#include "jit/codegen/vector_library.h"
#include "jit/codegen/whole_loop.h"

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

/// A loop that can't be vectorised is slow, not wrong: no message about it.
struct Quiet final : llvm::DiagnosticHandler {
    bool handleDiagnostics(const llvm::DiagnosticInfo&) override { return true; }
};

/// What is compiled, and who wants it.
struct Job {
    CodeWish wish;
    std::vector<std::size_t> wishes;  ///< their numbers
    std::vector<std::uint64_t> key;   ///< of a kernel
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
    stream << "7 " << vector_functions().size() << ' ' << LLVM_VERSION_STRING << ' ' << host().triple << ' ' << host().cpu << ' '
           << host().features << '\n';
    llvm::WriteBitcodeToFile(module, stream);
    const auto hash = llvm::SHA1::hash(llvm::ArrayRef<std::uint8_t>(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()));
    return llvm::toHex(hash, true);
}

/// An object file to be, with nothing in it.
struct Unit {
    TargetMachineLease machine;
    llvm::LLVMContext context;
    llvm::Module module{"kernels", context};
    bool loops = false;
    Unit() {
        context.setDiagnosticHandler(std::make_unique<Quiet>());
        module.setTargetTriple(host().triple);
        module.setDataLayout((*machine).createDataLayout());
    }
    llvm::Function* add(const CodeWish& wish, const std::string& name) {
        check_cancelled();
        llvm::Function* f = wish.kernel ? emit_kernel(module, *wish.kernel, name, host().masks)
                                        : emit_whole_loop(module, *wish.around, *wish.loop, name, host().masks);
        loops = loops || wish.loop;
        return f;
    }
    /// Of all that was added.
    std::unique_ptr<llvm::MemoryBuffer> compile() {
        for (llvm::Function& f : module) {
            if (f.isDeclaration()) continue;
            f.addFnAttr("target-cpu", host().cpu);
            f.addFnAttr("target-features", host().features);
            f.addFnAttr("prefer-vector-width", "512");
        }
        return machine_code(module, *machine, loops);
    }
};

/// `loaded` says of a content whether this process has it.
template <class Loaded>
void compile_object(Batch& batch, const Loaded& loaded) {
    Unit unit;
    std::vector<llvm::Function*> functions;
    for (std::size_t i = 0; i < batch.jobs.size(); ++i) functions.push_back(unit.add(batch.jobs[i].wish, "kernel" + std::to_string(i)));
    batch.content = content_of(unit.module);
    if (loaded(batch.content) || (batch.object = read_code(batch.content))) return;
    for (std::size_t i = 0; i < functions.size(); ++i) functions[i]->setName(batch.symbol(i));
    batch.object = unit.compile();
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

/// What this process has no code for, each kernel once; `done` gets what it has.
std::vector<Batch> missing_code(CodeStore& store, const std::vector<CodeWish>& wishes, std::vector<KernelFunction>& done) {
    std::map<std::vector<std::uint64_t>, std::size_t> job_of;
    std::vector<Job> jobs;
    {
        const std::lock_guard lock(store.mutex);
        for (std::size_t w = 0; w < wishes.size(); ++w) {
            if (!wishes[w].kernel) {
                jobs.push_back({wishes[w], {w}, {}});
                continue;
            }
            std::vector<std::uint64_t> key = wishes[w].kernel->key();
            if (const auto known = store.known.find(key); known != store.known.end()) {
                done[w] = known->second;
                continue;
            }
            const auto [at, first] = job_of.try_emplace(key, jobs.size());
            if (first) jobs.push_back({wishes[w], {}, std::move(key)});
            jobs[at->second].wishes.push_back(w);
        }
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

void rehearse_compilation(std::shared_ptr<const Kernel> kernel) {
    CodeStore& store = CodeStore::get();
    Unit unit;
    const std::string name = "rehearsed";
    unit.add({std::move(kernel)}, name);
    std::unique_ptr<llvm::MemoryBuffer> object = unit.compile();
    const std::lock_guard lock(store.mutex);
    store.add(std::move(object));
    store.find(name);
}

std::vector<KernelFunction> compile_code(const std::vector<CodeWish>& wishes, int threads) {
    CodeStore& store = CodeStore::get();
    std::vector<KernelFunction> out(wishes.size(), nullptr);
    std::vector<Batch> batches = missing_code(store, wishes, out);
    compile_all(store, batches, threads);
    const std::lock_guard lock(store.mutex);
    for (Batch& b : batches) {
        if (b.object && store.loaded.insert(b.content).second) store.add(std::move(b.object));
        for (std::size_t i = 0; i < b.jobs.size(); ++i) {
            const KernelFunction code = store.find(b.symbol(i));
            for (const std::size_t w : b.jobs[i].wishes) out[w] = code;
            const Job& job = b.jobs[i];
            if (job.wish.kernel && store.known.try_emplace(job.key, code).second) store.keep.push_back(job.wish.kernel);
        }
    }
    return out;
}

}  // namespace jaxscope::exec
