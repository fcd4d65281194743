// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "picture/columns.h"
#include "picture/graph_model.h"
#include "picture/layout.h"

namespace jaxscope {

/// Sizes of what is drawn, in pixels at 100 % zoom: the same for the window and for SVG files, which have no font metrics. Text that
/// doesn't fit is cut with an ellipsis by whoever draws.
namespace graph_style {
constexpr double kNodeHeight = 40;
constexpr double kMinNodeWidth = 112, kMaxNodeWidth = 232;
constexpr double kTagHeight = 20, kMaxTagWidth = 132, kMaxPillWidth = 184, kTagGap = 10;
constexpr double kFrameHeader = 28, kFramePadding = 16;
constexpr double kTitleSize = 12, kDetailSize = 11, kTagSize = 10;
/// Estimates, on the generous side, of Inter semibold and JetBrains Mono; of tags with the larger letters of small pictures.
constexpr double kTitleAdvance = 7.2, kDetailAdvance = 6.7, kTagAdvance = 7;
double node_width(const GraphItem& item);
double tag_width(const std::string& text);
/// Of what a crossing line carries: all of it, the gutter has the room.
double pill_width(const std::string& text);
/// Width of a line for so many bytes: 1 px for scalars to 6 px for a GiB.
double edge_width(std::int64_t bytes);
}  // namespace graph_style

struct Rect {
    double x = 0, y = 0, w = 0, h = 0;
    double right() const { return x + w; }
    double bottom() const { return y + h; }
    double cx() const { return x + w / 2; }
    double cy() const { return y + h / 2; }
};

/// A small tag at a node's side that stands for edges which aren't drawn there as lines.
struct Portal {
    std::uint32_t node = 0;
    bool incoming = true;                ///< from the targets to the node; else the other way
    bool at_left = true;                 ///< of the node; else at its right
    std::string text;                    ///< "w_q", "w_q +3"
    std::vector<std::uint32_t> targets;  ///< nodes at the other ends
    std::int64_t bytes = 0;
    Rect rect;
};

/// A visible graph with places. Frames stand around what they contain.
struct GraphLayout {
    std::vector<Rect> nodes;
    struct Line {
        std::uint32_t edge = 0;          ///< the first of the edges drawn here
        std::uint32_t from = 0, to = 0;  ///< the nodes at its ends, in one frame
        std::int64_t bytes = 0;
        std::uint32_t values = 0;
        std::vector<Point> points;  ///< cubic Bezier curves, 1 + 3n points
    };
    std::vector<Line> lines;
    std::vector<Portal> portals;
    double width = 0, height = 0;
};

/// Lays out a visible graph level by level, innermost frames first, and turns edges that span far into portals.
/// Linear in nodes and edges (with `layered_layout`).
GraphLayout layout_graph(const VisibleGraph& graph, const LayoutOptions& options = {}, const LevelLayoutFn& level = layered_layout);

}  // namespace jaxscope
