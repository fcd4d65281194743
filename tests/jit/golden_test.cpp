#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "io/arrays/npz.h"
#include "io/load_program.h"
#include "ir/types/element.h"
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
    return d == DType::BF16 ? 8e-3 : d == DType::F16 ? 1e-3 : d == DType::F32 || d == DType::C64 ? 4e-5 : is_inexact(d) ? 1e-11 : 0;
}

/// The magnitude that most elements have: a few huge ones among them change nothing.
double typical(const ArrayConst& a) {
    std::vector<double> sizes;
    for (std::int64_t i = 0; i < a.aval->size(); ++i)
        if (const double size = std::abs(number(a, i)); std::isfinite(size) && size > 0) sizes.push_back(size);
    if (sizes.empty()) return 0;
    const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2);
    std::nth_element(sizes.begin(), middle, sizes.end());
    return *middle;
}

/// Largest difference of an element, over its own magnitude or the typical one where that is larger (sums that cancel have the errors of
/// their terms); infinite where NaN or infinity stand in different places.
double difference(const ArrayConst& got, const ArrayConst& want) {
    const double least = std::max(typical(want), 1e-300);
    double worst = 0;
    for (std::int64_t i = 0; i < got.aval->size(); ++i) {
        const std::complex<double> x = number(got, i), y = number(want, i);
        if (x == y || (std::isnan(std::abs(x)) && std::isnan(std::abs(y)))) continue;
        const double d = std::abs(x - y);
        worst = std::max(worst, std::isfinite(d) ? d / std::max(std::abs(y), least) : INFINITY);
    }
    return worst;
}

TEST(Golden, OneHugeElementHidesNoError) {
    const auto array = [](std::vector<float> values) {
        ArrayConst a;
        a.aval = AvalRef(DType::F32, {static_cast<std::int64_t>(values.size())});
        a.data.resize(values.size() * sizeof(float));
        std::memcpy(a.data.data(), values.data(), a.data.size());
        return a;
    };
    EXPECT_GT(difference(array({1.01f, 2, 3, 3e38f}), array({1, 2, 3, 3e38f})), tolerance(DType::F32));
    EXPECT_LT(difference(array({1e-9f, 2, 3, 3e38f}), array({2e-9f, 2, 3, 3e38f})), tolerance(DType::F32));
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
            ASSERT_EQ(result.outputs.size(), program->jaxpr->outvars.size());
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

// Pages of the arena that were touched, counted by the system, against the plan. What is planned is touched, but for whole pages inside of
// a buffer that nothing is written to; the last page may be touched in part.
TEST(Golden, TouchedPagesOfTheArenaAreThePlan) {
    const std::int64_t page = sysconf(_SC_PAGESIZE);
    const auto whole_pages = [&](std::int64_t bytes) { return std::max<std::int64_t>((bytes + page - 1) / page, 1) * page; };
    std::int64_t largest = 0;
    for (const std::string& name : names()) {
        SCOPED_TRACE(name);
        const ProgramPtr program = load_program((folder() / (name + ".jaxscope")).string());
        const auto executable = Executable::compile(program->jaxpr, pair_donations(*program).alias_of_output, program->kept);
        const std::int64_t planned = executable->plan().planned_peak;
        EXPECT_EQ(executable->run(program->values).arena_resident, whole_pages(planned));
        largest = std::max(largest, planned);
    }
    EXPECT_GT(largest, 10 * page) << "programs of a page or two show nothing";
}

}  // namespace
}  // namespace jaxscope
