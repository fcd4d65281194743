// SPDX-License-Identifier: Apache-2.0
// custom_jvp and custom_vjp: the function becomes a call in the current trace, its rules become entries of a table that the call keeps.
#include "calls/custom_rules.h"

#include <fmt/core.h>

#include <jaxscope/custom_rules.h>

#include "base/error.h"
#include "calls/control_flow.h"
#include "calls/families.h"
#include "ir/interpret.h"
#include "ir/program.h"
#include "lax/ops.h"
#include "pytree/tree.h"
#include "trace/functions.h"
#include "trace/refusals.h"
#include "transforms/jaxpr_util.h"

namespace jaxscope::jax::detail {

namespace {

/// The rules that are being traced: a rule that calls its own function finds its table here, unfinished.
struct Unfinished {
    const void *function, *rule, *identity;
    PyTreeDef tree;
    Avals avals;
    std::weak_ptr<const CustomRules> table;
};
thread_local std::vector<Unfinished> t_unfinished;
class Tracing {
public:
    explicit Tracing(Unfinished u) { t_unfinished.push_back(std::move(u)); }
    ~Tracing() { t_unfinished.pop_back(); }
    Tracing(const Tracing&) = delete;
    Tracing& operator=(const Tracing&) = delete;
};

const Unfinished* unfinished(const Call& f, const Call& rule, const RuleNames& names, const PyTreeDef& tree, const Avals& avals) {
    for (auto u = t_unfinished.rbegin(); u != t_unfinished.rend(); ++u)
        if (u->function == f.type && (names.itself || (u->rule == rule.type && u->identity == names.identity)) && u->avals == avals &&
            u->tree == tree)
            return &*u;
    return nullptr;
}

/// The call of the function itself, and what its rules close over.
class CustomCall {
public:
    CustomCall(Call& f, const RuleNames& names, const char* what)
        : function(trace_known(f, what, names.function)), operands(with_consts(function.traced, f.leaves)) {}
    TracedCall function;
    std::vector<Array> operands;  ///< what the function closes over, what its rules close over besides, the arguments
    std::size_t extra = 0;

    std::size_t num_consts() const { return function.traced.consts.size() + extra; }
    /// A rule whose leading inputs are the operands that it closes over; arrays that it closes over are constants of its jaxpr.
    void complete(CustomRule& rule, const Traced& traced) {
        JaxprBuilder b;
        Values x, in;
        const JaxprPtr open = traced.open();
        const Avals types = open->in_avals();
        for (const Array& c : traced.consts) {
            if (!by_operand(c)) continue;
            rule.closed_over.push_back(operand(c));
            in.push_back(b.add_input(c.node()->aval));
        }
        std::size_t next = 0;
        Values arguments;
        for (std::size_t i = traced.consts.size(); i < types.size(); ++i) arguments.push_back(b.add_input(types[i]));
        for (const Array& c : traced.consts) x.push_back(by_operand(c) ? in[next++] : b.constant(elements(*c.node())));
        x.insert(x.end(), arguments.begin(), arguments.end());
        rule.jaxpr = traced.consts.empty() ? open : b.finish(inline_jaxpr(b, *open, {}, x), open->name);
    }
    /// The function's jaxpr; operands of rules alone are inputs that it doesn't read.
    JaxprPtr body() const {
        JaxprPtr open = function.traced.open();
        if (!extra) return open;
        std::vector<int> position;
        for (std::size_t i = 0; i < open->num_invars; ++i)
            position.push_back(static_cast<int>(i < function.traced.consts.size() ? i : i + extra));
        return widen_inputs(open, avals_of(operands), position);
    }

private:
    static bool by_operand(const Array& a) { return a.is_tracer() || a.node()->deleted(); }
    int operand(const Array& a) {
        for (std::size_t i = 0; i < num_consts(); ++i)
            if (operands[i].node() == a.node()) return static_cast<int>(i);
        // The arguments move up: rules name closed-over values alone, so no number that was given out changes.
        operands.insert(operands.begin() + static_cast<std::ptrdiff_t>(num_consts()), a);
        ++extra;
        return static_cast<int>(num_consts()) - 1;
    }
};

Attr rule_attr(const std::shared_ptr<CustomRules>& table, std::uint32_t index, const char* name) {
    return Attr(Attr::Rule{table, index, Sym(name), table});
}

bool same_type(AvalRef a, AvalRef b) { return a->dtype == b->dtype && a->shape == b->shape; }

/// A tree with types for leaves, as JAX's errors write it.
std::string typed_tree(const PyTreeDef& tree, const Avals& avals) {
    std::vector<std::string> texts;
    for (const AvalRef a : avals) texts.push_back(long_aval(a));
    return tree_text(tree, texts);
}

struct Outputs {
    PyTreeDef tree;
    Avals avals;
};

/// JAX's errors for a rule whose first result isn't the function's.
void check_primal_output(const char* kind, const char* says, const RuleNames& names, const Outputs& rule, const Outputs& function,
                         const char* end) {
    const bool same_tree = rule.tree == function.tree;
    bool same = same_tree;
    for (std::size_t i = 0; same && i < rule.avals.size(); ++i) same = same_type(rule.avals[i], function.avals[i]);
    if (same) return;
    throw Error(
        ErrorCode::TypeMismatch,
        fmt::format("Custom {} rule {} for function {} must produce a pair (list or tuple of length two) {}{}:\n    {}\n"
                    "while the custom_{}-decorated function {} had output {}:\n    {}{}",
                    kind, names.rule, names.function, says,
                    same_tree ? "output's first element had shapes/dtypes of" : "output's first element had container/pytree structure",
                    typed_tree(rule.tree, rule.avals), std::string(kind) == "JVP" ? "jvp" : "vjp", names.function,
                    same_tree ? "shapes/dtypes of" : "container/pytree structure", typed_tree(function.tree, function.avals),
                    same_tree ? "" : end));
}

Avals split_at(const Avals& all, std::size_t begin, std::size_t end) {
    return Avals(all.begin() + static_cast<std::ptrdiff_t>(begin), all.begin() + static_cast<std::ptrdiff_t>(end));
}

/// A rule that can't be traced is refused when it is asked for.
template <class F>
void keeping_error(CustomRule& entry, const F& trace) {
    try {
        trace();
    } catch (...) {
        entry.error = std::current_exception();
    }
}

/// `zeros`: per result, has it no tangent?
void check_jvp_outputs(const TracedCall& rule, const TracedCall& f, const RuleNames& names, const std::vector<bool>& zeros = {}) {
    const std::vector<PyTreeDef> pair = rule.out_tree.children();
    if (pair.size() != 2)
        throw Error(ErrorCode::TypeMismatch,
                    fmt::format("Custom JVP rule {} for function {} must produce a pair (list or tuple of length two) representing primal "
                                "and tangent outputs, but got {}.",
                                names.rule, names.function, rule.out_tree.str()));
    if (zeros.empty() && !(pair[0] == pair[1]))
        throw Error(ErrorCode::TypeMismatch,
                    fmt::format("Custom JVP rule {} for function {} must produce primal and tangent outputs with equal container (pytree) "
                                "structures, but got {} and {} respectively.",
                                names.rule, names.function, pair[0].str(), pair[1].str()));
    const Avals all = rule.traced.jaxpr->out_avals();
    const std::size_t n = pair[0].num_leaves();
    const Avals primals = split_at(all, 0, n), tangents = split_at(all, n, all.size());
    const bool same_tree = pair[0] == f.out_tree;
    check_primal_output(
        "JVP",
        fmt::format("where the first element represents the primal output (equal in value to the output of the "
                    "custom_jvp-decorated function {}, and in particular {}), but instead the JVP rule ",
                    names.function, same_tree ? "with leaves of the same shape/dtype" : "of the same container/pytree structure")
            .c_str(),
        names, {pair[0], primals}, {f.out_tree, f.traced.jaxpr->out_avals()}, ".");
    std::string wrong;
    for (std::size_t i = 0, next = 0; i < n; ++i) {
        if (i < zeros.size() && zeros[i]) continue;
        const AvalRef expected = tangent_aval(primals[i]), tangent = tangents[next++];
        if (same_type(expected, tangent)) continue;
        if (n == 1)
            throw Error(
                ErrorCode::TypeMismatch,
                fmt::format("Custom JVP rule must produce primal and tangent outputs with corresponding shapes and dtypes. Expected "
                            "{} (tangent type of {}) but got {}.",
                            long_aval(expected), long_aval(primals[i]), long_aval(tangent)));
        wrong += fmt::format("{}  primal {} with tangent {}, expecting tangent {}", wrong.empty() ? "" : "\n", long_aval(primals[i]),
                             long_aval(tangent), long_aval(expected));
    }
    if (!wrong.empty())
        throw Error(ErrorCode::TypeMismatch,
                    "Custom JVP rule must produce primal and tangent outputs with corresponding shapes and dtypes, but got:\n" + wrong);
}

std::vector<Array> run_directly(Call& f) {
    std::vector<Array> out;
    f.run(f.leaves.data(), out);
    return out;
}

/// A rule of values like these. As under grad and jvp a function may, it may branch on primals that are known.
TracedCall trace_rule(Call& rule, const Avals& in, const std::vector<Array>& primals, const char* what, const char* name) {
    Trace trace(what, name);
    trace.inputs_are(primals);
    return trace_call_in(trace, rule, in, nullptr);
}
Avals with_tangents(const Avals& in) {
    Avals out = in;
    for (const AvalRef a : in) out.push_back(tangent_aval(a));
    return out;
}

}  // namespace

void no_rule_defined(const char* kind, const RuleOptions& function) {
    const char* name = std::string(kind) == "JVP" ? "jvp" : "vjp";
    detail::refuse_at(function.where, ErrorCode::BadUsage,
                      fmt::format("No {} defined for custom_{} function {} using def{}.", kind, name, function.name, name),
                      fmt::format("call what def{0} gives: auto f = jax::custom_{0}(g).def{0}(...)", name));
}

Array zeros_array(const Array& like) {
    return apply1({}, Where("", 0, ""),
                  [&](Builder& b, const Values&) { return ::jaxscope::lax::zeros_like(b, tangent_aval(like.node()->aval)); });
}
Array sum_of_tangents(const Array& x, const Array& y) {
    return apply1({Operand(x), Operand(y)}, [](Builder& b, const Values& v) { return ::jaxscope::lax::add_any(b, v[0], v[1]); });
}

std::vector<Array> custom_jvp(Call& f, Call& rule, const RuleNames& names) {
    if (names.symbolic_zeros)
        detail::refuse_at(
            f.where, ErrorCode::NoRule,
            "expected a rule for tangents that are all there, found symbolic_zeros=true, which the C++ front end can't trace yet");
    f.arrange_as_taken();
    const Trace::Resumed now(Trace::waiting_for(leaves_of(f)));
    if (!Trace::current()) return run_directly(f);
    const Avals avals = avals_of(f.leaves);
    const PyTreeDef tree = make_tree(f.arguments());
    CustomCall call(f, names, "custom_jvp");
    CustomJvpParams p;
    if (const Unfinished* u = unfinished(f, rule, names, tree, avals)) {
        p.jvp_jaxpr_fun = Attr(Attr::Rule{u->table, 0, Sym(names.rule), {}});
    } else {
        const auto table = std::make_shared<CustomRules>();
        CustomRule entry;
        entry.kind = "custom_jvp";
        entry.function = Sym(names.rule);
        entry.avals = avals;
        table->rules.push_back(entry);
        const Tracing tracing({f.type, rule.type, names.identity, tree, avals, table});
        keeping_error(table->rules.front(), [&] {
            const TracedCall r = trace_rule(rule, with_tangents(avals), f.leaves, "custom_jvp", names.rule);
            check_jvp_outputs(r, call.function, names);
            call.complete(table->rules.front(), r.traced);
        });
        p.jvp_jaxpr_fun = rule_attr(table, 0, names.rule);
    }
    p.call_jaxpr = {call.body(), true};
    p.num_consts = static_cast<std::int64_t>(call.num_consts());
    p.symbolic_zeros = names.symbolic_zeros;
    return bind_primitive(kCustomJvpCall, call.operands, make_params(p), f.where);
}

namespace {

/// The forward rule as the table keeps it: results, then the residuals that aren't arguments.
void complete_forward(CustomCall& call, CustomRule& entry, const TracedCall& fwd, std::size_t results) {
    const ::jaxscope::Jaxpr& j = *fwd.traced.jaxpr;
    std::vector<bool> keep(j.outvars.size(), true);
    bool forwards = false;
    for (std::size_t k = results; k < j.outvars.size(); ++k) {
        int from = -1;
        for (std::uint32_t i = 0; i < j.num_invars; ++i)
            if (!j.outvars[k].is_literal() && j.outvars[k].var() == j.invar(i)) from = static_cast<int>(i);
        entry.input_forwards.push_back(from);
        keep[k] = from < 0;
        forwards = forwards || from >= 0;
    }
    if (!forwards) entry.input_forwards.clear();
    Traced traced = fwd.traced;
    traced.jaxpr = prune_outputs(traced.jaxpr, keep);
    call.complete(entry, traced);
}

/// Cotangents have the types of the arguments; `zeros`: of these there are none.
void check_cotangents(const std::vector<bool>& zeros, const TracedCall& t, const Call& f, const PyTreeDef& in_tree) {
    const Avals out = t.traced.jaxpr->out_avals();
    const std::vector<std::string> paths = in_tree.paths();
    std::size_t next = 0;
    for (std::size_t i = 0; i < zeros.size(); ++i) {
        if (zeros[i]) continue;
        const AvalRef input = f.leaves[i].node()->aval, expected = tangent_aval(input), found = out[next++];
        // JAX takes cotangents of another type where the input has fractions.
        if (expected->dtype == DType::Float0 || same_type(expected, found) ||
            (expected->shape == found->shape && is_inexact(expected->dtype)))
            continue;
        std::string extra;
        if (expected->dtype != found->dtype) extra = ", so the dtypes do not match";
        if (expected->shape != found->shape) extra += extra.empty() ? ", so the shapes do not match" : ", and the shapes do not match";
        throw Error(
            ErrorCode::TypeMismatch,
            fmt::format("Custom VJP bwd rule must produce an output with the same type as the args tuple of the primal function, but "
                        "at output{} the bwd rule produced an output of type {} corresponding to an input of type {}{}",
                        paths[i], long_aval(found), long_aval(input), extra));
    }
}

void check_backward(const Backward& bwd, const TracedCall& t, const Call& f, const PyTreeDef& in_tree) {
    if (!bwd.prefix)
        throw Error(
            ErrorCode::TypeMismatch,
            fmt::format("Custom VJP bwd rule must produce an output with the same container (pytree) structure as the args tuple of "
                        "the primal function, and in particular must produce a tuple of length equal to the number of arguments to "
                        "the primal function, but got bwd output structure {} for primal input structure {}.",
                        bwd.tree.str(), in_tree.str()));
    check_cotangents(bwd.zeros, t, f, in_tree);
}

struct ForwardTypes {
    Avals all;            ///< of results, then residuals
    std::size_t results;  ///< how many
    /// What a backward rule takes: residuals, then cotangents but for those that are zero.
    Avals backward(const std::vector<bool>& zero) const {
        Avals in(all.begin() + static_cast<std::ptrdiff_t>(results), all.end());
        for (std::size_t k = 0; k < results; ++k)
            if (zero.empty() || !zero[k]) in.push_back(tangent_aval(all[k]));
        return in;
    }
};
ForwardTypes trace_forward(CustomCall& call, CustomRule& entry, const Call& f, Call& fwd, const RuleNames& names) {
    const TracedCall forward = trace_rule(fwd, avals_of(f.leaves), f.leaves, "custom_vjp fwd", names.rule);
    const std::vector<PyTreeDef> pair = forward.out_tree.children();
    const Avals all = forward.traced.jaxpr->out_avals();
    const std::size_t n = pair[0].num_leaves();
    check_primal_output(
        "VJP fwd",
        fmt::format(
            "where the first element represents the primal output (equal to the output of the custom_vjp-decorated function {}) and "
            "the second element represents residuals (i.e. values stored from the forward pass for use on the backward pass), but "
            "instead the fwd rule ",
            names.function)
            .c_str(),
        names, {pair[0], split_at(all, 0, n)}, {call.function.out_tree, call.function.traced.jaxpr->out_avals()}, ".");
    complete_forward(call, entry, forward, n);
    return {all, n};
}

void trace_backward(CustomCall& call, CustomRule& rule, const ForwardTypes& types, const Call& f, Backward& bwd, const RuleNames& names,
                    const PyTreeDef& tree) {
    const TracedCall backward = trace_call(bwd.make(), types.backward({}), "custom_vjp bwd", names.bwd);
    check_backward(bwd, backward, f, tree);
    // Cotangents of integers are zero, whatever the rule gives.
    std::vector<bool> keep;
    for (std::size_t i = 0; i < bwd.zeros.size(); ++i) {
        const bool trivial = tangent_aval(f.leaves[i].node()->aval)->dtype == DType::Float0;
        if (!bwd.zeros[i]) keep.push_back(!trivial);
        bwd.zeros[i] = bwd.zeros[i] || trivial;
    }
    Traced traced = backward.traced;
    traced.jaxpr = prune_outputs(traced.jaxpr, keep);
    call.complete(rule, traced);
    rule.out_zeros = bwd.zeros;
}

}  // namespace

Backward::~Backward() = default;
void Backward::add_cotangents(const std::vector<Array>& given, std::size_t leaves_of_argument, std::vector<Array>& out) {
    const auto none = [](const Array& a) { return !a.has_value(); };
    if (std::all_of(given.begin(), given.end(), none)) {
        zeros.insert(zeros.end(), leaves_of_argument, true);
        return;
    }
    if (given.size() != leaves_of_argument) {
        prefix = false;
        return;
    }
    for (const Array& a : given) {
        zeros.push_back(none(a));
        if (!none(a)) out.push_back(a);
    }
}
std::vector<Array> custom_vjp(Call& f, Call& fwd, Backward& bwd, const RuleNames& names) {
    f.arrange_as_taken();
    const Trace::Resumed now(Trace::waiting_for(leaves_of(f)));
    if (!Trace::current()) return run_directly(f);
    const Avals avals = avals_of(f.leaves);
    const PyTreeDef tree = make_tree(f.arguments());
    CustomCall call(f, names, "custom_vjp");
    CustomVjpParams p;
    if (const Unfinished* u = unfinished(f, fwd, names, tree, avals)) {
        p.fwd_jaxpr_thunk = Attr(Attr::Rule{u->table, 0, Sym(names.rule), {}});
        p.bwd = Attr(Attr::Rule{u->table, 1, Sym(names.bwd), {}});
    } else {
        const auto table = std::make_shared<CustomRules>();
        table->rules.resize(2);
        for (CustomRule& r : table->rules) r.avals = avals;
        table->rules[0].kind = "custom_vjp_fwd";
        table->rules[0].function = Sym(names.rule);
        table->rules[1].kind = "custom_vjp_bwd";
        table->rules[1].function = Sym(names.bwd);
        const Tracing tracing({f.type, fwd.type, names.identity, tree, avals, table});
        std::optional<ForwardTypes> types;
        keeping_error(table->rules[0], [&] { types = trace_forward(call, table->rules[0], f, fwd, names); });
        if (types)
            keeping_error(table->rules[1], [&] { trace_backward(call, table->rules[1], *types, f, bwd, names, tree); });
        else
            table->rules[1].error = table->rules[0].error;
        p.fwd_jaxpr_thunk = rule_attr(table, 0, names.rule);
        p.bwd = rule_attr(table, 1, names.bwd);
    }
    p.call_jaxpr = {call.body(), true};
    p.num_consts = static_cast<std::int64_t>(call.num_consts());
    return bind_primitive(kCustomVjpCall, call.operands, make_params(p), f.where);
}

// ---- Rules that are told what is perturbed

PerturbedRules::~PerturbedRules() = default;

namespace {

using Pattern = std::vector<bool>;

/// All choices of some of these, the one of all first, none left out.
std::vector<Pattern> choices(std::size_t n) {
    std::vector<Pattern> out;
    for (unsigned bits = (1U << n) - 1; bits > 0; --bits) {
        Pattern& p = out.emplace_back();
        for (std::size_t i = 0; i < n; ++i) p.push_back((bits >> i) & 1U);
    }
    return out;
}
/// What may be perturbed together: up to three leaves, or arguments, in every way; of more arguments all, and each alone.
std::vector<Pattern> perturbations(const std::vector<std::size_t>& groups, std::size_t leaves) {
    constexpr std::size_t kFew = 3;
    std::vector<std::size_t> units;
    std::size_t n = 0;
    for (const std::size_t g : groups) {
        n += g;
        if (g) units.push_back(g);
    }
    if (n <= kFew) units.assign(n, 1);
    std::vector<Pattern> chosen;
    if (units.size() <= kFew) {
        chosen = choices(units.size());
    } else {
        chosen.emplace_back(units.size(), true);
        for (std::size_t u = 0; u < units.size(); ++u) chosen.emplace_back(units.size(), false)[u] = true;
    }
    for (Pattern& p : chosen) {
        Pattern all;
        for (std::size_t u = 0; u < units.size(); ++u) all.insert(all.end(), units[u], p[u]);
        all.resize(leaves, false);
        p = std::move(all);
    }
    if (chosen.empty()) chosen.emplace_back(leaves, false);
    return chosen;
}
/// Which cotangents may be zero: of up to two results with fractions any but all, of more those that always are.
std::vector<Pattern> zero_cotangents(const ForwardTypes& types) {
    constexpr std::size_t kFew = 2;
    std::vector<std::size_t> moving;
    for (std::size_t k = 0; k < types.results; ++k)
        if (is_inexact(types.all[k]->dtype)) moving.push_back(k);
    std::vector<Pattern> out;
    for (const Pattern& there : moving.size() <= kFew ? choices(moving.size()) : std::vector<Pattern>{Pattern(moving.size(), true)}) {
        Pattern& zero = out.emplace_back(types.results, true);
        for (std::size_t m = 0; m < moving.size(); ++m) zero[moving[m]] = !there[m];
    }
    return out;
}

/// An entry of the table for one pattern; `of`: the first one of its kind.
CustomRule& add_entry(CustomRules& table, const char* kind, const char* name, const Avals& avals, const Pattern& perturbed, int of) {
    CustomRule& r = table.rules.emplace_back();
    r.kind = Sym(kind);
    r.function = Sym(name);
    r.avals = avals;
    r.perturbed = perturbed;
    r.symbolic_zeros = r.covers = true;
    r.variant_of = of;
    return r;
}

template <class F>
struct Using final : PerturbedRules::Use {
    explicit Using(F g) : f(std::move(g)) {}
    void traced(Call& rule) override { f(rule); }
    F f;
};

}  // namespace

std::vector<Array> custom_jvp(Call& f, PerturbedRules& rules, const RuleNames& names) {
    f.arrange_as_taken();
    const Trace::Resumed now(Trace::waiting_for(leaves_of(f)));
    if (!Trace::current()) return run_directly(f);
    const Avals avals = avals_of(f.leaves);
    CustomCall call(f, names, "custom_jvp");
    const auto table = std::make_shared<CustomRules>();
    for (const Pattern& perturbed : perturbations(rules.groups, avals.size())) {
        CustomRule& entry = add_entry(*table, "custom_jvp", names.rule, avals, perturbed, 0);
        Using trace([&](Call& rule) {
            Avals in = avals;
            for (std::size_t i = 0; i < avals.size(); ++i)
                if (perturbed[i]) in.push_back(tangent_aval(avals[i]));
            const TracedCall r = trace_rule(rule, in, f.leaves, "custom_jvp", names.rule);
            check_jvp_outputs(r, call.function, names, rules.zeros);
            call.complete(entry, r.traced);
            entry.out_zeros = rules.zeros;
        });
        keeping_error(entry, [&] { rules.with_forward(perturbed, trace); });
    }
    table->rules.front().variant_of = -1;
    CustomJvpParams p;
    p.jvp_jaxpr_fun = rule_attr(table, 0, names.rule);
    p.call_jaxpr = {call.body(), true};
    p.num_consts = static_cast<std::int64_t>(call.num_consts());
    p.symbolic_zeros = true;
    return bind_primitive(kCustomJvpCall, call.operands, make_params(p), f.where);
}

namespace {

void trace_backward(CustomCall& call, CustomRule& entry, const ForwardTypes& types, Call& f, PerturbedRules& rules, const RuleNames& names,
                    const PyTreeDef& tree) {
    Using trace([&](Call& bwd) {
        const TracedCall r = trace_call(bwd, types.backward(entry.zero_cotangents), "custom_vjp bwd", names.bwd);
        check_cotangents(rules.zeros, r, f, tree);
        call.complete(entry, r.traced);
        entry.out_zeros = rules.zeros;
    });
    keeping_error(entry, [&] { rules.with_backward(entry.zero_cotangents, trace); });
}

}  // namespace

std::vector<Array> custom_vjp(Call& f, PerturbedRules& rules, const RuleNames& names) {
    f.arrange_as_taken();
    const Trace::Resumed now(Trace::waiting_for(leaves_of(f)));
    if (!Trace::current()) return run_directly(f);
    const Avals avals = avals_of(f.leaves);
    const PyTreeDef tree = make_tree(f.arguments());
    CustomCall call(f, names, "custom_vjp");
    // Forward rules first: adding to a table moves its entries.
    const std::vector<Pattern> patterns = perturbations(rules.groups, avals.size());
    const auto table = std::make_shared<CustomRules>();
    CustomRules made;
    for (const Pattern& perturbed : patterns) {
        CustomRule& entry = add_entry(*table, "custom_vjp_fwd", names.rule, avals, perturbed, 0);
        Using trace([&](Call& fwd) {
            const ForwardTypes types = trace_forward(call, entry, f, fwd, names);
            for (const Pattern& zero : zero_cotangents(types)) {
                CustomRule& bwd = add_entry(made, "custom_vjp_bwd", names.bwd, avals, perturbed, static_cast<int>(patterns.size()));
                bwd.zero_cotangents = zero;
                trace_backward(call, bwd, types, f, rules, names, tree);
            }
        });
        keeping_error(entry, [&] { rules.with_forward(perturbed, trace); });
    }
    const auto first_backward = static_cast<std::uint32_t>(patterns.size());
    if (made.rules.empty()) add_entry(made, "custom_vjp_bwd", names.bwd, avals, patterns.front(), 0).error = table->rules[0].error;
    table->rules.front().variant_of = made.rules.front().variant_of = -1;
    table->rules.insert(table->rules.end(), made.rules.begin(), made.rules.end());
    CustomVjpParams p;
    p.fwd_jaxpr_thunk = rule_attr(table, 0, names.rule);
    p.bwd = rule_attr(table, first_backward, names.bwd);
    p.call_jaxpr = {call.body(), true};
    p.num_consts = static_cast<std::int64_t>(call.num_consts());
    p.symbolic_zeros = true;
    return bind_primitive(kCustomVjpCall, call.operands, make_params(p), f.where);
}

}  // namespace jaxscope::jax::detail
