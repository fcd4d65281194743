// SPDX-License-Identifier: Apache-2.0
#include "jit/graph/rewrite.h"
#include "lax/primitives.h"

namespace jaxscope::exec {

namespace {

bool adds_at_places(const Node& n) {
    if (n.kind != NodeKind::Library || !n.spec() || n.in.size() != 3) return false;
    const auto* scatter = std::get_if<ScatterKernel>(&n.spec()->kind);
    return scatter && scatter->kind == ScatterKernel::Kind::Add;
}
bool is_zero(const Graph& g, ValueId v) {
    const GraphValue& value = g.values[g.root(v)];
    if (value.kind == GraphValue::Kind::Literal) {
        const LiteralRef l = LiteralRef::from_id(value.index);
        return l->integer == 0 && l->real == 0 && l->imag == 0;
    }
    if (value.kind != GraphValue::Kind::Result) return false;
    const Node& n = g.nodes[value.index];
    return n.kind == NodeKind::Element && n.op().prim == &kBroadcastInDim && is_zero(g, n.in[0]);
}
WorkPtr adding(const Work& product) {
    DotKernel dot = std::get<DotKernel>(product.spec->kind);
    dot.adds = true;
    auto out = std::make_shared<Work>(product);
    out->spec = std::make_shared<const KernelSpec>(KernelSpec{std::move(dot)});
    return out;
}

}  // namespace

std::vector<std::uint32_t> count_uses(const Graph& g) {
    std::vector<std::uint32_t> uses(g.values.size(), 0);
    for (const Node& n : g.nodes)
        for (const ValueId v : n.in) ++uses[g.root(v)];
    for (const ValueId v : g.outputs) ++uses[g.root(v)];
    return uses;
}

bool is_sum(const Node& n) { return n.kind == NodeKind::Element && (n.op().prim == &kAddAny || n.op().prim == &kAdd) && n.in.size() == 2; }
bool is_dot(const Node& n) { return n.kind == NodeKind::Library && n.spec() && std::holds_alternative<DotKernel>(n.spec()->kind); }
bool is_plain_product(const Node& n) {
    if (!is_dot(n) || n.in.size() != 2) return false;
    const DType d = n.op().out[0]->dtype;
    return sums_are_exact_enough(d) && n.op().in[0]->dtype == d && n.op().in[1]->dtype == d && n.op().out[0]->size() > 0;
}

bool sums_are_exact_enough(DType d) {
    return d == DType::F32 || d == DType::F64 || d == DType::C64 || d == DType::C128 || (is_integer(d) && byte_size(d) >= 4);
}

void accumulate_scatters(Graph& g) {
    const std::vector<std::uint32_t> uses = count_uses(g);
    // The scatter into zeros that makes `v` for one reader.
    const auto lone_scatter = [&](ValueId v) -> const Node* {
        const GraphValue& value = g.values[v];
        if (value.kind != GraphValue::Kind::Result || value.root != v || uses[v] != 1) return nullptr;
        const Node& n = g.nodes[value.index];
        return adds_at_places(n) && sums_are_exact_enough(g.aval(v).dtype) && is_zero(g, n.in[0]) ? &n : nullptr;
    };
    for (Node& sum : g.nodes) {
        if (!is_sum(sum)) continue;
        for (const std::size_t k : {std::size_t{1}, std::size_t{0}}) {  // of two scatters the right one
            const Node* scatter = lone_scatter(sum.in[k]);
            const ValueId other = sum.in[1 - k];
            if (!scatter || g.values[other].aval != g.values[scatter->in[0]].aval || g.values[other].kind == GraphValue::Kind::Literal)
                continue;
            Node into = *scatter;
            into.in[0] = other;
            into.out = sum.out;
            sum = std::move(into);
            break;
        }
    }
}

void accumulate_products(Graph& g) {
    const std::vector<std::uint32_t> uses = count_uses(g);
    std::vector<bool> is_output(g.values.size(), false);
    for (const ValueId v : g.outputs) is_output[v] = true;
    const auto maker = [&](ValueId v) -> Node* {
        const GraphValue& value = g.values[v];
        return value.kind == GraphValue::Kind::Result && value.root == v && uses[v] == 1 ? &g.nodes[value.index] : nullptr;
    };
    // Who can be written over and is there before the product runs.
    const auto stands_ready = [&](ValueId v, ValueId sum, const Node& product) {
        if (g.values[v].kind == GraphValue::Kind::Input) return uses[v] == 1 && is_output[sum];
        const Node* n = maker(v);
        return n && n->kind == NodeKind::Library && n < &product;
    };
    for (Node& sum : g.nodes) {
        if (!is_sum(sum)) continue;
        for (const std::size_t k : {std::size_t{1}, std::size_t{0}}) {
            Node* product = maker(sum.in[k]);
            const ValueId other = sum.in[1 - k], whole = sum.out[0];
            if (!product || !is_plain_product(*product) || !(g.aval(other) == g.aval(whole)) || !stands_ready(other, whole, *product))
                continue;
            product->in.push_back(other);
            product->work = adding(*product->work);
            std::swap(product->out[0], sum.out[0]);  // the sum has no reader any more
            std::swap(g.values[whole].index, g.values[sum.out[0]].index);
            break;
        }
    }
}

}  // namespace jaxscope::exec
