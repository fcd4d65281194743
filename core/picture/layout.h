// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace jaxscope {

struct Point {
    double x = 0, y = 0;
};

/// One level of a graph to lay out. Lengths are pixels at 100 % zoom. Knows nothing of jaxprs: the layout worker, a process of its
/// own, is made of this file alone.
struct LevelGraph {
    /// Extents around the node's axis, the vertical on which edges arrive and leave: `left` and `right` of it, `height` in all.
    /// `top` and `bottom` is where edges end, measured from the node's upper side.
    struct Node {
        double left = 0, right = 0, height = 0;
        double top = 0, bottom = 0;
    };
    struct Edge {
        std::uint32_t from = 0, to = 0;  ///< from < to: nodes come in program order, which makes a level acyclic
        double weight = 1;               ///< how much it wants to be straight
    };
    std::vector<Node> nodes;
    std::vector<Edge> edges;
};

/// Where things are: x to the right, y down, from (0, 0) on.
struct LevelLayout {
    std::vector<Point> axis;                 ///< per node: x of its axis, y of its upper side
    std::vector<std::vector<Point>> routes;  ///< per edge: a chain of cubic Bezier curves, 1 + 3n points; empty: not routed
    double width = 0, height = 0;
};

struct LayoutOptions {
    double node_gap = 28;        ///< between neighbours of a row
    double rank_gap = 36;        ///< between rows
    std::uint32_t max_row = 8;   ///< nodes in a row: hundreds of independent updates would make one row miles wide
    std::uint32_t max_span = 6;  ///< rows that an edge may cross; longer ones become portals
    double aspect = 0;           ///< width to height that tall levels are wrapped to; 0: they stay one column
    /// Where tags stand that take the place of far edges: what comes in at the left and what goes out at the right, or all on the side that
    /// other lines leave free.
    enum class Tags : std::uint8_t { WithTheFlow, Left, Right } tags = Tags::WithTheFlow;
    bool tie_ports = false;  ///< crowds of inputs and results get one line each to what they belong to
};

/// Rows of the nodes: below all producers, rows of at most `max_row`, near what reads them. Near-linear.
std::vector<std::uint32_t> assign_ranks(const LevelGraph& graph, const LayoutOptions& options);

/// Our own layered layout: rows by `ranks`, crossings reduced by medians, then positions that keep edges straight. Edges spanning more than
/// `max_span` rows get no route and don't count. A constant number of sweeps: time goes with nodes + edges * max_span (and sorting rows).
LevelLayout layered_layout(const LevelGraph& graph, const std::vector<std::uint32_t>& ranks, const LayoutOptions& options);

/// The layout worker's protocol: lines of numbers, read leniently in no way. `read_*` throw Error{BadInput}.
std::string write_level(const LevelGraph& graph);
LevelGraph read_level(std::string_view text);
std::string write_layout(const LevelLayout& layout);
/// `nodes` and `edges`: how many there must be.
LevelLayout read_layout(std::string_view text, std::size_t nodes, std::size_t edges);

}  // namespace jaxscope
