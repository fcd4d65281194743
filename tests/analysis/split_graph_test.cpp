#include "picture/split_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "analysis/inspection.h"
#include "io/capture/reader.h"

namespace jaxscope {
namespace {

double bezier(double a, double b, double c, double d, double t) {
    const double s = 1 - t;
    return s * s * s * a + 3 * s * s * t * b + 3 * s * t * t * c + t * t * t * d;
}

/// The bundled samples, with as many groups open as the window opens at first.
class SplitPictures : public testing::TestWithParam<const char*> {
protected:
    SplitPictures()
        : inspection_(read_capture(std::string(JAXSCOPE_SOURCE_DIR "/samples/captures/") + GetParam() + ".jaxscope"), {}),
          graph_(inspection_.split()),
          picture_(graph_.picture(graph_.known().first_look(16), graph_.unknown().first_look(16))) {}

    Inspection inspection_;
    SplitGraph graph_;
    SplitPicture picture_;
};

TEST_P(SplitPictures, EveryResidualCrossesTheBoundary) {
    std::vector<bool> crosses(graph_.num_residuals());
    for (const auto& crossing : picture_.crossings) {
        EXPECT_LT(crossing.begin.x, crossing.end.x);
        EXPECT_LE(crossing.begin.x, picture_.boundary);
        EXPECT_GT(crossing.end.x, picture_.boundary);
        for (const std::uint32_t k : crossing.residuals) crosses[k] = true;
    }
    EXPECT_TRUE(std::all_of(crosses.begin(), crosses.end(), [](bool c) { return c; }));
}

TEST_P(SplitPictures, LinesRunThroughNoBoxes) {
    const auto runs_through = [](const Rect& box, const std::vector<Point>& points) {
        constexpr double kEdge = 1;
        for (std::size_t k = 0; k + 3 < points.size(); k += 3)
            for (double t = 0; t <= 1; t += 1.0 / 64) {
                const Point* p = &points[k];
                const double x = bezier(p[0].x, p[1].x, p[2].x, p[3].x, t), y = bezier(p[0].y, p[1].y, p[2].y, p[3].y, t);
                if (x > box.x + kEdge && x < box.right() - kEdge && y > box.y + kEdge && y < box.bottom() - kEdge) return true;
            }
        return false;
    };
    for (const bool of_known : {true, false}) {
        const VisibleGraph& graph = of_known ? picture_.known : picture_.unknown;
        const GraphLayout& layout = of_known ? picture_.known_layout : picture_.unknown_layout;
        for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
            if (graph.nodes[n].expanded) continue;
            for (const auto& crossing : picture_.crossings)
                EXPECT_FALSE(runs_through(layout.nodes[n], crossing.points)) << crossing.label << " through " << graph.nodes[n].title;
            for (const auto& line : layout.lines)
                EXPECT_FALSE(runs_through(layout.nodes[n], line.points))
                    << graph.nodes[line.from].title << " to " << graph.nodes[line.to].title << " through " << graph.nodes[n].title;
        }
    }
}

TEST_P(SplitPictures, WhatNoLineLeadsToStandsAwayFromTheBoundary) {
    for (const bool of_known : {true, false}) {
        const VisibleGraph& graph = of_known ? picture_.known : picture_.unknown;
        const GraphLayout& layout = of_known ? picture_.known_layout : picture_.unknown_layout;
        std::vector<bool> tied(graph.nodes.size(), false);
        for (const auto& line : layout.lines) tied[line.from] = tied[line.to] = true;
        for (std::size_t loose = 0; loose < graph.nodes.size(); ++loose)
            for (std::size_t other = 0; !tied[loose] && other < graph.nodes.size(); ++other) {
                const Rect &a = layout.nodes[loose], &b = layout.nodes[other];
                const bool beside =
                    tied[other] && graph.nodes[loose].frame == graph.nodes[other].frame && a.cy() > b.y && a.cy() < b.bottom();
                if (!beside) continue;
                EXPECT_EQ(a.x < b.x, of_known) << graph.nodes[loose].title << " beside " << graph.nodes[other].title;
            }
    }
}

TEST_P(SplitPictures, LabelsDontOverlap) {
    std::vector<double> at;
    for (const auto& crossing : picture_.crossings) at.push_back(crossing.label_y);
    std::sort(at.begin(), at.end());
    for (std::size_t k = 1; k < at.size(); ++k) EXPECT_GE(at[k] - at[k - 1], graph_style::kTagHeight);
}

TEST_P(SplitPictures, LinesRunThroughTheirOwnLabelsOnly) {
    const auto in_label = [&](const Point& p, const SplitPicture::Crossing& of) {
        constexpr double kHalfHeight = 9;
        return std::abs(p.x - picture_.boundary) < graph_style::tag_width(of.label) / 2 && std::abs(p.y - of.label_y) < kHalfHeight;
    };
    for (const auto& crossing : picture_.crossings) {
        bool own = false;
        for (std::size_t k = 0; k + 3 < crossing.points.size(); k += 3)
            for (double t = 0; t <= 1; t += 1.0 / 64) {
                const Point *p = &crossing.points[k],
                            at = {bezier(p[0].x, p[1].x, p[2].x, p[3].x, t), bezier(p[0].y, p[1].y, p[2].y, p[3].y, t)};
                for (const auto& other : picture_.crossings) {
                    if (!in_label(at, other)) continue;
                    own = own || &other == &crossing;
                    EXPECT_EQ(&other, &crossing) << crossing.label << " runs through " << other.label;
                }
            }
        EXPECT_TRUE(own) << crossing.label;
    }
}

TEST_P(SplitPictures, LinesThatCrossAreLevelWhereTheyCanBe) {
    // Of the lines between computed values half are at most four rows from level.
    std::vector<double> heights;
    for (const auto& crossing : picture_.crossings)
        if (!crossing.arguments) heights.push_back(std::abs(crossing.begin.y - crossing.end.y));
    ASSERT_FALSE(heights.empty());
    std::sort(heights.begin(), heights.end());
    EXPECT_LE(heights[heights.size() / 2], 4 * 68);
}

TEST_P(SplitPictures, MovingRowsKeepsTheirOrderAndTheirFrames) {
    for (const auto* half : {&picture_.known, &picture_.unknown}) {
        const GraphLayout& layout = half == &picture_.known ? picture_.known_layout : picture_.unknown_layout;
        for (std::size_t n = 0; n < half->nodes.size(); ++n) {
            EXPECT_LE(layout.nodes[n].bottom(), layout.height + 1e-6);
            const int frame = half->nodes[n].frame;
            if (frame == VisibleGraph::kTop) continue;
            const Rect& around = layout.nodes[static_cast<std::size_t>(frame)];
            EXPECT_GE(layout.nodes[n].y, around.y);
            EXPECT_LE(layout.nodes[n].bottom(), around.bottom());
        }
        for (const auto& line : layout.lines) EXPECT_LT(line.points.front().y, line.points.back().y + 1e-6);
    }
}

INSTANTIATE_TEST_SUITE_P(Samples, SplitPictures, testing::Values("mlp", "mlp_sharded", "transformer_lm", "transformer_lm_scan"),
                         [](const auto& sample) { return std::string(sample.param); });

}  // namespace
}  // namespace jaxscope
