// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "jit/graph/rewrite.h"
#include "jit/kernels/library.h"
#include "jit/kernels/products/relaid_product.h"
#include "lax/primitives.h"

namespace jaxscope::exec {

namespace {

/// Who reads each value: nodes by number; a graph's output, a barrier or a view counts as a reader that needs it in row-major memory.
struct Readers {
    std::uint32_t products = 0, others = 0, transposes = 0;
    std::uint32_t last_transpose = 0;
};

bool is_transpose(const Node& n) { return n.kind == NodeKind::Element && n.op().prim == &kTranspose; }
Dims permutation_of(const Node& n) {
    const Attr* a = n.op().params->find("permutation");
    Dims p;
    if (a) from_attr(*a, p);
    return p;
}

std::vector<Readers> count_readers(const Graph& g) {
    std::vector<Readers> readers(g.values.size());
    for (std::uint32_t i = 0; i < g.nodes.size(); ++i)
        for (const ValueId v : g.nodes[i].in) {
            Readers& r = readers[v];
            if (is_dot(g.nodes[i]))
                ++r.products;
            else if (is_transpose(g.nodes[i]))
                ++r.transposes, r.last_transpose = i;
            else
                ++r.others;
        }
    for (ValueId v = 0; v < g.values.size(); ++v)
        if (g.root(v) != v && (readers[v].products || readers[v].others || readers[v].transposes)) ++readers[g.root(v)].others;
    for (const ValueId v : g.outputs) ++readers[g.root(v)].others;
    return readers;
}

/// Is the product as fast as a transposition of `operand` (2: the result) and one without these layouts? If it had to copy the operand
/// itself, the transposition may as well stay: what computes the operand may do it on the way.
bool stays_whole(const Node& product, const Layouts& layouts, std::size_t operand) {
    const auto& dot = std::get<DotKernel>(product.spec()->kind);
    const DotPlan with = dot_plan(product.op(), dot, layouts);
    if (operand < 2 && with.copied[operand]) return false;
    const AvalRef transposed = operand < 2 ? product.op().in[operand] : product.op().out[0];
    return with.cost <= dot_plan(product.op(), dot, product.layouts).cost + relay_cost(transposed->size());
}

/// A product reads a transposed operand from the memory of what was transposed.
void read_through(Graph& g, Node& product, std::size_t operand, const std::vector<Readers>& readers) {
    const ValueId v = product.in[operand];
    const GraphValue& value = g.values[v];
    if (value.kind != GraphValue::Kind::Result || value.root != v || readers[v].others || readers[v].transposes) return;
    const Node& t = g.nodes[value.index];
    if (!is_transpose(t) || t.in.empty() || g.values[t.in[0]].kind == GraphValue::Kind::Literal) return;
    const Dims strides = row_major_strides(g.aval(t.in[0]).shape), permutation = permutation_of(t);
    Dims layout;
    for (const std::int64_t p : permutation) layout.push_back(strides.at(static_cast<std::size_t>(p)));
    Layouts layouts = product.layouts;
    layouts.resize(3);
    layouts[operand] = layout;
    if (!stays_whole(product, layouts, operand)) return;
    product.layouts = std::move(layouts);
    product.in[operand] = t.in[0];
}

/// A product whose result is only transposed writes the transposed array.
void write_through(Graph& g, std::uint32_t number, const std::vector<Readers>& readers, std::vector<std::uint32_t>& made_by) {
    Node& product = g.nodes[number];
    const ValueId v = product.out[0];
    const Readers& r = readers[v];
    if (r.others || r.products || r.transposes != 1) return;
    Node& t = g.nodes[r.last_transpose];
    const Dims permutation = permutation_of(t), strides = row_major_strides(g.aval(t.out[0]).shape);
    if (permutation.size() != strides.size()) return;
    Dims layout(strides.size());
    for (std::size_t j = 0; j < strides.size(); ++j) layout[static_cast<std::size_t>(permutation[j])] = strides[j];
    Layouts layouts = product.layouts;
    layouts.resize(3);
    layouts[2] = layout;
    if (!stays_whole(product, layouts, 2)) return;
    product.layouts = std::move(layouts);
    const ValueId out = t.out[0];
    product.out[0] = out;
    t.out[0] = v;  // the transposition's node is left without readers
    t.in.clear();
    made_by[r.last_transpose] = number;
}

}  // namespace

void fold_transposes(Graph& g) {
    const std::vector<Readers> readers = count_readers(g);
    std::vector<std::uint32_t> made_by(g.nodes.size());
    std::iota(made_by.begin(), made_by.end(), 0u);
    for (std::uint32_t i = 0; i < g.nodes.size(); ++i) {
        if (!is_dot(g.nodes[i])) continue;
        for (std::size_t k = 0; k < 2; ++k) read_through(g, g.nodes[i], k, readers);
        write_through(g, i, readers, made_by);
    }
    for (GraphValue& value : g.values)
        if (value.kind == GraphValue::Kind::Result && value.index < made_by.size()) value.index = made_by[value.index];
    for (std::uint32_t i = 0; i < g.nodes.size(); ++i)
        if (made_by[i] != i) g.values[g.nodes[i].out[0]].index = i;
}

}  // namespace jaxscope::exec
