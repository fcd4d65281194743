#include "asking/child_run.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "analysis/inspection.h"
#include "analysis/stages/step.h"
#include "base/cancel.h"
#include "io/text/parser.h"

namespace jaxscope {
namespace {

constexpr const char* kProgram =
    "{ lambda ; a:f32[64,32] b:f32[64,32]. let c:f32[64,32] = tanh a; d:f32[64,32] = sort[dimension=0 is_stable=True num_keys=1] c; "
    "e:f32[64,32] = mul d b in (e, c) }";
constexpr const char* kEndless =
    "{ lambda ; a:i32[]. let b:i32[] = while[body_jaxpr={ lambda ; c:i32[]. let d:i32[] = mul c 1:i32[] in (d,) } body_nconsts=0 "
    "cond_jaxpr={ lambda ; e:i32[]. let f:bool[] = ge e e in (f,) } cond_nconsts=0] a in (b,) }";

ChildRun child(const Inspection& i) {
    ChildRun run;
    run.command = JAXSCOPE_BINARY_DIR "/jaxscope";
    run.program = program_to_run(i.program(), i.step(), i.donation());
    run.jit = i.choices().jit;
    return run;
}

TEST(ChildRun, GivesWhatARunHereGives) {
    Choices choices;
    choices.donate = std::vector<int>{1};
    const Inspection i(parse_jaxpr_text(kProgram, "t.jaxpr"), choices);
    const RunReport here = i.run({});
    const ChildRunResult there = run_in_child(child(i));
    ASSERT_EQ(there.result.outputs.size(), 2u);
    for (std::size_t k = 0; k < 2; ++k) EXPECT_EQ(there.result.outputs[k]->data, here.outputs[k]->data);
    EXPECT_EQ(there.synthesised, here.synthesised);
    ASSERT_TRUE(there.result.measured_peak) << there.result.measurement_problem;
    EXPECT_GT(*there.result.measured_peak, 0);
    EXPECT_GT(there.result.best_seconds, 0);
    EXPECT_NE(there.json.find("\"planned_peak\": " + std::to_string(i.plan().planned_peak)), std::string::npos) << there.json;
}

std::string refusal(const ChildRun& run) {
    try {
        run_in_child(run);
    } catch (const Error& e) {
        return full_text(e);
    }
    return "ran";
}

TEST(ChildRun, LimitsAndCancelling) {
    const Inspection endless(parse_jaxpr_text(kEndless, "e.jaxpr"), {});
    ChildRun run = child(endless);
    run.limits.seconds = 0.4;
    EXPECT_NE(refusal(run).find("expected an end within 400 ms, found it still at work [cannot-run]"), std::string::npos) << refusal(run);
    run.limits = {};
    CancelToken token;
    const CancelScope scope(token);
    std::thread later([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        token.cancel();
    });
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_NE(refusal(run).find("[cancelled]"), std::string::npos);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(3));
    later.join();
}

TEST(ChildRun, APlanBeyondTheLimitIsRefused) {
    const Inspection i(parse_jaxpr_text(kProgram, "t.jaxpr"), {});
    ChildRun run = child(i);
    run.limits.memory = 1000;
    EXPECT_NE(refusal(run).find("expected a plan within 1000 bytes"), std::string::npos) << refusal(run);
}

}  // namespace
}  // namespace jaxscope
