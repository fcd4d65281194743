// SPDX-License-Identifier: Apache-2.0
// grad, value_and_grad, jvp, vjp, linearize, linear_transpose: the function is traced, its jaxpr transformed, and what comes out stands
// where the call stands.
#include <fmt/core.h>

#include <jaxscope/autodiff.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "calls/families.h"
#include "ir/interpret.h"
#include "ir/print/printer.h"
#include "ir/registry.h"
#include "lax/params/elementwise.h"
#include "lax/primitives.h"
#include "pytree/tree.h"
#include "trace/functions.h"
#include "trace/kept.h"
#include "trace/refusals.h"
#include "trace/regions.h"
#include "transforms/dce.h"
#include "transforms/jaxpr_util.h"
#include "transforms/jvp.h"
#include "transforms/partial_eval.h"
#include "transforms/transpose.h"
#include "transforms/vjp.h"

namespace jaxscope::jax::detail {

namespace {

/// value_and_grad with the two halves as the calls that captures mark.
std::vector<Array> in_halves(const RecordedRegion& region, const JaxprPtr& open, const std::vector<bool>& wrt, const std::vector<Array>& in,
                             bool has_aux, const Where& where) {
    const Vjp v = vjp(open, wrt, has_aux ? 1 : open->outvars.size());
    const std::vector<Array> all = detail::call(region.half(v.forward, false, where), in, where);
    const auto results = static_cast<std::ptrdiff_t>(all.size() - v.num_residuals);
    std::vector<Array> out(all.begin(), all.begin() + results), residuals(all.begin() + results, all.end());
    // A cotangent of one per value.
    const AvalRef type = out.front().node()->aval;
    residuals.push_back(apply1({}, where, [&](Builder&, const Values&) -> Value { return make_literal(strong(type), 1.0); }));
    for (Array& g : detail::call(region.half(v.backward, true, where), residuals, where)) out.push_back(std::move(g));
    return out;
}

/// Gradients stand in the order of the arguments; they are asked for in the order of `argnums`.
std::vector<Array> in_order_of(std::vector<Array> out, const Call& call, const std::vector<std::size_t>& argnums) {
    std::size_t gradients = 0;
    for (const std::size_t a : argnums) gradients += call.leaves_of_arg[a];
    std::vector<Array> sorted(out.begin(), out.end() - static_cast<std::ptrdiff_t>(gradients));
    const std::size_t first = sorted.size();
    for (const std::size_t a : argnums) {
        std::size_t at = first;
        for (const std::size_t n : argnums)
            if (call.first_leaf(n) < call.first_leaf(a)) at += call.leaves_of_arg[n];
        for (std::size_t k = 0; k < call.leaves_of_arg[a]; ++k) sorted.push_back(out[at + k]);
    }
    return sorted;
}

/// Arguments that came by name aren't counted by argnums.
void refuse_keywords(const Call& call, const std::vector<std::size_t>& argnums) {
    std::string numbers;
    std::size_t last = 0;
    bool named = false;
    for (const std::size_t n : argnums) {
        numbers += (numbers.empty() ? "" : ", ") + std::to_string(n);
        named = named || call.keywords[n];
        last = std::max(last, n);
    }
    if (!named) return;
    detail::refuse_at(
        call.where, ErrorCode::BadUsage,
        fmt::format("differentiating with respect to argnums={} requires at least {} positional arguments to be passed by the "
                    "caller, but got only {} positional arguments.",
                    argnums.size() == 1 ? numbers : "(" + numbers + ")", last + 1,
                    std::count(call.keywords.begin(), call.keywords.end(), nullptr)),
        "grad<1>(f) differentiates by the second argument: argnums count from 0");
}

}  // namespace

std::vector<Array> value_and_grad(Call& call, const std::vector<std::size_t>& argnums, bool has_aux, const char* what,
                                  const GradOptions& options) {
    if (options.has_aux && !has_aux)
        detail::refuse_at(call.where, ErrorCode::BadUsage, "has_aux: the function must return std::pair(output, aux)",
                          "return {value, whatever else}");
    if (!options.reduce_axes.empty())
        detail::refuse_at(call.where, ErrorCode::BadUsage, "reduce_axes argument to grad is deprecated",
                          "leave it out; lax::psum sums over a mapped axis");
    refuse_keywords(call, argnums);
    refuse_statics(call, argnums);
    leaves_of(call);
    RecordedRegion region(what);
    const TracedCall t = [&] {
        Trace trace(what, call.name ? call.name : kUnnamed);
        trace.inputs_are(call.leaves);
        trace.name_inputs([&] { return argument_names(call, options.arg_names).leaves; });
        return trace_call_in(trace, call, avals_of(call.leaves), nullptr);
    }();
    region.traced(call, t, argnums, 1, has_aux, options.arg_names);
    std::vector<bool> wrt(t.traced.consts.size(), false);
    for (const bool w : chosen_leaves(call, argnums)) wrt.push_back(w);
    const JaxprPtr open = t.traced.open();
    const std::vector<Array> in = with_consts(t.traced, call.leaves);
    if (region.marks()) return in_order_of(in_halves(region, open, wrt, in, has_aux, call.where), call, argnums);
    return at_place(call.where, [&] {
        const JaxprPtr made = ::jaxscope::value_and_grad(open, wrt, has_aux, {options.holomorphic, options.allow_int});
        return in_order_of(detail::call(made, in, call.where), call, argnums);
    });
}

namespace {

/// How many leaves of the results are differentiated: with aux those of the first of a pair.
std::size_t differentiated_leaves(const TracedCall& t, bool has_aux) {
    return has_aux ? t.out_tree.children().front().num_leaves() : t.out_tree.num_leaves();
}

void check_tangent(AvalRef primal, AvalRef tangent) {
    const AvalRef expected = tangent_aval(primal);
    if (expected->dtype != tangent->dtype)
        throw Error(
            ErrorCode::TypeMismatch,
            fmt::format("primal and tangent arguments to jax.jvp do not match; dtypes must be equal, or in case of int/bool primal "
                        "dtype the tangent dtype must be float0.Got primal dtype {} and so expected tangent dtype {}, but got "
                        "tangent dtype {} instead.",
                        info(primal->dtype).name, expected->dtype == DType::Float0 ? "[('float0', 'V')]" : info(expected->dtype).name,
                        info(tangent->dtype).name));
    if (primal->shape != tangent->shape)
        throw Error(ErrorCode::TypeMismatch,
                    fmt::format("jvp called with different primal and tangent shapes;Got primal shape {} and tangent shape as {}",
                                Shape(primal->shape).str(), Shape(tangent->shape).str()));
}

}  // namespace

std::vector<Array> jvp(Call& call, const std::vector<Array>& tangents, const Description& tangent_tree, bool has_aux, bool none) {
    return at_place(call.where, [&] {
        refuse_statics(call);
        const PyTreeDef primals = make_tree(call.arguments()), given = make_tree(tangent_tree);
        if (!(primals == given))
            throw Error(
                ErrorCode::BadUsage,
                fmt::format("primal and tangent arguments to jax.jvp must have the same tree structure; primals have tree structure "
                            "{} whereas tangents have tree structure {}.",
                            primals.str(), given.str()));
        for (std::size_t i = 0; i < tangents.size(); ++i) check_tangent(call.leaves[i].node()->aval, tangents[i].node()->aval);
        const DifferentiatedFurther further;
        const TracedCall t = trace_known(call, "jvp", kUnnamed);
        const std::size_t n = differentiated_leaves(t, has_aux), all = t.out_tree.num_leaves();
        // Tangents of integers are zero.
        std::vector<bool> nonzero(t.traced.consts.size(), false);
        std::vector<Array> in = with_consts(t.traced, call.leaves);
        for (const Array& a : tangents) {
            nonzero.push_back(a.node()->aval->dtype != DType::Float0);
            if (nonzero.back()) in.push_back(a);
        }
        const JvpJaxpr made = ::jaxscope::jvp(t.traced.open(), nonzero, n);
        std::vector<Array> out = detail::call(made.jaxpr, in, call.where);
        for (std::size_t k = 0; none && k < n; ++k)
            if (made.zeros[k]) out[all + k] = Array();
        // Results, auxiliary results, tangents: the auxiliary ones go last.
        std::rotate(out.begin() + static_cast<std::ptrdiff_t>(n), out.begin() + static_cast<std::ptrdiff_t>(all), out.end());
        return out;
    });
}

namespace {

struct LinearState final : Kept {
    JaxprPtr jaxpr;  ///< inputs: residuals, then what is given; null: `refused` says why there is none
    std::optional<Error> refused;
    std::vector<Array> residuals;  ///< in the order of its leading inputs
    Half half = Half::pullback;
    bool transposes = false;  ///< of linear_transpose, whose errors say other things
    PyTreeDef tree;           ///< of what is given
    Avals given;              ///< per leaf the type that belongs to it: a result's, an argument's
    std::vector<bool> taken;  ///< per leaf: does the jaxpr take it?
    std::vector<bool> made;   ///< per leaf of what comes out: does the jaxpr make it? The others are zeros
    Avals out;
    std::string function = kUnnamed;
};

}  // namespace

Linearized linearize_call(Call& call, Half half, bool has_aux) {
    refuse_statics(call);
    leaves_of(call);
    const bool pulls = half == Half::pullback;
    RecordedRegion region(pulls ? "vjp" : "linearize", pulls ? nullptr : "jax.linearize has no backward part of its own");
    const TracedCall t = trace_known(call, pulls ? "vjp" : "linearize", call.name ? call.name : kUnnamed);
    const std::size_t n = differentiated_leaves(t, has_aux), consts = t.traced.consts.size();
    std::vector<std::size_t> argnums(call.leaves_of_arg.size());
    std::iota(argnums.begin(), argnums.end(), std::size_t{0});
    region.traced(call, t, argnums, n, has_aux);
    std::vector<bool> wrt(consts, false);
    wrt.insert(wrt.end(), call.leaves.size(), true);
    const JaxprPtr open = t.traced.open();
    Linearized out;
    auto* s = new LinearState;
    out.linear = KeptHandle(s);
    s->half = half;
    const Avals results = open->out_avals(), inputs = avals_of(call.leaves);
    const auto front = [&](const Avals& a) { return Avals(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(n)); };
    const PyTreeDef result_tree = has_aux ? t.out_tree.children().front() : t.out_tree;
    const ::jaxscope::Linearized l = ::jaxscope::linearize(open, wrt, n);
    JaxprPtr forward = l.forward;
    if (pulls) {
        forward = region.half(l.forward, false, call.where);
        try {
            s->jaxpr = region.half(pullback(open, l, wrt, n), true, call.where);
        } catch (const Error& e) {
            s->refused = e;  // JAX transposes when the pullback is called
        }
        s->tree = result_tree;
        s->given = front(results);
        s->taken.assign(n, true);
        s->out = inputs;
        s->made.assign(inputs.size(), true);
    } else {
        s->jaxpr = l.linear;
        s->tree = make_tree(call.arguments());
        s->given = inputs;
        s->taken.assign(l.wrt.begin() + static_cast<std::ptrdiff_t>(consts), l.wrt.end());
        s->out = front(results);
        s->made = l.nonzero_out;
    }
    out.results = detail::call(forward, with_consts(t.traced, call.leaves), call.where);
    s->residuals.assign(out.results.begin() + static_cast<std::ptrdiff_t>(t.out_tree.num_leaves()), out.results.end());
    return out;
}

Linearized linear_transpose_call(Call& call) {
    refuse_statics(call);
    const TracedCall t = trace_call(call, "linear_transpose", call.name ? call.name : kUnnamed);
    const Avals in = avals_of(call.leaves), results = t.traced.jaxpr->out_avals();
    const auto all = [&](auto test) {
        return std::all_of(in.begin(), in.end(), test) && std::all_of(results.begin(), results.end(), test);
    };
    if (!all([](AvalRef a) { return is_inexact(a->dtype); }) && !all([](AvalRef a) { return is_integer(a->dtype); })) {
        const auto names = [](const Avals& avals) {
            std::string text;
            for (const AvalRef a : avals) text += std::string(text.empty() ? "" : ", ") + "dtype('" + info(a->dtype).name + "')";
            return "[" + text + "]";
        };
        detail::refuse_at(
            call.where, ErrorCode::TypeMismatch,
            "linear_transpose only supports [float or complex] -> [float or complex], and integer -> integer functions, but got " +
                names(in) + " -> " + names(results) + ".",
            "give arguments of the types that the function is linear in");
    }
    // What doesn't depend on the arguments is computed now, once: the transposed function takes it as residuals.
    std::vector<bool> unknown(t.traced.consts.size(), false);
    unknown.resize(unknown.size() + in.size(), true);
    const PartialEvalJaxpr& split = partial_eval_jaxpr(t.traced.open(), unknown, true, true);
    const std::vector<Array> computed = detail::call(split.known, t.traced.consts, call.where);
    std::vector<Array> residuals;
    std::size_t next = computed.size() - static_cast<std::size_t>(split.num_residuals_out);
    for (const int from : split.forwards)
        residuals.push_back(from < 0 ? computed[next++] : t.traced.consts[static_cast<std::size_t>(from)]);
    const JaxprPtr linear = dce_jaxpr(split.unknown, std::vector<bool>(results.size(), true), true).jaxpr;
    JaxprBuilder b;
    Values x, ct;
    for (const Array& r : residuals) x.push_back(b.add_input(r.node()->aval));
    x.resize(linear->num_invars, Value::linear());
    for (const AvalRef a : results) ct.push_back(b.add_input(a));
    Values cts = backward_pass(b, *linear, x, ct, {}, true);
    cts.erase(cts.begin(), cts.begin() + static_cast<std::ptrdiff_t>(residuals.size()));
    for (std::size_t i = 0; i < in.size(); ++i) cts[i] = instantiate_zero(b, cts[i], in[i]);
    auto* s = new LinearState;
    Linearized out{{}, KeptHandle(s)};
    s->jaxpr = b.finish(cts);
    s->residuals = std::move(residuals);
    s->transposes = true;
    s->tree = t.out_tree;
    s->given = results;
    s->taken.assign(results.size(), true);
    s->out = in;
    s->made.assign(in.size(), true);
    return out;
}

namespace {

/// A tuple of types and a list of arrays, as Python prints them.
std::string tuple_of_types(const Avals& avals) {
    std::string text;
    for (const AvalRef a : avals) text += (text.empty() ? "" : ", ") + shaped_array_text(a);
    return "(" + text + (avals.size() == 1 ? ",)" : ")");
}
/// "~float32[]" of a weak type.
std::string marked_aval(AvalRef a) { return (a->weak_type ? "~" : "") + long_aval(a); }
std::string list_of_values(const std::vector<Array>& arrays) {
    std::string text;
    for (const Array& a : arrays) text += (text.empty() ? "" : ", ") + (a.is_tracer() ? a.aval() : a.repr());
    return "[" + text + "]";
}

void check_given(const LinearState& s, const std::vector<Array>& given, const PyTreeDef& tree) {
    const Avals in = avals_of(given);
    const bool same_tree = s.tree == tree;
    if (s.transposes) {
        if (!same_tree)
            throw Error(ErrorCode::TypeMismatch,
                        fmt::format("cotangent tree does not match function output, expected {} but got {}", s.tree.str(), tree.str()));
        for (std::size_t i = 0; i < in.size(); ++i)
            if (in[i]->dtype != s.given[i]->dtype || in[i]->shape != s.given[i]->shape)
                throw Error(ErrorCode::TypeMismatch, fmt::format("cotangent type does not match function output, expected {} but got {}",
                                                                 tuple_of_types(s.given), list_of_values(given)));
        return;
    }
    if (!same_tree && s.half == Half::pushforward)
        throw Error(ErrorCode::TypeMismatch, fmt::format("expected {}, got {}", s.tree.str(), tree.str()));
    if (!same_tree) {
        std::string places;
        for (const TreeDifference& d : tree_differences(s.tree, tree))
            places += fmt::format("{}  * out{} was {} in the original output, but {} here, so {}.", places.empty() ? "" : "\n", d.path,
                                  d.one, d.other, d.why);
        throw Error(ErrorCode::TypeMismatch,
                    fmt::format("unexpected tree structure.\n\nThe argument to a VJP function returned by `jax.vjp` must match the pytree\n"
                                "structure of the differentiated function {}.\n\nBut the tree structures differ:\n{}",
                                s.function, places));
    }
    for (std::size_t i = 0; i < in.size(); ++i) {
        const AvalRef expected = tangent_aval(s.given[i]);
        if ((in[i]->dtype == expected->dtype && in[i]->shape == expected->shape) ||
            (in[i]->shape == expected->shape && expected->dtype == DType::Float0))
            continue;
        if (s.half == Half::pullback)
            throw Error(ErrorCode::TypeMismatch,
                        fmt::format("unexpected JAX type (e.g. shape/dtype) for argument to VJP function: got {}, but expected {} because "
                                    "the corresponding output of the differentiated function had JAX type {}",
                                    long_aval(in[i]), long_aval(expected), long_aval(s.given[i])));
        throw Error(
            ErrorCode::TypeMismatch,
            fmt::format("linearized function called on tangent values inconsistent with the original primal values:\nGot tangent aval "
                        "{} for primal aval {} but expected {}.",
                        marked_aval(in[i]), marked_aval(s.given[i]), marked_aval(expected)));
    }
}

}  // namespace

std::vector<Array> apply_linear(Kept& kept, const std::vector<Array>& in, const Description& tree, const Where& where) {
    auto& s = static_cast<LinearState&>(kept);
    return at_place(where, [&] {
        check_given(s, in, make_tree(tree));
        if (s.refused) throw Error(*s.refused);
        std::vector<Array> operands = s.residuals;
        for (std::size_t i = 0; i < in.size(); ++i)
            if (s.taken[i]) operands.push_back(in[i]);
        const std::vector<Array> found = detail::call(s.jaxpr, operands, where);
        std::vector<Array> out;
        std::size_t next = 0;
        for (std::size_t i = 0; i < s.made.size(); ++i)
            out.push_back(s.made[i] ? found[next++] : apply1({}, where, [&](Builder& b, const Values&) {
                return instantiate_zero(b, Value::zero(), s.out[i]);
            }));
        return out;
    });
}

}  // namespace jaxscope::jax::detail
