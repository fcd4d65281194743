// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <unordered_map>
#include <vector>

#include "jit/graph/graph.h"
#include "lax/params/shapes.h"

namespace jaxscope::exec {

/// Adds equations to a graph: views become aliases, equal equations one node, reductions runs of merged axes.
class GraphRewriter {
public:
    /// `elements_only`: what can be computed element by element is, also where a routine would be faster.
    explicit GraphRewriter(Graph& g, bool elements_only) : graph_(g), elements_only_(elements_only) {}
    /// Where what is added next stands.
    void at(Sym path_prefix, std::uint32_t eqn, SourceRef source, bool backward) {
        prefix_ = path_prefix, eqn_ = eqn, source_ = source, backward_ = backward;
    }

    ValueId add_value(AvalRef aval, GraphValue::Kind kind, std::uint32_t index);
    ValueId literal(LiteralRef l);
    /// A null or unknown array stands for zeros.
    ValueId constant(const ArrayPtr& array, AvalRef aval);
    std::vector<ValueId> barrier(const Op& op, const std::vector<ValueId>& in);
    /// The results of an equation with a kernel of its own; nothing when it has none.
    std::optional<std::vector<ValueId>> add(const Op& op, const std::vector<ValueId>& in);
    std::vector<ValueId> add_node(Node n);
    /// Adds a node that does nothing but make its results, or finds the equal one that is there.
    std::vector<ValueId> merged(Node n);
    /// The one result of `prim`, which has a kernel, where it stands for (a part of) `whole`.
    ValueId add_part(const Op& whole, const Primitive& prim, const ParamsRef& params, const std::vector<ValueId>& in, AvalRef out);

private:
    ValueId view(ValueId of, AvalRef aval);
    std::optional<std::vector<ValueId>> add_view(const Op& op, const std::vector<ValueId>& in);
    std::vector<ValueId> add_reduction(const Op& op, const std::vector<ValueId>& in, const ReduceKernel& spec);
    /// `v` with its dimensions at these places of `shape`.
    ValueId spread(const Op& op, ValueId v, const Dims& place, const Dims& shape);
    /// The same of an operand whose dimensions stand at places in another order: they are put in order first.
    ValueId spread_in_order(const Op& op, ValueId v, Dims place, const Dims& shape);
    /// A product that adds nothing up multiplies element by element, and is fused as such.
    std::optional<std::vector<ValueId>> add_multiplication(const Op& op, const std::vector<ValueId>& in, const DotKernel& dot);
    /// Thousands of products whose sums have two to four terms (rotations of points, 3x3 matrices of a batch): multiplied and summed as
    /// element-wise operations are, where that is faster. short_sums.cpp has these.
    std::optional<std::vector<ValueId>> add_short_sums(const Op& op, const std::vector<ValueId>& in, const DotKernel& dot);
    /// A transposition of what was transposed is one of the array before.
    std::optional<std::vector<ValueId>> add_joined_transpose(const Op& op, const std::vector<ValueId>& in);
    /// Of few whole numbers that are known here: literals, repeated and joined.
    std::optional<std::vector<std::int64_t>> known_integers(ValueId v) const;
    /// A scatter of one window (or an update) at a place that is known, where that is at least half of the array. known_windows.cpp has
    /// these.
    std::optional<std::vector<ValueId>> add_known_window(const Op& op, const std::vector<ValueId>& in, const ScatterKernel& spec);
    std::optional<std::vector<ValueId>> add_known_update(const Op& op, const std::vector<ValueId>& in);
    std::optional<std::vector<ValueId>> written_window(const Op& op, ValueId array, ValueId window, const Dims& start,
                                                       ScatterKernel::Kind kind);
    ValueId padded(const Op& op, ValueId v, const PadConfig& place, AvalRef out);
    /// `placed` inside the window, else `otherwise`.
    ValueId inside_or(const Op& op, ValueId placed, ValueId otherwise, const PadConfig& place);
    ValueId in_place_of(const Op& op, ValueId v, const PadConfig& place, AvalRef array, int& budget);
    std::int64_t joined_run(ValueId v) const;
    Reduction first_stage(ValueId v, const Reduction& r) const;
    ValueId add_run(const Op& op, ValueId in, Reduction r, AvalRef out);
    /// The one for equal equations, whose routine or index map is found once. `run`: of a reduction.
    WorkPtr work(const Op& op, const std::optional<Reduction>& run);
    std::shared_ptr<const IndexMap> index_map(const Op& op);

    Graph& graph_;
    bool elements_only_;
    Sym prefix_;
    std::uint32_t eqn_ = 0;
    SourceRef source_;
    bool backward_ = false;
    std::unordered_map<std::uint32_t, ValueId> literals_;
    std::unordered_map<const ArrayConst*, ValueId> constants_;
    std::unordered_multimap<std::size_t, std::uint32_t> by_content_;
    std::unordered_multimap<std::size_t, WorkPtr> works_;
};

/// Something comes of it beside its results: it looks at values or calls the user's functions, or is a loop or branch with such a thing
/// inside.
bool must_run(const Node& n);

/// Drops nodes that no output depends on, but for those that must run, and unused values' memory with them. Values keep their numbers.
void drop_dead_nodes(Graph& g);

/// Products read transposed operands where they lie and write results transposed, when nobody else wants the other layout.
/// Run between two calls of drop_dead_nodes.
void fold_transposes(Graph& g);

/// How many read each value's memory, graph outputs among them; by root.
std::vector<std::uint32_t> count_uses(const Graph& g);

/// x + y of two operands, the program's or autodiff's.
bool is_sum(const Node& n);
/// A product that a library call computes.
bool is_dot(const Node& n);
/// A product that is computed in the type of its operands and its result, where sums may be taken apart.
bool is_plain_product(const Node& n);

/// May a sum be taken apart, or begun elsewhere? In narrower types each part would be rounded, and sums of many small numbers would no
/// longer be added to each other before they meet a large one.
bool sums_are_exact_enough(DType d);

/// x + scatter_add(zeros, i, u) becomes scatter_add(x, i, u): the gradient of many gathers of one table is added up in one array instead of
/// one a gather. Run between two calls of drop_dead_nodes.
void accumulate_scatters(Graph& g);

/// x + a @ b becomes one product that is added to x, where x is a loop's carry or itself a product, whose memory the sum takes: a gradient
/// that is added up turn by turn needs no array of its own and no pass of its own. Run between two calls of drop_dead_nodes.
void accumulate_products(Graph& g);

}  // namespace jaxscope::exec
