// SPDX-License-Identifier: Apache-2.0
#include "jit/graph/fuse.h"

#include <map>
#include <queue>
#include <utility>

#include "base/cancel.h"
#include "jit/graph/fuse_groups.h"
#include "jit/graph/kernel_build.h"
#include "jit/graph/rewrite.h"

namespace jaxscope::exec {

namespace {

/// Moves and copies nodes between groups where that spares memory, then makes units of them.
class UnitMaker : public Groups {
public:
    explicit UnitMaker(Groups groups) : Groups(std::move(groups)) {}

    std::vector<Unit> run() {
        if (options_.fuse) sink_into_consumers();
        if (options_.fuse && options_.recompute_cheap) recompute_cheap_values();
        while (true) {
            std::vector<Unit> units = make_units();
            const std::uint32_t stuck = order(units);
            if (stuck == kNone) return units;
            dissolve(stuck);
        }
    }

private:
    // ---- Sinking ---------------------------------------------------------------------------------------------------------------
    // A kernel that makes g would also make 0.1*g and 0.05*g*g for two later kernels (Adam's moments): two arrays where g alone serves.
    // Such tails, element-wise in one value of the group, move to the kernel that reads them, when that leaves fewer arrays in memory.

    struct Tail {
        std::vector<std::uint32_t> nodes;  ///< in program order; the last one is read by `reader`'s group only
        std::uint32_t reader = kNone;
    };

    void sink_into_consumers() {
        for (std::uint32_t i = 0; i < g_.nodes.size(); ++i)
            if (group_of_[i] != kNone && g_.nodes[i].kind == NodeKind::Element && !row_level_[i]) sink_tails_of(i);
    }

    void sink_tails_of(std::uint32_t i) {
        check_cancelled();
        const ValueId v = g_.nodes[i].out[0];
        if (g_.aval(v).size() <= 1) return;  // nothing to gain, and chains of scalars may meet
        bool in_memory = is_output_[v];
        std::vector<Tail> tails;
        std::uint32_t previous = kNone;
        for (const std::uint32_t user : users_[v]) {
            if (std::exchange(previous, user) == user) continue;  // x * x reads x twice, and is one tail
            in_memory = in_memory || (!on_demand(user) && group_of_[user] != group_of_[i]);
            if (Tail t = tail_from(user, v, group_of_[i]); t.reader != kNone) tails.push_back(std::move(t));
        }
        if (tails.size() < (in_memory ? 1u : 2u)) return;
        for (const Tail& t : tails) {
            const std::uint32_t to = group_of_[t.reader];
            Group& from = groups_[group_of_[i]];
            for (const std::uint32_t n : t.nodes) {
                const auto at = std::find(from.members.begin(), from.members.end(), n);
                JAXSCOPE_ASSERT(at != from.members.end());
                from.members.erase(at);
                groups_[to].members.push_back(n);
                groups_[to].first = std::min(groups_[to].first, n);
                group_of_[n] = to;
            }
        }
    }

    /// The chain from `node`, each reading the one before at its own index and nothing else of full size, each read once, whose end is
    /// read by an element-wise kernel elsewhere.
    Tail tail_from(std::uint32_t node, ValueId operand, std::uint32_t group) const {
        Tail t;
        while (true) {
            if (group_of_[node] != group || g_.nodes[node].kind != NodeKind::Element || row_level_[node] || !reads_only(node, operand))
                return {};
            t.nodes.push_back(node);
            operand = g_.nodes[node].out[0];
            if (is_output_[operand] || users_[operand].size() != 1) return {};
            const std::uint32_t next = users_[operand][0];
            if (group_of_[next] == group) {
                node = next;
                continue;
            }
            if (group_of_[next] == kNone || !sinks_into(next, operand)) return {};
            t.reader = next;
            return t;
        }
    }
    /// `node` reads `operand` at its own index, and besides it only literals and scalars.
    bool reads_only(std::uint32_t node, ValueId operand) const {
        const Node& n = g_.nodes[node];
        if (n.map().cost > kMaxRecomputed) return false;
        for (std::size_t k = 0; k < n.in.size(); ++k) {
            const IndexMap::Operand& o = n.map().operands[k];
            if (o.access == IndexMap::Access::None || g_.values[n.in[k]].kind == GraphValue::Kind::Literal) continue;
            if (n.in[k] == operand && o.access == IndexMap::Access::Identity) continue;
            if (g_.aval(n.in[k]).size() != 1) return false;
        }
        return true;
    }
    bool sinks_into(std::uint32_t reader, ValueId v) const {
        const Node& n = g_.nodes[reader];
        const Group& group = groups_[group_of_[reader]];
        if (n.kind != NodeKind::Element || row_level_[reader] || group.split || group.members.size() + 4 > kMaxMembers) return false;
        if (without_ones(g_.aval(v).shape) != group.domain) return false;
        for (std::size_t k = 0; k < n.in.size(); ++k)
            if (n.in[k] == v && n.map().operands[k].access != IndexMap::Access::Identity) return false;
        return std::find(n.in.begin(), n.in.end(), v) != n.in.end();
    }

    // ---- Recomputing -----------------------------------------------------------------------------------------------------------
    // With `recompute_cheap`, values that take few operations on what is in memory anyway aren't stored for later kernels.

    void recompute_cheap_values() {
        for (std::uint32_t i = 0; i < g_.nodes.size(); ++i)
            if (group_of_[i] != kNone && g_.nodes[i].kind == NodeKind::Element && !row_level_[i]) recomputed_[i] = cost_elsewhere(i);
    }
    /// Position of the last step that reads `v`.
    std::uint32_t last_user(ValueId v) const {
        std::uint32_t last = 0;
        for (const std::uint32_t u : users_[v]) last = std::max(last, group_of_[u] == kNone ? u : groups_[group_of_[u]].last);
        return last;
    }
    /// Scalar operations with which every reader in another group computes node `i` again, or 0 where it is better stored.
    int cost_elsewhere(std::uint32_t i) const {
        const Node& n = g_.nodes[i];
        const ValueId v = n.out[0];
        if (is_output_[v]) return 0;
        bool elsewhere = false;
        for (const std::uint32_t u : users_[v]) {
            if (group_of_[u] == group_of_[i]) continue;
            if (group_of_[u] == kNone || !reads_at_own_index(u, v)) return 0;
            elsewhere = true;
        }
        int cost = std::max(1, n.map().cost);
        for (std::size_t k = 0; k < n.in.size() && elsewhere; ++k) {
            const IndexMap::Operand& o = n.map().operands[k];
            if (o.access == IndexMap::Access::None || g_.values[n.in[k]].kind == GraphValue::Kind::Literal) continue;
            const std::uint32_t p = direct_producer(n.in[k]);
            if (on_demand(p))
                cost += on_demand_cost_[p];
            else if (o.access == IndexMap::Access::Identity && p != kNone && recomputed_[p])
                cost += recomputed_[p];
            else if (o.access != IndexMap::Access::Identity || !there_anyway(g_.root(n.in[k]), last_user(v)))
                return 0;
        }
        return elsewhere && cost <= kMaxRecomputed ? cost : 0;
    }
    bool reads_at_own_index(std::uint32_t user, ValueId v) const {
        const Node& n = g_.nodes[user];
        for (std::size_t k = 0; k < n.in.size(); ++k) {
            if (g_.root(n.in[k]) != v) continue;
            if (direct_producer(n.in[k]) == kNone) return false;
            if (n.kind == NodeKind::Element && n.map().operands[k].access != IndexMap::Access::Identity) return false;
        }
        return is_loop(n);
    }
    /// Is `v` in memory up to step `until`, whoever computes what again?
    bool there_anyway(ValueId v, std::uint32_t until) const {
        const GraphValue& value = g_.values[v];
        if (value.kind != GraphValue::Kind::Result || is_output_[v]) return true;
        return std::any_of(users_[v].begin(), users_[v].end(), [&](std::uint32_t u) {
            const std::uint32_t at = group_of_[u] == kNone ? u : groups_[group_of_[u]].last;
            return at >= until && (group_of_[value.index] == kNone || group_of_[u] != group_of_[value.index]);
        });
    }

    // ---- Units -----------------------------------------------------------------------------------------------------------------
    std::vector<Unit> make_units() {
        std::erase_if(groups_, [](const Group& group) { return group.members.empty(); });  // merged into others
        std::vector<Unit> units;
        unit_of_.assign(g_.nodes.size(), kNone);
        position_.clear();
        for (const Group& group : groups_) {
            for (const std::uint32_t m : group.members) unit_of_[m] = static_cast<std::uint32_t>(units.size());
            Unit u;
            u.nodes = group.members;
            std::sort(u.nodes.begin(), u.nodes.end());
            position_.push_back(u.nodes.back());
            units.push_back(std::move(u));
        }
        for (std::uint32_t i = 0; i < g_.nodes.size(); ++i) {
            if (is_loop(g_.nodes[i])) continue;
            unit_of_[i] = static_cast<std::uint32_t>(units.size());
            Unit u;
            u.nodes = {i};
            position_.push_back(i);
            units.push_back(std::move(u));
        }
        const std::vector<bool> needed = needed_in_memory();
        Kernels kernels;
        std::uint32_t onlooker = kNone;  // they look, or call the user's functions, one after the other in program order
        for (std::size_t u = 0; u < units.size(); ++u) {
            check_cancelled();
            if (must_run(g_.nodes[units[u].nodes[0]])) {
                if (onlooker != kNone) units[u].after.push_back(onlooker);
                onlooker = static_cast<std::uint32_t>(u);
            }
            if (u < groups_.size())
                build_kernel(units[u], groups_[u], needed, kernels);
            else
                library_unit(units[u]);
            find_dependencies(units[u], static_cast<std::uint32_t>(u));
        }
        return units;
    }

    /// Roots that somebody reads from memory: anything but the consumer's own group taking it from a register.
    std::vector<bool> needed_in_memory() const {
        std::vector<bool> needed(g_.values.size(), false);
        for (const ValueId v : g_.outputs) needed[g_.root(v)] = true;
        for (std::uint32_t i = 0; i < g_.nodes.size(); ++i) {
            if (unit_of_[i] == kNone || g_.nodes[i].kind == NodeKind::Barrier) continue;
            for_each_leaf(i, [&](ValueId v) {
                const std::uint32_t p = direct_producer(v);
                if (p == kNone || unit_of_[p] != unit_of_[i] || !is_loop(g_.nodes[i])) needed[g_.root(v)] = true;
            });
        }
        return needed;
    }

    /// By what code is made of: blocks that are alike share theirs.
    using Kernels = std::map<std::vector<std::uint64_t>, std::shared_ptr<Kernel>>;
    void build_kernel(Unit& u, const Group& group, const std::vector<bool>& needed, Kernels& kernels) const {
        const KernelParts parts{g_,
                                group.domain,
                                group.split,
                                group.column,
                                group.row_dims,
                                group.reduction,
                                row_level_,
                                needed,
                                [this](ValueId v) { return direct_producer(v); },
                                [this](std::uint32_t node) { return on_demand(node) || recomputed_[node] > 0; }};
        build_kernel_for(u, parts);
        u.kernel = kernels.try_emplace(u.kernel->key(), u.kernel).first->second;
    }

    void library_unit(Unit& u) const {
        const Node& n = g_.nodes[u.nodes[0]];
        for (const ValueId v : n.in) u.reads.push_back(g_.root(v));
        if (n.kind != NodeKind::Barrier)
            for (const ValueId v : n.out) u.writes.push_back(v);
    }

    void find_dependencies(Unit& u, std::uint32_t self) const {
        for (const std::uint32_t i : u.nodes)
            for_each_leaf(i, [&](ValueId v) {
                if (g_.values[v].kind != GraphValue::Kind::Result) return;
                // Behind a barrier a view of a value names the barrier; whoever made the memory that it shows comes first as well.
                for (const ValueId made : {v, g_.root(v)}) {
                    if (g_.values[made].kind != GraphValue::Kind::Result) continue;
                    const std::uint32_t before = unit_of_[g_.values[made].index];
                    if (before != kNone && before != self) u.after.push_back(before);
                }
            });
        std::sort(u.after.begin(), u.after.end());
        u.after.erase(std::unique(u.after.begin(), u.after.end()), u.after.end());
    }

    /// Puts units into an order in which each comes behind those that it waits for, kNone; or names one of a circle of groups that wait for
    /// each other. Groups grow while nodes are placed, and a group that stayed short of another's beginning may come to wait for one that
    /// grew past it (Groups::makes_cycle doesn't look behind those): rare, and found here at no cost.
    std::uint32_t order(std::vector<Unit>& units) const {
        std::vector<std::vector<std::uint32_t>> users(units.size());
        std::vector<std::uint32_t> waiting(units.size());
        using Entry = std::pair<std::uint32_t, std::uint32_t>;
        std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
        for (std::uint32_t u = 0; u < units.size(); ++u) {
            waiting[u] = static_cast<std::uint32_t>(units[u].after.size());
            for (const std::uint32_t b : units[u].after) users[b].push_back(u);
            if (!waiting[u]) ready.emplace(position_[u], u);
        }
        std::vector<std::uint32_t> order, new_number(units.size());
        while (!ready.empty()) {
            const std::uint32_t u = ready.top().second;
            ready.pop();
            new_number[u] = static_cast<std::uint32_t>(order.size());
            order.push_back(u);
            for (const std::uint32_t w : users[u])
                if (--waiting[w] == 0) ready.emplace(position_[w], w);
        }
        if (order.size() != units.size()) return smallest_of_circle(units, waiting);
        std::vector<Unit> out;
        out.reserve(units.size());
        for (const std::uint32_t u : order) {
            for (std::uint32_t& a : units[u].after) a = new_number[a];
            out.push_back(std::move(units[u]));
        }
        units = std::move(out);
        return kNone;
    }
    /// The group of fewest nodes, but more than one, of a circle: single nodes in program order make none.
    static std::uint32_t smallest_of_circle(const std::vector<Unit>& units, const std::vector<std::uint32_t>& waiting) {
        const auto before = [&](std::uint32_t u) {
            return *std::find_if(units[u].after.begin(), units[u].after.end(), [&](std::uint32_t b) { return waiting[b] > 0; });
        };
        auto u = static_cast<std::uint32_t>(std::find_if(waiting.begin(), waiting.end(), [](std::uint32_t w) { return w > 0; }) -
                                            waiting.begin());
        for (std::size_t i = 0; i < units.size(); ++i) u = before(u);  // as many steps back from anywhere end in a circle
        std::uint32_t best = kNone;
        const std::uint32_t start = u;
        do {
            if (units[u].nodes.size() > 1 && (best == kNone || units[u].nodes.size() < units[best].nodes.size())) best = u;
            u = before(u);
        } while (u != start);
        JAXSCOPE_ASSERT(best < units.size());
        return best;
    }

    /// Each node of unit `u` becomes a kernel of its own.
    void dissolve(std::uint32_t u) {
        const std::vector<std::uint32_t> members = std::exchange(groups_[u].members, {});
        for (const std::uint32_t m : members) {
            groups_.push_back(group_of_one(m));
            group_of_[m] = next_group_--;  // of nobody else: the numbers of groups_ have moved
        }
    }

    std::vector<std::uint32_t> unit_of_;
    std::vector<std::uint32_t> position_;  ///< per unit: its last node's place in the program
    std::uint32_t next_group_ = kNone - 1;
};

}  // namespace

std::vector<Unit> fuse(const Graph& g, const FuseOptions& options) { return UnitMaker(make_groups(g, options)).run(); }

}  // namespace jaxscope::exec
