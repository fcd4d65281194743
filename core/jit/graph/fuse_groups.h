// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "jit/graph/unit.h"

namespace jaxscope::exec {

constexpr std::size_t kMaxMembers = 96;  ///< of a kernel: beyond, code grows out of the instruction cache and registers spill
constexpr int kMaxRecomputed = 12;       ///< scalar operations that may be done again rather than stored
constexpr std::uint32_t kNone = ~0u;

/// A kernel in the making.
struct Group {
    std::vector<std::uint32_t> members;
    Dims domain;               ///< full shape without 1s
    std::size_t row_dims = 0;  ///< with `split`: how many leading dimensions make a row's number
    bool split = false;        ///< has row reductions
    bool column = false;       ///< has column reductions, all [outer, reduced, inner] alike
    Reduction reduction;
    std::uint32_t first = 0, last = 0;  ///< positions of members
};

/// Which node belongs to which kernel, and what that makes of its values.
class Groups {
public:
    Groups(const Graph& graph, const FuseOptions& options) : g_(graph), options_(options) {
        group_of_.assign(g_.nodes.size(), kNone);
        on_demand_cost_.assign(g_.nodes.size(), -1);
        row_level_.assign(g_.nodes.size(), false);
        column_result_.assign(g_.nodes.size(), false);
        recomputed_.assign(g_.nodes.size(), 0);
        users_.assign(g_.values.size(), {});
        for (std::uint32_t i = 0; i < g_.nodes.size(); ++i)
            for (const ValueId v : g_.nodes[i].in) users_[g_.root(v)].push_back(i);
        is_output_.assign(g_.values.size(), false);
        for (const ValueId v : g_.outputs) is_output_[g_.root(v)] = true;
    }

protected:
    // ---- What a value is, seen from a consumer -------------------------------------------------------------------------------
    /// The node that makes `v`, when its elements can be taken without going through memory: no reshape in between that moves
    /// them to other indices, no barrier.
    std::uint32_t direct_producer(ValueId v) const {
        const GraphValue& value = g_.values[v];
        if (value.kind != GraphValue::Kind::Result) return kNone;
        const Node& n = g_.nodes[value.index];
        if (n.kind != NodeKind::Element && n.kind != NodeKind::Reduction) return kNone;
        if (value.root != n.out[0]) return kNone;
        if (v != n.out[0]) {
            const Aval& root = g_.aval(n.out[0]);
            if (root.dtype != value.aval->dtype || without_ones(root.shape) != without_ones(value.aval->shape)) return kNone;
        }
        return value.index;
    }
    /// Does another group's kernel compute `node` again?
    bool recomputed_in(std::uint32_t group, std::uint32_t node) const {
        return node != kNone && recomputed_[node] && group_of_[node] != group;
    }
    bool on_demand(std::uint32_t node) const { return node != kNone && on_demand_cost_[node] >= 0; }

    /// Values that computing node `i` really reads: on-demand operands replaced by their own operands.
    template <class Fn>
    void for_each_leaf(std::uint32_t i, Fn&& fn) const {
        std::vector<std::uint32_t> stack{i};
        while (!stack.empty()) {
            const Node& n = g_.nodes[stack.back()];
            stack.pop_back();
            for (const ValueId v : n.in) {
                const std::uint32_t p = direct_producer(v);
                if (n.kind != NodeKind::Barrier && is_loop(n) && (on_demand(p) || recomputed_in(group_of_[i], p)))
                    stack.push_back(p);
                else
                    fn(v);
            }
        }
    }
    static bool is_loop(const Node& n) { return n.kind == NodeKind::Element || n.kind == NodeKind::Reduction; }

    // jit/graph/joined_parts.cpp:
    /// Is node i, which is to be placed next, a part of an array or work on one that a join had better take from the array itself?
    bool is_joined_where_read(std::uint32_t i) const;
    /// A join that takes parts from where they are: column sums, which go along all dimensions but one at once, would look for each
    /// element.
    bool needs_rows(const Node& n) const;
    std::uint32_t join_behind(std::uint32_t i, std::uint32_t placed, int steps) const;
    bool is_little_work(const Node& n, std::uint32_t placed, const Op& join) const;
    std::int64_t bytes_read_of(ValueId whole, ValueId v, int steps) const;

    Group group_of_one(std::uint32_t i);
    /// Node i of the group reduces: that decides how its kernel goes through memory.
    void mark_reduction(Group& group, std::uint32_t i);

    const Graph& g_;
    const FuseOptions& options_;
    std::vector<Group> groups_;
    std::vector<std::uint32_t> group_of_;
    std::vector<std::vector<std::uint32_t>> users_;  ///< per root: the nodes that read it
    std::vector<bool> is_output_;
    std::vector<int> on_demand_cost_;
    std::vector<int> recomputed_;  ///< per node: scalar operations with which other groups compute it again; 0: they read it from memory
    std::vector<bool> row_level_, column_result_;
};

/// Places every node: element-wise and reducing ones into groups, as far as one pass over memory serves them.
Groups make_groups(const Graph& g, const FuseOptions& options);

}  // namespace jaxscope::exec
