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
std::vector<std::uint32_t> count_uses(const Graph& g) {
    std::vector<std::uint32_t> uses(g.values.size(), 0);
    for (const Node& n : g.nodes)
        for (const ValueId v : n.in) ++uses[g.root(v)];
    for (const ValueId v : g.outputs) ++uses[g.root(v)];
    return uses;
}

}  // namespace

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
        if (sum.kind != NodeKind::Element || (sum.op().prim != &kAddAny && sum.op().prim != &kAdd) || sum.in.size() != 2) continue;
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

}  // namespace jaxscope::exec
