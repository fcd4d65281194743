// What runs inside of a loop's step, as a plan of its own.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "analysis/correspondence.h"
#include "analysis/equations/eqn_path.h"
#include "analysis/inspection.h"
#include "analysis/memory_timeline.h"
#include "io/capture/reader.h"

namespace jaxscope {
namespace {

Inspection opened(const char* sample) {
    return Inspection(read_capture(std::string(JAXSCOPE_SOURCE_DIR "/samples/captures/") + sample + ".jaxscope"), Choices{});
}

std::vector<int> loops_of(const MemoryPlan& plan) {
    std::vector<int> loops;
    for (std::size_t s = 0; s < plan.steps.size(); ++s)
        if (plan.steps[s].inside) loops.push_back(static_cast<int>(s));
    return loops;
}

TEST(IterationPlan, HoldsWhatItsLoopHoldsInside) {
    const Inspection inspection = opened("transformer_lm_scan");
    const MemoryPlan& plan = inspection.plan();
    const std::vector<int> loops = loops_of(plan);
    ASSERT_GE(loops.size(), 2u);  // forward and backward
    for (const int step : loops) {
        const PlannedStep& loop = plan.steps[static_cast<std::size_t>(step)];
        EXPECT_EQ(loop.kind.str(), std::string("scan"));
        EXPECT_EQ(loop.iterations, 6);  // layers of the sample
        const MemoryPlan iteration = *open_step(plan, step);
        EXPECT_EQ(iteration.opened, std::vector<int>{step});
        EXPECT_EQ(iteration.derivation, plan.derivation);
        EXPECT_GT(iteration.steps.size(), 5u);
        EXPECT_GE(iteration.planned_peak, iteration.live_peak);
        // What is alive in the iteration at its own peak is what the loop's step shows.
        std::multiset<std::string> shown;
        for (const int b : loop.writes) shown.insert(plan.buffers[static_cast<std::size_t>(b)].eqn);
        std::int64_t alive = 0;
        for (const int b : iteration.at_peak) {
            const PlannedBuffer& buffer = iteration.buffers[static_cast<std::size_t>(b)];
            EXPECT_TRUE(shown.contains(buffer.eqn)) << buffer.eqn;
            alive += buffer.bytes;
        }
        EXPECT_EQ(alive, iteration.live_peak);
        for (const PlannedStep& s : iteration.steps)
            EXPECT_TRUE(s.eqn.empty() || s.eqn.starts_with(loop.eqn + "/")) << s.eqn << " in " << loop.eqn;
    }
}

TEST(IterationPlan, ItsBuffersAreFoundInTheProgram) {
    const Inspection inspection = opened("transformer_lm_scan");
    const MemoryPlan& plan = inspection.plan();
    KnownStages stages;
    stages.plan = &plan;
    const Correspondence correspondence(inspection.program(), nullptr, stages);
    int found = 0;
    for (const int step : loops_of(plan)) {
        const MemoryPlan iteration = *open_step(plan, step);
        for (std::size_t b = 0; b < iteration.buffers.size(); ++b) {
            const PlannedBuffer& buffer = iteration.buffers[b];
            Picked picked;
            picked.buffer = id_of(iteration, static_cast<int>(b));
            const PlannedBuffer* again = find_buffer(plan, *picked.buffer);
            ASSERT_NE(again, nullptr) << b;
            EXPECT_EQ(again->eqn, buffer.eqn);
            EXPECT_EQ(again->offset, buffer.offset);
            EXPECT_EQ(buffer_index(iteration, *picked.buffer), static_cast<int>(b));
            const Picked all = correspondence.complete(picked);
            EXPECT_EQ(all.input, -1);  // a body's arguments are none of the program's
            if (buffer.eqn.empty() || !all.program) continue;
            EXPECT_EQ(resolve(*inspection.program().jaxpr, *all.program).prim, buffer.maker) << buffer.eqn;
            found += to_text(*all.program) == buffer.eqn ? 1 : 0;  // else its twin in the forward pass, which it computes again
        }
        // The same number in the whole plan is another buffer.
        EXPECT_EQ(buffer_index(plan, id_of(iteration, 0)), -1);
    }
    EXPECT_GT(found, 20);
}

TEST(IterationPlan, NothingIsInsideOfOtherSteps) {
    const Inspection inspection = opened("mlp_adam");
    const MemoryPlan& plan = inspection.plan();
    ASSERT_FALSE(plan.steps.empty());
    EXPECT_TRUE(loops_of(plan).empty());
    EXPECT_EQ(open_step(plan, 0), nullptr);
    BufferId nowhere = id_of(plan, 0);
    nowhere.derivation = plan.derivation;
    nowhere.opened = {0, 7};
    EXPECT_EQ(find_buffer(plan, nowhere), nullptr);
    nowhere.opened = {1 << 20};
    EXPECT_EQ(find_buffer(plan, nowhere), nullptr);
}

}  // namespace
}  // namespace jaxscope
