// SPDX-License-Identifier: Apache-2.0
#include "jit/plan/schedule.h"

#include <algorithm>
#include <numeric>
#include <queue>
#include <tuple>
#include <variant>

#include "base/cancel.h"

namespace jaxscope::exec {

namespace {

constexpr std::uint32_t kNoMaker = ~0u;
constexpr std::int64_t kSlack =
    256;  ///< the scalars and statistics that a big kernel waits for: this part of the largest value counts as nothing

enum class Pick {
    Base,  ///< what takes no memory worth mentioning, else the next one of the base
    Deep,  ///< the same, but of those that can run since the latest unit ran
    List,  ///< what gives back most or takes least; of equal ones those that can run since the latest unit ran
};

/// Per value: the unit that makes it (or none), and those that read it, in program order.
struct Neighbours {
    std::vector<std::uint32_t> maker;
    std::vector<std::vector<std::uint32_t>> readers;
};
/// `reads(u)`: what is read of what unit u names.
template <class Reads>
Neighbours neighbours(const Graph& g, const std::vector<Unit>& units, Reads&& reads) {
    Neighbours out{std::vector<std::uint32_t>(g.values.size(), kNoMaker), std::vector<std::vector<std::uint32_t>>(g.values.size())};
    for (std::uint32_t u = 0; u < units.size(); ++u) {
        for (const ValueId v : units[u].writes) out.maker[v] = u;
        for (const ValueId v : reads(u)) out.readers[v].push_back(u);
    }
    return out;
}

/// Units, the values between them and what running one costs, the same for both directions of time.
class Scheduler {
public:
    /// `bytes`: per value, if they aren't those of the arrays.
    Scheduler(const Graph& g, const std::vector<Unit>& units, const std::vector<std::optional<int>>& alias, bool whole,
              const std::vector<std::int64_t>& bytes = {})
        : g_(g), units_(units), reads_(units.size()), bytes_(g.values.size(), 0), lasting_(g.values.size(), false), before_(units.size()) {
        for (std::uint32_t u = 0; u < units.size(); ++u) {
            for (const ValueId v : units[u].writes) bytes_[v] = bytes.empty() ? g.bytes(v) : bytes[v];
            before_[u] = units[u].after;
            if (is_barrier(units[u])) continue;  // orders others, reads nothing
            reads_[u] = units[u].reads;
            std::sort(reads_[u].begin(), reads_[u].end());
            reads_[u].erase(std::unique(reads_[u].begin(), reads_[u].end()), reads_[u].end());
        }
        near_ = neighbours(g, units, [&](std::uint32_t u) -> const std::vector<ValueId>& { return reads_[u]; });
        for (const ValueId v : g.outputs) {
            lasting_[g.root(v)] = true;
            if (!whole) bytes_[g.root(v)] = 0;
        }
        for (const std::int64_t b : bytes_) slack_ = std::max(slack_, b / kSlack);
        for (std::size_t k = 0; k < alias.size(); ++k)
            if (alias[k]) keep_alias(g.root(g.outputs[k]), g.inputs[static_cast<std::size_t>(*alias[k])]);
        for (std::uint32_t u = 0; u < units.size(); ++u) {
            std::sort(before_[u].begin(), before_[u].end());
            before_[u].erase(std::unique(before_[u].begin(), before_[u].end()), before_[u].end());
        }
        behind_.resize(units.size());
        for (std::uint32_t u = 0; u < units.size(); ++u)
            for (const std::uint32_t b : before_[u]) behind_[b].push_back(u);
    }

    /// From the first unit to the last: a value takes memory when its maker runs and gives it back with its last reader.
    Order early(const Order& base, Pick pick = Pick::Base) {
        std::vector<std::uint32_t> missing(g_.values.size(), 0);  // readers that haven't run
        std::vector<std::int64_t> growth(units_.size(), 0);
        for (std::uint32_t u = 0; u < units_.size(); ++u)
            for (const ValueId v : units_[u].writes) growth[u] += bytes_[v];
        for (std::uint32_t v = 0; v < missing.size(); ++v) {
            missing[v] = static_cast<std::uint32_t>(near_.readers[v].size());
            if (missing[v] == 1 && !lasting_[v]) growth[near_.readers[v][0]] -= bytes_[v];
        }
        std::vector<bool> done(units_.size(), false);
        return run(base, pick, before_, behind_, growth, [&](std::uint32_t u, const auto& changed) {
            done[u] = true;
            for (const ValueId v : reads_[u]) {
                if (--missing[v] != 1 || lasting_[v] || bytes_[v] == 0) continue;
                for (const std::uint32_t r : near_.readers[v])
                    if (!done[r]) growth[r] -= bytes_[v], changed(r);
            }
        });
    }

    /// From the last unit to the first: a value takes memory with its first reader met and gives it back with its maker.
    Order late(Order base, Pick pick = Pick::Base) {
        std::reverse(base.begin(), base.end());
        std::vector<std::int64_t> growth(units_.size(), 0);
        std::vector<bool> alive(g_.values.size(), false);
        for (std::uint32_t u = 0; u < units_.size(); ++u) {
            for (const ValueId v : units_[u].writes) growth[u] -= bytes_[v];
            for (const ValueId v : reads_[u])
                if (!lasting_[v]) growth[u] += bytes_[v];
        }
        Order order = run(base, pick, behind_, before_, growth, [&](std::uint32_t u, const auto& changed) {
            for (const ValueId v : reads_[u]) {
                if (alive[v] || lasting_[v] || bytes_[v] == 0) continue;
                alive[v] = true;
                for (const std::uint32_t r : near_.readers[v])
                    if (r != u) growth[r] -= bytes_[v], changed(r);
            }
        });
        std::reverse(order.begin(), order.end());
        return order;
    }

    bool anything_to_choose() const {
        return std::any_of(bytes_.begin(), bytes_.end(), [](std::int64_t b) { return b > 0; }) && units_.size() > 2;
    }

private:
    bool is_barrier(const Unit& u) const { return !u.kernel && g_.nodes[u.nodes[0]].kind == NodeKind::Barrier; }

    /// A product writes its rows' sums and maxima as well, so of equal steps it takes a little more than one without.
    bool has_product(const Unit& u) const {
        return std::any_of(u.nodes.begin(), u.nodes.end(), [&](std::uint32_t i) {
            const Node& n = g_.nodes[i];
            return n.kind == NodeKind::Library && n.spec() &&
                   (std::holds_alternative<DotKernel>(n.spec()->kind) || std::holds_alternative<ConvKernel>(n.spec()->kind));
        });
    }
    /// An output in the memory of an input costs nothing when its maker runs behind all readers of the input.
    void keep_alias(ValueId out, ValueId in) {
        const std::uint32_t maker = near_.maker[out];
        if (maker == kNoMaker) return;
        for (const std::uint32_t r : near_.readers[in])
            if (r > maker) return;  // the memory is lost in program order already
        for (const std::uint32_t r : near_.readers[in])
            if (r != maker) before_[maker].push_back(r);
        bytes_[out] = 0;
    }

    /// List scheduling: of the units that may run, the one that `pick` says; if deep, what was begun is ended before something else begins.
    /// `after_run(u, changed)` lowers growths and says whose; growth never rises, so a unit that shrinks memory goes on doing so.
    template <class AfterRun>
    Order run(const Order& base, Pick pick, const std::vector<std::vector<std::uint32_t>>& before,
              const std::vector<std::vector<std::uint32_t>>& behind, const std::vector<std::int64_t>& growth, AfterRun&& after_run) const {
        using Entry = std::tuple<std::int64_t, std::int64_t, std::uint32_t>;  // the smallest first: by `pick`, then when or where; the unit
        using Queue = std::priority_queue<Entry, std::vector<Entry>, std::greater<>>;
        Queue ready, shrinking;
        std::vector<std::uint32_t> position(base.size()), waiting(base.size());
        std::vector<bool> done(base.size(), false);
        for (std::uint32_t p = 0; p < base.size(); ++p) position[base[p]] = p;
        Order order;
        order.reserve(base.size());
        std::vector<std::int64_t> since(pick == Pick::List ? base.size() : 0);
        const auto offer = [&](std::uint32_t u) {
            if (pick == Pick::List) {
                since[u] = (has_product(units_[u]) ? std::ssize(base) : 0) - std::ssize(order);
                ready.emplace(growth[u], since[u], u);
                return;
            }
            (growth[u] <= slack_ ? shrinking : ready)
                .emplace(pick == Pick::Deep ? std::ssize(base) - std::ssize(order) : 0, position[u], u);
        };
        for (std::uint32_t u = 0; u < base.size(); ++u)
            if ((waiting[u] = static_cast<std::uint32_t>(before[u].size())) == 0) offer(u);
        const auto changed = [&](std::uint32_t u) {
            if (done[u] || waiting[u] > 0) return;
            if (pick == Pick::List)
                ready.emplace(growth[u], since[u], u);  // in front of the entry that it had
            else if (growth[u] <= slack_)
                shrinking.emplace(0, position[u], u);
        };
        while (!ready.empty() || !shrinking.empty()) {
            Queue& from = shrinking.empty() ? ready : shrinking;
            const std::uint32_t u = std::get<2>(from.top());
            from.pop();
            if (done[u]) continue;
            check_cancelled();
            done[u] = true;
            order.push_back(u);
            after_run(u, changed);
            for (const std::uint32_t b : behind[u])
                if (--waiting[b] == 0) offer(b);
        }
        JAXSCOPE_ASSERT(order.size() == base.size());
        return order;
    }

    const Graph& g_;
    const std::vector<Unit>& units_;
    std::vector<std::vector<ValueId>> reads_;  ///< per unit, each value once
    std::vector<std::int64_t> bytes_;          ///< per value made here; 0 where it takes no memory of the arena's
    std::int64_t slack_ = 0;
    std::vector<bool> lasting_;  ///< per value: an output, kept to the end
    Neighbours near_;
    std::vector<std::vector<std::uint32_t>> before_, behind_;  ///< per unit
};

Order program_order(const std::vector<Unit>& units) {
    Order program(units.size());
    std::iota(program.begin(), program.end(), 0u);
    return program;
}

}  // namespace

Order program_order(const Graph& g, const std::vector<Unit>& units, const std::function<bool(std::uint32_t, ValueId)>& overwrites) {
    const Neighbours near = neighbours(g, units, [&](std::uint32_t u) -> const std::vector<ValueId>& { return units[u].reads; });
    const std::vector<std::uint32_t>& maker = near.maker;
    const std::vector<std::vector<std::uint32_t>>& readers = near.readers;
    const auto can_run_before = [&](std::uint32_t reader, std::uint32_t u) {
        return std::ranges::all_of(units[reader].after, [u](std::uint32_t b) { return b < u; }) &&
               std::ranges::all_of(units[reader].reads, [&](ValueId v) { return maker[v] == kNoMaker || maker[v] < u; });
    };
    const auto made = [&](std::uint32_t u) {
        std::int64_t bytes = 0;
        for (const ValueId v : units[u].writes) bytes += g.bytes(v);
        return bytes;
    };
    Order order;
    std::vector<bool> placed(units.size(), false);
    const auto place = [&](std::uint32_t u) {
        if (!placed[u]) order.push_back(u);
        placed[u] = true;
    };
    for (std::uint32_t u = 0; u < units.size(); ++u) {
        for (const ValueId v : units[u].reads) {
            if (placed[u] || maker[v] == kNoMaker || readers[v].back() <= u || !overwrites(u, v)) continue;
            std::vector<std::uint32_t> later;
            std::ranges::copy_if(readers[v], std::back_inserter(later), [&](std::uint32_t r) { return r > u && !placed[r]; });
            const bool all = std::ranges::all_of(
                later, [&](std::uint32_t r) { return can_run_before(r, u) && made(r) <= g.bytes(v) && !overwrites(r, v); });
            if (all) std::ranges::for_each(later, place);
        }
        place(u);
    }
    return order;
}

std::vector<Order> low_memory_orders(const Graph& g, const std::vector<Unit>& units, const std::vector<std::optional<int>>& alias,
                                     bool whole) {
    Scheduler s(g, units, alias, whole);
    if (!s.anything_to_choose()) return {};
    const Order program = program_order(units);
    std::vector<Order> out;
    const auto add = [&](Order order) {  // many programs leave little to choose, and planning an order costs more than finding it
        if (order != program && std::find(out.begin(), out.end(), order) == out.end()) out.push_back(order);
        return order;
    };
    add(s.early(program));
    add(s.early(add(s.late(program))));
    add(s.early(add(s.late(program, Pick::Deep))));
    add(s.late(add(s.early(program, Pick::Deep))));
    return out;
}

std::vector<Order> compiler_orders(const Graph& g, const std::vector<Unit>& units, const std::vector<std::optional<int>>& alias, bool whole,
                                   const std::vector<std::int64_t>& bytes) {
    Scheduler s(g, units, alias, whole, bytes);
    if (!s.anything_to_choose()) return {};
    const Order program = program_order(units);
    return {s.early(program, Pick::List), s.late(program, Pick::Deep)};
}

}  // namespace jaxscope::exec
