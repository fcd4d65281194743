#include "picture/layout.h"

#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "picture/graph_layout.h"
#include "support/toy_programs.h"

namespace jaxscope {
namespace {

LevelGraph random_level(std::uint32_t nodes, std::uint32_t seed) {
    std::mt19937 random(seed);
    LevelGraph graph;
    for (std::uint32_t n = 0; n < nodes; ++n) {
        graph.nodes.push_back({50, 60, 40, 0, 40});
        for (int k = 0; n > 0 && k < 2; ++k) {
            const std::uint32_t reach = k == 0 ? std::min(n, 8u) : n;
            graph.edges.push_back({n - 1 - static_cast<std::uint32_t>(random() % reach), n, 1});
        }
    }
    return graph;
}

TEST(Layout, RanksFollowEdgesAndRowsStayNarrow) {
    const LevelGraph graph = random_level(2000, 1);
    const LayoutOptions options;
    const auto ranks = assign_ranks(graph, options);
    for (const auto& e : graph.edges) EXPECT_LT(ranks[e.from], ranks[e.to]);
    std::vector<std::uint32_t> row(graph.nodes.size(), 0);
    for (const std::uint32_t r : ranks) EXPECT_LE(++row[r], options.max_row);
}

TEST(Layout, NodesSinkToTheirReaders) {
    // 0 -> 1 -> 2 -> 3 -> 6 is a chain, 4 -> 5 -> 6 makes an operand of its last node. Nothing reads 7: it stays under 0.
    LevelGraph graph;
    graph.nodes.assign(8, {50, 60, 40, 0, 40});
    graph.edges = {{0, 1, 1}, {1, 2, 1}, {2, 3, 1}, {3, 6, 1}, {4, 5, 1}, {5, 6, 1}, {0, 7, 1}};
    EXPECT_EQ(assign_ranks(graph, {}), (std::vector<std::uint32_t>{0, 1, 2, 3, 2, 3, 4, 1}));
}

TEST(Layout, NodesOfARowDontOverlap) {
    for (const std::uint32_t seed : {1u, 2u, 3u}) {
        const LevelGraph graph = random_level(300, seed);
        const LayoutOptions options;
        const LevelLayout layout = layered_layout(graph, assign_ranks(graph, options), options);
        for (std::size_t a = 0; a < graph.nodes.size(); ++a) {
            EXPECT_GE(layout.axis[a].x - graph.nodes[a].left, -1e-6);
            EXPECT_LE(layout.axis[a].x + graph.nodes[a].right, layout.width + 1e-6);
            for (std::size_t b = a + 1; b < graph.nodes.size(); ++b) {
                if (layout.axis[a].y != layout.axis[b].y) continue;
                const bool left = layout.axis[a].x + graph.nodes[a].right <= layout.axis[b].x - graph.nodes[b].left + 1e-6;
                const bool right = layout.axis[b].x + graph.nodes[b].right <= layout.axis[a].x - graph.nodes[a].left + 1e-6;
                EXPECT_TRUE(left || right) << a << " and " << b;
            }
        }
    }
}

TEST(Layout, AChainIsAStraightLine) {
    LevelGraph graph;
    for (std::uint32_t n = 0; n < 20; ++n) {
        graph.nodes.push_back({60, 60, 40, 0, 40});
        if (n > 0) graph.edges.push_back({n - 1, n, 1});
    }
    const LayoutOptions options;
    const LevelLayout layout = layered_layout(graph, assign_ranks(graph, options), options);
    for (const Point& p : layout.axis) EXPECT_DOUBLE_EQ(p.x, 60);
}

TEST(Layout, TextAndBack) {
    const LevelGraph graph = random_level(40, 5);
    const LevelGraph read = read_level(write_level(graph));
    ASSERT_EQ(read.nodes.size(), graph.nodes.size());
    ASSERT_EQ(read.edges.size(), graph.edges.size());
    const LayoutOptions options;
    const LevelLayout layout = layered_layout(graph, assign_ranks(graph, options), options);
    const LevelLayout again = read_layout(write_layout(layout), graph.nodes.size(), graph.edges.size());
    EXPECT_NEAR(again.axis[7].x, layout.axis[7].x, 0.01);
    EXPECT_EQ(again.routes[9].size(), layout.routes[9].size());
}

TEST(Layout, WrongTextIsAnError) {
    for (const char* text : {"", "level", "level 1 0", "level 1e9 0", "level 2 1\nnode 1 1 1 0 1\nnode 1 1 1 0 1\nedge 1 0 1\n",
                             "level -1 0", "level 1 0\nnode nan 1 1 1 1\n"})
        EXPECT_THROW(read_level(text), Error) << text;
    EXPECT_THROW(read_layout("layout 1 1\nnode 1 2\n", 2, 0), Error);
}

TEST(GraphLayout, FramesStandAroundTheirContents) {
    const GraphModel model(toy::with_call());
    const VisibleGraph graph = model.visible({"1"});
    const GraphLayout layout = layout_graph(graph);
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
        if (graph.nodes[n].frame == VisibleGraph::kTop) continue;
        const Rect &inner = layout.nodes[n], &frame = layout.nodes[static_cast<std::size_t>(graph.nodes[n].frame)];
        EXPECT_GE(inner.x, frame.x);
        EXPECT_GE(inner.y, frame.y + graph_style::kFrameHeader);
        EXPECT_LE(inner.right(), frame.right());
        EXPECT_LE(inner.bottom(), frame.bottom());
    }
}

TEST(GraphLayout, FarEdgesBecomePortalsAtBothEnds) {
    JaxprBuilder b;
    const Value x = b.add_input(AvalRef(DType::F32, {4}), "x");
    const Value first = toy::apply(b, "cos", {x});
    Value y = first;
    for (int i = 0; i < 20; ++i) y = toy::apply(b, "sin", {y});
    const GraphModel model(b.finish({toy::apply(b, "mul", {y, first})}));
    const VisibleGraph graph = model.visible({});
    const GraphLayout layout = layout_graph(graph);
    ASSERT_EQ(layout.portals.size(), 2u);
    EXPECT_EQ(layout.portals[0].text, "mul");
    EXPECT_EQ(layout.portals[1].text, "cos");
    EXPECT_EQ(layout.portals[1].targets, (std::vector<std::uint32_t>{graph.by_key.at("0")}));
    EXPECT_LE(layout.portals[1].rect.right(), layout.nodes[layout.portals[1].node].x);
}

TEST(GraphLayout, TallLevelsStandInColumnsThatAreJoined) {
    JaxprBuilder b;
    Value y = b.add_input(AvalRef(DType::F32, {4}), "x");
    for (int i = 0; i < 60; ++i) y = toy::apply(b, "sin", {y});
    const GraphModel model(b.finish({y}));
    const VisibleGraph graph = model.visible({});
    const GraphLayout chain = layout_graph(graph);
    const GraphLayout layout = layout_graph(graph, {.aspect = 1.5});
    EXPECT_GT(chain.height, 10 * chain.width);
    EXPECT_LT(layout.height, 2 * layout.width);
    EXPECT_TRUE(layout.portals.empty()) << "neighbours are joined by lines";
    EXPECT_EQ(layout.lines.size(), graph.edges.size());
    for (const auto& line : layout.lines) {
        EXPECT_EQ(line.points.size() % 3, 1u);
        EXPECT_EQ(line.points.front().y, layout.nodes[line.from].bottom());
        EXPECT_EQ(line.points.back().y, layout.nodes[line.to].y);
        // Lines that lead to the next column go through no node.
        if (std::abs(line.points.back().x - line.points.front().x) < 100) continue;
        for (const Point& p : line.points)
            for (const Rect& r : layout.nodes) EXPECT_FALSE(p.x > r.x && p.x < r.right() && p.y > r.y + 1 && p.y < r.bottom() - 1);
    }
    for (std::size_t a = 0; a < layout.nodes.size(); ++a)
        for (std::size_t c = 0; c < a; ++c) {
            const Rect &p = layout.nodes[a], &q = layout.nodes[c];
            EXPECT_TRUE(p.right() <= q.x || q.right() <= p.x || p.bottom() <= q.y || q.bottom() <= p.y);
        }
}

TEST(GraphLayout, CrowdsOfInputsAndResultsAreTiedToWhatTheyBelongTo) {
    JaxprBuilder b;
    Values inputs;
    for (int i = 0; i < 30; ++i) inputs.push_back(b.add_input(AvalRef(DType::F32, {4})));
    Value sum = inputs[0];
    Values sums;
    for (int i = 1; i < 30; ++i) sums.push_back(sum = toy::apply(b, "add", {sum, inputs[static_cast<std::size_t>(i)]}));
    const GraphModel model(b.finish(std::move(sums)));
    const VisibleGraph graph = model.visible({});
    const auto ends = [&](const GraphLayout& layout, const char* key) {
        int count = 0;
        for (const auto& line : layout.lines) count += line.from == graph.by_key.at(key) || line.to == graph.by_key.at(key) ? 1 : 0;
        return count;
    };
    const GraphLayout layout = layout_graph(graph, {.tie_ports = true});
    for (const char* key : {"in", "out"}) {
        EXPECT_EQ(ends(layout_graph(graph), key), 0);
        EXPECT_EQ(ends(layout, key), 1);
    }
    EXPECT_GT(layout.nodes[graph.by_key.at("out")].y, layout.nodes[graph.by_key.at("28")].y);
}

TEST(GraphLayout, EveryValueIsALineOrATag) {
    const GraphModel model(toy::chain(300));
    const VisibleGraph graph = model.visible(model.first_look(80));
    const GraphLayout layout = layout_graph(graph);
    std::uint32_t lines = 0;
    for (const auto& line : layout.lines) lines += line.values;
    EXPECT_GT(lines, 0u);
    for (const auto& line : layout.lines) EXPECT_EQ(line.points.size() % 3, 1u);
}

}  // namespace
}  // namespace jaxscope
