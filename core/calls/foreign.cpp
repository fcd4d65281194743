// SPDX-License-Identifier: Apache-2.0
#include "calls/foreign.h"

#include <algorithm>

#include "calls/control_flow.h"
#include "calls/traced_rules.h"
#include "ir/interpret.h"
#include "ir/print/text_form.h"
#include "ir/program.h"
#include "lax/rule_support.h"
#include "transforms/batch.h"
#include "transforms/jaxpr_util.h"
#include "transforms/split_builder.h"
#include "transforms/transpose.h"

// Primitives that a library brought along: the capture has traced their rules for the cases that JAX asked for.
namespace jaxscope {

namespace {

constexpr const char* kRulesParam = "jaxscope_rules";

/// The rules of one application: the entry of its evaluation, and behind it the cases of the others.
struct Applied {
    std::shared_ptr<const CustomRules> table;
    std::size_t head = 0;
    explicit operator bool() const { return table != nullptr; }
    const CustomRule& evaluation() const { return table->rules[head]; }
};

Applied rules_of(const ParamsRef& params) {
    static const Sym name(kRulesParam);
    const Attr* a = params->find(name);
    const auto* rule = a ? a->get<Attr::Rule>() : nullptr;
    if (!rule) return {};
    std::shared_ptr<const CustomRules> table = rule->table.lock();
    if (!table || rule->index >= table->rules.size()) return {};
    return {std::move(table), rule->index};
}

[[noreturn]] void refuse_unknown(const Op& op, const std::string& words) {
    throw Error(ErrorCode::UnknownPrimitive, words).at(op.source.loc());
}

const CustomRule* find_case(const Applied& applied, Sym kind, auto fits) {
    for (std::size_t i = applied.head + 1; i < applied.table->rules.size(); ++i) {
        const CustomRule& r = applied.table->rules[i];
        if (r.variant_of == static_cast<int>(applied.head) && r.kind == kind && fits(r)) return &r;
    }
    return nullptr;
}

/// A rule that the library hasn't, that raises, or that is foreign code: in the capture's words.
const CustomRule& traced(const CustomRule* r, const Op& op, const char* what, const std::string& which) {
    const std::string name = op.prim->name.c_str();
    if (!r)
        throw Error(ErrorCode::NoRule,
                    "expected the " + std::string(what) + " rule of '" + name + "' for " + which + ", found that the capture never met it")
            .advise("capture again with `differentiate` set to the arguments asked for, or with --axis-size")
            .at(op.source.loc());
    if (!r->jaxpr)
        throw Error(ErrorCode::NoRule,
                    "expected the " + std::string(what) + " rule of '" + name + "' as a jaxpr, found none: " + printable(r->why.str()))
            .at(op.source.loc());
    return *r;
}

void expect_inputs(const CustomRule& r, const Values& in, const Op& op, std::size_t results) {
    if (in.size() == r.jaxpr->num_invars && results == r.jaxpr->outvars.size()) return;
    throw Error(ErrorCode::TypeMismatch, "expected a rule of '" + op.prim->name + "' of " + std::to_string(in.size()) + " inputs and " +
                                             std::to_string(results) + " results, found one of " + std::to_string(r.jaxpr->num_invars) +
                                             " and " + std::to_string(r.jaxpr->outvars.size()))
        .at(op.source.loc());
}

/// Values that the rule closes over stand in front of its own inputs.
Values closed_values(const CustomRule& r, const Values& x, const Op& op) {
    Values out;
    for (const int i : r.closed_over) {
        if (static_cast<std::size_t>(i) >= x.size() || x[static_cast<std::size_t>(i)].is_linear()) expect_inputs(r, {}, op, SIZE_MAX);
        out.push_back(x[static_cast<std::size_t>(i)]);
    }
    return out;
}

std::size_t count_missing(const std::vector<bool>& zeros) { return static_cast<std::size_t>(std::count(zeros.begin(), zeros.end(), true)); }

/// The derivative for these perturbed inputs: as JAX's linearize split it while it ran the rule, and whole. The capture has what was asked
/// for.
struct Derivative {
    const CustomRule *whole = nullptr, *known = nullptr, *linear = nullptr;
    bool halves() const { return known && known->jaxpr && linear && linear->jaxpr; }
};
Derivative find_derivative(const Applied& applied, const std::vector<bool>& perturbed) {
    static const Sym whole("primitive_jvp"), known("primitive_known"), linear("primitive_linear");
    const auto fits = [&](const CustomRule& r) { return r.perturbed == perturbed; };
    return {find_case(applied, whole, fits), find_case(applied, known, fits), find_case(applied, linear, fits)};
}

Values with_tangents(Values in, const Values& dx) {
    for (const Value t : dx)
        if (!t.is_zero()) in.push_back(t);
    return in;
}

PrimalsTangents primals_and_tangents(const Op& op, const CustomRule& r, const Values& primals, const Values& tangents) {
    const std::size_t n = op.out.size();
    PrimalsTangents result;
    result.primals.assign(primals.begin(), primals.begin() + static_cast<std::ptrdiff_t>(n));
    std::size_t next = 0;
    for (std::size_t k = 0; k < n; ++k)
        result.tangents.push_back(k < r.out_zeros.size() && r.out_zeros[k] ? Value::zero() : tangents[next++]);
    return result;
}

/// Is a result of the rule one of its inputs as it came?
bool handed_on(const Jaxpr& rule, std::size_t result) {
    const Atom a = rule.outvars[result];
    return a.is_var() && a.var().index >= rule.num_constvars && a.var().index < rule.num_constvars + rule.num_invars;
}

/// Known half into `first`, linear half into `second`. `held`: what is a number to the rule is a value of the known half, as in JAX; an
/// operand that is a number and that the rule hands on stays one.
PrimalsTangents by_halves(Builder& first, Builder& second, Builder* held, const Op& op, const Derivative& d, const Values& x,
                          const Values& dx, bool keep_places) {
    const Values known = eval_rule(first, d.known->jaxpr, joined(closed_values(*d.known, x, op), x), op.source, keep_places);
    Values in = closed_values(*d.linear, x, op);
    const std::size_t residuals = in.size();
    in.insert(in.end(), known.begin() + static_cast<std::ptrdiff_t>(op.out.size()), known.end());
    for (std::size_t i = residuals; held && i < in.size(); ++i)
        if (const std::optional<LiteralRef> number = held->literal_of(in[i]);
            number && !handed_on(*d.known->jaxpr, op.out.size() + i - residuals))
            in[i] = held->folded(*number);
    in = with_tangents(std::move(in), dx);
    expect_inputs(*d.linear, in, op, op.out.size() - count_missing(d.linear->out_zeros));
    return primals_and_tangents(op, *d.linear, known, eval_rule(second, d.linear->jaxpr, in, op.source, keep_places));
}

PrimalsTangents as_a_whole(Builder& b, const Op& op, const CustomRule& r, const Values& x, const Values& dx, bool keep_places) {
    const Values in = with_tangents(joined(closed_values(r, x, op), x), dx);
    const std::size_t n = op.out.size();
    expect_inputs(r, in, op, 2 * n - count_missing(r.out_zeros));
    const Values out = eval_rule(b, r.jaxpr, in, op.source, keep_places);
    return primals_and_tangents(op, r, out, Values(out.begin() + static_cast<std::ptrdiff_t>(n), out.end()));
}

/// `split`: the builder of both halves, when that is what differentiates.
PrimalsTangents differentiate(Builder& b, SplitBuilder* split, const Op& op, const Values& x, const Values& dx) {
    const Applied applied = rules_of(op.params);
    if (!applied) refuse_unknown(op, "Differentiation rule for '" + op.prim->name + "' not implemented");
    std::vector<bool> perturbed;
    for (const Value t : dx) perturbed.push_back(!t.is_zero());
    const Derivative d = find_derivative(applied, perturbed);
    // As with custom rules: where JAX runs the user's function, it runs the rule in its own lines.
    const bool keep_places = split && split->outermost() && !op.source->name_stack.has_transform(stack_names::kTranspose);
    if (d.halves() && split) return by_halves(split->primal(), split->tangent(), split, op, d, x, dx, keep_places);
    if (d.halves() && !(d.whole && d.whole->jaxpr)) return by_halves(b, b, nullptr, op, d, x, dx, keep_places);
    const CustomRule* whole = d.whole ? d.whole : d.known && d.known->jaxpr ? d.linear : d.known;
    return as_a_whole(b, op, traced(whole, op, "jvp", "perturbed=" + marks(perturbed)), x, dx, keep_places);
}

PrimalsTangents foreign_jvp(Builder& b, const Op& op, const Values& x, const Values& dx) { return differentiate(b, nullptr, op, x, dx); }
PrimalsTangents foreign_linearize(SplitBuilder& b, const Op& op, const Values& x, const Values& dx) {
    return differentiate(b, &b, op, x, dx);
}

void foreign_transpose(Builder& b, const Op& op, const Values& ct, const Values& x, TransposeSink& sink) {
    const Applied applied = rules_of(op.params);
    if (!applied) refuse_unknown(op, "Transpose rule (for reverse-mode differentiation) for '" + op.prim->name + "' not implemented");
    std::vector<bool> linear, zeros;
    for (const Value v : x) linear.push_back(v.is_linear());
    for (const Value c : ct) zeros.push_back(c.is_zero());
    static const Sym kind("primitive_transpose");
    const auto fits = [&](const CustomRule& r) { return r.perturbed == linear && r.zero_cotangents == zeros; };
    const CustomRule& r =
        traced(find_case(applied, kind, fits), op, "transpose", "linear=" + marks(linear) + " and zero cotangents " + marks(zeros));
    Values in = closed_values(r, x, op);
    for (const Value v : x)
        if (!v.is_linear()) in.push_back(v);
    for (const Value c : ct)
        if (!c.is_zero()) in.push_back(c);
    expect_inputs(r, in, op, count_missing(linear) - count_missing(r.out_zeros));
    const Values out = eval_rule(b, r.jaxpr, in, op.source, true);
    std::size_t next = 0, k = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        if (!linear[i]) continue;
        const bool zero = k < r.out_zeros.size() && r.out_zeros[k];
        ++k;
        if (!zero) sink.add(i, out[next++]);
    }
}

/// The case of exactly these axes; else the one with all axes in front, where the operands are turned first.
const CustomRule* find_mapped(const Applied& applied, const std::vector<int>& dims, std::int64_t size) {
    static const Sym kind("primitive_vmap");
    const auto exact = [&](const CustomRule& r) { return r.axis_size == size && r.in_dims == dims; };
    if (const CustomRule* r = find_case(applied, kind, exact)) return r;
    std::vector<int> front;
    for (const int d : dims) front.push_back(d == kNotMapped ? kNotMapped : 0);
    return find_case(applied, kind, [&](const CustomRule& r) { return r.axis_size == size && r.in_dims == front; });
}

BatchResult foreign_batch(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size) {
    const Applied applied = rules_of(op.params);
    if (!applied) refuse_unknown(op, "Batching rule for '" + op.prim->name + "' not implemented");
    std::vector<bool> mapped;
    for (const int d : dims) mapped.push_back(d != kNotMapped);
    const CustomRule& r = traced(find_mapped(applied, dims, size), op, "vmap",
                                 "an axis of size " + std::to_string(size) + " and in_batched=" + marks(mapped));
    Values turned = x;
    for (std::size_t i = 0; i < x.size(); ++i)
        if (dims[i] != r.in_dims.at(i)) turned[i] = moveaxis(b, x[i], dims[i], r.in_dims[i]);
    const Values in = joined(closed_values(r, turned, op), turned);
    expect_inputs(r, in, op, op.out.size());
    BatchResult out{eval_rule(b, r.jaxpr, in, op.source, false), r.out_dims};
    out.out_dims.resize(op.out.size(), kNotMapped);
    return out;
}

JaxprPtr foreign_expand(const Op& op) {
    const Applied applied = rules_of(op.params);
    const bool calls_python = op.params->find("callback") != nullptr;
    if (!applied)
        refuse_unknown(op, "expected a primitive that jaxscope can run, found '" + op.prim->name + "', which " +
                               (calls_python ? "calls Python (a check that fails does, as equinox's error_if)" : "it doesn't know"));
    const CustomRule& r = applied.evaluation();
    if (!r.jaxpr)
        refuse_unknown(op, "expected a primitive that jaxscope can run, found '" + op.prim->name + "': " + printable(r.why.str()));
    if (r.jaxpr->num_invars != op.in.size() || r.jaxpr->outvars.size() != op.out.size() || !r.closed_over.empty())
        expect_inputs(r, Values(op.in.size()), op, op.out.size());
    return r.jaxpr;
}

constexpr HiddenParam kHidden[] = {{kRulesParam, text_form::always}};
constexpr TextForm kText{.hidden = kHidden};

}  // namespace

std::vector<std::string> foreign_stops(const ParamsRef& params) {
    const Applied applied = rules_of(params);
    if (!applied) return {"grad", "vmap", "run"};
    const auto stopped = [&](const char* kind) {
        if (find_case(applied, Sym(kind), [](const CustomRule& r) { return r.jaxpr != nullptr; })) return false;
        return find_case(applied, Sym(kind), [](const CustomRule&) { return true; }) != nullptr;
    };
    std::vector<std::string> out;
    if (stopped("primitive_jvp") || stopped("primitive_known") || stopped("primitive_linear") || stopped("primitive_transpose"))
        out.emplace_back("grad");
    if (stopped("primitive_vmap")) out.emplace_back("vmap");
    if (!applied.evaluation().jaxpr) out.emplace_back("run");
    return out;
}

constinit const Primitive kForeign{
    .name = "",
    .jvp = NoRule{"its jvp_call rule gives primals and tangents together"},
    .jvp_call = foreign_jvp,
    .linearize = foreign_linearize,
    .transpose = foreign_transpose,
    .batch = foreign_batch,
    .lower = NoRule{"it stands for the jaxpr that the capture traced"},
    .kernel = NoRule{"it stands for the jaxpr that the capture traced"},
    .expand = foreign_expand,
    .cost = NoRule{"its cost is that of its equations"},
    .text = &kText,
    .opaque = true,
};

}  // namespace jaxscope
