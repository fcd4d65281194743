// SPDX-License-Identifier: Apache-2.0
#pragma once
// Floor `jit/graph`: what is to be computed. Comes in: a jaxpr. Goes out: a graph without calls, views and dead equations, and its
// fused units. Never here: memory (which value lies where is the plan's), machine code, and the order in which units run.
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/inline_vector.h"
#include "base/rare_vector.h"
#include "ir/jaxpr.h"
#include "ir/kernel_builder.h"
#include "ir/primitive.h"
#include "jit/graph/index_map.h"

namespace jaxscope::exec {

using ValueId = std::uint32_t;

struct GraphValue {
    enum class Kind : std::uint8_t { Input, Constant, Literal, Result };
    AvalRef aval;
    Kind kind = Kind::Result;
    std::uint32_t index = 0;  ///< number of the input, constant, literal id, or node (~0: dead)
    ValueId root = 0;         ///< the value whose memory this one shows (itself unless a view: same bytes in the same order)
};

enum class NodeKind : std::uint8_t {
    Element,    ///< has a lower rule: any output element by itself
    Reduction,  ///< `reduction`
    Library,    ///< `spec`: a product, convolution, scatter, sort, ...
    Barrier,    ///< outputs are the inputs, and wait for all of them
    Scan,
    While,
    Cond,
};

/// out[o, i] = reduce over r of in[o, r, i]: axes merged to one run of the operand's elements in memory order.
struct Reduction {
    ReduceKind kind = ReduceKind::Sum;
    std::int64_t outer = 1, reduced = 1, inner = 1;
    bool operator==(const Reduction&) const = default;
};

/// What an equation computes, and how. Layers of a model hold the same equations: those of one graph, and the kernels made of them, share
/// it.
struct Work {
    Op op;                                   ///< stands nowhere where nodes share it: they say where
    std::optional<Reduction> reduction;      ///< of Reduction nodes
    std::shared_ptr<const KernelSpec> spec;  ///< of Library nodes
    std::shared_ptr<const IndexMap> map;     ///< of Element nodes
};
using WorkPtr = std::shared_ptr<const Work>;

class Graph;
using GraphPtr = std::shared_ptr<const Graph>;

struct Node {
    NodeKind kind = NodeKind::Element;
    bool backward = false;  ///< in a backward pass, or inlined from a call in one
    Sym path_prefix;        ///< with `eqn`: where the equation stands
    std::uint32_t eqn = 0;
    SourceRef source;
    WorkPtr work;
    InlineVector<ValueId, 2> in, out;
    RareVector<Dims> layouts;     ///< of products: element strides per operand, then of the result; empty: row-major
    RareVector<GraphPtr> bodies;  ///< scan: body; while: cond, body; cond: branches
    RareVector<Sym> body_paths;   ///< where each stands: a body that several equations share knows the first one's place only

    const Op& op() const { return work->op; }
    const Reduction& reduction() const { return *work->reduction; }
    const KernelSpec* spec() const { return work->spec.get(); }
    const IndexMap& map() const { return *work->map; }
};
inline std::string path_of(const Node& n) {  ///< "12/jaxpr/3"
    return (n.path_prefix.empty() ? "" : n.path_prefix.str() + "/") + std::to_string(n.eqn);
}

/// A jaxpr with calls inlined, equal equations merged, views resolved and dead equations dropped. Nodes are in program order.
class Graph {
public:
    std::vector<GraphValue> values;
    std::vector<Node> nodes;
    std::vector<ValueId> inputs, outputs;
    std::vector<ArrayPtr> constants;
    Sym path;  ///< where the jaxpr stands for which it was built: what its nodes' paths begin with
    ValueId root(ValueId v) const { return values[v].root; }
    const Aval& aval(ValueId v) const { return *values[v].aval; }
    std::int64_t bytes(ValueId v) const { return values[v].aval->bytes(); }
};

}  // namespace jaxscope::exec
