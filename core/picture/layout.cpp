// SPDX-License-Identifier: Apache-2.0
#include "picture/layout.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/cancel.h"
#include "base/error.h"

namespace jaxscope {
namespace {

using Index = std::uint32_t;

/// A row's slot: a node, or the place where an edge passes through.
struct Slot {
    double left = 0, right = 0;
    double x = 0;
    bool bend = false;
};
struct Link {
    Index from = 0, to = 0;  ///< slots of neighbouring rows
    double weight = 1;
};
struct Neighbour {
    Index slot = 0;
    double weight = 1;
};

/// Slots, rows and links between neighbouring rows: the graph with its edges cut at every row they pass.
struct Layers {
    std::vector<Slot> slots;
    std::vector<std::vector<Index>> rows;
    std::vector<std::vector<Index>> chain;  ///< per edge: its slots from end to end, or empty
    std::vector<std::vector<Neighbour>> above, below;
};

constexpr double kBendWidth = 6;
constexpr double kMiddlePull = 0.15;

Layers make_layers(const LevelGraph& graph, const std::vector<Index>& ranks, const LayoutOptions& options) {
    Layers layers;
    const Index rows = ranks.empty() ? 0 : *std::max_element(ranks.begin(), ranks.end()) + 1;
    layers.rows.resize(rows);
    layers.chain.resize(graph.edges.size());
    for (Index n = 0; n < graph.nodes.size(); ++n) {
        layers.slots.push_back({graph.nodes[n].left, graph.nodes[n].right, 0, false});
        layers.rows[ranks[n]].push_back(n);
    }
    std::vector<Link> links;
    for (std::size_t e = 0; e < graph.edges.size(); ++e) {
        const auto& edge = graph.edges[e];
        const Index span = ranks[edge.to] - ranks[edge.from];
        if (ranks[edge.to] <= ranks[edge.from] || span > options.max_span) continue;
        auto& chain = layers.chain[e];
        chain.push_back(edge.from);
        for (Index r = ranks[edge.from] + 1; r < ranks[edge.to]; ++r) {
            chain.push_back(static_cast<Index>(layers.slots.size()));
            layers.rows[r].push_back(chain.back());
            layers.slots.push_back({kBendWidth / 2, kBendWidth / 2, 0, true});
        }
        chain.push_back(edge.to);
        const double straighten = span > 1 ? 4 : 1;
        for (std::size_t k = 1; k < chain.size(); ++k) links.push_back({chain[k - 1], chain[k], edge.weight * straighten});
    }
    layers.above.resize(layers.slots.size());
    layers.below.resize(layers.slots.size());
    for (const Link& link : links) {
        layers.below[link.from].push_back({link.to, link.weight});
        layers.above[link.to].push_back({link.from, link.weight});
    }
    return layers;
}

/// Orders a row by the mean position of its neighbours in the row before; slots without neighbours keep their place.
void order_row(const Layers& layers, std::vector<Index>& row, const std::vector<std::vector<Neighbour>>& side, std::vector<double>& place) {
    check_cancelled();
    std::vector<std::pair<double, Index>> keyed;
    keyed.reserve(row.size());
    for (std::size_t k = 0; k < row.size(); ++k) {
        double sum = 0, weight = 0;
        for (const Neighbour& n : side[row[k]]) {
            sum += place[n.slot] * n.weight;
            weight += n.weight;
        }
        keyed.emplace_back(weight > 0 ? sum / weight : place[row[k]], row[k]);
    }
    std::stable_sort(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    double total = 0;
    for (const auto& [key, slot] : keyed) total += layers.slots[slot].left + layers.slots[slot].right + 1;
    double x = -total / 2;
    for (std::size_t k = 0; k < row.size(); ++k) {
        row[k] = keyed[k].second;
        const Slot& slot = layers.slots[row[k]];
        place[row[k]] = x + slot.left;
        x += slot.left + slot.right + 1;
    }
}

void reduce_crossings(Layers& layers) {
    std::vector<double> place(layers.slots.size(), 0);
    for (auto& row : layers.rows) order_row(layers, row, layers.above, place);
    for (int sweep = 0; sweep < 4; ++sweep) {
        for (std::size_t r = layers.rows.size(); r-- > 0;) order_row(layers, layers.rows[r], layers.below, place);
        for (auto& row : layers.rows) order_row(layers, row, layers.above, place);
    }
}

/// What no line leads to (a crowd of inputs that tags speak of) stands where the tags do: in the middle it is in the way of others' lines.
void move_loose_nodes(Layers& layers, LayoutOptions::Tags side) {
    if (side == LayoutOptions::Tags::WithTheFlow) return;
    const bool first = side == LayoutOptions::Tags::Left;
    for (auto& row : layers.rows)
        std::stable_partition(row.begin(), row.end(),
                              [&](Index slot) { return (layers.above[slot].empty() && layers.below[slot].empty()) == first; });
}

/// Positions of a row nearest (in weighted squares) to the wished ones that keep order and distances: neighbours that would collide
/// are pooled into blocks which move as one.
void place_row(Layers& layers, const std::vector<Index>& row, const std::vector<double>& wish, const std::vector<double>& pull,
               double gap) {
    check_cancelled();
    struct Block {
        double sum, weight;
        std::size_t first;
    };
    std::vector<Block> blocks;
    std::vector<double> offset(row.size(), 0);
    for (std::size_t k = 0; k < row.size(); ++k) {
        if (k > 0) {
            const Slot &before = layers.slots[row[k - 1]], &here = layers.slots[row[k]];
            offset[k] = offset[k - 1] + before.right + here.left + (before.bend || here.bend ? gap * 0.6 : gap);
        }
        blocks.push_back({(wish[k] - offset[k]) * pull[k], pull[k], k});
        while (blocks.size() > 1 &&
               blocks[blocks.size() - 2].sum * blocks.back().weight >= blocks.back().sum * blocks[blocks.size() - 2].weight) {
            Block& into = blocks[blocks.size() - 2];
            into.sum += blocks.back().sum;
            into.weight += blocks.back().weight;
            blocks.pop_back();
        }
    }
    for (std::size_t b = 0; b < blocks.size(); ++b) {
        const std::size_t stop = b + 1 < blocks.size() ? blocks[b + 1].first : row.size();
        for (std::size_t k = blocks[b].first; k < stop; ++k) layers.slots[row[k]].x = blocks[b].sum / blocks[b].weight + offset[k];
    }
}

void sweep_row(Layers& layers, const std::vector<Index>& row, bool use_above, bool use_below, double gap) {
    std::vector<double> wish(row.size()), pull(row.size());
    for (std::size_t k = 0; k < row.size(); ++k) {
        double sum = 0, weight = 0;
        const auto gather = [&](const std::vector<Neighbour>& side) {
            for (const Neighbour& n : side) {
                sum += layers.slots[n.slot].x * n.weight;
                weight += n.weight;
            }
        };
        const Slot& slot = layers.slots[row[k]];
        // A little of the middle for every node: without it, long edges at one side push every row a bit further to the other.
        if (!slot.bend) weight = kMiddlePull;
        if (use_above) gather(layers.above[row[k]]);
        if (use_below) gather(layers.below[row[k]]);
        wish[k] = weight > 0 ? sum / weight : slot.x;
        pull[k] = (weight > 0 ? weight : 0.05) * (slot.bend ? 2 : 1);
    }
    place_row(layers, row, wish, pull, gap);
}

void assign_x(Layers& layers, double gap) {
    for (const auto& row : layers.rows) place_row(layers, row, std::vector<double>(row.size(), 0), std::vector<double>(row.size(), 1), gap);
    for (int sweep = 0; sweep < 6; ++sweep) {
        for (const auto& row : layers.rows) sweep_row(layers, row, true, sweep > 2, gap);
        for (std::size_t r = layers.rows.size(); r-- > 0;) sweep_row(layers, layers.rows[r], sweep > 2, true, gap);
    }
}

/// Goes on to `next` in an S that leaves and arrives straight down.
void bend_to(Point next, std::vector<Point>& points) {
    const Point last = points.back();
    const double middle = (last.y + next.y) / 2;
    points.insert(points.end(), {{last.x, middle}, {next.x, middle}, next});
}

/// Lines pass a row straight down, over its whole height: a frame in it may be tall. So they do in the rows of their ends.
void route(const LevelGraph& graph, const Layers& layers, const std::vector<Index>& ranks, const std::vector<double>& row_top,
           const std::vector<double>& row_bottom, LevelLayout& out) {
    out.routes.resize(graph.edges.size());
    for (std::size_t e = 0; e < graph.edges.size(); ++e) {
        const auto& chain = layers.chain[e];
        if (chain.empty()) continue;
        const Index from = graph.edges[e].from, to = graph.edges[e].to;
        auto& points = out.routes[e];
        points.push_back({out.axis[from].x, out.axis[from].y + graph.nodes[from].bottom});
        const auto straight_to = [&](double y) {
            constexpr double kLeast = 1;
            if (y > points.back().y + kLeast) bend_to({points.back().x, y}, points);
        };
        straight_to(row_bottom[ranks[from]]);
        for (std::size_t k = 1; k + 1 < chain.size(); ++k) {
            const double x = layers.slots[chain[k]].x;
            bend_to({x, row_top[ranks[from] + k]}, points);
            bend_to({x, row_bottom[ranks[from] + k]}, points);
        }
        const Point end{out.axis[to].x, out.axis[to].y + graph.nodes[to].top};
        bend_to({end.x, std::min(row_top[ranks[to]], end.y)}, points);
        straight_to(end.y);
        points.back() = end;
    }
}

}  // namespace

namespace {

/// Moves nodes down to just above what reads them, where that makes no more lines longer than shorter and a row has room.
void sink(const std::vector<std::vector<Index>>& outgoing, std::vector<Index>& rank, std::vector<Index>& used, Index max_row) {
    constexpr Index kMostTried = 64;  // rows, from the reader upwards
    std::vector<Index> incoming(rank.size(), 0);
    for (const auto& readers : outgoing)
        for (const Index w : readers) ++incoming[w];
    for (Index v = static_cast<Index>(rank.size()); v-- > 0;) {
        if (outgoing[v].empty() || incoming[v] > outgoing[v].size()) continue;
        Index reader = rank[outgoing[v].front()];
        for (const Index w : outgoing[v]) reader = std::min(reader, rank[w]);
        const Index lowest = std::max(rank[v] + 1, reader > kMostTried ? reader - kMostTried : 0);
        for (Index row = reader; row-- > lowest;) {
            if (used[row] >= max_row) continue;
            --used[rank[v]];
            ++used[row];
            rank[v] = row;
            break;
        }
    }
}

}  // namespace

std::vector<Index> assign_ranks(const LevelGraph& graph, const LayoutOptions& options) {
    const auto n = static_cast<Index>(graph.nodes.size());
    std::vector<Index> lowest(n, 0), rank(n, 0);
    std::vector<std::vector<Index>> outgoing(n);
    for (const auto& edge : graph.edges) {
        JAXSCOPE_ASSERT(edge.from < edge.to && edge.to < n);
        outgoing[edge.from].push_back(edge.to);
    }
    std::vector<Index> used;       // nodes in each row
    std::vector<Index> next_free;  // union-find: the first row from here on with room
    const auto find_free = [&](Index row) {
        while (next_free.size() <= row) {
            next_free.push_back(static_cast<Index>(next_free.size()));
            used.push_back(0);
        }
        Index at = row;
        while (at < next_free.size() && next_free[at] != at) {
            if (next_free[at] < next_free.size()) next_free[at] = next_free[next_free[at]];
            at = next_free[at];
        }
        if (at == next_free.size()) {
            next_free.push_back(at);
            used.push_back(0);
        }
        return at;
    };
    for (Index v = 0; v < n; ++v) {
        check_cancelled();
        rank[v] = find_free(lowest[v]);
        if (++used[rank[v]] >= options.max_row) next_free[rank[v]] = rank[v] + 1;
        for (const Index w : outgoing[v]) lowest[w] = std::max(lowest[w], rank[v] + 1);
    }
    sink(outgoing, rank, used, options.max_row);
    return rank;
}

LevelLayout layered_layout(const LevelGraph& graph, const std::vector<Index>& ranks, const LayoutOptions& options) {
    Layers layers = make_layers(graph, ranks, options);
    reduce_crossings(layers);
    move_loose_nodes(layers, options.tags);
    assign_x(layers, options.node_gap);

    LevelLayout out;
    out.axis.resize(graph.nodes.size());
    double shift = 0;
    for (const Slot& slot : layers.slots) shift = std::min(shift, slot.x - slot.left);
    for (Slot& slot : layers.slots) {
        slot.x -= shift;
        out.width = std::max(out.width, slot.x + slot.right);
    }
    // Narrow levels start at x = 0 too.
    double spare = out.width;
    for (const Slot& slot : layers.slots) spare = std::min(spare, slot.x - slot.left);
    for (Slot& slot : layers.slots) slot.x -= spare;
    out.width = layers.slots.empty() ? 0 : out.width - spare;

    std::vector<double> row_top(layers.rows.size()), row_bottom(layers.rows.size());
    double y = 0;
    for (std::size_t r = 0; r < layers.rows.size(); ++r) {
        double height = 0;
        for (const Index s : layers.rows[r])
            if (s < graph.nodes.size()) height = std::max(height, graph.nodes[s].height);
        row_top[r] = y;
        row_bottom[r] = y + height;
        for (const Index s : layers.rows[r])
            if (s < graph.nodes.size()) out.axis[s] = {layers.slots[s].x, y + (height - graph.nodes[s].height) / 2};
        y += height + options.rank_gap;
    }
    out.height = layers.rows.empty() ? 0 : y - options.rank_gap;
    route(graph, layers, ranks, row_top, row_bottom, out);
    return out;
}

}  // namespace jaxscope
