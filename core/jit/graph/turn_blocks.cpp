// SPDX-License-Identifier: Apache-2.0
#include "jit/graph/turn_blocks.h"

#include <algorithm>
#include <map>
#include <vector>

#include "calls/control_flow.h"
#include "jit/graph/rewrite.h"
#include "jit/kernels/library.h"
#include "jit/kernels/products/relaid_product.h"
#include "lax/params/elementwise.h"
#include "lax/params/products.h"
#include "lax/params/shapes.h"
#include "lax/primitives.h"

namespace jaxscope::exec {

namespace {

constexpr double kLeastWork = 1 << 14, kMostWork = 1 << 23;  // FLOPs of a product: below it isn't worth a call, above it is large already
constexpr double kEnoughWork = 1 << 25;                      // of a block: what a thread that slept takes to wake is little beside it
constexpr std::int64_t kLeastTurns = 8, kMostTurns = 128, kMostBytesOfBlock = 1 << 22, kFewBytes = 1 << 19;

Dims shifted(const std::vector<int>& dims) {
    Dims out;
    for (const int d : dims) out.push_back(d + 1);
    return out;
}

/// A node of the body that is done for a block at once.
struct Taken {
    std::uint32_t node = 0;
    bool added = false;  ///< to a carry, turn by turn; else it is a product that reads stacked operands
    std::uint32_t sum = 0;
    std::size_t carry = 0;
    double work = 0;
    std::int64_t bytes = 0;  ///< that a turn leaves for its block, or gets of it
};

class BlockMaker {
public:
    BlockMaker(const Graph& body, const Node& scan)
        : body_(body),
          scan_(scan),
          p_(scan.op().as<ScanParams>()),
          uses_(count_uses(body)),
          consts_(static_cast<std::size_t>(p_.num_consts)),
          carries_(static_cast<std::size_t>(p_.num_carry)) {}

    std::optional<TurnBlocks> make() {
        if (body_.inputs.size() != scan_.op().in.size() || body_.outputs.size() != scan_.op().out.size() || !operands_are_plain())
            return {};
        for (std::uint32_t i = 0; i < body_.nodes.size(); ++i)
            if (auto p = read(i)) taken_.push_back(*p);
        for (std::size_t c = 0; c < carries_; ++c)
            if (auto p = product_added_to(c)) taken_.push_back(*p);
        turns_ = turns();
        std::erase_if(taken_, [&](const Taken& p) { return turns_ == 0 || costs_more(p); });
        if (taken_.empty()) return {};
        for (const Taken& p : taken_)
            if (p.added) leave_operands(body_.nodes[p.node]);
        for (std::size_t c = 0; c < carries_; ++c)
            if (auto p = sum_added_to(c)) taken_.push_back(*p);
        return TurnBlocks{turns_, blocks(turn())};
    }

private:
    enum class Source : std::uint8_t { Fixed, Carry, Stacked, Computed };
    /// What a barrier passes on is made there, whatever memory it lies in: products behind it stay behind it.
    Source source(ValueId v) const {
        const GraphValue& value = body_.values[v];
        if (value.kind == GraphValue::Kind::Result) return Source::Computed;
        if (value.kind != GraphValue::Kind::Input || value.index < consts_) return Source::Fixed;
        return value.index < consts_ + carries_ ? Source::Carry : Source::Stacked;
    }
    bool operands_are_plain() const {
        const auto plain = [](AvalRef a) { return a->is_array() && !is_key(a->dtype) && a->size() > 0; };
        return p_.length >= 2 * kLeastTurns && std::all_of(scan_.op().in.begin(), scan_.op().in.end(), plain) &&
               std::all_of(scan_.op().out.begin(), scan_.op().out.end(), plain);
    }
    const Node* product(std::uint32_t i) const {
        const Node& n = body_.nodes[i];
        return is_dot(n) && n.in.size() == 2 && n.op().prim == &kDotGeneral ? &n : nullptr;
    }
    static double work_of(const Node& n) {
        const auto& dot = std::get<DotKernel>(n.spec()->kind);
        double out = 2 * static_cast<double>(n.op().out[0]->size());
        for (const int d : dot.lhs_contract) out *= static_cast<double>(n.op().in[0]->shape[static_cast<std::size_t>(d)]);
        return out;
    }
    static bool is_small(double work) { return work >= kLeastWork && work <= kMostWork; }

    /// x @ w: rows of a stacked operand, which stay rows of the block's product.
    std::optional<Taken> read(std::uint32_t i) const {
        const Node* n = product(i);
        if (!n || !is_small(work_of(*n)) || source(n->in[0]) != Source::Stacked || source(n->in[1]) != Source::Fixed) return {};
        if (!std::get<DotKernel>(n->spec()->kind).lhs_batch.empty()) return {};
        return Taken{.node = i, .work = work_of(*n), .bytes = body_.bytes(n->out[0])};
    }

    /// What is added to a carry, where nobody else wants either.
    std::optional<Taken> addend_of(std::size_t c) const {
        const ValueId before = body_.inputs[consts_ + c], after = body_.outputs[c];
        const GraphValue& value = body_.values[after];
        if (value.kind != GraphValue::Kind::Result || value.root != after || uses_[after] != 1 || uses_[before] != 1) return {};
        const Node& sum = body_.nodes[value.index];
        if (!is_sum(sum)) return {};
        const std::size_t k = sum.in[0] == before ? 1 : 0;
        const ValueId part = body_.root(sum.in[k]);
        const GraphValue& made = body_.values[part];
        if (sum.in[1 - k] != before || made.kind != GraphValue::Kind::Result || uses_[part] != 1 ||
            !(body_.aval(sum.in[k]) == body_.aval(after)))
            return {};
        return Taken{.node = made.index, .added = true, .sum = value.index, .carry = c};
    }
    std::optional<Taken> product_added_to(std::size_t c) const {
        std::optional<Taken> p = addend_of(c);
        const Node* n = p ? product(p->node) : nullptr;
        if (!n || !is_plain_product(*n) || !is_small(work_of(*n))) return {};
        for (const ValueId v : n->in) {
            const bool passed = source(v) == Source::Computed && source(body_.root(v)) != Source::Computed;
            if (source(v) == Source::Fixed || passed) return {};
            if (source(v) != Source::Stacked) p->bytes += body_.bytes(v);
        }
        p->work = work_of(*n);
        return p;
    }
    /// A sum of what is there for the block anyhow (the gradient of a bias).
    std::optional<Taken> sum_added_to(std::size_t c) const {
        const std::optional<Taken> p = addend_of(c);
        if (!p) return {};
        const Node& n = body_.nodes[p->node];
        if (n.kind != NodeKind::Reduction || n.op().prim != &kReduceSum || n.reduction().kind != ReduceKind::Sum) return {};
        const ValueId v = n.in[0];
        const bool exact = body_.aval(v).dtype == n.op().out[0]->dtype && sums_are_exact_enough(n.op().out[0]->dtype);
        const bool there = source(v) == Source::Stacked || is_left(v);
        return exact && there && n.op().out[0]->size() == n.reduction().outer * n.reduction().inner ? p : std::nullopt;
    }
    bool is_left(ValueId v) const { return std::ranges::find(left_, body_.root(v)) != left_.end(); }
    void leave_operands(const Node& n) {
        for (const ValueId v : n.in)
            if (source(v) != Source::Stacked && !is_left(v)) left_.push_back(body_.root(v));
    }

    /// What a block may hold: little beside what the scan holds anyhow.
    std::int64_t most_bytes() const {
        std::int64_t stacks = 0;
        for (std::size_t i = consts_ + carries_; i < body_.inputs.size(); ++i) stacks += scan_.op().in[i]->bytes();
        for (std::size_t i = carries_; i < body_.outputs.size(); ++i) stacks += scan_.op().out[i]->bytes();
        return std::clamp(stacks / 8, kFewBytes, kMostBytesOfBlock);
    }
    /// Enough for a product that is worth it. 0: there is no such divisor of the length.
    std::int64_t turns() const {
        if (taken_.empty()) return 0;
        double work = 0;
        std::int64_t bytes = 0, best = 0;
        const std::int64_t most = most_bytes();
        for (const Taken& p : taken_) work = std::max(work, p.work), bytes += p.bytes;
        for (std::int64_t k = kLeastTurns; k <= kMostTurns && 2 * k <= p_.length && k * bytes <= most; ++k) {
            if (p_.length % k) continue;
            best = k;
            if (static_cast<double>(k) * work >= kEnoughWork) break;
        }
        return best;
    }

    /// The product of a block: its operands have the turns as first dimension. What is read keeps it, what is added sums over it.
    Op block_op(const Taken& p) const {
        const Node& n = body_.nodes[p.node];
        const auto& dot = std::get<DotKernel>(n.spec()->kind);
        DotGeneralParams params = n.op().as<DotGeneralParams>();
        DotDims& dims = params.dimension_numbers;
        dims.lhs_contract = shifted(dot.lhs_contract), dims.lhs_batch = shifted(dot.lhs_batch);
        Op op = n.op();
        op.in[0] = stacked(op.in[0], turns_);
        if (p.added) {
            dims.rhs_contract = shifted(dot.rhs_contract), dims.rhs_batch = shifted(dot.rhs_batch);
            dims.lhs_contract.insert(dims.lhs_contract.begin(), 0), dims.rhs_contract.insert(dims.rhs_contract.begin(), 0);
            op.in[1] = stacked(op.in[1], turns_);
        } else {
            op.out[0] = stacked(op.out[0], turns_);
        }
        op.params = make_params(params);
        return op;
    }
    RareVector<Dims> block_layouts(const Taken& p) const {
        const Node& n = body_.nodes[p.node];
        RareVector<Dims> out = n.layouts;
        const auto stack = [&](std::size_t k, AvalRef a) {
            if (k < out.size() && !out[k].empty()) out[k].insert(out[k].begin(), a->size());
        };
        stack(0, n.op().in[0]);
        if (p.added)
            stack(1, n.op().in[1]);
        else
            stack(2, n.op().out[0]);
        return out;
    }
    bool costs_more(const Taken& p) const {
        const Node& n = body_.nodes[p.node];
        const Op op = block_op(p);
        const KernelSpec spec = op.prim->kernel.fn(op);
        const DotPlan block = dot_plan(op, std::get<DotKernel>(spec.kind), block_layouts(p));
        const DotPlan turn = dot_plan(n.op(), std::get<DotKernel>(n.spec()->kind), n.layouts);
        return block.cost > turn.cost * static_cast<double>(turns_);
    }

    /// What one turn still does; what it leaves is stacked behind its own results.
    GraphPtr turn() {
        Graph g = body_;
        std::vector<bool> gone(carries_, false);
        // With what shows the same memory, but for what a barrier passes on.
        const auto becomes = [&](ValueId root, GraphValue::Kind kind, std::uint32_t index) {
            const GraphValue was = body_.values[root];
            for (GraphValue& v : g.values)
                if (v.root == root && v.kind == was.kind && v.index == was.index) v.kind = kind, v.index = index;
        };
        std::vector<ValueId> given;
        for (const Taken& p : taken_) {
            if (p.added) {
                gone[p.carry] = true;
                continue;
            }
            const ValueId result = body_.nodes[p.node].out[0];
            given.push_back(result);
            const auto nobody = static_cast<ValueId>(g.values.size());
            g.values.push_back({g.values[result].aval, GraphValue::Kind::Result, p.node, nobody});
            g.nodes[p.node].out[0] = nobody;
        }
        const auto goes = [&](std::size_t i) { return i >= consts_ && i < consts_ + carries_ && gone[i - consts_]; };
        g.inputs.clear(), g.outputs.clear();
        for (std::size_t i = 0; i < body_.inputs.size(); ++i) {
            if (goes(i))
                becomes(body_.inputs[i], GraphValue::Kind::Result, 0);
            else
                g.inputs.push_back(body_.inputs[i]);
        }
        g.inputs.insert(g.inputs.end(), given.begin(), given.end());
        for (std::uint32_t i = 0; i < g.inputs.size(); ++i) becomes(g.inputs[i], GraphValue::Kind::Input, i);
        for (std::size_t i = 0; i < body_.outputs.size(); ++i)
            if (i >= carries_ || !gone[i]) g.outputs.push_back(body_.outputs[i]);
        g.outputs.insert(g.outputs.end(), left_.begin(), left_.end());
        drop_dead_nodes(g);
        accumulate_products(g);
        drop_dead_nodes(g);
        return std::make_shared<const Graph>(std::move(g));
    }

    GraphPtr blocks(GraphPtr turn) {
        Graph g;
        g.path = body_.path;
        GraphRewriter to(g, false);
        for (std::size_t i = 0; i < body_.inputs.size(); ++i) {
            const AvalRef own = body_.values[body_.inputs[i]].aval;
            g.inputs.push_back(
                to.add_value(i < consts_ + carries_ ? own : stacked(own, turns_), GraphValue::Kind::Input, static_cast<std::uint32_t>(i)));
        }
        std::vector<ValueId> in = kept(g.inputs, consts_);
        for (const Taken& p : taken_)
            if (!p.added) in.push_back(multiply(g, to, p));
        Node n = scan_;
        n.bodies.push_back(std::move(turn));
        n.in.assign(in.begin(), in.end());
        n.work = std::make_shared<const Work>(Work{inner_scan(g, in), std::nullopt, nullptr, nullptr});
        to.at(scan_.path_prefix, scan_.eqn, scan_.source, scan_.backward);
        const std::vector<ValueId> made = to.add_node(std::move(n));
        const std::size_t results = body_.outputs.size() - added();
        for (std::size_t k = 0; k < left_.size(); ++k) left_at_.emplace(left_[k], made[results + k]);
        std::size_t next = 0;
        for (std::size_t i = 0; i < body_.outputs.size(); ++i) {
            const auto p = std::ranges::find_if(taken_, [&](const Taken& q) { return q.added && q.carry == i; });
            g.outputs.push_back(p == taken_.end() ? made[next++] : add_up(g, to, *p));
        }
        drop_dead_nodes(g);
        accumulate_products(g);
        drop_dead_nodes(g);
        return std::make_shared<const Graph>(std::move(g));
    }

    std::size_t added() const {
        return static_cast<std::size_t>(std::ranges::count_if(taken_, [](const Taken& p) { return p.added; }));
    }
    /// Without the carries that products alone are added to, the first of which is at `first`.
    template <class List>
    List kept(const List& all, std::size_t first) const {
        List out;
        for (std::size_t i = 0; i < all.size(); ++i)
            if (std::ranges::none_of(taken_, [&](const Taken& p) { return p.added && i == first + p.carry; })) out.push_back(all[i]);
        return out;
    }
    Op inner_scan(const Graph& g, const std::vector<ValueId>& in) const {
        Op op = scan_.op();
        ScanParams params = p_;
        params.length = turns_;
        params.num_carry -= static_cast<std::int64_t>(added());
        op.params = make_params(params);
        op.in.clear();
        for (const ValueId v : in) op.in.push_back(g.values[v].aval);
        Avals out;
        for (std::size_t i = 0; i < body_.outputs.size(); ++i) {
            const AvalRef own = body_.values[body_.outputs[i]].aval;
            out.push_back(i < carries_ ? own : stacked(own, turns_));
        }
        op.out = kept(out, 0);
        for (const ValueId v : left_) op.out.push_back(stacked(body_.values[v].aval, turns_));
        return op;
    }

    /// An operand of a product, as its block has it.
    ValueId operand(Graph& g, GraphRewriter& to, const Node& n, std::size_t k) {
        const ValueId v = n.in[k], root = body_.root(v);
        const GraphValue& value = body_.values[v];
        if (source(v) == Source::Fixed) {
            const ValueId whole = value.kind == GraphValue::Kind::Constant
                                      ? to.constant(body_.constants[value.index], body_.values[root].aval)
                                      : g.inputs[value.index];
            return reshaped(g, to, n, whole, value.aval);
        }
        const ValueId whole = source(v) == Source::Stacked ? g.inputs[value.index] : left_at_.at(root);
        return reshaped(g, to, n, whole, stacked(value.aval, turns_));
    }
    static ValueId reshaped(const Graph& g, GraphRewriter& to, const Node& n, ValueId v, AvalRef as) {
        if (g.values[v].aval == as) return v;
        return to.add_part(n.op(), kReshape, make_params(ReshapeParams{as->shape}), {v}, as);
    }
    ValueId multiply(Graph& g, GraphRewriter& to, const Taken& p) {
        const Node& n = body_.nodes[p.node];
        to.at(n.path_prefix, n.eqn, n.source, n.backward);
        const ValueId a = operand(g, to, n, 0), b = operand(g, to, n, 1);
        const Op op = block_op(p);
        Node block = n;
        block.in.assign({a, b});
        block.out.clear();
        block.layouts = block_layouts(p);
        block.work =
            std::make_shared<const Work>(Work{op, std::nullopt, std::make_shared<const KernelSpec>(op.prim->kernel.fn(op)), nullptr});
        return to.add_node(std::move(block)).front();
    }
    ValueId sum_up(Graph& g, GraphRewriter& to, const Taken& p) {
        const Node& n = body_.nodes[p.node];
        const Reduction& r = n.reduction();
        to.at(n.path_prefix, n.eqn, n.source, n.backward);
        const ValueId all = operand(g, to, n, 0);
        const ValueId seen = reshaped(g, to, n, all, AvalRef(g.aval(all).dtype, {turns_, r.outer, r.reduced, r.inner}));
        return to.add_part(n.op(), kReduceSum, make_params(ReduceSumParams{{0, 2}}), {seen},
                           AvalRef(g.aval(all).dtype, {r.outer, r.inner}));
    }
    ValueId add_up(Graph& g, GraphRewriter& to, const Taken& p) {
        const ValueId part = body_.nodes[p.node].kind == NodeKind::Reduction ? sum_up(g, to, p) : multiply(g, to, p);
        const Node& sum = body_.nodes[p.sum];
        to.at(sum.path_prefix, sum.eqn, sum.source, sum.backward);
        const AvalRef carry = g.values[g.inputs[consts_ + p.carry]].aval;
        return to.add(sum.op(), {g.inputs[consts_ + p.carry], reshaped(g, to, sum, part, carry)})->front();
    }

    const Graph& body_;
    const Node& scan_;
    const ScanParams& p_;
    const std::vector<std::uint32_t> uses_;
    const std::size_t consts_, carries_;
    std::vector<Taken> taken_;
    std::int64_t turns_ = 0;
    std::vector<ValueId> left_;           ///< roots of the body: what a turn computes and its block needs
    std::map<ValueId, ValueId> left_at_;  ///< the same, stacked, in the graph of a block
};

}  // namespace

std::optional<TurnBlocks> in_blocks_of_turns(const Graph& body, const Node& scan) { return BlockMaker(body, scan).make(); }

}  // namespace jaxscope::exec
