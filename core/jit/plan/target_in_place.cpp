// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <variant>

#include "jit/plan/target_nodes.h"
#include "jit/plan/target_units.h"
#include "lax/primitives.h"

namespace jaxscope::exec {

namespace {

/// Does operand k of an element-wise node stand where its result does, one by one?
bool one_by_one(const Graph& g, const Node& n, std::size_t k) {
    return n.map().operands[k].access == IndexMap::Access::Identity && g.aval(n.in[k]).size() == g.aval(n.out[0]).size();
}

/// As XLA's HloDataflowAnalysis::CanShareOperandBufferWithUser has it: operations that are element-wise to the last (no constant or row is
/// spread), or a product that ends with a sum whose other part is `in`.
bool shares(const Graph& g, const std::vector<std::uint32_t>& nodes, ValueId in) {
    bool all = true;
    std::size_t reads = 0;
    for (const std::uint32_t i : nodes) {
        const Node& n = g.nodes[i];
        for (std::size_t k = 0; k < n.in.size(); ++k) {
            reads += g.root(n.in[k]) == in;
            all = all && n.kind == NodeKind::Element && one_by_one(g, n, k);
        }
    }
    if (all) return true;
    const Node& last = g.nodes[nodes.back()];
    if (last.kind != NodeKind::Element || (last.op().prim != &kAdd && last.op().prim != &kAddAny) || last.in.size() != 2 || reads != 1)
        return false;
    for (std::size_t k = 0; k < 2; ++k) {
        if (g.root(last.in[k]) != in || !one_by_one(g, last, k)) continue;
        const GraphValue& other = g.values[g.root(last.in[1 - k])];
        return other.kind == GraphValue::Kind::Result && is_product(g.nodes[other.index]) &&
               std::find(nodes.begin(), nodes.end(), other.index) != nodes.end();
    }
    return false;
}

}  // namespace

bool target_in_place(const Graph& g, const std::vector<std::uint32_t>& nodes, ValueId in, ValueId out, bool donated) {
    const Node& last = g.nodes[nodes.back()];
    if (nodes.size() == 1 && last.kind == NodeKind::Library && last.spec()) {
        const bool updates =
            std::holds_alternative<ScatterKernel>(last.spec()->kind) || std::holds_alternative<DynamicUpdateSliceKernel>(last.spec()->kind);
        return updates && g.root(last.in[0]) == in && std::count(last.in.begin(), last.in.end(), last.in[0]) == 1;
    }
    if (!donated) return shares(g, nodes, in);
    // What a product inside of the step reads, at once or through others, it reads as a whole.
    std::set<ValueId> whole;
    for (auto i = nodes.rbegin(); i != nodes.rend(); ++i) {
        const Node& n = g.nodes[*i];
        const bool one_by_one = n.kind == NodeKind::Element && !whole.count(g.root(n.out[0]));
        for (std::size_t k = 0; k < n.in.size(); ++k) {
            const ValueId read = g.root(n.in[k]);
            if (!one_by_one)
                whole.insert(read);
            else if (read == in &&
                     (n.map().operands[k].access != IndexMap::Access::Identity || g.aval(n.out[0]).size() != g.aval(out).size()))
                return false;
        }
    }
    return !whole.count(in);
}

}  // namespace jaxscope::exec
