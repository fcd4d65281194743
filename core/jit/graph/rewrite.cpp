// SPDX-License-Identifier: Apache-2.0
#include "jit/graph/rewrite.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>

#include "base/cancel.h"
#include "base/checked.h"
#include "base/intern.h"
#include "calls/host/callbacks.h"
#include "ir/params.h"
#include "jit/kernels/library.h"
#include "lax/params/elementwise.h"
#include "lax/params/shapes.h"
#include "lax/primitives.h"

namespace jaxscope::exec {

namespace {

constexpr std::uint32_t kNobody = ~0u;             ///< number of the node that makes a dead value
constexpr std::int64_t kSplitReduction = 1 << 15;  ///< a longer reduction with few results is done in two stages, for threads

bool is_view(const Op& op) {
    if (!op.prim->view || op.in.empty() || op.out.size() != op.in.size()) return false;
    for (std::size_t i = 0; i < op.in.size(); ++i)
        if (op.in[i]->bytes() != op.out[i]->bytes()) return false;
    return op.prim->view.fn(op);
}

/// Divisor of n nearest to the square root from below, or 1.
std::int64_t balanced_divisor(std::int64_t n) {
    for (std::int64_t d = 1024; d > 1; --d)
        if (n % d == 0 && d * 64 <= n) return d;
    return 1;
}

/// Of the same operands: wherever they stand.
bool computes_the_same(const Work& a, const Work& b) {
    return a.op.prim == b.op.prim && a.op.out == b.op.out && a.reduction == b.reduction && a.op.params == b.op.params;
}
std::size_t hash_of(const std::optional<Reduction>& run) { return run ? static_cast<std::size_t>(run->outer * 31 + run->inner) : 0; }

}  // namespace

ValueId GraphRewriter::add_value(AvalRef aval, GraphValue::Kind kind, std::uint32_t index) {
    const auto id = static_cast<ValueId>(graph_.values.size());
    graph_.values.push_back({aval, kind, index, id});
    return id;
}

ValueId GraphRewriter::literal(LiteralRef l) {
    const auto [it, fresh] = literals_.try_emplace(l.id(), 0);
    if (fresh) it->second = add_value(l->aval, GraphValue::Kind::Literal, l.id());
    return it->second;
}

ValueId GraphRewriter::constant(const ArrayPtr& array, AvalRef aval) {
    if (array) {
        if (const auto known = constants_.find(array.get()); known != constants_.end()) return known->second;
    }
    const ValueId v = add_value(aval, GraphValue::Kind::Constant, static_cast<std::uint32_t>(graph_.constants.size()));
    graph_.constants.push_back(array);
    if (array) constants_.emplace(array.get(), v);
    return v;
}

ValueId GraphRewriter::view(ValueId of, AvalRef aval) {
    if (graph_.values[of].aval == aval) return of;
    const ValueId v = add_value(aval, graph_.values[of].kind, graph_.values[of].index);
    graph_.values[v].root = graph_.root(of);
    return v;
}

/// Results are new values in the memory of the inputs, so that nothing behind the barrier equals anything before it.
/// Literals pass: what is computed of literals alone costs nothing to keep.
std::vector<ValueId> GraphRewriter::barrier(const Op& op, const std::vector<ValueId>& in) {
    Node n;
    n.kind = NodeKind::Barrier;
    Avals types;
    for (const ValueId v : in)
        if (graph_.values[v].kind != GraphValue::Kind::Literal) n.in.push_back(v), types.push_back(graph_.values[v].aval);
    n.work = std::make_shared<const Work>(Work{{op.prim, {}, types, types, op.source, op.context}, std::nullopt, nullptr, nullptr});
    const auto sources = n.in;
    const std::vector<ValueId> passed = add_node(std::move(n));
    for (std::size_t k = 0; k < passed.size(); ++k) graph_.values[passed[k]].root = graph_.root(sources[k]);
    std::vector<ValueId> out;
    std::size_t k = 0;
    for (const ValueId v : in) out.push_back(graph_.values[v].kind == GraphValue::Kind::Literal ? v : passed[k++]);
    return out;
}

std::vector<ValueId> GraphRewriter::add_node(Node n) {
    check_cancelled();
    n.path_prefix = prefix_;
    n.eqn = eqn_;
    n.source = source_;
    n.backward = backward_;
    const auto index = static_cast<std::uint32_t>(graph_.nodes.size());
    for (const AvalRef a : n.op().out) n.out.push_back(add_value(a, GraphValue::Kind::Result, index));
    graph_.nodes.push_back(std::move(n));
    const auto& made = graph_.nodes.back().out;
    return {made.begin(), made.end()};
}

std::vector<ValueId> GraphRewriter::merged(Node n) {
    std::size_t h = hash_mix(reinterpret_cast<std::uintptr_t>(n.op().prim), n.op().params->hash());
    for (const ValueId v : n.in) h = hash_mix(h, v);
    h = hash_mix(h, hash_of(n.work->reduction));
    const auto [first, last] = by_content_.equal_range(h);
    for (auto it = first; it != last; ++it) {
        const Node& k = graph_.nodes[it->second];
        if (k.in == n.in && k.kind == n.kind && (k.work == n.work || computes_the_same(*k.work, *n.work)))
            return {k.out.begin(), k.out.end()};
    }
    by_content_.emplace(h, static_cast<std::uint32_t>(graph_.nodes.size()));
    return add_node(std::move(n));
}

std::optional<std::vector<ValueId>> GraphRewriter::add_view(const Op& op, const std::vector<ValueId>& in) {
    if (!is_view(op)) return std::nullopt;
    std::vector<ValueId> out;
    for (std::size_t i = 0; i < in.size(); ++i) {
        // Literals have no memory to show: they become one element made by a kernel where an array is wanted.
        if (graph_.values[in[i]].kind == GraphValue::Kind::Literal && graph_.values[in[i]].aval->shape != op.out[i]->shape)
            return std::nullopt;
        out.push_back(view(in[i], op.out[i]));
    }
    return out;
}

/// Maps are found once for equal applications: layers of a model share them, and so do the programs of a what-if table. No more are kept
/// than a few large programs need.
std::shared_ptr<const IndexMap> GraphRewriter::index_map(const Op& op) {
    struct Key {
        const Primitive* prim;
        ParamsRef params;
        Avals in, out;
        bool operator==(const Key&) const = default;
    };
    struct Hash {
        std::size_t operator()(const Key& k) const {
            std::size_t h = hash_mix(reinterpret_cast<std::uintptr_t>(k.prim), k.params->hash());
            for (const AvalRef a : k.in) h = hash_mix(h, a.id());
            for (const AvalRef a : k.out) h = hash_mix(h, a.id());
            return h;
        }
    };
    constexpr std::size_t kMost = 4096;
    static auto& table = *new std::unordered_map<Key, std::shared_ptr<const IndexMap>, Hash>;
    static std::mutex mutex;
    Key key{op.prim, op.params, op.in, op.out};
    {
        std::lock_guard lock(mutex);
        if (const auto known = table.find(key); known != table.end()) return known->second;
    }
    auto made = std::make_shared<const IndexMap>(probe_index_map(op));
    std::lock_guard lock(mutex);
    if (table.size() >= kMost) table.clear();
    return table.try_emplace(std::move(key), std::move(made)).first->second;
}

WorkPtr GraphRewriter::work(const Op& op, const std::optional<Reduction>& run) {
    std::size_t h = hash_mix(reinterpret_cast<std::uintptr_t>(op.prim), op.params->hash());
    for (const Avals* avals : {&op.in, &op.out})
        for (const AvalRef a : *avals) h = hash_mix(h, a.id());
    h = hash_mix(h, hash_of(run));
    Work made{op, run, nullptr, nullptr};
    made.op.source = {};
    const auto [first, last] = works_.equal_range(h);
    for (auto it = first; it != last; ++it)
        if (const Op& known = it->second->op; known.in == op.in && known.context == op.context && computes_the_same(*it->second, made))
            return it->second;
    if (!run) {
        if (op.prim->lower && op.out.size() == 1 && (elements_only_ || !joins_by_copying(op)))
            made.map = index_map(op);
        else if (op.prim->kernel)
            made.spec = std::make_shared<const KernelSpec>(op.prim->kernel.fn(op));
    }
    return works_.emplace(h, std::make_shared<const Work>(std::move(made)))->second;
}

std::optional<std::vector<ValueId>> GraphRewriter::add(const Op& op, const std::vector<ValueId>& in) {
    if (auto viewed = add_view(op, in)) return viewed;
    if (auto joined = add_joined_transpose(op, in)) return joined;
    Node n;
    n.work = work(op, std::nullopt);
    n.in.assign(in.begin(), in.end());
    if (n.work->map) {
        const bool same_order = n.map().copies && n.map().operands[0].access == IndexMap::Access::Identity;
        if (same_order && graph_.values[in[0]].kind != GraphValue::Kind::Literal) return std::vector{view(in[0], op.out[0])};
        return merged(std::move(n));
    }
    if (!n.spec()) return std::nullopt;
    if (const auto* reduce = std::get_if<ReduceKernel>(&n.spec()->kind); reduce && reduce->kind < ReduceKind::ArgMax)
        return add_reduction(op, in, *reduce);
    if (const auto* dot = std::get_if<DotKernel>(&n.spec()->kind)) {
        if (auto product = add_multiplication(op, in, *dot)) return product;
        if (auto sums = elements_only_ ? std::nullopt : add_short_sums(op, in, *dot)) return sums;
    }
    if (const auto* scatter = std::get_if<ScatterKernel>(&n.spec()->kind); scatter && !elements_only_)
        if (auto written = add_known_window(op, in, *scatter)) return written;
    if (std::holds_alternative<DynamicUpdateSliceKernel>(n.spec()->kind) && !elements_only_)
        if (auto written = add_known_update(op, in)) return written;
    n.kind = NodeKind::Library;
    return merged(std::move(n));
}

ValueId GraphRewriter::add_part(const Op& whole, const Primitive& prim, const ParamsRef& params, const std::vector<ValueId>& in,
                                AvalRef out) {
    Avals types;
    for (const ValueId v : in) types.push_back(graph_.values[v].aval);
    return add(Op{&prim, params, types, {out}, whole.source, whole.context}, in)->at(0);
}

/// Merges the reduced axes into runs of neighbours and reduces run by run, the last one first: every kernel then sees
/// [outer, reduced, inner].
std::vector<ValueId> GraphRewriter::add_reduction(const Op& op, const std::vector<ValueId>& in, const ReduceKernel& spec) {
    struct Axis {
        std::int64_t length;
        bool reduced;
    };
    std::vector<Axis> axes;  // without 1s, equal neighbours merged
    const Dims& shape = op.in[0]->shape;
    for (int d = 0; d < static_cast<int>(shape.size()); ++d) {
        const std::int64_t length = shape[static_cast<std::size_t>(d)];
        if (length == 1) continue;
        const bool reduced = std::find(spec.axes.begin(), spec.axes.end(), d) != spec.axes.end();
        if (!axes.empty() && axes.back().reduced == reduced)
            axes.back().length = checked_mul(axes.back().length, length);
        else
            axes.push_back({length, reduced});
    }
    const DType out_dtype = op.out[0]->dtype;
    const bool narrow = out_dtype == DType::BF16 || out_dtype == DType::F16;
    ValueId v = in[0];
    bool any = false;
    for (std::size_t a = axes.size(); a-- > 0;) {
        if (!axes[a].reduced) continue;
        Reduction r{spec.kind, 1, axes[a].length, 1};
        for (std::size_t b = 0; b < a; ++b) r.outer = checked_mul(r.outer, axes[b].length);
        for (std::size_t b = a + 1; b < axes.size(); ++b) r.inner = checked_mul(r.inner, axes[b].length);
        axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(a));
        const bool last = std::none_of(axes.begin(), axes.end(), [](const Axis& x) { return x.reduced; });
        const DType partial = last || !narrow ? out_dtype : DType::F32;
        // Few results of many elements: partial results first, so that threads share the work and sums stay accurate.
        const bool few = r.inner == 1 ? r.outer < 16 : r.outer * r.inner < 128;
        if (few && r.reduced >= kSplitReduction) {
            const Reduction stage = first_stage(v, r);
            if (const std::int64_t left = r.outer * r.inner * r.reduced / stage.reduced; stage.reduced < r.reduced) {
                v = add_run(op, v, stage, AvalRef(narrow ? DType::F32 : partial, {r.outer, left / r.outer / r.inner, r.inner}));
                r.reduced = left / r.outer / r.inner;
            }
        }
        const Dims kept{r.outer, r.inner};
        v = add_run(op, v, r, last ? op.out[0] : AvalRef(partial, kept));
        any = true;
    }
    if (any) return {v};
    if (graph_.values[v].aval->dtype == out_dtype && graph_.values[v].kind != GraphValue::Kind::Literal) return {view(v, op.out[0])};
    return {add_run(op, v, {spec.kind, op.out[0]->size(), 1, 1}, op.out[0])};
}

/// Elements of the longest run of trailing dimensions that nothing takes apart of what `v` is computed from, element by element.
std::int64_t GraphRewriter::joined_run(ValueId v) const {
    constexpr std::size_t kMost = 64;  // nodes that are looked at
    const Dims domain = without_ones(graph_.aval(v).shape);
    std::size_t first = 0;
    std::vector<std::uint32_t> nodes;
    const auto visit = [&](ValueId at) {
        const GraphValue& value = graph_.values[at];
        if (value.kind != GraphValue::Kind::Result || graph_.nodes[value.index].kind != NodeKind::Element) return;
        if (without_ones(graph_.aval(graph_.nodes[value.index].out[0]).shape) != domain) return;  // a view, or smaller
        if (nodes.size() < kMost && std::ranges::find(nodes, value.index) == nodes.end()) nodes.push_back(value.index);
    };
    visit(v);
    for (std::size_t k = 0; k < nodes.size(); ++k) {
        const Node& n = graph_.nodes[nodes[k]];
        for (std::size_t o = 0; o < n.in.size(); ++o) {
            const IndexMap::Operand& operand = n.map().operands[o];
            if (operand.access == IndexMap::Access::None || graph_.values[n.in[o]].kind == GraphValue::Kind::Literal) continue;
            first = std::max(first, first_joined(operand, domain.size()));
            if (operand.access == IndexMap::Access::Identity) visit(n.in[o]);
        }
    }
    return element_count(Dims(domain.begin() + static_cast<std::ptrdiff_t>(first), domain.end()));
}
/// The first stage of a long sum with few results, or all of it where it can't be cut. Over what is computed from rows that something
/// chooses or all share (gathers, a bias) it goes along these rows, so that what belongs to a row is read once; short ones are added to
/// each other, element by element.
Reduction GraphRewriter::first_stage(ValueId v, const Reduction& r) const {
    constexpr std::int64_t kShortest = 8, kShort = 256, kTasks = 64, kMostRows = 8192;
    const Dims shape = without_ones(graph_.aval(v).shape);
    std::int64_t run = r.inner == 1 ? joined_run(v) : 0;
    // Along the array's own rows where these are of use: what else goes along them shares the pass.
    if (const std::int64_t row = shape.empty() ? 0 : shape.back();
        run == r.reduced && row >= kShort && run / row >= kTasks && run / row <= kMostRows)
        run = row;
    if (run >= kShortest && run < r.reduced && r.reduced % run == 0) {
        const std::int64_t rows = r.reduced / run;
        if (run >= kShort) return {r.kind, r.outer * rows, run, 1};
        std::int64_t parts = std::min(kTasks, rows / 2);
        while (parts > 1 && rows % parts != 0) --parts;
        if (parts > 1) return {r.kind, r.outer * parts, rows / parts, run};
    }
    const std::int64_t parts = balanced_divisor(r.reduced);
    return {r.kind, r.outer * parts, r.reduced / parts, r.inner};
}

ValueId GraphRewriter::add_run(const Op& op, ValueId in, Reduction r, AvalRef out) {
    Node n;
    n.kind = NodeKind::Reduction;
    n.work = work({op.prim, op.params, {graph_.values[in].aval}, {out}, op.source, op.context}, r);
    n.in = {in};
    return merged(std::move(n))[0];
}

bool must_run(const Node& n) {
    const auto inside = [](const GraphPtr& body) {
        return std::any_of(body->nodes.begin(), body->nodes.end(), [](const Node& m) { return must_run(m); });
    };
    return (n.kind == NodeKind::Library && (n.out.empty() || ::jaxscope::must_run(*n.op().prim))) ||
           std::any_of(n.bodies.begin(), n.bodies.end(), inside);
}

namespace {

/// What a barrier passed, of which this is another view: its root is the memory before the barrier, so it doesn't say so itself.
std::optional<ValueId> passed_as(const Graph& g, ValueId v) {
    const GraphValue& value = g.values[v];
    if (value.kind != GraphValue::Kind::Result || value.index >= g.nodes.size()) return std::nullopt;
    const Node& maker = g.nodes[value.index];
    if (maker.kind != NodeKind::Barrier || std::binary_search(maker.out.begin(), maker.out.end(), v)) return std::nullopt;
    const auto same = std::find_if(maker.out.begin(), maker.out.end(), [&](ValueId out) { return g.root(out) == g.root(v); });
    return same == maker.out.end() ? std::nullopt : std::optional(*same);
}

}  // namespace

void drop_dead_nodes(Graph& g) {
    std::vector<bool> live(g.values.size(), false);
    const auto mark = [&](ValueId v) {
        live[v] = live[g.root(v)] = true;
        if (const auto passed = passed_as(g, v)) live[*passed] = true;
    };
    for (const ValueId v : g.outputs) mark(v);
    std::vector<bool> keep(g.nodes.size(), false);
    for (std::size_t i = g.nodes.size(); i-- > 0;) {
        const Node& n = g.nodes[i];
        if (n.kind == NodeKind::Barrier) {
            // A barrier passes each input through: those nobody reads don't hold anything alive.
            keep[i] = std::any_of(n.out.begin(), n.out.end(), [&](ValueId v) { return live[v]; });
            for (std::size_t k = 0; k < n.out.size(); ++k)
                if (live[n.out[k]]) mark(n.in[k]);
            continue;
        }
        keep[i] = must_run(n) || std::any_of(n.out.begin(), n.out.end(), [&](ValueId v) { return live[v]; });
        if (keep[i])
            for (const ValueId v : n.in) mark(v);
    }
    std::vector<std::uint32_t> number(g.nodes.size(), 0);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < g.nodes.size(); ++i) {
        if (!keep[i]) continue;
        if (g.nodes[i].kind == NodeKind::Barrier) {
            Node& n = g.nodes[i];
            std::size_t k = 0;
            for (std::size_t o = 0; o < n.out.size(); ++o)
                if (live[n.out[o]]) n.in[k] = n.in[o], n.out[k] = n.out[o], ++k;
            n.in.resize(k), n.out.resize(k);
            Work passed = *n.work;
            passed.op.in.clear();
            for (const ValueId v : n.out) passed.op.in.push_back(g.values[v].aval);
            passed.op.out = passed.op.in;
            n.work = std::make_shared<const Work>(std::move(passed));
        }
        number[i] = static_cast<std::uint32_t>(kept);
        if (kept != i) g.nodes[kept] = std::move(g.nodes[i]);
        ++kept;
    }
    g.nodes.resize(kept);
    for (std::size_t v = 0; v < g.values.size(); ++v)
        if (g.values[v].kind == GraphValue::Kind::Result) g.values[v].index = live[v] ? number[g.values[v].index] : kNobody;
}

}  // namespace jaxscope::exec
