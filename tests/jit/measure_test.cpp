#include <gtest/gtest.h>

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "io/text/parser.h"
#include "ir/builder.h"
#include "ir/primitive.h"
#include "jit/jit.h"
#include "jit/run/resident_meter.h"
#include "jit/run/step_watch.h"
#include "support/sanitized.h"

namespace jaxscope {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

bool near(std::int64_t measured, std::int64_t planned) { return std::llabs(measured - planned) <= std::max(kMiB, planned / 100); }

JaxprPtr program(const std::string& text) { return parse_jaxpr_text(text, "t.jaxpr")->jaxpr; }

TEST(Measured, PlannedAndResidentAgree) {
    if (JAXSCOPE_SANITIZED) GTEST_SKIP();
    const auto executable = Executable::compile(
        program("{ lambda ; a:f32[4096,4096]. let b:f32[4096,4096] = tanh a; c:f32[4096,4096] = transpose[permutation=(1, 0)] b; "
                "d:f32[4096,4096] = mul c a in (d,) }"));
    const RunResult r = executable->run({});
    ASSERT_TRUE(r.measured_peak) << r.measurement_problem;
    const std::int64_t planned = executable->plan().planned_peak;
    EXPECT_GE(planned, 128 * kMiB);
    EXPECT_TRUE(near(*r.measured_peak, planned)) << *r.measured_peak << " against " << planned;
    EXPECT_TRUE(r.unplanned.empty());
    // Again: what the first run left behind isn't counted, nor missed.
    const RunResult again = executable->run({});
    EXPECT_TRUE(near(again.measured_peak.value_or(0), planned)) << again.measured_peak.value_or(0);
}

TEST(Measured, MeterSeesWhatWasGivenBackMeanwhile) {
    if (JAXSCOPE_SANITIZED) GTEST_SKIP();
    exec::ResidentMeter meter;
    const auto touch = [](std::size_t bytes) {
        void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        std::memset(p, 1, bytes);
        munmap(p, bytes);
    };
    meter.open();
    touch(48u << 20);
    meter.open();
    touch(16u << 20);
    EXPECT_TRUE(near(meter.close(), 16 * kMiB));
    EXPECT_TRUE(near(meter.close(), 48 * kMiB));
    ASSERT_EQ(meter.problem(), "");
    EXPECT_TRUE(near(meter.peak(), 48 * kMiB));
}

// A processor tells the system's quick count of pages only when it has counted dozens: what is given back one page at a time is still in
// the highest that begins anew, and would be a rise in every step.
TEST(Measured, PagesThatTheSystemHasYetToCountAreNoRise) {
    if (JAXSCOPE_SANITIZED) GTEST_SKIP();
    constexpr std::size_t kPages = 256;
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void* all = mmap(nullptr, kPages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(all, MAP_FAILED);
    std::memset(all, 1, kPages * page);
    exec::ResidentMeter meter;
    std::int64_t highest = 0;
    for (std::size_t i = 0; i < kPages; ++i) {
        munmap(static_cast<char*>(all) + i * page, page);
        meter.open();
        highest = std::max(highest, meter.close());
    }
    ASSERT_EQ(meter.problem(), "");
    EXPECT_LT(highest, 16 << 10);
}

/// A kernel that takes 64 MiB nobody planned, as a library may.
class Greedy final : public exec::LibraryCall {
public:
    explicit Greedy(exec::LibraryCallPtr inner) : inner_(std::move(inner)) {}
    void run(void* const* in, void* const* out, void* scratch) const override {
        constexpr std::size_t kBytes = 64u << 20;
        const std::unique_ptr<char, decltype(&std::free)> own(static_cast<char*>(std::malloc(kBytes)), &std::free);
        std::memset(own.get(), 1, kBytes);
        asm volatile("" ::"r"(own.get()) : "memory");
        inner_->run(in, out, scratch);
    }
    std::int64_t scratch_bytes() const override { return inner_->scratch_bytes(); }

private:
    exec::LibraryCallPtr inner_;
};

void expect_greedy_sum_is_named(const std::string& text, const std::string& eqn) {
    const exec::ScopedCallWrapper greedy([](const Op& op, exec::LibraryCallPtr call) -> exec::LibraryCallPtr {
        if (op.prim != &primitive("cumsum")) return call;
        return std::make_shared<Greedy>(std::move(call));
    });
    const auto executable = Executable::compile(program(text));
    const RunResult r = executable->run({});
    ASSERT_TRUE(r.measured_peak) << r.measurement_problem;
    ASSERT_EQ(r.unplanned.size(), 1u);
    EXPECT_EQ(r.unplanned[0].primitive, Sym("cumsum"));
    EXPECT_EQ(r.unplanned[0].eqn, eqn);
    EXPECT_TRUE(near(r.unplanned[0].bytes, 64 * kMiB)) << r.unplanned[0].bytes;
    EXPECT_TRUE(near(*r.measured_peak, executable->plan().planned_peak + 64 * kMiB)) << *r.measured_peak;
}

TEST(Measured, AKernelThatAllocatesBehindThePlanIsNamed) {
    if (JAXSCOPE_SANITIZED) GTEST_SKIP();
    expect_greedy_sum_is_named(
        "{ lambda ; a:f32[1000000]. let b:f32[1000000] = tanh a; c:f32[1000000] = cumsum[axis=0 reverse=False] b; "
        "d:f32[1000000] = exp c in (d,) }",
        "1");
    expect_greedy_sum_is_named(
        "{ lambda ; a:f32[1000] b:f32[4,1000]. let c:f32[1000] d:f32[4,1000] = scan[_split_transpose=False jaxpr={ lambda ; e:f32[1000] "
        "f:f32[1000]. let g:f32[1000] = add e f; h:f32[1000] = cumsum[axis=0 reverse=False] g in (h, h) } length=4 "
        "linear=(False, False) num_carry=1 num_consts=0 reverse=False unroll=1] a b in (c, d) }",
        "0/jaxpr/1");
    // The first step, with arguments that are larger than what it takes.
    expect_greedy_sum_is_named(
        "{ lambda ; a:f32[20000000]. let b:f32[20000000] = cumsum[axis=0 reverse=False] a; c:f32[20000000] = exp b in (c,) }", "0");
}

TEST(Measured, EventsAreWhatHappened) {
    const auto executable = Executable::compile(program(
        "{ lambda ; a:f32[512,512]. let b:f32[512,512] = dot_general[dimension_numbers=(([1], [0]), ([], []))] a a; "
        "c:f32[512,512] = sort[dimension=0 is_stable=True num_keys=1] b; d:f32[512,512] = dot_general[dimension_numbers=(([1], [0]), ([], "
        "[]))] c c in (d,) }"));
    RunOptions options;
    options.timeline = true;
    const RunResult r = executable->run({}, options);
    const MemoryPlan& plan = executable->plan();
    std::int64_t live = 0, peak = 0;
    double before = 0;
    for (const MemoryEvent& e : r.events) {
        const std::int64_t bytes = plan.buffers[static_cast<std::size_t>(e.buffer)].bytes;
        live += e.kind == MemoryEvent::Kind::Alloc ? bytes : e.kind == MemoryEvent::Kind::Free ? -bytes : 0;
        peak = std::max(peak, live);
        EXPECT_EQ(e.live_bytes, live);
        EXPECT_GE(e.seconds, before);
        before = e.seconds;
    }
    EXPECT_EQ(live, 0);
    EXPECT_EQ(peak, plan.live_peak);
    EXPECT_GT(before, 0);
    EXPECT_LE(before, r.first_seconds * 1.5 + 1e-3);
}

TEST(Measured, ProfileCountsTheStepsOfLoops) {
    const auto executable = Executable::compile(program(
        "{ lambda ; a:f32[64,64] b:f32[8,64,64]. let c:f32[64,64] d:f32[8,64,64] = scan[_split_transpose=False jaxpr={ lambda ; "
        "e:f32[64,64] f:f32[64,64]. let g:f32[64,64] = dot_general[dimension_numbers=(([1], [0]), ([], []))] e f in (g, g) } length=8 "
        "linear=(False, False) num_carry=1 num_consts=0 reverse=False unroll=1] a b in (c, d) }"));
    RunOptions options;
    options.profile = true;
    options.repeats = 3;
    const RunResult r = executable->run({}, options);
    const auto product = std::find_if(r.profile.begin(), r.profile.end(), [](const StepProfile& s) { return s.loop == "0"; });
    ASSERT_NE(product, r.profile.end());
    EXPECT_EQ(product->eqns, std::vector<std::string>{"0/jaxpr/0"});
    EXPECT_EQ(product->calls, 8);
    EXPECT_EQ(product->flops, 8 * 2.0 * 64 * 64 * 64);
    EXPECT_GT(product->seconds, 0);
    EXPECT_LE(product->seconds, r.profile[0].seconds);
    EXPECT_GT(r.roofline.flops_per_second, 1e8);
    EXPECT_GT(r.roofline.bytes_per_second, 1e8);
}

TEST(Measured, OffloadedValuesStandOnTheHost) {
    const auto plan = plan_only(program(
        "{ lambda ; a:f32[1024,1024]. let b:f32[1024,1024] = sort[dimension=0 is_stable=True num_keys=1] a; c:f32<host>[1024,1024] = "
        "device_put[copy_semantics=(ArrayCopySemantics.ALWAYS_COPY,) devices=(MemorySpace.Host,) srcs=(None,)] b; d:f32[1024,1024] = "
        "sort[dimension=1 is_stable=True num_keys=1] b; e:f32[1024,1024] = sort[dimension=0 is_stable=True num_keys=1] d; f:f32[1024,1024] "
        "= device_put[copy_semantics=(ArrayCopySemantics.ALWAYS_COPY,) devices=(MemorySpace.Device,) srcs=(MemorySpace.Host,)] c; "
        "g:f32[1024,1024] = add e f; h:f32[] = reduce_sum[axes=(0, 1) out_sharding=None] g in (h,) }"));
    ASSERT_EQ(plan.spaces.size(), 2u);
    EXPECT_EQ(plan.spaces[0].moved_in, 4 * kMiB);
    EXPECT_EQ(plan.spaces[1].moved_in, 4 * kMiB);
    EXPECT_EQ(plan.spaces[1].peak, 4 * kMiB);
    EXPECT_LT(plan.spaces[0].peak, 13 * kMiB);  // the argument, and two of the values: the third is on the host
    EXPECT_GE(plan.live_peak, 16 * kMiB);
}

}  // namespace
}  // namespace jaxscope
