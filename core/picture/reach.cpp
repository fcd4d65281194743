// SPDX-License-Identifier: Apache-2.0
#include "picture/reach.h"

#include <algorithm>

namespace jaxscope {
namespace {

using Kind = GraphItem::Kind;

/// Values go into an open call by its inputs and out of it by its results: there the picture has no lines, these stand for them. Such a
/// call has two ends, between which a way leads only through what stands in it.
class Reach {
public:
    Reach(const VisibleGraph& graph, bool up) : graph_(graph), is_call_(graph.nodes.size(), false), up_(up), next_(2 * graph.nodes.size()) {
        const auto frame_of = [&](const VisibleGraph::Node& node) { return static_cast<std::uint32_t>(node.frame); };
        const auto goes_in = [](Kind kind) { return kind == Kind::Inputs || kind == Kind::Input || kind == Kind::Body; };
        const auto comes_out = [](Kind kind) { return kind == Kind::Results || kind == Kind::Body; };
        for (const auto& node : graph.nodes)
            if (node.frame != VisibleGraph::kTop && (goes_in(node.kind) || comes_out(node.kind)))
                is_call_[frame_of(node)] = graph.nodes[frame_of(node)].kind == Kind::Call || graph.nodes[frame_of(node)].kind == Kind::Body;
        for (const auto& edge : graph.edges) link(out_end(edge.from), edge.to, up);
        for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
            const auto& node = graph.nodes[n];
            if (node.frame == VisibleGraph::kTop) continue;
            if (goes_in(node.kind)) link(frame_of(node), n, up);
            if (comes_out(node.kind)) link(out_end(n), out_end(frame_of(node)), up);
        }
    }

    std::vector<bool> from(std::uint32_t start) const {
        std::vector<bool> seen(next_.size(), false);
        std::vector<std::uint32_t> todo{up_ ? start : out_end(start)};
        seen[start] = seen[out_end(start)] = true;
        // What stands in an open group is the group; what goes through a call is found by its lines.
        if (graph_.nodes[start].expanded)
            for (std::uint32_t n = start + 1; n < graph_.nodes.size(); ++n)
                if (const int frame = graph_.nodes[n].frame; frame != VisibleGraph::kTop && seen[static_cast<std::size_t>(frame)]) {
                    seen[n] = true;
                    todo.push_back(n);
                }
        while (!todo.empty()) {
            const std::uint32_t at = todo.back();
            todo.pop_back();
            for (const std::uint32_t n : next_[at]) {
                if (seen[n]) continue;
                seen[n] = true;
                todo.push_back(n);
            }
        }
        for (std::size_t n = 0; n < graph_.nodes.size(); ++n) seen[n] = seen[n] || seen[out_end(static_cast<std::uint32_t>(n))];
        seen.resize(graph_.nodes.size());
        return seen;
    }

private:
    /// Of a node with one end that is itself.
    std::uint32_t out_end(std::uint32_t n) const { return is_call_[n] ? n + static_cast<std::uint32_t>(graph_.nodes.size()) : n; }
    void link(std::uint32_t from, std::uint32_t to, bool up) { up ? next_[to].push_back(from) : next_[from].push_back(to); }
    const VisibleGraph& graph_;
    std::vector<bool> is_call_;
    bool up_;
    std::vector<std::vector<std::uint32_t>> next_;
};

}  // namespace

std::vector<bool> made_of(const VisibleGraph& graph, std::uint32_t of) { return Reach(graph, true).from(of); }
std::vector<bool> made_from(const VisibleGraph& graph, std::uint32_t of) { return Reach(graph, false).from(of); }

std::vector<bool> between(const VisibleGraph& graph, std::uint32_t from, std::uint32_t to) {
    const std::vector<bool> below = made_from(graph, from);
    std::vector<bool> out = made_of(graph, to);
    if (!below[to]) return std::vector<bool>(graph.nodes.size(), false);
    for (std::size_t n = 0; n < out.size(); ++n) out[n] = out[n] && below[n];
    return out;
}

}  // namespace jaxscope
