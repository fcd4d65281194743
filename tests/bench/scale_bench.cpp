// How the costs grow with the program: 10k, 100k and 1M synthetic equations through load, linearize + transpose, plan and print. Times
// divided by equations stay level when a stage is linear (the `per_eqn` counter), `bytes_per_eqn` is what the loaded program holds.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <cstdlib>
#include <map>
#include <string_view>

#include "base/atomic_file.h"
#include "bench/synthetic.h"
#include "io/capture/reader.h"
#include "ir/print/printer.h"
#include "ir/registry.h"
#include "jit/jit.h"
#include "sharding/partition.h"
#include "transforms/residuals.h"
#include "transforms/vjp.h"

namespace jaxscope {
namespace {

const std::string& text_of(int n) {
    static std::map<int, std::string> texts;
    auto& t = texts[n];
    if (t.empty()) t = synthetic_capture(n);
    return t;
}
ProgramPtr load(int n) { return read_capture_text(text_of(n), "synthetic"); }
const ProgramPtr& program_of(int n) {
    static std::map<int, ProgramPtr> programs;
    auto& p = programs[n];
    if (!p) p = load(n);
    return p;
}
void per_equation(benchmark::State& state) {
    state.counters["per_eqn"] = benchmark::Counter(static_cast<double>(state.range(0)),
                                                   benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

std::size_t allocated() {
    const auto m = mallinfo2();
    return m.uordblks + m.hblkhd;  // big blocks are mapped, and counted apart
}

void BM_Load(benchmark::State& state) {
    const int n = static_cast<int>(state.range(0));
    text_of(n);
    const std::size_t before = allocated();
    ProgramPtr kept = load(n);
    state.counters["bytes_per_eqn"] = static_cast<double>(allocated() - before) / n;
    for (auto _ : state) benchmark::DoNotOptimize(load(n));
    per_equation(state);
}
void BM_Print(benchmark::State& state) {
    const ProgramPtr p = program_of(static_cast<int>(state.range(0)));
    for (auto _ : state) benchmark::DoNotOptimize(to_text(*p->jaxpr, {}));
    per_equation(state);
}
void BM_LinearizeTranspose(benchmark::State& state) {
    const ProgramPtr p = program_of(static_cast<int>(state.range(0)));
    for (auto _ : state) benchmark::DoNotOptimize(vjp(p->jaxpr, {true, true}, 1));
    per_equation(state);
}
void BM_SavedResiduals(benchmark::State& state) {
    const ProgramPtr p = program_of(static_cast<int>(state.range(0)));
    ResidualQuery query;
    query.in_paths = p->in_paths;
    for (auto _ : state) benchmark::DoNotOptimize(saved_residuals(p->jaxpr, query));
    per_equation(state);
}
void BM_Plan(benchmark::State& state) {
    const ProgramPtr p = program_of(static_cast<int>(state.range(0)));
    for (auto _ : state) benchmark::DoNotOptimize(plan_only(p->jaxpr));
    per_equation(state);
}

/// Over a mesh of 4 x 2, an input by its rows and one by its columns.
void BM_Partition(benchmark::State& state) {
    const ProgramPtr p = program_of(static_cast<int>(state.range(0)));
    const Sym x("x"), y("y");
    const sharding::Mesh mesh{{{x, 4}, {y, 2}}};
    const sharding::PartitionRequest request{p->jaxpr, mesh, {sharding::Spec{{{x}, {}}}, sharding::Spec{{{x}, {y}}}}, {}};
    for (auto _ : state) benchmark::DoNotOptimize(sharding::partition(request));
    per_equation(state);
}

BENCHMARK(BM_Partition)->Arg(1'000)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Load)->Arg(10'000)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Print)->Arg(10'000)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_LinearizeTranspose)->Arg(10'000)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_SavedResiduals)->Arg(10'000)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Plan)->Arg(10'000)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace jaxscope

// --write FILE EQUATIONS writes the synthetic capture, for trying it in the window (jaxscope-gui FILE --screenshot OUT.png tells the time).
int main(int argc, char** argv) {
    jaxscope::register_all_primitives();
    if (argc == 4 && std::string_view(argv[1]) == "--write") {
        jaxscope::AtomicFile file(argv[2]);
        file.stream() << jaxscope::synthetic_capture(std::atoi(argv[3]));
        file.commit();
        return 0;
    }
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
