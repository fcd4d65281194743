// SPDX-License-Identifier: Apache-2.0
#include "picture/reach.h"

#include <algorithm>

namespace jaxscope {
namespace {

using Kind = GraphItem::Kind;

/// Values go into an open call by its inputs and out of it by its results: there the picture has no lines, these stand for them.
class Reach {
public:
    Reach(const VisibleGraph& graph, bool up) : graph_(graph), next_(graph.nodes.size()) {
        for (const auto& edge : graph.edges) link(edge.from, edge.to, up);
        for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
            const auto& node = graph.nodes[n];
            if (node.frame == VisibleGraph::kTop) continue;
            const auto frame = static_cast<std::uint32_t>(node.frame);
            if (node.kind == Kind::Inputs || node.kind == Kind::Input) link(frame, n, up);
            if (node.kind == Kind::Results) link(n, frame, up);
        }
    }

    std::vector<bool> from(std::uint32_t start) const {
        std::vector<bool> seen(graph_.nodes.size(), false);
        std::vector<std::uint32_t> todo{start};
        seen[start] = true;
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
        return seen;
    }

private:
    void link(std::uint32_t from, std::uint32_t to, bool up) { up ? next_[to].push_back(from) : next_[from].push_back(to); }
    const VisibleGraph& graph_;
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
