// SPDX-License-Identifier: Apache-2.0
#include "picture/columns.h"

#include <algorithm>
#include <cmath>

namespace jaxscope {
namespace {

using Index = std::uint32_t;

constexpr double kWrapHeight = 700;  // what is lower than that fits a window
constexpr double kColumnGap = 72;
constexpr double kTurn = 22;      // room above and below the columns for lines that lead around their ends
constexpr double kTagRoom = 160;  // tags at the sides of nodes, which come later
constexpr Index kMostColumns = 8;
constexpr double kCorner = 10;

/// Straight lines with round corners as a chain of cubic curves.
std::vector<Point> rounded(const std::vector<Point>& corners) {
    std::vector<Point> out{corners.front()};
    const auto towards = [](Point from, Point to) {
        const double length = std::hypot(to.x - from.x, to.y - from.y);
        const double part = length > 0 ? std::min(kCorner / length, 0.5) : 0;
        return Point{from.x + (to.x - from.x) * part, from.y + (to.y - from.y) * part};
    };
    const auto straight = [&](Point to) { out.insert(out.end(), {out.back(), to, to}); };
    for (std::size_t k = 1; k + 1 < corners.size(); ++k) {
        straight(towards(corners[k], corners[k - 1]));
        out.insert(out.end(), {corners[k], corners[k], towards(corners[k], corners[k + 1])});
    }
    straight(corners.back());
    return out;
}

}  // namespace

Columns::Columns(const LevelGraph& graph, const std::vector<Index>& ranks, const LayoutOptions& options) : first_{0} {
    if (options.aspect <= 0 || ranks.empty()) return;
    const Index rows = *std::max_element(ranks.begin(), ranks.end()) + 1;
    std::vector<double> height(rows, 0), width(rows, 0);
    for (std::size_t n = 0; n < ranks.size(); ++n) {
        height[ranks[n]] = std::max(height[ranks[n]], graph.nodes[n].height + options.rank_gap);
        width[ranks[n]] += graph.nodes[n].left + graph.nodes[n].right + options.node_gap;
    }
    double tall = 0;
    for (const double h : height) tall += h;
    if (tall <= kWrapHeight) return;
    const double wide = *std::max_element(width.begin(), width.end()) + kTagRoom;
    const double wished = std::sqrt(options.aspect * tall / (wide + kColumnGap));
    const Index count = std::min({static_cast<Index>(std::max(1.0, std::round(wished))), kMostColumns, std::max<Index>(rows / 2, 1)});
    double filled = 0;
    for (Index r = 0; r < rows; ++r) {
        const double share = tall / count * static_cast<double>(first_.size());
        if (r > first_.back() && first_.size() < count && filled + height[r] / 2 > share) first_.push_back(r);
        filled += height[r];
    }
}

Index Columns::column_of(Index rank) const {
    return static_cast<Index>(std::upper_bound(first_.begin(), first_.end(), rank) - first_.begin()) - 1;
}

bool Columns::joined(Index from, Index to) const {
    const Index a = column_of(from), b = column_of(to);
    return a == b || (b == a + 1 && from + 1 == first_[b] && to == first_[b]);
}

LevelLayout Columns::lay_out(const LevelGraph& graph, const std::vector<Index>& ranks, const LayoutOptions& options,
                             const LevelLayoutFn& level) const {
    LevelLayout out;
    out.axis.resize(graph.nodes.size());
    out.routes.resize(graph.edges.size());
    std::vector<double> left(first_.size()), bottom(first_.size());
    for (Index c = 0; c < first_.size(); ++c) {
        LevelGraph part;
        std::vector<Index> part_ranks, global, edges, local(graph.nodes.size(), 0);
        for (Index n = 0; n < graph.nodes.size(); ++n) {
            if (column_of(ranks[n]) != c) continue;
            local[n] = static_cast<Index>(global.size());
            global.push_back(n);
            part.nodes.push_back(graph.nodes[n]);
            part_ranks.push_back(ranks[n] - first_[c]);
        }
        for (Index e = 0; e < graph.edges.size(); ++e) {
            const auto& edge = graph.edges[e];
            if (column_of(ranks[edge.from]) != c || column_of(ranks[edge.to]) != c) continue;
            edges.push_back(e);
            part.edges.push_back({local[edge.from], local[edge.to], edge.weight});
        }
        LevelLayout placed = level(part, part_ranks, options);
        left[c] = out.width + (c > 0 ? kColumnGap : 0);
        bottom[c] = placed.height + kTurn;
        const auto moved = [&](Point p) { return Point{p.x + left[c], p.y + kTurn}; };
        for (std::size_t k = 0; k < global.size(); ++k) out.axis[global[k]] = moved(placed.axis[k]);
        for (std::size_t k = 0; k < edges.size(); ++k)
            for (const Point p : placed.routes[k]) out.routes[edges[k]].push_back(moved(p));
        out.width = left[c] + placed.width;
        out.height = std::max(out.height, bottom[c] + kTurn);
    }
    for (std::size_t e = 0; e < graph.edges.size(); ++e) {
        const auto& edge = graph.edges[e];
        const Index from = column_of(ranks[edge.from]), to = column_of(ranks[edge.to]);
        if (from == to || !joined(ranks[edge.from], ranks[edge.to])) continue;
        const Point begin{out.axis[edge.from].x, out.axis[edge.from].y + graph.nodes[edge.from].bottom};
        const Point end{out.axis[edge.to].x, out.axis[edge.to].y + graph.nodes[edge.to].top};
        const double under = bottom[from] + kTurn / 2, between = left[to] - kColumnGap / 2, over = kTurn / 2;
        out.routes[e] = rounded({begin, {begin.x, under}, {between, under}, {between, over}, {end.x, over}, end});
    }
    return out;
}

}  // namespace jaxscope
