// SPDX-License-Identifier: Apache-2.0
#include "jit/plan/target_units.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <variant>

#include "base/cancel.h"
#include "base/checked.h"
#include "jit/plan/loops.h"
#include "jit/plan/target_layouts.h"
#include "jit/plan/target_nodes.h"
#include "lax/params/shapes.h"
#include "lax/primitives.h"

namespace jaxscope::exec {

namespace {

constexpr std::uint32_t kNoUnit = ~0u;
constexpr int kLongest = 100;  ///< operations that several readers compute again; a longer chain is stored
constexpr std::int64_t kMostSearched = 5'000'000;

class Maker {
public:
    Maker(const Graph& g, const TargetDevice& device) : g_(g), device_(device), layouts_(g, device) {
        find_users();
        find_stored();
        find_late();
        find_newest();
        if (device_.fuses_into_products) move_behind_products();
        find_narrowed();
        find_narrow();
    }
    TargetUnits run() {
        TargetUnits out;
        unit_of_.assign(g_.nodes.size(), kNoUnit);
        seen_.assign(g_.nodes.size(), kNoUnit);
        for (std::uint32_t i = 0; i < g_.nodes.size(); ++i) {
            check_cancelled();
            const Node& n = g_.nodes[i];
            if (n.kind != NodeKind::Barrier && (element_wise(i) || is_product(n)) && !stored_[n.out[0]]) continue;
            if (const auto beside = beside_.find(i); beside != beside_.end()) {
                Unit& with = out.units[unit_of_[i] = unit_of_[g_.values[beside->second].index]];
                with.nodes.push_back(i);
                with.writes.push_back(n.out[0]);
                continue;
            }
            unit_of_[i] = static_cast<std::uint32_t>(out.units.size());
            out.units.push_back(unit(i));
            out.scratch.push_back(n.kind == NodeKind::Scan ? narrow_copies(n) : 0);
        }
        out.bytes = layouts_.bytes(stored_, narrow_, ended_);
        return out;
    }

private:
    void find_users() {
        users_.resize(g_.values.size());
        output_.assign(g_.values.size(), false);
        for (std::uint32_t i = 0; i < g_.nodes.size(); ++i)
            for (std::size_t k = 0; k < g_.nodes[i].in.size(); ++k) {
                if (!reads(g_.nodes[i], k)) continue;
                std::vector<std::uint32_t>& list = users_[g_.root(g_.nodes[i].in[k])];
                if (list.empty() || list.back() != i) list.push_back(i);
            }
        for (const ValueId v : g_.outputs) output_[g_.root(v)] = true;
        for (const Node& n : g_.nodes) one_hot_.push_back(is_one_hot(n));
    }
    static bool reads(const Node& n, std::size_t k) {
        return n.kind != NodeKind::Element || n.map().operands[k].access != IndexMap::Access::None;
    }
    /// One number everywhere.
    bool is_fill(ValueId v) const {
        const GraphValue& value = g_.values[g_.root(v)];
        if (value.kind != GraphValue::Kind::Result) return value.kind == GraphValue::Kind::Literal;
        const Node& n = g_.nodes[value.index];
        return n.kind == NodeKind::Element && std::all_of(n.in.begin(), n.in.end(), [&](ValueId in) { return g_.aval(in).size() == 1; });
    }
    /// Does this scatter or update write over one number everywhere? XLA fills in the same step, or scatters into the other part of a sum.
    bool fills(const Node& n) const {
        return n.kind == NodeKind::Library && n.spec() &&
               (std::holds_alternative<ScatterKernel>(n.spec()->kind) ||
                std::holds_alternative<DynamicUpdateSliceKernel>(n.spec()->kind)) &&
               is_fill(n.in[0]) && std::count(n.in.begin(), n.in.end(), n.in[0]) == 1;
    }
    /// Can the step of node `i` compute operand `v` as it reads it?
    bool computes(std::uint32_t i, ValueId v) const {
        const Node& n = g_.nodes[i];
        return fuses_operands(i) || (fills(n) && g_.root(n.in[0]) == g_.root(v));
    }
    bool fuses_operands(std::uint32_t i) const {
        const Node& n = g_.nodes[i];
        if (is_gather(n)) return false;
        if (n.op().prim == &kReduceWindowSum || n.op().prim == &kReduceWindowMax || n.op().prim == &kReduceWindowMin) return true;
        return element_wise(i) || n.kind == NodeKind::Reduction || (is_product(n) && device_.fuses_into_products);
    }
    bool element_wise(std::uint32_t i) const {
        return g_.nodes[i].kind == NodeKind::Element || one_hot_[i] || is_outer_product(g_.nodes[i]);
    }

    /// A scatter into a constant, one element for each row along one dimension (what a gradient of take_along_axis is): XLA compares an
    /// iota with the index instead.
    bool is_one_hot(const Node& n) const {
        if (n.kind != NodeKind::Library || !n.spec() || !std::holds_alternative<ScatterKernel>(n.spec()->kind) || n.in.size() != 3)
            return false;
        if (!is_fill(n.in[0])) return false;
        const Aval& out = g_.aval(n.out[0]);
        const std::int64_t updates = g_.aval(n.in[2]).size();
        return updates > 1 &&
               std::any_of(out.shape.begin(), out.shape.end(), [&](std::int64_t d) { return d > 1 && updates == out.size() / d; });
    }

    void find_stored() {
        stored_.assign(g_.values.size(), true);
        std::vector<int> length(g_.values.size(), 0);
        for (std::uint32_t i = 0; i < g_.nodes.size(); ++i) {
            if (!element_wise(i)) continue;
            const Node& n = g_.nodes[i];
            const ValueId v = n.out[0];
            int sum = 1;
            for (std::size_t k = 0; k < n.in.size(); ++k)
                if (reads(n, k)) sum = std::min(kLongest + 1, sum + length[g_.root(n.in[k])]);
            const bool joined = n.op().prim == &kConcatenate;
            const bool fused = std::all_of(users_[v].begin(), users_[v].end(),
                                           [&](std::uint32_t u) { return computes(u, v) && !(joined && is_product(g_.nodes[u])); });
            // A pad is made as it is read, but of what is in memory (the gradients of two slices of the logits).
            const bool padded =
                std::any_of(users_[v].begin(), users_[v].end(), [&](std::uint32_t u) { return g_.nodes[u].op().prim == &kPad; });
            stored_[v] = output_[v] || padded || !fused || skips_elements(n) || picks_rows(n) || layouts_.joins_features(n) ||
                         (sum > kLongest && users_[v].size() > 1);
            length[v] = stored_[v] ? 0 : sum;
        }
    }

    /// What is computed of a product's wide result and is narrower than it (the probabilities, in bf16, of scores that are stored in f32):
    /// XLA stores it where a product reads it and another one reads it much later, behind what the first one made. Where both can wait they
    /// read it in one step with the gradient that is made of the same scores. So is what goes through a logistic function and is made of
    /// products' results alone (silu), which the product writes beside its own result; gelu's tanh is computed again.
    void find_narrowed() {
        const auto item = [&](ValueId v) { return is_float(g_.aval(v).dtype) ? element_bytes(v) : 0; };
        std::vector<std::int64_t> wide(g_.values.size(), 0);  // per root: bytes of an element of the widest product that it is computed of
        for (const ValueId v : ended_) wide[v] = item(v);
        std::vector<bool> gated(g_.values.size(), false), ends(g_.values.size(), false);  // with a logistic; of products alone
        for (const ValueId v : ended_) ends[v] = true;
        for (std::uint32_t i = 0; i < g_.nodes.size(); ++i) {
            const Node& n = g_.nodes[i];
            const ValueId v = n.out.empty() ? 0 : n.out[0];
            if (!element_wise(i) || stored_[v]) continue;
            std::int64_t widest = 0;
            for (std::size_t k = 0; k < n.in.size(); ++k)
                if (const ValueId in = g_.root(n.in[k]); reads(n, k) && g_.aval(in).size() >= g_.aval(v).size())
                    widest = std::max(widest, wide[in]);
            bool gate = n.op().prim == &kLogistic, alone = true;
            for (const ValueId operand : n.in) {
                const ValueId in = g_.root(operand);
                gate = gate || gated[in];
                alone = alone && (ends[in] || g_.values[in].kind != GraphValue::Kind::Result);
            }
            stored_[v] = (item(v) < widest || (gate && alone)) && product_waits(v);
            wide[v] = stored_[v] ? 0 : widest;
            gated[v] = !stored_[v] && gate;
            ends[v] = alone;
        }
    }
    std::int64_t element_bytes(ValueId v) const { return g_.aval(v).size() > 0 ? g_.bytes(v) / g_.aval(v).size() : 0; }
    /// Does a product that reads `v` wait for what another one that reads it makes? Where looking would take too long, it's taken to.
    bool product_waits(ValueId v) {
        std::vector<std::uint32_t> products;
        for (const std::uint32_t u : users_[v])
            if (is_product(g_.nodes[u])) products.push_back(u);
        if (products.size() < 2) return false;
        met_.resize(g_.nodes.size(), 0);
        const std::uint32_t mark = met_[products[0]] = ++searches_;
        std::vector<std::uint32_t> open{products[0]};
        while (!open.empty()) {
            check_cancelled();
            if (++searched_ > kMostSearched) return true;
            const std::uint32_t at = open.back();
            open.pop_back();
            for (const ValueId made : g_.nodes[at].out)
                for (const std::uint32_t u : users_[g_.root(made)])
                    if (u <= products.back() && met_[u] != mark) met_[u] = mark, open.push_back(u);
        }
        return std::any_of(products.begin() + 1, products.end(), [&](std::uint32_t u) { return met_[u] == mark; });
    }

    /// What a select_and_scatter reads is stored for it alone: all others that can compute it as they read it do. But what a product ends
    /// with it writes as well.
    void find_late() {
        late_.assign(g_.values.size(), false);
        for (const Node& n : g_.nodes) {
            if (n.op().prim != &kSelectAndScatterAdd) continue;
            const ValueId v = g_.root(n.in[1]);
            const GraphValue& value = g_.values[v];
            late_[v] = value.kind == GraphValue::Kind::Result && element_wise(value.index) && !output_[v] && !ends_a_product(v);
        }
    }
    /// Is it made of a product's result and of what is there from the beginning?
    bool ends_a_product(ValueId v) const {
        while (g_.values[v].kind == GraphValue::Kind::Result) {
            const Node& n = g_.nodes[g_.values[v].index];
            if (is_product(n)) return true;
            if (n.kind != NodeKind::Element) return false;
            std::set<ValueId> made;
            for (const ValueId in : n.in)
                if (g_.values[g_.root(in)].kind == GraphValue::Kind::Result) made.insert(g_.root(in));
            if (made.size() != 1) return false;
            v = *made.begin();
        }
        return false;
    }

    /// A choice between `v` and others that are made of less than `v` has, so that a reader makes it again: a causal mask, but no relu's.
    bool only_masks(const Node& n, ValueId v) const {
        const std::int64_t size = g_.aval(v).size();
        return n.op().prim == &kSelectN &&
               std::all_of(n.in.begin(), n.in.end(), [&](ValueId in) { return g_.root(in) == v || is_made_of_less(in, size, 8); });
    }
    bool is_made_of_less(ValueId v, std::int64_t size, int depth) const {
        const ValueId root = g_.root(v);
        const GraphValue& value = g_.values[root];
        if (g_.aval(root).size() < size || value.kind == GraphValue::Kind::Literal) return true;
        if (value.kind != GraphValue::Kind::Result || stored_[root] || depth == 0) return false;
        const Node& n = g_.nodes[value.index];
        return n.kind == NodeKind::Element &&
               std::all_of(n.in.begin(), n.in.end(), [&](ValueId in) { return is_made_of_less(in, size, depth - 1); });
    }

    /// A product's result that one element-wise operation reads is never stored: the product ends with it, and so on along the chain. The
    /// chain ends where several read, or where it would have to wait for what is made after it (the other part of a gradient's sum), and
    /// what is stored is its smallest value, the last one of several.
    void move_behind_products() {
        for (std::uint32_t i = 0; i < g_.nodes.size(); ++i) {
            const Node& n = g_.nodes[i];
            if (!is_product(n)) continue;
            const ValueId made = n.out[0];
            ValueId at = made, best = made;
            bool only_copied = true;  // since `best`
            while (!output_[at] && users_[at].size() == 1) {
                const Node& next = g_.nodes[users_[at][0]];
                if (next.kind != NodeKind::Element || is_gather(next) || waits(next, at, i)) break;
                const std::int64_t left = g_.aval(next.out[0]).size(), whole = g_.aval(at).size();
                if (left > whole || (left < whole && !next.map().copies)) break;
                const ValueId before = std::exchange(at, next.out[0]);
                // A wide copy that a gather reads stands beside the narrow result that the other readers take.
                const bool beside = stored_[at] && g_.bytes(at) > g_.bytes(best) && users_[at].size() > 1;
                const bool copied = next.map().copies || next.op().prim == &kConvertElementType;
                only_copied = only_copied && copied;
                if (beside && only_copied) beside_.emplace(users_[before][0], best);
                // What is computed in a wide type is stored in it; a mere copy in a wide type, masked or not, is made again by who reads
                // it.
                const bool computed = !copied && !only_masks(next, before);
                if (!beside && (computed || g_.bytes(at) <= g_.bytes(best) || stored_[at])) best = at, only_copied = true;
                if (stored_[at]) break;
            }
            stored_[made] = false;
            stored_[best] = true;
            ended_.push_back(best);
            if (users_[best].size() > 1)
                for (const std::uint32_t u : users_[best])
                    if (g_.nodes[u].op().prim == &kConvertElementType && gathered_wide(g_.nodes[u].out[0], best)) beside_.emplace(u, best);
        }
    }

    /// Is it stored as a gather reads it, and wider than what it is a copy of?
    bool gathered_wide(ValueId v, ValueId narrow) const {
        return stored_[v] && g_.bytes(v) > g_.bytes(narrow) &&
               std::any_of(users_[v].begin(), users_[v].end(), [&](std::uint32_t u) { return is_gather(g_.nodes[u]); });
    }
    /// Does an operand other than `at` come of what stands behind node `i`?
    bool waits(const Node& n, ValueId at, std::uint32_t i) const {
        return std::any_of(n.in.begin(), n.in.end(), [&](ValueId v) {
            const ValueId other = g_.root(v);
            return other != at && newest_[other] > static_cast<int>(i) && g_.aval(v).size() > 1;
        });
    }
    /// What is computed where it is read is as new as the newest thing in memory that it is made of.
    void find_newest() {
        newest_.assign(g_.values.size(), -1);
        for (std::uint32_t i = 0; i < g_.nodes.size(); ++i) {
            const Node& n = g_.nodes[i];
            const bool computed = element_wise(i) && !stored_[n.out[0]];
            int newest = computed ? -1 : static_cast<int>(i);
            if (computed)
                for (const ValueId v : n.in) newest = std::max(newest, newest_[g_.root(v)]);
            for (const ValueId v : n.out) newest_[v] = newest;
        }
    }

    /// Backwards: whom a value is read by.
    void find_narrow() {
        narrow_.assign(g_.values.size(), false);
        if (!device_.narrow_products) return;
        for (std::uint32_t i = static_cast<std::uint32_t>(g_.nodes.size()); i-- > 0;)
            if (g_.nodes[i].kind != NodeKind::While && g_.nodes[i].kind != NodeKind::Cond)
                for (std::size_t k = g_.nodes[i].kind == NodeKind::Scan ? loop_shape(g_.nodes[i]).carries : 0; k < g_.nodes[i].out.size();
                     ++k)
                    narrow_[g_.nodes[i].out[k]] = read_narrow(g_.nodes[i].out[k]);
        for (const ValueId v : g_.inputs) narrow_[v] = read_narrow(v);
    }
    bool read_narrow(ValueId v) const {
        if (output_[v] || g_.root(v) != v || g_.aval(v).dtype != DType::F32 || users_[v].empty()) return false;
        const bool product = std::any_of(users_[v].begin(), users_[v].end(), [&](std::uint32_t u) { return is_product(g_.nodes[u]); });
        return std::all_of(users_[v].begin(), users_[v].end(), [&](std::uint32_t u) {
            const Node& n = g_.nodes[u];
            if (n.kind == NodeKind::Barrier) return true;               // who reads behind it reads this value
            if (n.kind == NodeKind::Reduction && product) return true;  // made in one step with it (a bias's gradient)
            if (is_product(n)) return at_default_precision(n);
            if (n.kind == NodeKind::Element) return n.map().copies && !stored_[n.out[0]] && narrow_[n.out[0]];
            return n.kind == NodeKind::Scan && body_reads_narrow(n, v);
        });
    }
    bool only_converted(ValueId v) const {
        if (output_[v] || g_.root(v) != v || g_.aval(v).dtype != DType::F32 || users_[v].empty()) return false;
        return std::all_of(users_[v].begin(), users_[v].end(), [&](std::uint32_t u) {
            const Node& n = g_.nodes[u];
            if (n.kind == NodeKind::Barrier) return true;  // who reads behind it reads this value
            if (n.kind != NodeKind::Element || !n.map().copies)
                return n.op().prim == &kConvertElementType && is_float(n.op().out[0]->dtype) && element_bytes(n.out[0]) < 4;
            return !stored_[n.out[0]] && only_converted(n.out[0]);
        });
    }
    struct BodyInputs {
        std::vector<bool> narrow, converted;  ///< read by products alone, which take them in bf16; converted to it first
    };
    const BodyInputs& body_inputs(const GraphPtr& graph) const {
        const auto found = bodies_.try_emplace(graph.get());
        if (found.second) {
            const Maker body(*graph, device_);
            for (const ValueId in : graph->inputs) {
                found.first->second.narrow.push_back(body.narrow_[in]);
                found.first->second.converted.push_back(body.only_converted(in));
            }
        }
        return found.first->second;
    }
    bool body_reads_narrow(const Node& n, ValueId v) const {
        const LoopShape s = loop_shape(n);
        const std::vector<bool>& narrow = body_inputs(n.bodies[0]).narrow;
        for (std::size_t k = 0; k < n.in.size(); ++k) {
            if (g_.root(n.in[k]) != v) continue;
            const bool carried = k >= s.consts && k < s.consts + s.carries;
            if (carried || !narrow[k]) return false;
        }
        return true;
    }
    /// Arguments in f32 that the products of a loop read in bf16, or that it converts first: XLA converts them before the loop, as a whole.
    std::int64_t narrow_copies(const Node& n) const {
        if (!device_.narrow_products) return 0;
        const LoopShape s = loop_shape(n);
        const BodyInputs& read = body_inputs(n.bodies[0]);
        std::set<ValueId> counted;
        std::int64_t bytes = 0;
        for (std::size_t k = 0; k < n.in.size(); ++k) {
            const ValueId v = g_.root(n.in[k]);
            const bool carried = k >= s.consts && k < s.consts + s.carries;
            if (carried || !(read.narrow[k] || read.converted[k]) || g_.values[v].kind != GraphValue::Kind::Input ||
                !counted.insert(v).second)
                continue;
            bytes = checked_add(bytes, padded_bytes(g_.aval(v), device_) / 2);
        }
        return bytes;
    }

    /// The step that makes what node `i` stores: everything that isn't in memory is computed in it.
    Unit unit(std::uint32_t i) {
        Unit u;
        const std::uint32_t self = unit_of_[i];
        std::vector<std::uint32_t> open{i};
        seen_[i] = self;
        while (!open.empty()) {
            const std::uint32_t at = open.back();
            open.pop_back();
            u.nodes.push_back(at);
            const Node& n = g_.nodes[at];
            for (std::size_t k = 0; k < n.in.size(); ++k)
                if (reads(n, k) && (at == i && !fuses_operands(at) ? true : g_.values[n.in[k]].kind != GraphValue::Kind::Literal))
                    operand(n.in[k], computes(at, n.in[k]), self, u, open);
        }
        std::sort(u.nodes.begin(), u.nodes.end());
        if (g_.nodes[i].kind != NodeKind::Barrier)
            for (const ValueId v : g_.nodes[i].out) u.writes.push_back(v);
        const auto once = [](auto& list) {
            std::sort(list.begin(), list.end());
            list.erase(std::unique(list.begin(), list.end()), list.end());
        };
        if (!is_loop_node(g_.nodes[i])) once(u.reads);  // loops read by position
        once(u.after);
        return u;
    }
    /// `fuses`: the reader can compute it.
    void operand(ValueId v, bool fuses, std::uint32_t self, Unit& u, std::vector<std::uint32_t>& open) {
        const GraphValue& value = g_.values[v];
        const ValueId root = g_.root(v);
        const auto wait_for = [&](std::uint32_t node) {
            if (unit_of_[node] != kNoUnit && unit_of_[node] != self) u.after.push_back(unit_of_[node]);
        };
        if (value.kind == GraphValue::Kind::Result && g_.nodes[value.index].kind == NodeKind::Barrier) wait_for(value.index);
        if (g_.values[root].kind == GraphValue::Kind::Result) {
            const std::uint32_t maker = g_.values[root].index;
            if (!stored_[root] || (fuses && (late_[root] || beside_.contains(maker)))) {
                if (seen_[maker] != self) seen_[maker] = self, open.push_back(maker);
                return;
            }
            wait_for(maker);
        }
        u.reads.push_back(root);
    }

    const Graph& g_;
    const TargetDevice& device_;
    TargetLayouts layouts_;
    std::vector<std::vector<std::uint32_t>> users_;      ///< per root
    std::vector<bool> output_, stored_, narrow_, late_;  ///< per root
    std::map<std::uint32_t, ValueId> beside_;            ///< a conversion that a product makes beside the narrow value it stores
    std::vector<std::uint32_t> met_;                     ///< per node: by which search of product_waits last
    std::uint32_t searches_ = 0;
    std::int64_t searched_ = 0;                          ///< nodes, by product_waits
    std::vector<ValueId> ended_;                         ///< roots that products store
    std::vector<bool> one_hot_;                          ///< per node
    std::vector<int> newest_;                            ///< per root: the node
    std::vector<std::uint32_t> unit_of_, seen_;          ///< per node
    mutable std::map<const Graph*, BodyInputs> bodies_;  ///< of loops
};

}  // namespace

TargetUnits target_units(const Graph& g, const TargetDevice& device) { return Maker(g, device).run(); }

}  // namespace jaxscope::exec
