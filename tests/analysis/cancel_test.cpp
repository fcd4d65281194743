// What was stopped, and what that leaves.
#include <gtest/gtest.h>

#include "analysis/inspection.h"
#include "base/cancel.h"
#include "base/error.h"
#include "io/text/parser.h"
#include "picture/graph_layout.h"
#include "picture/graph_model.h"
#include "support/toy_programs.h"

namespace jaxscope {
namespace {

constexpr const char* kLong = R"({ lambda ; a:f32[64,64]. let
    b:f32[64,64] = scan[
      jaxpr={ lambda ; c:f32[64,64]. let
          d:f32[64,64] = dot_general[dimension_numbers=(([1], [0]), ([], []))] c c
          e:f32[64,64] = tanh d
        in (e,) }
      length=100000000
      linear=(False,)
      num_carry=1
      num_consts=0
      reverse=False
      unroll=1
    ] a
  in (b,) }
)";

TEST(Cancel, ATimeOutThatFiredDoesntSpoilTheNextStage) {
    const Inspection inspection(read_jaxpr_text(kLong, "long"), {});
    RunRequest request;
    request.timeout_seconds = 0.05;
    for (int again = 0; again < 2; ++again) {
        try {
            inspection.run(request);
            FAIL();
        } catch (const Error& e) {
            EXPECT_EQ(e.code, ErrorCode::CannotRun) << e.fact();
            EXPECT_NE(std::string(e.fact()).find("0.05 s"), std::string::npos) << e.fact();
        }
        EXPECT_GT(inspection.plan().planned_peak, 0);
    }
}

TEST(Cancel, ACancelledInspectionStopsInEveryStageAndLeavesTheOthersAlone) {
    const ProgramPtr program = read_jaxpr_text(kLong, "long");
    const Inspection stopped(program, {});
    const Inspection other(program, {}, &stopped);
    stopped.cancel();
    const auto cancelled = [](auto stage) {
        try {
            stage();
            return false;
        } catch (const Error& e) {
            return e.code == ErrorCode::Cancelled;
        }
    };
    EXPECT_TRUE(cancelled([&] { stopped.plan(); }));
    EXPECT_TRUE(cancelled([&] { stopped.run({}); }));
    EXPECT_TRUE(cancelled([&] { stopped.policies({}, false); }));
    EXPECT_GT(other.plan().planned_peak, 0);
}

/// The picture of a program is asked for anew with every click: what is out of date ends wherever it is.
TEST(Cancel, PicturesStopWhileTheyAreMade) {
    const GraphModel model(toy::chain(2000));
    const VisibleGraph graph = model.visible({});
    LevelGraph level;
    for (std::uint32_t n = 0; n < 50; ++n) {
        level.nodes.push_back({10, 10, 10, 0, 10});
        if (n > 0) level.edges.push_back({n - 1, n, 1});
    }
    const std::vector<std::uint32_t> ranks = assign_ranks(level, {});
    const auto cancelled = [](auto make) {
        CancelToken token;
        token.cancel();
        const CancelScope scope(token);
        try {
            make();
            return false;
        } catch (const Error& e) {
            return e.code == ErrorCode::Cancelled;
        }
    };
    EXPECT_TRUE(cancelled([&] { model.visible({}); }));
    EXPECT_TRUE(cancelled([&] { assign_ranks(level, {}); }));
    EXPECT_TRUE(cancelled([&] { layered_layout(level, ranks, {}); }));
    // A level's own layout that asks nobody: the lines between levels ask.
    const LevelLayoutFn silent = [](const LevelGraph& g, const std::vector<std::uint32_t>&, const LayoutOptions&) {
        return LevelLayout{std::vector<Point>(g.nodes.size()), std::vector<std::vector<Point>>(g.edges.size()), 0, 0};
    };
    EXPECT_TRUE(cancelled([&] { layout_graph(graph, {}, silent); }));
    EXPECT_FALSE(layout_graph(graph, {}, silent).nodes.empty());
}

}  // namespace
}  // namespace jaxscope
