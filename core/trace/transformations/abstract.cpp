// SPDX-License-Identifier: Apache-2.0
// eval_shape and closure_convert.
#include <jaxscope/abstract.h>

#include <fmt/core.h>

#include <algorithm>

#include "calls/control_flow.h"
#include "pytree/tree.h"
#include "trace/functions.h"
#include "trace/kept.h"
#include "trace/refusals.h"

namespace jaxscope::jax {

Array ShapeDtypeStruct(const Shape& shape, dtype type, Where where) {
    return detail::abstract_array(AvalRef(static_cast<::jaxscope::DType>(type), shape.vector()), where);
}

namespace detail {

Array abstract_array(AvalRef aval, const Where& where) {
    auto* n = new Node;
    n->aval = aval;
    n->trace = Node::kAbstract;
    n->where = where;
    return Array::adopt(n);
}

std::vector<Array> eval_shape(Call& call) {
    refuse_statics(call);
    const TracedCall t = trace_call(call, "eval_shape", call.name ? call.name : kUnnamed);
    std::vector<Array> out;
    for (const AvalRef a : t.traced.jaxpr->out_avals()) out.push_back(abstract_array(a, call.where));
    return out;
}

namespace {

struct ClosureState final : Kept {
    JaxprPtr jaxpr;           ///< inputs: all that was closed over, then the arguments
    std::vector<Array> kept;  ///< per constant: those that stay, others without a value
    PyTreeDef tree;
    Where where = Where("", 0, "");
};

/// JAX's heuristic: a value of a trace could be perturbed, unless its tangents are trivial.
bool may_be_perturbed(const Array& a) {
    return a.is_tracer() && !a.node()->value.is_literal() && tangent_aval(a.node()->aval)->dtype != DType::Float0;
}

}  // namespace

Hoisted closure_convert_call(Call& call) {
    refuse_statics(call);
    const TracedCall t = trace_call(call, "closure_convert", call.name ? call.name : kUnnamed);
    auto* s = new ClosureState;
    Hoisted out{KeptHandle(s), {}};
    s->jaxpr = t.traced.open();
    s->tree = make_tree(call.arguments());
    s->where = call.where;
    for (const Array& c : t.traced.consts) {
        const bool hoisted = may_be_perturbed(c);
        if (hoisted) out.consts.push_back(c);
        s->kept.push_back(hoisted ? Array() : c);
    }
    return out;
}

std::vector<Array> call_converted(Kept& kept, const std::vector<Array>& arguments, const Description& tree,
                                  const std::vector<Array>& consts) {
    auto& s = static_cast<ClosureState&>(kept);
    const PyTreeDef given = make_tree(tree);
    const auto hoisted =
        static_cast<std::size_t>(std::count_if(s.kept.begin(), s.kept.end(), [](const Array& c) { return !c.has_value(); }));
    // What is too much or too little among the hoisted arrays stands among the arguments in Python.
    std::vector<PyTreeDef> flat = given.children();
    const bool fits = given == s.tree && consts.size() == hoisted;
    for (std::size_t i = hoisted; i < consts.size(); ++i) flat.push_back(make_tree(description(consts[i])));
    for (std::size_t i = consts.size(); i < hoisted && !flat.empty(); ++i) flat.pop_back();
    if (!fits)
        detail::refuse_at(s.where, ErrorCode::BadUsage,
                          fmt::format("The inputs to the closure produced by closure_convert must have the same Pytree "
                                      "structure as the example arguments passed when closure_convert was called. Expected "
                                      "{}, but got {}",
                                      s.tree.str(), tuple_of_trees(flat).str()),
                          fmt::format("call it as g(arguments..., consts), consts being the {} arrays that closure_convert gave", hoisted));
    std::vector<Array> in;
    std::size_t next = 0;
    for (const Array& c : s.kept) in.push_back(c.has_value() ? c : consts[next++]);
    return at_place(s.where, [&] { return detail::call(s.jaxpr, joined(in, arguments), s.where); });
}

}  // namespace detail

}  // namespace jaxscope::jax
