// SPDX-License-Identifier: Apache-2.0
#include "picture/graph_layout.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "base/cancel.h"

namespace jaxscope {
namespace graph_style {
namespace {

double characters(const std::string& text) {
    return static_cast<double>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

double node_width(const GraphItem& item) {
    const double title = characters(item.title) * kTitleAdvance + (item.expandable ? 22 : 0);
    const double detail = characters(item.detail) * kDetailAdvance;
    const double width = std::clamp(std::max(title, detail) + 26, kMinNodeWidth, kMaxNodeWidth);
    return std::ceil(width / 8) * 8;
}

double tag_width(const std::string& text) { return std::min(characters(text) * kTagAdvance + 18, kMaxTagWidth); }

double pill_width(const std::string& text) { return std::min(characters(text) * kTagAdvance + 18, kMaxPillWidth); }

double edge_width(std::int64_t bytes) {
    const double magnitude = std::log2(static_cast<double>(std::max<std::int64_t>(bytes, 1)));  // 0 .. 62
    return std::clamp(1 + (magnitude - 8) * 5 / 22, 1.0, 6.0);
}

}  // namespace graph_style

namespace {

using namespace graph_style;
using Index = std::uint32_t;

/// One frame's own nodes and the lines between them.
struct Level {
    std::vector<Index> members;
    std::vector<Index> lines;  ///< into GraphLayout::lines
};

/// Of a long argument path the end says most: "\u2026['attn']['w_q']".
std::string short_path(const std::string& text) {
    if (text.starts_with("d ")) return "d " + short_path(text.substr(2));  // a tangent
    constexpr std::size_t kRoom = 17;
    if (text.size() <= kRoom + 1) return text;
    std::size_t begin = text.size() - kRoom;
    if (const std::size_t key = text.find_first_of("[.", begin); key != std::string::npos && key + 4 < text.size()) begin = key;
    while ((text[begin] & 0xC0) == 0x80) ++begin;
    if (text[begin] == '.') ++begin;  // the dots in front of it are enough
    return "\u2026" + text.substr(begin);
}

class Layouter {
public:
    Layouter(const VisibleGraph& graph, const LayoutOptions& options, const LevelLayoutFn& level)
        : graph_(graph), options_(options), layout_level_(level), levels_(graph.nodes.size() + 1) {}

    GraphLayout run() {
        const std::size_t n = graph_.nodes.size();
        out_.nodes.resize(n);
        incoming_.assign(n, kNoPortal);
        outgoing_.assign(n, kNoPortal);
        for (Index i = 0; i < n; ++i) level_of(graph_.nodes[i].frame).members.push_back(i);
        collect_lines();
        // Containers stand before what they contain, so backwards every frame's contents are known before its size is asked for.
        for (Index i = static_cast<Index>(n); i-- > 0;)
            if (graph_.nodes[i].expanded) place_level(static_cast<int>(i));
        place_level(VisibleGraph::kTop);
        make_absolute();
        return std::move(out_);
    }

private:
    static constexpr Index kNoPortal = ~0u;

    Level& level_of(int frame) { return levels_[static_cast<std::size_t>(frame) + 1]; }

    void collect_lines() {
        std::map<std::pair<Index, Index>, Index> line_of;
        for (Index e = 0; e < graph_.edges.size(); ++e) {
            check_cancelled();
            const auto& edge = graph_.edges[e];
            if (edge.tag || edge.from_top == edge.to_top) {
                add_portals(edge);
                continue;
            }
            const auto [it, fresh] = line_of.try_emplace({edge.from_top, edge.to_top}, static_cast<Index>(out_.lines.size()));
            if (fresh) {
                out_.lines.push_back({e, edge.from_top, edge.to_top, 0, 0, {}});
                level_of(graph_.nodes[edge.from_top].frame).lines.push_back(it->second);
            }
            out_.lines[it->second].bytes += std::min<std::int64_t>(edge.bytes, std::int64_t{1} << 60);
            out_.lines[it->second].values += edge.values;
            edges_of_line_.resize(out_.lines.size());
            edges_of_line_[it->second].push_back(e);
            if (edge.from != edge.from_top) add_portal(outgoing_, edge.from, edge, edge.to);
            if (edge.to != edge.to_top) add_portal(incoming_, edge.to, edge, edge.from);
        }
        if (options_.tie_ports) tie_ports();
    }

    /// A crowd of inputs has a line to the first that reads it, a crowd of results one from the last that makes one: both stand where
    /// they belong. Tags tell the rest.
    void tie_ports() {
        std::vector<Index> tie(graph_.nodes.size(), kNoPortal);
        for (Index e = 0; e < graph_.edges.size(); ++e) {
            const auto& edge = graph_.edges[e];
            if (!edge.tag || edge.from_top == edge.to_top) continue;
            Index& of_inputs = tie[edge.from];
            if (graph_.nodes[edge.from].kind == GraphItem::Kind::Inputs &&
                (of_inputs == kNoPortal || edge.to_top < graph_.edges[of_inputs].to_top))
                of_inputs = e;
            Index& of_results = tie[edge.to];
            if (graph_.nodes[edge.to].kind == GraphItem::Kind::Results &&
                (of_results == kNoPortal || edge.from_top > graph_.edges[of_results].from_top))
                of_results = e;
        }
        for (const Index e : tie) {
            if (e == kNoPortal) continue;
            const auto& edge = graph_.edges[e];
            level_of(graph_.nodes[edge.from_top].frame).lines.push_back(static_cast<Index>(out_.lines.size()));
            out_.lines.push_back({e, edge.from_top, edge.to_top, edge.bytes, edge.values, {}});
            edges_of_line_.emplace_back();  // its tags are there already
        }
    }

    void add_portals(const VisibleGraph::Edge& edge) {
        // A crowd of inputs needs no tags of its own: those at the readers say what comes from it.
        if (graph_.nodes[edge.from].kind != GraphItem::Kind::Inputs) add_portal(outgoing_, edge.from, edge, edge.to);
        if (graph_.nodes[edge.to].kind != GraphItem::Kind::Results) add_portal(incoming_, edge.to, edge, edge.from);
    }

    void add_portal(std::vector<Index>& side, Index node, const VisibleGraph::Edge& edge, Index other) {
        const bool incoming = &side == &incoming_;
        if (side[node] == kNoPortal) {
            side[node] = static_cast<Index>(out_.portals.size());
            out_.portals.push_back({node, incoming, at_left(incoming), {}, {}, 0, {}});
        }
        Portal& portal = out_.portals[side[node]];
        if (portal.targets.empty()) portal.text = incoming && !edge.label.empty() ? short_path(edge.label) : graph_.nodes[other].title;
        portal.targets.push_back(other);
        portal.bytes += std::min<std::int64_t>(edge.bytes, std::int64_t{1} << 60);
        extra_values_.resize(out_.portals.size());
        extra_values_[side[node]] += incoming ? edge.values : 1;
    }

    std::string portal_text(Index portal) const {
        const Index more = extra_values_[portal] - 1;
        return out_.portals[portal].text + (more > 0 ? " +" + std::to_string(more) : "");
    }

    LevelGraph::Node sized(Index n) const {
        const Rect& rect = out_.nodes[n];
        LevelGraph::Node node{rect.w / 2, rect.w / 2, rect.h, 0, rect.h};
        if (graph_.nodes[n].expanded) return node;
        double left = 0, right = 0;
        for (const Index k : {incoming_[n], outgoing_[n]}) {
            if (k == kNoPortal) continue;
            double& side = out_.portals[k].at_left ? left : right;
            side = std::max(side, tag_width(portal_text(k)) + kTagGap);
        }
        node.left += left;
        node.right += right;
        return node;
    }

    bool at_left(bool incoming) const {
        return options_.tags == LayoutOptions::Tags::WithTheFlow ? incoming : options_.tags == LayoutOptions::Tags::Left;
    }

    /// Two on one side of a node stand over each other.
    double tag_y(const Portal& portal, const Rect& node) const {
        const bool both = incoming_[portal.node] != kNoPortal && outgoing_[portal.node] != kNoPortal;
        if (!both || options_.tags == LayoutOptions::Tags::WithTheFlow) return node.cy() - kTagHeight / 2;
        constexpr double kBetween = 3;
        return portal.incoming ? node.cy() - kTagHeight - kBetween / 2 : node.cy() + kBetween / 2;
    }

    void place_level(int frame) {
        Level& level = level_of(frame);
        std::unordered_map<Index, Index> local_map;
        LevelGraph graph;
        for (Index k = 0; k < level.members.size(); ++k) {
            const Index n = level.members[k];
            local_map[n] = k;
            if (!graph_.nodes[n].expanded) out_.nodes[n] = {0, 0, node_width(graph_.nodes[n]), kNodeHeight};
        }
        graph.nodes.resize(level.members.size());
        for (const Index l : level.lines) {
            const auto& line = out_.lines[l];
            graph.edges.push_back({local_map[line.from], local_map[line.to], edge_width(line.bytes)});
        }
        const std::vector<Index> ranks = assign_ranks(graph, options_);
        const auto measure = [&] {
            for (Index k = 0; k < level.members.size(); ++k) graph.nodes[k] = sized(level.members[k]);
        };
        measure();
        const Columns columns(graph, ranks, options_);
        cut_long_lines(level, graph, ranks, columns);
        measure();  // with the tags of what was cut
        const LevelLayout placed =
            columns.one() ? layout_level_(graph, ranks, options_) : columns.lay_out(graph, ranks, options_, layout_level_);
        for (Index k = 0; k < level.members.size(); ++k) {
            Rect& rect = out_.nodes[level.members[k]];
            rect.x = placed.axis[k].x - rect.w / 2;
            rect.y = placed.axis[k].y;
        }
        for (std::size_t e = 0; e < level.lines.size(); ++e) out_.lines[level.lines[e]].points = placed.routes[e];
        if (frame == VisibleGraph::kTop) {
            out_.width = placed.width;
            out_.height = placed.height;
            return;
        }
        const auto f = static_cast<Index>(frame);
        const double needed = node_width(graph_.nodes[f]);
        out_.nodes[f] = {0, 0, std::max(placed.width + 2 * kFramePadding, needed), placed.height + kFrameHeader + kFramePadding};
    }

    /// Lines that span too many rows (residuals and parameters, mostly) or go to another column become portals at both ends.
    void cut_long_lines(Level& level, LevelGraph& graph, const std::vector<Index>& ranks, const Columns& columns) {
        std::vector<Index> kept;
        std::vector<LevelGraph::Edge> kept_edges;
        for (std::size_t e = 0; e < level.lines.size(); ++e) {
            const auto& edge = graph.edges[e];
            if (ranks[edge.to] - ranks[edge.from] <= options_.max_span && columns.joined(ranks[edge.from], ranks[edge.to])) {
                kept.push_back(level.lines[e]);
                kept_edges.push_back(edge);
                continue;
            }
            for (const Index id : edges_of_line_[level.lines[e]]) {
                const VisibleGraph::Edge& cut = graph_.edges[id];
                if (cut.from == cut.from_top) add_portal(outgoing_, cut.from, cut, cut.to);
                if (cut.to == cut.to_top) add_portal(incoming_, cut.to, cut, cut.from);
            }
        }
        level.lines = std::move(kept);
        graph.edges = std::move(kept_edges);
    }

    void make_absolute() {
        for (Index n = 0; n < graph_.nodes.size(); ++n) {
            const int frame = graph_.nodes[n].frame;
            if (frame == VisibleGraph::kTop) continue;
            const Point origin = inside(frame);
            out_.nodes[n].x += origin.x;
            out_.nodes[n].y += origin.y;
        }
        std::vector<GraphLayout::Line> drawn;
        for (auto& line : out_.lines) {
            if (line.points.size() < 2) continue;
            const int frame = graph_.nodes[line.from].frame;
            const Point origin = frame == VisibleGraph::kTop ? Point{} : inside(frame);
            for (Point& p : line.points) p = {p.x + origin.x, p.y + origin.y};
            drawn.push_back(std::move(line));
        }
        out_.lines = std::move(drawn);
        for (Index k = 0; k < out_.portals.size(); ++k) place_portal(k);
    }

    Point inside(int frame) const {
        const Rect& rect = out_.nodes[static_cast<std::size_t>(frame)];
        return {rect.x + kFramePadding, rect.y + kFrameHeader};
    }

    void place_portal(Index k) {
        Portal& portal = out_.portals[k];
        const Rect& node = out_.nodes[portal.node];
        portal.text = portal_text(k);
        const double width = tag_width(portal.text);
        const bool frame = graph_.nodes[portal.node].expanded;
        // A frame has its tags on its own border, at the right: outside there is no room kept for them.
        if (frame)
            portal.rect = {node.right() - width - 6, portal.incoming ? node.y + 4 : node.bottom() - kTagHeight + 6, width, kTagHeight};
        else
            portal.rect = {portal.at_left ? node.x - kTagGap - width : node.right() + kTagGap, tag_y(portal, node), width, kTagHeight};
    }

    const VisibleGraph& graph_;
    const LayoutOptions& options_;
    const LevelLayoutFn& layout_level_;
    std::vector<Level> levels_;  ///< [0]: the top, [1 + node]: that frame
    std::vector<std::vector<Index>> edges_of_line_;
    std::vector<Index> incoming_, outgoing_;  ///< per node: its portals
    std::vector<Index> extra_values_;         ///< per portal: values it stands for
    GraphLayout out_;
};

}  // namespace

GraphLayout layout_graph(const VisibleGraph& graph, const LayoutOptions& options, const LevelLayoutFn& level) {
    return Layouter(graph, options, level).run();
}

}  // namespace jaxscope
