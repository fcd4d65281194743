#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "base/cancel.h"
#include "io/text/parser.h"
#include "ir/builder.h"
#include "ir/primitive.h"
#include "jit/jit.h"
#include "jit/small_programs.h"

namespace jaxscope {
namespace {

ArrayPtr floats(Dims shape, std::vector<float> values) {
    auto a = std::make_shared<ArrayConst>();
    a->aval = f32(std::move(shape));
    a->data.resize(values.size() * 4);
    std::memcpy(a->data.data(), values.data(), a->data.size());
    return a;
}
std::vector<float> floats_of(const ArrayConst& a) {
    std::vector<float> out(a.data.size() / 4);
    std::memcpy(out.data(), a.data.data(), a.data.size());
    return out;
}

/// f(x, y) = (y * 2, x * 3): both donated, the pairs cross.
JaxprPtr crossing(std::int64_t n) {
    JaxprBuilder b;
    const Value x = b.add_input(f32({n})), y = b.add_input(f32({n}));
    const Value two = make_literal(f32({}), 2.0), three = make_literal(f32({}), 3.0);
    const Value u = b.bind1(primitive("mul"), {y, two}), v = b.bind1(primitive("mul"), {x, three});
    return b.finish({u, v});
}

TEST(Executable, CrossingDonationsCostNoMemory) {
    const MemoryPlan plan = plan_only(crossing(1024), donated(crossing(1024), {true, true}));
    EXPECT_EQ(plan.aliased, 8192);
    EXPECT_EQ(plan.planned_peak, 8192);
    EXPECT_EQ(plan.temporaries, 0);
    ASSERT_TRUE(plan.alias_of_output[0] && plan.alias_of_output[1]);
    EXPECT_EQ(*plan.alias_of_output[0], 0);  // as JAX pairs them
    EXPECT_EQ(*plan.alias_of_output[1], 1);
    const auto executable = Executable::compile(crossing(4), donated(crossing(4), {true, true}));
    const ArrayPtr x = floats({4}, {1, 2, 3, 4}), y = floats({4}, {5, 6, 7, 8});
    for (int repeat = 0; repeat < 2; ++repeat) {  // inputs are copied in: donation never changes the caller's arrays
        const RunResult r = executable->run(std::vector{x, y});
        EXPECT_EQ(floats_of(*r.outputs[0]), (std::vector<float>{10, 12, 14, 16}));
        EXPECT_EQ(floats_of(*r.outputs[1]), (std::vector<float>{3, 6, 9, 12}));
    }
}

TEST(Executable, WithoutDonationOutputsTakeMemoryOfTheirOwn) {
    const MemoryPlan plan = plan_only(crossing(1024));
    EXPECT_EQ(plan.aliased, 0);
    EXPECT_EQ(plan.arguments, 8192);
    EXPECT_EQ(plan.outputs, 8192);
    EXPECT_EQ(plan.planned_peak, 16384);
}

// A donated argument that is read after the output is made: the pair holds, as in XLA, and costs a temporary, which a note says.
TEST(Executable, DonationThatWouldOverwriteIsCopiedBehindItsReaders) {
    JaxprBuilder b;
    const Value x = b.add_input(f32({4, 4}));
    const Value y = b.bind1(primitive("exp"), {x});
    const ParamsRef axes = Params::make({{"axes", Attr::tuple({0, 1})}, {"out_sharding", Attr()}});
    const Values passed = b.bind(primitive("optimization_barrier"), {x, y});  // so that x is read behind y
    const Value late = b.bind1(primitive("reduce_sum"), {passed[0]}, axes);
    const JaxprPtr j = b.finish({y, late, b.bind1(primitive("reduce_sum"), {passed[1]}, axes)});
    const auto executable = Executable::compile(j, donated(j, {true}));
    EXPECT_EQ(executable->plan().aliased, 64);
    EXPECT_GE(executable->plan().temporaries, 64);
    ASSERT_EQ(executable->plan().copied.size(), 1u);
    EXPECT_EQ(executable->plan().copied[0].bytes, 64);
    const RunResult r = executable->run(std::vector{floats({4, 4}, std::vector<float>(16, 1.0f))});
    EXPECT_NEAR(floats_of(*r.outputs[0])[3], 2.7182817f, 1e-6);
    EXPECT_EQ(floats_of(*r.outputs[1])[0], 16.0f);
}

// f(a, b) = b, a with both donated: two copies that cross, at once.
TEST(Executable, DonatedArgumentsThatSwapPlaces) {
    JaxprBuilder b;
    const Value x = b.add_input(f32({2})), y = b.add_input(f32({2})), z = b.add_input(f32({2}));
    const JaxprPtr j = b.finish({y, z, x, b.bind1(primitive("neg"), {x})});
    const auto executable = Executable::compile(j, {0, 1, 2, std::nullopt});
    const RunResult r = executable->run(std::vector{floats({2}, {1, 2}), floats({2}, {3, 4}), floats({2}, {5, 6})});
    EXPECT_EQ(executable->plan().aliased, 24);
    EXPECT_EQ(floats_of(*r.outputs[0]), (std::vector<float>{3, 4}));
    EXPECT_EQ(floats_of(*r.outputs[1]), (std::vector<float>{5, 6}));
    EXPECT_EQ(floats_of(*r.outputs[2]), (std::vector<float>{1, 2}));
    EXPECT_EQ(floats_of(*r.outputs[3]), (std::vector<float>{-1, -2}));
}

TEST(Executable, PassedThroughAndRepeatedOutputs) {
    JaxprBuilder b;
    const Value x = b.add_input(f32({3}));
    const Value y = b.bind1(primitive("neg"), {x});
    const JaxprPtr j = b.finish({x, y, y, make_literal(f32({}), 7.0)});
    const RunResult r = Executable::compile(j)->run(std::vector{floats({3}, {1, 2, 3})});
    EXPECT_EQ(floats_of(*r.outputs[0]), (std::vector<float>{1, 2, 3}));
    EXPECT_EQ(floats_of(*r.outputs[1]), floats_of(*r.outputs[2]));
    EXPECT_EQ(floats_of(*r.outputs[2]), (std::vector<float>{-1, -2, -3}));
    EXPECT_EQ(floats_of(*r.outputs[3]), (std::vector<float>{7}));
}

TEST(Executable, PlansShapesBeyondThisMachine) {
    JaxprBuilder b;
    const Value x = b.add_input(f32({1 << 20, 1 << 20}));  // 4 TiB
    const JaxprPtr j = b.finish({b.bind1(primitive("exp"), {b.bind1(primitive("sin"), {x})})});
    const MemoryPlan plan = plan_only(j, donated(j, {true}));
    EXPECT_EQ(plan.planned_peak, std::int64_t{1} << 42);
}

TEST(Executable, MemoryLimitIsCheckedBeforeRunning) {
    JitOptions options;
    options.memory_limit = 1000;
    try {
        Executable::compile(crossing(1024), {}, {}, options);
        FAIL();
    } catch (const Error& e) {
        EXPECT_EQ(e.code, ErrorCode::CannotRun);
    }
}

/// Counts up to `steps` in a while loop.
JaxprPtr counting(std::int64_t steps) {
    const std::string text = R"({ lambda ; . let
    a:i32[] = while[
      body_jaxpr={ lambda ; b:i32[]. let c:i32[] = add b 1:i32[] in (c,) }
      body_nconsts=0
      cond_jaxpr={ lambda ; d:i32[]. let e:bool[] = lt d STEPS:i32[] in (e,) }
      cond_nconsts=0
    ] 0:i32[]
  in (a,) }
)";
    const std::size_t at = text.find("STEPS");
    return read_jaxpr_text(text.substr(0, at) + std::to_string(steps) + text.substr(at + 5), "counting")->jaxpr;
}

TEST(Executable, RunsEndWhenTheyAreCancelled) {
    CancelToken token;
    EXPECT_EQ(Executable::compile(counting(7))->run({}).outputs.size(), 1u);
    const auto endless = Executable::compile(counting(2'000'000'000));  // minutes
    std::optional<ErrorCode> ended;
    std::atomic<bool> done{false};
    std::thread run([&] {
        try {
            const CancelScope scope(token);
            endless->run({});
        } catch (const Error& e) {
            ended = e.code;
        }
        done = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    EXPECT_FALSE(done) << "it ended before it was cancelled";
    token.cancel();
    const auto begin = std::chrono::steady_clock::now();
    run.join();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
    ASSERT_TRUE(ended.has_value());
    EXPECT_EQ(*ended, ErrorCode::Cancelled);
}

TEST(Executable, UnknownPrimitivesAreNamed) {
    JaxprBuilder b;
    const Value x = b.add_input(f32({2}));
    const Values y = b.emit(primitive("frobnicate"), {x}, {}, {f32({2})});
    try {
        plan_only(b.finish(y));
        FAIL();
    } catch (const Error& e) {
        EXPECT_EQ(e.code, ErrorCode::UnknownPrimitive);
        EXPECT_NE(std::string(e.fact()).find("frobnicate"), std::string::npos);
    }
}

TEST(Executable, NanCheckNamesTheEquation) {
    JaxprBuilder b;
    const Value x = b.add_input(f32({2}));
    const JaxprPtr j = b.finish({b.bind1(primitive("exp"), {b.bind1(primitive("log"), {x})})});
    RunOptions options;
    options.check_nan = true;
    EXPECT_THROW(Executable::compile(j)->run(std::vector{floats({2}, {1, -1})}, options), Error);
    EXPECT_NO_THROW(Executable::compile(j)->run(std::vector{floats({2}, {1, 2})}, options));
}

TEST(Executable, WrongInputsAreRefused) {
    EXPECT_THROW(Executable::compile(crossing(4))->run(std::vector{floats({4}, {1, 2, 3, 4})}), Error);
    EXPECT_THROW(Executable::compile(crossing(4))->run(std::vector{floats({4}, {1, 2, 3, 4}), floats({2}, {1, 2})}), Error);
}

TEST(Executable, LongChainsCompile) {
    JaxprBuilder b;
    Value x = b.add_input(f32({8}));
    for (int i = 0; i < 20000; ++i) x = b.bind1(primitive("neg"), {x});
    const JaxprPtr j = b.finish({x});
    const MemoryPlan plan = plan_only(j, donated(j, {true}));
    EXPECT_LT(plan.steps.size(), 1000u);
    EXPECT_EQ(plan.planned_peak, 64);  // the donated input, over which all of the chain is made
}

}  // namespace
}  // namespace jaxscope
