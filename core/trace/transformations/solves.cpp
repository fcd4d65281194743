// SPDX-License-Identifier: Apache-2.0
// jax.lax.custom_linear_solve and custom_root.
#include <jaxscope/solves.h>

#include <fmt/core.h>

#include <jaxscope/custom_rules.h>
#include <jaxscope/lax.h>

#include "calls/control_flow.h"
#include "calls/linear_solve.h"
#include "pytree/tree.h"
#include "trace/functions.h"
#include "trace/refusals.h"
#include "transforms/jaxpr_util.h"

namespace jaxscope::jax::detail {

namespace {

TracedCall traced(Call& call, const char* what) { return trace_call(call, what, call.name ? call.name : kUnnamed); }
/// JAX's sentence for a function that gives another tree than it takes.
void check_tree(const char* name, const char* expected_name, const TracedCall& t, const PyTreeDef& expected, const Where& where) {
    if (!(t.out_tree == expected))
        refuse_at(where, ErrorCode::TypeMismatch,
                  fmt::format("{}() output pytree structure must match {}, got {} and {}.", name, expected_name, t.out_tree.str(),
                              expected.str()));
}
void check_shapes(const char* name, const TracedCall& t, const std::vector<Array>& b, const Where& where) {
    std::string got, wanted;
    bool same = true;
    const Avals out = t.traced.jaxpr->out_avals();
    for (std::size_t i = 0; i < b.size() && i < out.size(); ++i) {
        got += (i ? ", " : "") + Shape(out[i]->shape).str(), wanted += (i ? ", " : "") + b[i].shape().str();
        same = same && out[i]->shape == b[i].node()->aval->shape;
    }
    if (!same)
        refuse_at(where, ErrorCode::TypeMismatch, fmt::format("{}() output shapes must match b, got [{}] and [{}]", name, got, wanted));
}

}  // namespace

std::vector<Array> custom_linear_solve(Call& matvec, Call& solve, Call* vecmat, Call* transpose_solve, bool symmetric) {
    const std::vector<Array> b = leaves_of(matvec);
    const PyTreeDef tree = make_tree(matvec.arguments()).children()[0];
    std::array<JaxprPtr, 4> functions;
    std::array<std::vector<Array>, 4> consts;
    const auto trace = [&](std::size_t at, Call& call, const char* name) {
        const TracedCall t = traced(call, "custom_linear_solve");
        check_tree(name, "b", t, tree, matvec.where);
        check_shapes(name, t, b, matvec.where);
        functions[at] = t.traced.open();
        consts[at] = t.traced.consts;
    };
    trace(0, matvec, "matvec");
    trace(2, solve, "solve");
    if (vecmat) {
        trace(1, *vecmat, "vecmat");
        trace(3, *transpose_solve, "transpose_solve");
    } else if (symmetric) {
        functions[1] = functions[0], consts[1] = consts[0];
        trace(3, solve, "transpose_solve");
    }
    std::vector<Operand> in;
    const Where& w = matvec.where;
    for (const std::vector<Array>& part : {consts[0], consts[1], consts[2], consts[3], b})
        for (const Array& a : part) in.emplace_back(a, w.file, w.line, w.function);
    return apply(in, w, [&](Builder& builder, const Values& v) {
        std::array<Values, 4> parts;
        auto next = v.begin();
        for (std::size_t i = 0; i < 4; ++i) {
            parts[i] = Values(next, next + static_cast<std::ptrdiff_t>(consts[i].size()));
            next += static_cast<std::ptrdiff_t>(consts[i].size());
        }
        return ::jaxscope::linear_solve(builder, functions, parts, Values(next, v.end()));
    });
}

namespace {

/// The functions of an equation, each a jaxpr of what it closes over and of a value like the solution.
struct Root {
    JaxprPtr f, solve, tangent_solve;
    std::size_t f_consts, solve_consts, tangent_consts;
    Where where;
    /// A part of all that the three close over, which comes in front of the guess.
    std::vector<Array> part(const std::vector<Array>& all, std::size_t from, std::size_t n) const {
        const auto first = all.begin() + static_cast<std::ptrdiff_t>(from);
        return {first, first + static_cast<std::ptrdiff_t>(n)};
    }
    std::vector<Array> operator()(const std::vector<Array>& all) const {
        const std::size_t consts = f_consts + solve_consts + tangent_consts;
        return call(solve, joined(part(all, f_consts, solve_consts), part(all, consts, all.size() - consts)), where);
    }
};
/// By the implicit function theorem: the tangent of f at the solution, solved with its linear part.
struct RootRule {
    Root root;
    std::pair<std::vector<Array>, std::vector<Array>> operator()(const std::vector<Array>& all, const std::vector<Array>& dot) const;
};
constexpr RuleOptions kRootName{.name = "_custom_root"}, kRootRuleName{.name = "_root_jvp"};

std::pair<std::vector<Array>, std::vector<Array>> RootRule::operator()(const std::vector<Array>& all, const std::vector<Array>& dot) const {
    const std::vector<Array> solution = CustomJvp<Root, RootRule>(root, *this, kRootName, kRootRuleName, true)(all);
    const auto at_solution = [&](const std::vector<Array>& consts) { return call(root.f, joined(consts, solution), root.where); };
    const auto values =
        jax::jvp(at_solution, std::tuple(root.part(all, 0, root.f_consts)), std::tuple(root.part(dot, 0, root.f_consts)), root.where);
    const std::vector<Array> own = root.part(all, root.f_consts + root.solve_consts, root.tangent_consts);
    std::vector<Array> out;
    for (const Array& a : call(root.tangent_solve, joined(own, solution, values.second), root.where)) out.push_back(-a);
    return {solution, out};
}

}  // namespace

std::vector<Array> custom_root(Call& f, Call& solve, Call& tangent_solve) {
    const Where where = f.where;
    const std::vector<Array> guess = leaves_of(f);
    const PyTreeDef tree = make_tree(f.arguments()).children()[0];
    const TracedCall value = traced(f, "custom_root");
    check_tree("f", "initial_guess", value, tree, where);
    const TracedCall solution = traced(solve, "custom_root solve");
    check_tree("solve", "initial_guess", solution, tree, where);
    const TracedCall of_tangents = traced(tangent_solve, "custom_root tangent_solve");
    check_tree("tangent_solve", "x", of_tangents, tree, where);
    const Root root{value.traced.open(),
                    solution.traced.open(),
                    of_tangents.traced.open(),
                    value.traced.consts.size(),
                    solution.traced.consts.size(),
                    of_tangents.traced.consts.size(),
                    where};
    const std::vector<Array> all = joined(value.traced.consts, solution.traced.consts, of_tangents.traced.consts, guess);
    return at_place(where, [&] { return CustomJvp<Root, RootRule>(root, {root}, kRootName, kRootRuleName, true)(all); });
}

}  // namespace jaxscope::jax::detail
