// SPDX-License-Identifier: Apache-2.0
#include "jit/graph/kernel_build.h"

#include <algorithm>
#include <unordered_map>

#include "base/checked.h"
#include "jit/graph/tiles.h"

namespace jaxscope::exec {

namespace {

constexpr std::uint32_t kNone = ~0u;

class Assembler {
public:
    Assembler(Unit& u, const KernelParts& parts) : unit_(u), parts_(parts), g_(parts.graph), kernel_(std::make_shared<Kernel>()) {}

    void run() {
        for (const std::uint32_t i : unit_.nodes) member_.insert(i);
        kernel_->nodes.reserve(unit_.nodes.size());
        for (const std::uint32_t i : unit_.nodes) add(i, true);
        for (const std::uint32_t i : unit_.nodes) {
            const ValueId v = g_.nodes[i].out[0];
            if (!parts_.needed[v]) continue;
            kernel_->stores.push_back({number_.at(i), g_.values[v].aval});
            unit_.writes.push_back(v);
        }
        set_domain();
        if (kernel_->form == Kernel::Form::Row || kernel_->form == Kernel::Form::Tiled) set_phases();
        note_accesses();
        for (const KernelNode& n : kernel_->nodes)
            if (n.spilled) kernel_->scratch_bytes = checked_add(kernel_->scratch_bytes, checked_align(checked_mul(kernel_->cols, 8), 64));
        unit_.kernel = kernel_;
    }

private:
    std::uint32_t add(std::uint32_t i, bool member) {
        const Node& n = g_.nodes[i];
        KernelNode k;
        k.work = n.work;
        k.kind = n.kind;
        k.row_level = member && parts_.row_level[i];
        k.on_demand = !member;
        k.operands.reserve(n.in.size());
        for (const ValueId v : n.in) k.operands.push_back(operand(v));
        constexpr int kJoinCost = 5;  // its loop is split where it asks for the place
        kernel_->cost += n.kind != NodeKind::Element ? 1 : is_join(n.op()) ? kJoinCost : n.map().cost;
        const auto index = static_cast<std::uint32_t>(kernel_->nodes.size());
        number_[i] = index;
        kernel_->nodes.push_back(std::move(k));
        graph_node_.push_back(i);
        return index;
    }

    KernelRef operand(ValueId v) {
        const GraphValue& value = g_.values[v];
        if (value.kind == GraphValue::Kind::Literal && value.root == v) return {KernelRef::Kind::Literal, value.index};
        const std::uint32_t p = parts_.direct_producer(v);
        if (p != kNone) {
            if (const auto known = number_.find(p); known != number_.end()) return {KernelRef::Kind::Node, known->second};
            if (parts_.on_demand(p) && !member_.contains(p)) return {KernelRef::Kind::Node, add(p, false)};
        }
        const ValueId root = g_.root(v);
        const auto [it, fresh] = extern_.try_emplace({root, value.aval.id()}, static_cast<std::uint32_t>(kernel_->externs.size()));
        if (fresh) {
            kernel_->externs.push_back({value.aval});
            unit_.reads.push_back(root);
        }
        return {KernelRef::Kind::Extern, it->second};
    }

    void set_domain() {
        Kernel& k = *kernel_;
        const std::int64_t total = element_count(parts_.domain);
        if (parts_.column) {
            k.form = Kernel::Form::Column;
            k.cols = parts_.reduction.inner;
            k.reduced = parts_.reduction.reduced;
            k.outer_rows = parts_.reduction.outer;
            k.rows = checked_mul(parts_.reduction.outer, k.reduced);
            k.scratch_bytes = 0;
            for (const KernelNode& n : k.nodes)
                if (n.kind == NodeKind::Reduction) k.scratch_bytes += checked_align(k.column_block() * 16, 64);
            return;
        }
        const auto map_of = [this](std::uint32_t j) -> const IndexMap& { return g_.nodes[graph_node_[j]].map(); };
        if (set_tile(k, parts_.domain, parts_.split ? std::optional(parts_.row_dims) : std::nullopt, map_of)) return;
        if (parts_.split) {
            k.form = Kernel::Form::Row;
            k.rows = parts_.reduction.outer;
            k.cols = parts_.reduction.reduced;
            return;
        }
        const std::int64_t inner = inner_run();
        k.cols = inner;
        k.rows = inner ? total / inner : 0;
        // Long formulas over rows of a few numbers: finding a number's row anew is less than vectors that are half empty.
        constexpr std::int64_t kFewColumns = 8;
        constexpr int kLongFormula = 100;
        const bool in_one_run = k.cols < kFewColumns && k.cost >= kLongFormula;
        k.form = k.rows <= 1 || k.cols == 0 || in_one_run ? Kernel::Form::Flat : Kernel::Form::Row;
        if (k.form == Kernel::Form::Flat) k.rows = 1, k.cols = total;
    }

    /// Elements of the longest run of trailing dimensions that no access takes apart: the inner loop.
    std::int64_t inner_run() const {
        const Dims& domain = parts_.domain;
        std::size_t first = 0;  // the run starts here
        for (std::size_t j = 0; j < kernel_->nodes.size(); ++j) {
            const Node& n = g_.nodes[graph_node_[j]];
            if (n.kind != NodeKind::Element) continue;
            const Dims shape = without_ones(n.op().out[0]->shape);
            if (shape != domain) continue;  // smaller on-demand values: their accesses follow those of their consumers
            for (std::size_t k = 0; k < n.in.size(); ++k) {
                if (kernel_->nodes[j].operands[k].kind == KernelRef::Kind::Literal) continue;
                first = std::max(first, first_joined(n.map().operands[k], domain.size()));
            }
            if (n.in.empty() && !domain.empty()) first = domain.size() - 1;  // an iota counts along one dimension
        }
        return element_count(Dims(domain.begin() + static_cast<std::ptrdiff_t>(first), domain.end()));
    }

    /// A full-size node runs in the first pass where all it needs is there; a reduction's result is there for the next pass.
    void set_phases() {
        Kernel& k = *kernel_;
        k.phases = 1;
        for (KernelNode& n : k.nodes) {
            int phase = 0;
            for (const KernelRef& r : n.operands)
                if (r.kind == KernelRef::Kind::Node) phase = std::max<int>(phase, k.nodes[r.index].phase);
            if (n.kind == NodeKind::Reduction) ++phase;
            n.phase = static_cast<std::int16_t>(phase);
            k.phases = std::max(k.phases, n.row_level || n.on_demand ? phase : phase + 1);
        }
        // What a later pass takes from an earlier one goes through a row of scratch memory, unless it is stored anyway.
        for (const KernelNode& n : k.nodes) {
            const int runs = n.kind == NodeKind::Reduction ? n.phase - 1 : n.phase;
            for (const KernelRef& r : n.operands) {
                if (r.kind != KernelRef::Kind::Node) continue;
                KernelNode& from = k.nodes[r.index];
                if (!n.on_demand && !from.row_level && !from.on_demand && from.phase < runs) from.spilled = true;
            }
        }
    }

    void note_accesses() {
        Kernel& k = *kernel_;
        std::vector<std::int16_t> last(k.nodes.size(), 0);  // last pass in which a node is evaluated
        for (std::size_t j = k.nodes.size(); j-- > 0;) {
            const KernelNode& n = k.nodes[j];
            const auto runs = static_cast<std::int16_t>(n.kind == NodeKind::Reduction ? n.phase - 1 : n.phase);
            last[j] = std::max(last[j], runs);
            for (const KernelRef& r : n.operands)
                if (r.kind == KernelRef::Kind::Node && k.nodes[r.index].on_demand) last[r.index] = std::max(last[r.index], last[j]);
        }
        const std::vector<bool> own = at_own_index();
        for (std::size_t j = 0; j < k.nodes.size(); ++j) {
            const KernelNode& n = k.nodes[j];
            const Node& node = g_.nodes[graph_node_[j]];
            for (std::size_t o = 0; o < n.operands.size(); ++o) {
                if (n.operands[o].kind != KernelRef::Kind::Extern) continue;
                KernelExtern& e = k.externs[n.operands[o].index];
                e.last_phase = std::max(e.last_phase, last[j]);
                const bool identity = n.kind == NodeKind::Reduction || node.map().operands[o].access == IndexMap::Access::Identity;
                if (!identity || !own[j] || n.row_level != row_sized(n)) e.own_index = false;
                if (n.row_level && n.kind == NodeKind::Element) e.own_index = false;
            }
        }
    }
    /// Which nodes are only ever computed at the element's own position in the domain: members, and what they ask for there.
    std::vector<bool> at_own_index() const {
        const Kernel& k = *kernel_;
        std::vector<bool> own(k.nodes.size(), true);
        for (std::size_t j = k.nodes.size(); j-- > 0;) {
            const KernelNode& n = k.nodes[j];
            for (std::size_t o = 0; o < n.operands.size(); ++o) {
                if (n.operands[o].kind != KernelRef::Kind::Node || !k.nodes[n.operands[o].index].on_demand) continue;
                const bool identity =
                    n.kind == NodeKind::Reduction || g_.nodes[graph_node_[j]].map().operands[o].access == IndexMap::Access::Identity;
                if (!own[j] || !identity || (n.row_level && n.kind == NodeKind::Element)) own[n.operands[o].index] = false;
            }
        }
        return own;
    }
    bool row_sized(const KernelNode& n) const { return n.kind == NodeKind::Reduction ? n.row_level : false; }

    Unit& unit_;
    const KernelParts& parts_;
    const Graph& g_;
    std::shared_ptr<Kernel> kernel_;
    std::unordered_map<std::uint32_t, std::uint32_t> number_;
    struct MemberSet {
        std::vector<std::uint32_t> sorted;
        void insert(std::uint32_t i) { sorted.push_back(i); }
        bool contains(std::uint32_t i) const { return std::binary_search(sorted.begin(), sorted.end(), i); }
    } member_;
    struct ExternHash {
        std::size_t operator()(const std::pair<ValueId, std::uint32_t>& p) const { return p.first * 0x9E3779B97F4A7C15ull + p.second; }
    };
    std::unordered_map<std::pair<ValueId, std::uint32_t>, std::uint32_t, ExternHash> extern_;
    std::vector<std::uint32_t> graph_node_;
};

}  // namespace

void build_kernel_for(Unit& u, const KernelParts& parts) { Assembler(u, parts).run(); }

std::int64_t Kernel::column_block() const {
    // Enough tasks for the threads, but whole cache lines each, and sums that stay in the first-level cache.
    const std::int64_t share = outer_rows >= 4 ? cols : checked_align((cols + 3) / 4, 64);
    return std::max<std::int64_t>(1, std::min({cols, share, std::int64_t{1024}}));
}
std::int64_t Kernel::tasks() const {
    if (form == Form::Flat) return cols;
    if (form == Form::Row) return rows;
    if (form == Form::Tiled) return rows / tile.side * ((tile.side + tile.rows - 1) / tile.rows) * ((cols + tile.cols - 1) / tile.cols);
    if (cols == 0) return 0;
    const std::int64_t blocks = (cols + column_block() - 1) / column_block();
    return outer_rows * blocks;
}

bool Kernel::in_place(std::size_t ext, std::size_t store) const {
    const KernelExtern& e = externs[ext];
    const KernelNode& n = nodes[stores[store].node];
    if (!e.own_index || n.row_level || n.kind == NodeKind::Reduction) return false;
    if (e.aval->size() != stores[store].aval->size() || byte_size(e.aval->dtype) != byte_size(stores[store].aval->dtype)) return false;
    return e.last_phase <= n.phase;
}

std::vector<std::uint64_t> Kernel::key() const {
    std::vector<std::uint64_t> out{static_cast<std::uint64_t>(form),
                                   static_cast<std::uint64_t>(rows),
                                   static_cast<std::uint64_t>(cols),
                                   static_cast<std::uint64_t>(reduced),
                                   static_cast<std::uint64_t>(phases),
                                   static_cast<std::uint64_t>(tile.side),
                                   static_cast<std::uint64_t>(tile.between),
                                   nodes.size() | static_cast<std::uint64_t>(checked) << 63,
                                   externs.size()};
    for (const KernelExtern& e : externs) out.push_back(e.aval.id());
    for (const KernelNode& n : nodes) {
        out.push_back(reinterpret_cast<std::uintptr_t>(n.op().prim));
        out.push_back(n.kind == NodeKind::Reduction ? 0 : reinterpret_cast<std::uintptr_t>(&*n.op().params));
        out.push_back(static_cast<std::uint64_t>(n.kind) | (n.work->reduction ? static_cast<std::uint64_t>(n.reduce()) << 8 : 0) |
                      static_cast<std::uint64_t>(n.row_level) << 16 | static_cast<std::uint64_t>(n.on_demand) << 17 |
                      static_cast<std::uint64_t>(n.spilled) << 18 | static_cast<std::uint64_t>(static_cast<std::uint16_t>(n.phase)) << 32);
        out.push_back(n.op().out[0].id());
        for (const AvalRef a : n.op().in) out.push_back(a.id());
        for (const KernelRef& r : n.operands) out.push_back(static_cast<std::uint64_t>(r.kind) << 32 | r.index);
    }
    for (const KernelStore& s : stores) out.push_back(static_cast<std::uint64_t>(s.node) << 32 | s.aval.id());
    return out;
}

}  // namespace jaxscope::exec
