#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "io/arrays/npz.h"
#include "io/load_program.h"
#include "ir/element.h"
#include "jit/jit.h"

// Every program of tests/jit/golden (make_goldens.py: captured from Python, results of real JAX 0.10.2) runs with equal results,
// fused and equation by equation, on one thread and on two.
namespace jaxscope {
namespace {

namespace fs = std::filesystem;
fs::path folder() { return fs::path(JAXSCOPE_SOURCE_DIR) / "tests" / "jit" / "golden"; }

std::vector<std::string> names() {
    std::vector<std::string> out;
    for (const auto& f : fs::directory_iterator(folder()))
        if (f.path().extension() == ".jaxscope") out.push_back(f.path().stem().string());
    std::sort(out.begin(), out.end());
    return out;
}

std::complex<double> number(const ArrayConst& a, std::int64_t i) {
    const Element e = load_element(a.aval->dtype, a.data.data() + i * byte_size(a.aval->dtype));
    return is_inexact(a.aval->dtype) ? e.number : std::complex<double>(static_cast<double>(e.integer));
}

double tolerance(DType d) {
    return d == DType::BF16 ? 8e-3 : d == DType::F16 ? 1e-3 : d == DType::F32 || d == DType::C64 ? 2e-5 : is_inexact(d) ? 1e-11 : 0;
}

/// Largest difference over the largest finite magnitude; infinite where NaN or infinity stand in different places.
double difference(const ArrayConst& got, const ArrayConst& want) {
    double worst = 0, largest = 1e-30;
    for (std::int64_t i = 0; i < got.aval->size(); ++i) {
        const std::complex<double> x = number(got, i), y = number(want, i);
        if (std::isfinite(std::abs(y))) largest = std::max(largest, std::abs(y));
        if (x == y || (std::isnan(std::abs(x)) && std::isnan(std::abs(y)))) continue;
        const double d = std::abs(x - y);
        worst = std::max(worst, std::isfinite(d) ? d : INFINITY);
    }
    return worst / largest;
}

struct Setting {
    const char* name;
    bool fuse, recompute;
    int threads;
};

TEST(Golden, ResultsEqualJax) {
    ASSERT_GE(names().size(), 15u);
    for (const std::string& name : names()) {
        const ProgramPtr program = load_program((folder() / (name + ".jaxscope")).string());
        const NpzReader expected((folder() / (name + ".expected.npz")).string());
        for (const Setting& s :
             {Setting{"fused", true, false, 2}, Setting{"recomputing", true, true, 1}, Setting{"unfused", false, false, 1}}) {
            SCOPED_TRACE(name + ", " + s.name);
            JitOptions options;
            options.fuse = s.fuse;
            options.recompute_cheap = s.recompute;
            options.threads = s.threads;
            const auto executable = Executable::compile(program->jaxpr, pair_donations(*program).alias_of_output, program->kept, options);
            const RunResult result = executable->run(program->values);
            for (std::size_t k = 0; k < result.outputs.size(); ++k) {
                const ArrayConst& got = *result.outputs[k];
                const std::string member = "out" + std::to_string(k);
                ASSERT_TRUE(expected.has(member));
                const ArrayPtr want = expected.read(member);
                ASSERT_EQ(got.aval->size(), want->aval->size()) << member;
                EXPECT_LE(difference(got, *want), tolerance(got.aval->dtype)) << member << " " << to_text(got.aval);
            }
        }
    }
}

TEST(Golden, RunningAgainGivesTheSameBits) {
    for (const std::string& name : names()) {
        SCOPED_TRACE(name);
        const ProgramPtr program = load_program((folder() / (name + ".jaxscope")).string());
        const auto executable = Executable::compile(program->jaxpr, pair_donations(*program).alias_of_output, program->kept);
        const RunResult first = executable->run(program->values), second = executable->run(program->values);
        for (std::size_t k = 0; k < first.outputs.size(); ++k) EXPECT_EQ(first.outputs[k]->data, second.outputs[k]->data) << k;
    }
}

// Two buffers that are alive in one step never share a byte, unless one is said to stand in the other's memory.
TEST(Golden, LiveBuffersDontOverlap) {
    for (const std::string& name : names()) {
        SCOPED_TRACE(name);
        const ProgramPtr program = load_program((folder() / (name + ".jaxscope")).string());
        const MemoryPlan plan = plan_only(program->jaxpr, pair_donations(*program).alias_of_output, program->kept);
        for (std::size_t a = 0; a < plan.buffers.size(); ++a) {
            const PlannedBuffer& x = plan.buffers[a];
            if (x.offset < 0 || x.bytes == 0) continue;
            EXPECT_LE(x.offset + x.bytes, plan.planned_peak);
            for (std::size_t b = 0; b < a; ++b) {
                const PlannedBuffer& y = plan.buffers[b];
                if (y.offset < 0 || y.bytes == 0 || x.first_step > y.last_step || y.first_step > x.last_step) continue;
                EXPECT_TRUE(x.offset + x.bytes <= y.offset || y.offset + y.bytes <= x.offset) << a << " and " << b;
            }
        }
        for (const PlannedStep& s : plan.steps) EXPECT_LE(s.live_bytes, plan.live_peak);
        EXPECT_LE(plan.live_peak, plan.planned_peak);
    }
}

// Pages that were touched, counted by the system, against the plan: within 1 MiB or 1 %.
TEST(Golden, MeasuredPeakEqualsThePlan) {
    for (const std::string& name : names()) {
        SCOPED_TRACE(name);
        const ProgramPtr program = load_program((folder() / (name + ".jaxscope")).string());
        const auto executable = Executable::compile(program->jaxpr, pair_donations(*program).alias_of_output, program->kept);
        const double planned = static_cast<double>(executable->plan().planned_peak);
        const double measured = static_cast<double>(executable->run(program->values).measured_peak);
        EXPECT_NEAR(measured, planned, std::max(0.01 * planned, 1048576.0));
    }
}

}  // namespace
}  // namespace jaxscope
