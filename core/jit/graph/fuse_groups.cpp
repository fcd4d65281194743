// SPDX-License-Identifier: Apache-2.0
#include "jit/graph/fuse_groups.h"

#include <span>
#include <unordered_map>
#include <unordered_set>

#include "base/cancel.h"
#include "jit/graph/longest_chain.h"
#include "lax/params/shapes.h"
#include "lax/primitives.h"

namespace jaxscope::exec {

namespace {

constexpr std::int64_t kVisitsOfNode = 256;  ///< of all searches for cycles, per node of the program: beyond, groups stay apart

class GroupBuilder : public Groups {
public:
    GroupBuilder(const Graph& graph, const FuseOptions& options)
        : Groups(graph, options), chain_(graph), seen_(graph.nodes.size(), 0), visits_left_(kVisitsOfNode * std::ssize(graph.nodes)) {}

    void run() {
        for (std::uint32_t i = 0; i < g_.nodes.size(); ++i) check_cancelled(), placed_ = i, place(i);
        for (std::uint32_t i = 0; i < g_.nodes.size(); ++i) check_cancelled(), materialise_for(i);
        for (const ValueId v : g_.outputs) materialise(v);
    }

private:
    /// Scalar operations to compute `n` again at any index, or -1 where storing it is better.
    int recompute_cost(std::uint32_t i) const {
        const Node& n = g_.nodes[i];
        if (n.kind != NodeKind::Element) return -1;
        if (joins_positions(n)) return kMaxRecomputed / 2;
        if (n.map().cost > kMaxRecomputed) return -1;
        int cost = std::max(1, n.map().cost);  // at least 1 each, which bounds the depth of chains
        const std::int64_t size = g_.aval(n.out[0]).size();
        const bool joined = is_joined_where_read(i);
        bool constant = true;  // of literals alone
        for (std::size_t k = 0; k < n.in.size(); ++k) {
            if (n.map().operands[k].access == IndexMap::Access::None || g_.values[n.in[k]].kind == GraphValue::Kind::Literal) continue;
            if (n.map().operands[k].access == IndexMap::Access::General && !joined) return -1;
            const std::uint32_t p = direct_producer(n.in[k]);
            constant = constant && on_demand(p) && g_.aval(n.in[k]).size() <= 1;  // the same question was asked of it
            if (on_demand(p)) {
                cost += on_demand_cost_[p];
                continue;
            }
            const bool small = g_.aval(n.in[k]).size() * 8 <= size;
            if (!joined && (!small || n.map().operands[k].access != IndexMap::Access::Broadcast)) return -1;
        }
        if (size <= 1 && !constant) return -1;  // a constant is part of the code: what divides by it multiplies
        return cost <= kMaxRecomputed ? cost : -1;
    }

    /// Columns of positions side by side, for gathers alone: these ask for one column each, which is the operand itself.
    bool joins_positions(const Node& n) const {
        constexpr std::int64_t kFewColumns = 4;
        const Dims& shape = n.op().out[0]->shape;
        if (n.op().prim != &kConcatenate || shape.empty() || shape.back() > kFewColumns || is_output_[n.out[0]]) return false;
        if (n.op().as<ConcatenateParams>().dimension + 1 != std::ssize(shape)) return false;
        return std::ranges::all_of(users_[n.out[0]], [&](std::uint32_t u) {
            const Node& user = g_.nodes[u];
            return user.kind == NodeKind::Element && user.op().prim == &kGather && user.in[1] == n.out[0] &&
                   g_.root(user.in[0]) != n.out[0];
        });
    }

    // ---- Placing nodes into groups -------------------------------------------------------------------------------------------
    void place(std::uint32_t i) {
        const Node& n = g_.nodes[i];
        if (!is_loop(n)) return;
        if (options_.fuse) {
            if ((on_demand_cost_[i] = recompute_cost(i)) >= 0) return;
            std::vector<std::uint32_t> candidates = candidate_groups(i);
            for (const std::uint32_t c : candidates)
                if (try_join(c, i)) return absorb(c, candidates);
        }
        start_group(i);
    }

    void start_group(std::uint32_t i) {
        group_of_[i] = static_cast<std::uint32_t>(groups_.size());
        groups_.push_back(group_of_one(i));
        note_reader(i);
    }

    std::vector<std::uint32_t> candidate_groups(std::uint32_t i) {
        std::vector<std::uint32_t> out;
        for_each_leaf(i, [&](ValueId v) {
            if (const std::uint32_t p = direct_producer(v); p != kNone && group_of_[p] != kNone) out.push_back(group_of_[p]);
        });
        for_each_reduced(i, [&](ValueId root) {  // reductions of one array share the pass over it
            for (const std::uint32_t c : readers_[root])
                if (!groups_[c].members.empty()) out.push_back(c);
        });
        std::sort(out.rbegin(), out.rend());
        out.erase(std::unique(out.begin(), out.end()), out.end());
        return out;
    }
    void note_reader(std::uint32_t i) {
        if (g_.nodes[i].kind != NodeKind::Reduction) return;
        const std::uint32_t c = group_of_[i];
        for_each_full_read(c, [&](ValueId root) {
            std::vector<std::uint32_t>& groups = readers_[root];
            if (std::find(groups.begin(), groups.end(), c) == groups.end()) groups.push_back(c);
        });
    }
    /// The arrays of full size that the reduction i, which has no group yet, goes over: x, or what x*x in a group of its own reads.
    template <class Fn>
    void for_each_reduced(std::uint32_t i, const Fn& fn) const {
        const Node& n = g_.nodes[i];
        if (n.kind != NodeKind::Reduction) return;
        for_each_leaf(i, [&](ValueId v) {
            if (g_.aval(v).size() != g_.aval(n.in[0]).size()) return;
            fn(g_.root(v));
            const std::uint32_t p = direct_producer(v);
            if (p != kNone && group_of_[p] != kNone && !reduces(groups_[group_of_[p]])) for_each_full_read(group_of_[p], fn);
        });
    }
    /// What the members of group c read from memory at their own index, as far as shapes tell.
    template <class Fn>
    void for_each_full_read(std::uint32_t c, const Fn& fn) const {
        const std::int64_t size = element_count(groups_[c].domain);
        for (const std::uint32_t m : groups_[c].members)
            for_each_leaf(m, [&](ValueId v) {
                if (g_.aval(v).size() == size && !made_by(c, v)) fn(g_.root(v));
            });
    }
    static bool reduces(const Group& g) { return g.split || g.column; }

    bool try_join(std::uint32_t c, std::uint32_t i) {
        Group& group = groups_[c];
        const Node& n = g_.nodes[i];
        if (group.members.size() >= kMaxMembers) return false;
        bool row = false;
        if (n.kind == NodeKind::Reduction ? !reduction_fits(group, c, i) : !element_fits(group, c, i, row)) return false;
        if (makes_cycle(c, {&i, 1})) return false;
        group_of_[i] = c;
        group.members.push_back(i);
        group.last = std::max(group.last, i);
        row_level_[i] = row;
        if (n.kind == NodeKind::Reduction) mark_reduction(group, i), note_reader(i);
        return true;
    }

    // ---- Merging groups --------------------------------------------------------------------------------------------------------
    /// A node that reads the results of several groups brings them together: 0.9*m, made before the gradient, joins Adam's kernel.
    void absorb(std::uint32_t c, const std::vector<std::uint32_t>& candidates) {
        for (const std::uint32_t d : candidates)
            if (d != c) try_merge(c, d);
    }

    /// Makes group d, element-wise or with reductions like c's, part of c, when nothing in between waits for d and c reads no more memory
    /// than it spares.
    void try_merge(std::uint32_t c, std::uint32_t d) {
        Group &into = groups_[c], &from = groups_[d];
        if (from.domain != into.domain || into.members.size() + from.members.size() > kMaxMembers) return;
        if (reduces(from) && (!same_pass(into, from) || hands_out_arrays(c, d))) return;
        const std::uint64_t pair = std::uint64_t{c} << 32 | d;
        if (apart_.contains(pair) || memory_of_merging(c, d) > 0) return;
        const Group before = into;
        for (const std::uint32_t m : from.members) group_of_[m] = c;
        into.members.insert(into.members.end(), from.members.begin(), from.members.end());
        into.first = std::min(into.first, from.first);
        into.last = std::max(into.last, from.last);
        const bool fine = std::all_of(into.members.begin(), into.members.end(), [&](std::uint32_t m) { return still_fits(c, m); });
        if (fine && !makes_cycle(c, into.members)) {
            from.members.clear();
            return;
        }
        into = before;
        for (const std::uint32_t m : from.members) group_of_[m] = d;
        apart_.insert(pair);
    }
    /// Somebody outside of c and d reads an array of full size that d makes, and would wait for c as well.
    bool hands_out_arrays(std::uint32_t c, std::uint32_t d) const {
        const std::int64_t size = element_count(groups_[d].domain);
        return std::any_of(groups_[d].members.begin(), groups_[d].members.end(), [&](std::uint32_t m) {
            return g_.aval(g_.nodes[m].out[0]).size() == size && !only_read_in(g_.root(g_.nodes[m].out[0]), c, d);
        });
    }
    static bool same_pass(const Group& a, const Group& b) {
        if (a.split != b.split || a.column != b.column || a.reduction.outer != b.reduction.outer) return false;
        return a.split ? a.row_dims == b.row_dims : a.reduction.inner == b.reduction.inner;
    }
    bool still_fits(std::uint32_t c, std::uint32_t m) const {
        if (g_.nodes[m].kind == NodeKind::Reduction) return full_operand(c, g_.nodes[m].in[0]);
        bool row = false;
        return element_fits(groups_[c], c, m, row) && row == row_level_[m];
    }

    /// Bytes that d's operands stay alive for c's sake, less the results of d that are never stored then. Counts what c reads already
    /// and what the program was given as free.
    std::int64_t memory_of_merging(std::uint32_t c, std::uint32_t d) const {
        std::vector<ValueId> kept, added;
        const auto leaves = [&](std::uint32_t group, std::vector<ValueId>& out) {
            for (const std::uint32_t m : groups_[group].members)
                for_each_leaf(m, [&](ValueId v) {
                    if (g_.values[g_.root(v)].kind == GraphValue::Kind::Result) out.push_back(g_.root(v));
                });
            std::sort(out.begin(), out.end());
            out.erase(std::unique(out.begin(), out.end()), out.end());
        };
        leaves(c, kept), leaves(d, added);
        std::int64_t bytes = 0;
        for (const ValueId v : added)
            if (group_of_[g_.values[v].index] != d && group_of_[g_.values[v].index] != c &&
                !std::binary_search(kept.begin(), kept.end(), v))
                bytes += g_.bytes(v);
        for (const ValueId v : kept)
            if (group_of_[g_.values[v].index] == d && only_read_in(v, c, d)) bytes -= g_.bytes(v);
        return bytes;
    }
    bool only_read_in(ValueId v, std::uint32_t c, std::uint32_t d) const {
        return !is_output_[v] &&
               std::all_of(users_[v].begin(), users_[v].end(), [&](std::uint32_t u) { return group_of_[u] == c || group_of_[u] == d; });
    }

    bool reduction_fits(const Group& group, std::uint32_t c, std::uint32_t i) const {
        const Node& n = g_.nodes[i];
        if (without_ones(g_.aval(n.in[0]).shape) != group.domain) return false;
        const Reduction& r = n.reduction();
        if (r.inner == 1) {
            if (group.column) return false;
            if (group.split && group.reduction.outer != r.outer) return false;
        } else {
            if (group.split || std::ranges::any_of(group.members, [this](std::uint32_t m) { return needs_rows(g_.nodes[m]); }))
                return false;
            if (group.column && (group.reduction.outer != r.outer || group.reduction.inner != r.inner)) return false;
        }
        return full_operand(c, n.in[0]);
    }

    /// Can a full-size node take `v` at its own index: from outside, or from a full-size member?
    bool full_operand(std::uint32_t c, ValueId v) const {
        const std::uint32_t p = direct_producer(v);
        if (on_demand(p)) return leaves_outside_or_rows(c, p);
        if (p == kNone || group_of_[p] != c) return !made_by(c, v);
        return !row_level_[p] && !column_result_[p];
    }
    /// A view of a member's value at other indices has to go through memory.
    bool made_by(std::uint32_t c, ValueId v) const {
        const GraphValue& value = g_.values[v];
        return value.kind == GraphValue::Kind::Result && group_of_[value.index] == c;
    }
    /// On-demand chains inside a group may end in outside values or in broadcasts of row-level members.
    bool leaves_outside_or_rows(std::uint32_t c, std::uint32_t on_demand_node) const {
        bool good = true;
        const auto check = [&](std::uint32_t node, const auto& self) -> void {
            const Node& n = g_.nodes[node];
            for (std::size_t k = 0; k < n.in.size() && good; ++k) {
                const std::uint32_t p = direct_producer(n.in[k]);
                if (on_demand(p) && n.map().operands[k].access == IndexMap::Access::Identity)
                    self(p, self);
                else if (on_demand(p))
                    good = leaves_outside(c, p);  // at another index, perhaps of another row
                else if (made_by(c, n.in[k]))
                    good = p != kNone && row_level_[p] && broadcast_of_rows(groups_[c], node, k);
            }
        };
        check(on_demand_node, check);  // depth is bounded by kMaxRecomputed: every step but a plain broadcast costs
        return good;
    }
    /// Does operand k of `node`, a full-size node, read exactly the row's element?
    bool broadcast_of_rows(const Group& group, std::uint32_t node, std::size_t k) const {
        const Node& n = g_.nodes[node];
        const IndexMap::Operand& o = n.map().operands[k];
        if (!group.split || o.access != IndexMap::Access::Broadcast) return false;
        if (without_ones(g_.aval(n.out[0]).shape) != group.domain || o.dims.size() != group.row_dims) return false;
        for (std::size_t d = 0; d < o.dims.size(); ++d)
            if (o.dims[d] != static_cast<int>(d)) return false;
        return true;
    }

    bool element_fits(const Group& group, std::uint32_t c, std::uint32_t i, bool& row) const {
        const Node& n = g_.nodes[i];
        const Dims shape = without_ones(g_.aval(n.out[0]).shape);
        const bool full = shape == group.domain;
        const bool rows = group.split && !full && group.row_dims <= group.domain.size() &&
                          std::equal(shape.begin(), shape.end(), group.domain.begin(),
                                     group.domain.begin() + static_cast<std::ptrdiff_t>(group.row_dims));
        if (!full && !rows) return false;
        if (group.column && needs_rows(n)) return false;
        for (std::size_t k = 0; k < n.in.size(); ++k) {
            const IndexMap::Operand& o = n.map().operands[k];
            if (o.access == IndexMap::Access::None) continue;
            const std::uint32_t p = direct_producer(n.in[k]);
            const bool member = p != kNone && !on_demand(p) && group_of_[p] == c;
            if (!member) {
                const bool own_row = full && o.access == IndexMap::Access::Identity;
                if (on_demand(p) ? !(own_row ? leaves_outside_or_rows(c, p) : leaves_outside(c, p)) : made_by(c, n.in[k])) return false;
                continue;
            }
            if (column_result_[p]) return false;
            const bool fits = full ? (row_level_[p] ? broadcast_of_rows(group, i, k) : o.access == IndexMap::Access::Identity)
                                   : row_level_[p] && o.access == IndexMap::Access::Identity;
            if (!fits) return false;
        }
        row = rows;
        return true;
    }
    bool leaves_outside(std::uint32_t c, std::uint32_t on_demand_node) const {
        bool good = true;
        for_each_leaf(on_demand_node, [&](ValueId v) { good = good && !made_by(c, v); });
        return good;
    }

    /// Would one of `nodes` in group c wait for something that itself waits for c? Only nodes behind the group's first member can.
    bool makes_cycle(std::uint32_t c, std::span<const std::uint32_t> nodes) {
        ++search_;
        found_ = false;
        behind_c_.clear(), before_nodes_.clear();
        std::uint32_t first_behind = kNone, end_before = 0;
        for (const std::uint32_t i : nodes) to_operands(c, i, true);
        if (before_nodes_.empty()) return false;
        for (const std::uint32_t m : groups_[c].members) first_behind = std::min(first_behind, chain_.first_behind(m));
        for (const std::uint32_t p : before_nodes_)
            for_members(p, [&](std::uint32_t m) { end_before = std::max(end_before, chain_.end_before(m)); });
        if (first_behind < end_before) return true;
        for_members(groups_[c].members[0], [&](std::uint32_t m) { to_users(c, m); });
        // From both ends in turn: what nobody waits for yet, and what waits for little, is known soon.
        while (!found_ && !before_nodes_.empty() && !behind_c_.empty()) {
            if (visits_left_ < 2) return true;
            visits_left_ -= 2;
            const std::uint32_t before = take(before_nodes_), behind = take(behind_c_);
            for_members(before, [&](std::uint32_t m) { to_operands(c, m, false); });
            for_members(behind, [&](std::uint32_t m) { to_users(c, m); });
        }
        return found_;
    }
    static std::uint32_t take(std::vector<std::uint32_t>& stack) {
        const std::uint32_t top = stack.back();
        stack.pop_back();
        return top;
    }
    /// The nodes that are computed together with `node`, or it alone.
    template <class Fn>
    void for_members(std::uint32_t node, const Fn& fn) const {
        if (group_of_[node] == kNone) return fn(node);
        for (const std::uint32_t m : groups_[group_of_[node]].members) fn(m);
    }
    std::uint32_t stands_for(std::uint32_t node) const { return group_of_[node] == kNone ? node : groups_[group_of_[node]].members[0]; }

    /// A step back of the search: what `node` reads that was made behind the beginning of c. `own`: it is to be in c itself.
    void to_operands(std::uint32_t c, std::uint32_t node, bool own) {
        for_each_leaf(node, [&](ValueId v) {
            const GraphValue& value = g_.values[v];
            if (value.kind != GraphValue::Kind::Result) return;
            const std::uint32_t p = value.index;
            if (group_of_[p] == c) {
                found_ = found_ || !own;
                return;
            }
            const std::uint32_t last = group_of_[p] == kNone ? p : groups_[group_of_[p]].last;
            if (last > groups_[c].first) visit(stands_for(p), search_, -search_, before_nodes_);
        });
    }
    /// A step forward: what reads the results of `node`, as far as it has been placed.
    void to_users(std::uint32_t c, std::uint32_t node) {
        for (const ValueId v : g_.nodes[node].out)
            for (const std::uint32_t u : users_[g_.root(v)])
                if (u <= placed_ && group_of_[u] != c && reads_result_of(u, node)) visit(stands_for(u), -search_, search_, behind_c_);
    }
    /// Not so of who reads a value in front of a barrier: behind it the same memory is the barrier's result.
    bool reads_result_of(std::uint32_t user, std::uint32_t node) const {
        return std::ranges::any_of(g_.nodes[user].in,
                                   [&](ValueId v) { return g_.values[v].kind == GraphValue::Kind::Result && g_.values[v].index == node; });
    }
    void visit(std::uint32_t node, std::int64_t mark, std::int64_t other, std::vector<std::uint32_t>& stack) {
        if (seen_[node] == mark) return;
        found_ = found_ || seen_[node] == other;
        seen_[node] = mark;
        stack.push_back(node);
    }

    // ---- On-demand values that somebody needs in memory ------------------------------------------------------------------------
    void materialise_for(std::uint32_t i) {
        const Node& n = g_.nodes[i];
        for (std::size_t k = 0; k < n.in.size(); ++k) {
            const std::uint32_t p = direct_producer(n.in[k]);
            if (!is_loop(n) || (p == kNone)) materialise(n.in[k]);
        }
    }
    /// Makes sure that the node behind `v` runs as (part of) a kernel.
    void materialise(ValueId v) {
        const GraphValue& value = g_.values[v];
        if (value.kind != GraphValue::Kind::Result) return;
        const GraphValue& root = g_.values[value.root];
        if (root.kind != GraphValue::Kind::Result) return;
        const std::uint32_t p = root.index;
        if (is_loop(g_.nodes[p]) && group_of_[p] == kNone) start_group(p);
    }

    LongestChain chain_;
    std::vector<std::int64_t> seen_;  ///< per node: the last search that met it, from behind: negative
    std::vector<std::uint32_t> before_nodes_, behind_c_;
    std::int64_t search_ = 0, visits_left_;
    std::uint32_t placed_ = 0;  ///< the last node that may have been placed
    bool found_ = false;

    std::unordered_map<ValueId, std::vector<std::uint32_t>> readers_;  ///< per root: the groups that reduce it
    std::unordered_set<std::uint64_t> apart_;                          ///< pairs of groups that can't be one
};

}  // namespace

namespace {

/// How many leading dimensions multiply to `outer`, or the domain's rank + 1 when the cut goes through a dimension.
std::size_t row_dims_for(const Dims& domain, std::int64_t outer) {
    std::int64_t p = 1;
    std::size_t d = 0;
    while (d < domain.size() && p < outer) p *= domain[d++];
    return p == outer ? d : domain.size() + 1;
}

}  // namespace

Group Groups::group_of_one(std::uint32_t i) {
    const Node& n = g_.nodes[i];
    Group group;
    group.members = {i};
    group.first = group.last = i;
    const ValueId shaped = n.kind == NodeKind::Reduction ? n.in[0] : n.out[0];
    group.domain = without_ones(g_.aval(shaped).shape);
    row_level_[i] = column_result_[i] = false;
    if (n.kind == NodeKind::Reduction) mark_reduction(group, i);
    return group;
}

void Groups::mark_reduction(Group& group, std::uint32_t i) {
    const Reduction& r = g_.nodes[i].reduction();
    if (r.inner == 1) {
        group.split = true;
        row_level_[i] = true;
        group.row_dims = row_dims_for(group.domain, r.outer);
    } else {
        group.column = true;
        column_result_[i] = true;
    }
    group.reduction = r;
}

Groups make_groups(const Graph& g, const FuseOptions& options) {
    GroupBuilder builder(g, options);
    builder.run();
    return builder;
}

}  // namespace jaxscope::exec
