// SPDX-License-Identifier: Apache-2.0
#include "calls/traced_rules.h"

#include <algorithm>

#include "ir/program.h"
#include "ir/transform_cache.h"
#include "lax/ops.h"
#include "lax/rule_support.h"
#include "transforms/batch.h"
#include "transforms/dce.h"
#include "transforms/jaxpr_util.h"
#include "transforms/jvp.h"
#include "transforms/split_builder.h"

namespace jaxscope {

namespace {

constexpr const char* kBatched = "batched_rule";
constexpr const char* kPruned = "pruned_rule";
constexpr const char* kJvpOfVmap = "jvp_of_rule_rule";

Attr ints_attr(const std::vector<int>& list) {
    Attrs items;
    for (const int i : list) items.emplace_back(i);
    return Attr::tuple(std::move(items));
}
std::vector<int> ints_of(const Attr& a) {
    std::vector<int> out;
    if (const Attr::Seq* s = a.get_seq())
        for (const Attr& i : s->items) out.push_back(i.get<std::int64_t>() ? static_cast<int>(*i.get<std::int64_t>()) : 0);
    return out;
}

const Attr& field_of(const Attr::Record& r, std::string_view name) {
    static const Attr none;
    for (const auto& [key, value] : r.fields)
        if (key.str() == name) return value;
    return none;
}
const Attr::Record* derived(const Attr& rule, const char* kind) {
    const Attr::Record* r = rule.get_record();
    return r && r->type.str() == kind ? r : nullptr;
}
std::string text_of_rule(const Attr& rule) {
    if (const auto* r = rule.get<Attr::Rule>()) return r->text.str();
    if (const Attr::Record* r = rule.get_record()) return r->text.str();
    const auto* o = rule.get<Attr::Object>();
    return o ? (o->name.empty() ? o->text.str() : o->name.str()) : std::string();
}

// ---- Entries of the table -----------------------------------------------------------------------------------------------------

[[noreturn]] void refuse_missing(const Attr& rule, const Op& op) {
    Error error(ErrorCode::NoRule,
                std::string("expected the rule of this ") + op.prim->name + ", found none: the program was captured or pasted without it");
    const Attr* call = op.params->find("call_jaxpr");
    if (const auto* body = call ? call->get<Attr::JaxprRef>() : nullptr; body && !body->jaxpr->name.empty())
        error.advise("--rule " + printable(body->jaxpr->name.str(), 60) + "=inline, to differentiate the function's body");
    (void)rule;
    throw error.at(op.source.loc());
}

/// Entries of one rule that differ in how it is called.
bool fits(const CustomRule& r, const RuleUse& use) {
    if (r.kind == Sym("custom_vmap")) return r.axis_size == use.axis_size && r.in_batched == use.in_batched;
    if (!r.symbolic_zeros) return true;
    if (r.perturbed != use.perturbed) return false;
    return r.kind != Sym("custom_vjp_bwd") || r.zero_cotangents == use.zero_cotangents;
}

/// How much more than what is asked for a rule takes; -1: it doesn't take all of it.
int excess_of(const CustomRule& r, const RuleUse& use) {
    int perturbed = 0, cotangents = 0;
    if (!r.covers || r.perturbed.size() != use.perturbed.size()) return -1;
    for (std::size_t i = 0; i < use.perturbed.size(); ++i) {
        if (use.perturbed[i] && !r.perturbed[i]) return -1;
        perturbed += r.perturbed[i] && !use.perturbed[i] ? 1 : 0;
    }
    if (r.kind != Sym("custom_vjp_bwd")) return perturbed;
    if (r.zero_cotangents.size() != use.zero_cotangents.size()) return -1;
    for (std::size_t k = 0; k < use.zero_cotangents.size(); ++k) {
        if (r.zero_cotangents[k] && !use.zero_cotangents[k]) return -1;
        cotangents += use.zero_cotangents[k] && !r.zero_cotangents[k] ? 1 : 0;
    }
    // A backward rule belongs to the forward rule that was chosen by what is perturbed.
    return perturbed * 4096 + std::min(cotangents, 4095);
}

[[noreturn]] void refuse_use(const CustomRule& r, const Op& op, const RuleUse& use) {
    const std::string name = printable(r.function.str(), 120);
    if (r.kind == Sym("custom_vmap"))
        throw Error(ErrorCode::NoRule,
                    "expected the vmap rule of this " + op.prim->name + " (" + name + ") for an axis of size " +
                        std::to_string(use.axis_size) + " and in_batched=" + marks(use.in_batched) +
                        ", found that the capture has it for others: the rule is Python, and may do another thing for each")
            .advise("capture again with --axis-size " + std::to_string(use.axis_size) + ", or batch in Python and capture that")
            .at(op.source.loc());
    std::string what = "perturbed=" + marks(use.perturbed);
    if (r.kind == Sym("custom_vjp_bwd")) what += " and zero cotangents " + marks(use.zero_cotangents);
    throw Error(ErrorCode::NoRule, "expected the rule of this " + op.prim->name + " (" + name + ", which has symbolic zeros) for " + what +
                                       ", found that the capture never met it")
        .advise("capture again with `differentiate` set to the arguments asked for")
        .at(op.source.loc());
}

TracedRule of_entry(const CustomRule& r, const Op& op) {
    if (r.error) std::rethrow_exception(r.error);
    if (!r.jaxpr)
        throw Error(ErrorCode::NoRule, std::string("expected the rule of this ") + op.prim->name + " (" + printable(r.function.str()) +
                                           "), found no jaxpr of it: " + printable(r.why.str()))
            .at(op.source.loc());
    TracedRule out{r.jaxpr, r.out_zeros, r.input_forwards, r.closed_over, r.out_batched, {}, {}};
    if (r.symbolic_zeros) out.perturbed = r.perturbed, out.zero_cotangents = r.zero_cotangents;
    return out;
}

/// Of a rule without symbolic zeros the capture says which arguments it may be perturbed by: the others are what its function closed over.
void refuse_closed_over(const CustomRule& r, const Op& op, const RuleUse& use) {
    for (std::size_t i = 0; r.kind == Sym("custom_vjp_fwd") && i < std::min(r.perturbed.size(), use.perturbed.size()); ++i)
        if (use.perturbed[i] && !r.perturbed[i])
            throw Error(ErrorCode::NotDifferentiable, "expected no derivative by what the function of this " + op.prim->name +
                                                          " closes over, found one by argument " + std::to_string(i) +
                                                          ": a custom VJP rule differentiates by the function's own arguments alone")
                .at(op.source.loc());
}

/// Where a rule calls its own function, the call names the table without keeping it: who keeps the table hands that on.
JaxprPtr owned_by(const JaxprPtr& j, const std::shared_ptr<const CustomRules>& owner) {
    std::shared_ptr<Jaxpr> copy;
    for (std::size_t i = 0; i < j->eqns.size(); ++i) {
        if (!j->eqns[i].params->holds_jaxpr()) continue;
        bool changed = false;
        ParamsRef params = map_jaxprs(j->eqns[i].params, [&](const JaxprPtr& inner) {
            JaxprPtr owned = owned_by(inner, owner);
            changed = changed || owned != inner;
            return owned;
        });
        for (const auto& [name, value] : std::vector<Params::Entry>(params->entries().begin(), params->entries().end())) {
            const auto* rule = value.get<Attr::Rule>();
            if (!rule || rule->owner || rule->table.lock() != owner) continue;
            Attr::Rule kept = *rule;
            kept.owner = owner;
            params = with_param(params, name, Attr(std::move(kept)));
            changed = true;
        }
        if (!changed) continue;
        if (!copy) copy = std::make_shared<Jaxpr>(*j);
        copy->eqns[i].params = params;
    }
    return copy ? JaxprPtr(copy) : j;
}

TracedRule find_entry(const Attr::Rule& ref, const Op& op, const RuleUse& use) {
    const std::shared_ptr<const CustomRules> table = ref.table.lock();
    if (!table || ref.index >= table->rules.size())
        throw Error(ErrorCode::NoRule, std::string("expected the rule of this ") + op.prim->name + " (" + printable(ref.text.str()) +
                                           "), found no table of rules")
            .at(op.source.loc());
    const CustomRule& first = table->rules[ref.index];
    const auto found = [&](const CustomRule& r) {
        TracedRule out = of_entry(r, op);
        if (ref.owner) out.jaxpr = owned_by(out.jaxpr, ref.owner);
        return out;
    };
    if (fits(first, use)) {
        refuse_closed_over(first, op, use);
        return found(first);
    }
    // Variants stand behind what they are variants of: few, and close to it.
    for (std::size_t i = ref.index + 1; i < table->rules.size(); ++i) {
        const CustomRule& r = table->rules[i];
        if (r.variant_of == static_cast<int>(ref.index) && fits(r, use)) return found(r);
    }
    const CustomRule* nearest = nullptr;
    for (std::size_t i = ref.index; i < table->rules.size(); ++i) {
        const CustomRule& r = table->rules[i];
        if (i != ref.index && r.variant_of != static_cast<int>(ref.index)) continue;
        const int excess = excess_of(r, use);
        if (excess >= 0 && (!nearest || excess < excess_of(*nearest, use))) nearest = &r;
    }
    if (nearest) return found(*nearest);
    if (!first.jaxpr) return of_entry(first, op);
    refuse_use(first, op, use);
}

// ---- Batched rules ------------------------------------------------------------------------------------------------------------

struct AxesKey {
    std::int64_t size;
    std::vector<int> in_dims, out_dims;
    bool sum;
    friend bool operator==(const AxesKey&, const AxesKey&) = default;
};

/// JAX's matchaxis: the batch axis of `x` from `from` to `to`; where it isn't wanted, summed away.
Value match_axis(Builder& b, Value x, int from, int to, std::int64_t size, bool sum) {
    if (from == to) return x;
    if (from == kNotMapped) return moveaxis(b, batch_to_front(b, x, kNotMapped, size), 0, to);
    if (to != kNotMapped) return moveaxis(b, x, from, to);
    if (!sum) throw Error(ErrorCode::NoRule, "expected a result without batch axis of a batched rule, found one with it");
    return lax::reduce_sum(b, x, {from});
}

/// vmap of a jaxpr, its outputs' axes put where they are wanted. `sum`: cotangents of what isn't batched are summed.
const JaxprPtr& batched_to(const JaxprPtr& j, const AxesKey& key) {
    static const CachedTransform<AxesKey, JaxprPtr> cache;
    std::size_t h = hash_mix(static_cast<std::size_t>(key.size), key.sum);
    for (const int d : key.in_dims) h = hash_mix(h, static_cast<std::size_t>(d));
    for (const int d : key.out_dims) h = hash_mix(h, static_cast<std::size_t>(d) + 99);
    return cache.get(j, key, h, [&] {
        const BatchedJaxpr& inner = batch_jaxpr(j, key.size, key.in_dims);
        if (inner.out_dims == key.out_dims) return inner.jaxpr;
        JaxprBuilder b;
        Values x;
        for (const AvalRef a : inner.jaxpr->in_avals()) x.push_back(b.add_input(a));
        Values out = eval_function(b, *inner.jaxpr, x);
        for (std::size_t k = 0; k < out.size(); ++k) out[k] = match_axis(b, out[k], inner.out_dims[k], key.out_dims[k], key.size, key.sum);
        return b.finish(out, j->name);
    });
}

BatchedRule batched_of(const Attr::Record& r) {
    BatchedRule out{field_of(r, "rule"), field_of(r, "fwd"), 0, 0, ints_of(field_of(r, "in_dims")), ints_of(field_of(r, "out_dims"))};
    if (const auto* n = field_of(r, "size").get<std::int64_t>()) out.size = *n;
    if (const auto* n = field_of(r, "num_consts").get<std::int64_t>()) out.num_consts = *n;
    return out;
}

std::vector<int> argument_dims(const BatchedRule& r) { return {r.in_dims.begin() + r.num_consts, r.in_dims.end()}; }

void append_closed_over(const BatchedRule& r, const TracedRule& base, std::vector<int>& dims) {
    for (const int i : base.closed_over) dims.push_back(r.in_dims.at(static_cast<std::size_t>(i)));
}

TracedRule batched_jvp(const BatchedRule& r, TracedRule base) {
    std::vector<int> dims, out_dims = r.out_dims;
    append_closed_over(r, base, dims);
    const std::vector<int> arguments = argument_dims(r);
    dims.insert(dims.end(), arguments.begin(), arguments.end());
    const std::size_t tangents = base.jaxpr->num_invars - dims.size();
    for (std::size_t i = 0; i < arguments.size(); ++i)
        if (tangents == arguments.size() || base.perturbed.empty() || base.perturbed[i]) dims.push_back(arguments[i]);
    for (std::size_t k = 0; k < r.out_dims.size(); ++k)
        if (k >= base.out_zeros.size() || !base.out_zeros[k]) out_dims.push_back(r.out_dims[k]);
    base.jaxpr = batched_to(base.jaxpr, {r.size, dims, out_dims, false});
    return base;
}

std::vector<int> forward_dims(const BatchedRule& r, const TracedRule& base) {
    std::vector<int> dims;
    append_closed_over(r, base, dims);
    const std::vector<int> arguments = argument_dims(r);
    dims.insert(dims.end(), arguments.begin(), arguments.end());
    return dims;
}

/// Residuals keep the axes that batching gives them.
std::vector<int> forward_out_dims(const BatchedRule& r, const TracedRule& base) {
    std::vector<int> out = batch_jaxpr(base.jaxpr, r.size, forward_dims(r, base)).out_dims;
    std::copy(r.out_dims.begin(), r.out_dims.end(), out.begin());
    return out;
}

TracedRule batched_fwd(const BatchedRule& r, TracedRule base) {
    base.jaxpr = batched_to(base.jaxpr, {r.size, forward_dims(r, base), forward_out_dims(r, base), false});
    return base;
}

TracedRule batched_bwd(const BatchedRule& r, TracedRule base, const Op& op, const RuleUse& use) {
    const TracedRule fwd = find_rule(r.fwd, op, use);
    const std::vector<int> forward = forward_out_dims(r, fwd), arguments = argument_dims(r);
    std::vector<int> dims;
    append_closed_over(r, base, dims);
    std::size_t next = r.out_dims.size();
    if (fwd.input_forwards.empty()) dims.insert(dims.end(), forward.begin() + static_cast<std::ptrdiff_t>(next), forward.end());
    for (const int f : fwd.input_forwards) dims.push_back(f < 0 ? forward[next++] : arguments.at(static_cast<std::size_t>(f)));
    const std::size_t cotangents = base.jaxpr->num_invars - dims.size();
    for (std::size_t k = 0; k < r.out_dims.size(); ++k)
        if (cotangents == r.out_dims.size() || base.zero_cotangents.empty() || !base.zero_cotangents[k]) dims.push_back(r.out_dims[k]);
    std::vector<int> out_dims;
    for (std::size_t i = 0; i < arguments.size(); ++i)
        if (i >= base.out_zeros.size() || !base.out_zeros[i]) out_dims.push_back(arguments[i]);
    out_dims.resize(base.jaxpr->outvars.size(), kNotMapped);
    base.jaxpr = batched_to(base.jaxpr, {r.size, dims, out_dims, true});
    return base;
}

TracedRule find_batched(const BatchedRule& r, const Op& op, const RuleUse& use) {
    TracedRule base = find_rule(r.rule, op, use);
    if (!r.fwd.is_none()) return batched_bwd(r, std::move(base), op, use);
    // A forward rule gives residuals, a jvp rule tangents: the call tells which.
    return op.params->find("fwd_jaxpr_thunk") || op.params->find("num_res") ? batched_fwd(r, std::move(base))
                                                                            : batched_jvp(r, std::move(base));
}

// ---- Rules of calls that lost results -----------------------------------------------------------------------------------------

struct PrunedRule {
    RuleKind kind;
    std::vector<bool> used;
    Avals results;  ///< before
};
PrunedRule pruned_of(const Attr::Record& r) {
    const std::vector<int> kind = ints_of(field_of(r, "kind"));
    PrunedRule out{kind.empty() ? RuleKind::Jvp : static_cast<RuleKind>(kind.front()), {}, {}};
    for (const int u : ints_of(field_of(r, "used"))) out.used.push_back(u != 0);
    if (const Attr::Seq* s = field_of(r, "results").get_seq())
        for (const Attr& a : s->items)
            if (const auto* aval = a.get<AvalRef>()) out.results.push_back(*aval);
    return out;
}

/// The tangents that a jvp rule gives, or the residuals of a forward rule, stand behind the results.
TracedRule pruned_results(TracedRule base, const PrunedRule& p) {
    std::vector<bool> keep = p.used, zeros;
    for (std::size_t k = 0; k < p.used.size() && p.kind == RuleKind::Jvp; ++k) {
        const bool zero = k < base.out_zeros.size() && base.out_zeros[k];
        if (!zero) keep.push_back(p.used[k]);
        if (p.used[k]) zeros.push_back(zero);
    }
    keep.resize(base.jaxpr->outvars.size(), true);
    base.jaxpr = dce_jaxpr(base.jaxpr, keep, true).jaxpr;
    base.out_zeros = std::move(zeros);
    return base;
}

/// Takes no cotangents of the results that went: where the rule takes them, they are zeros, which stand in front of it.
TracedRule with_lost_cotangents(TracedRule base, const PrunedRule& p) {
    std::vector<bool> given;  // per cotangent that the rule takes: is it one of a result that stayed?
    Avals types;
    for (std::size_t k = 0; k < p.used.size(); ++k) {
        if (k < base.zero_cotangents.size() && base.zero_cotangents[k]) continue;
        given.push_back(p.used[k]);
        types.push_back(p.results[k]);
    }
    std::vector<bool> zeros;
    for (std::size_t k = 0; k < base.zero_cotangents.size(); ++k)
        if (p.used[k]) zeros.push_back(base.zero_cotangents[k]);
    base.zero_cotangents = std::move(zeros);
    const std::size_t all = base.jaxpr->num_invars;
    if (given.size() > all || count_true(given) == given.size()) return base;
    static const CachedTransform<std::vector<bool>, JaxprPtr> cache;
    base.jaxpr = cache.get(base.jaxpr, given, hash_of(given), [&] {
        JaxprBuilder b;
        const Avals in_types = base.jaxpr->in_avals();
        const std::size_t first = all - given.size();
        Values in;
        for (std::size_t i = 0; i < all; ++i) in.push_back(i < first || given[i - first] ? b.add_input(in_types[i]) : Value::zero());
        for (std::size_t i = first; i < all; ++i) in[i] = instantiate_zero(b, in[i], types[i - first]);
        return b.finish(eval_function(b, *base.jaxpr, in), base.jaxpr->name);
    });
    return base;
}

TracedRule find_pruned(const Attr::Record& r, const Op& op, const RuleUse& use) {
    const PrunedRule p = pruned_of(r);
    RuleUse whole = use;
    if (p.kind == RuleKind::Backward && !use.zero_cotangents.empty()) {
        whole.zero_cotangents.assign(p.used.size(), true);
        for (std::size_t k = 0, next = 0; k < p.used.size() && next < use.zero_cotangents.size(); ++k)
            if (p.used[k]) whole.zero_cotangents[k] = use.zero_cotangents[next++];
    }
    TracedRule base = find_rule(field_of(r, "rule"), op, whole);
    return p.kind == RuleKind::Backward ? with_lost_cotangents(std::move(base), p) : pruned_results(std::move(base), p);
}

// ---- jvp of custom_vmap rules -------------------------------------------------------------------------------------------------

/// JAX's jvp_of_rule_rule: where a primal and its tangent are both batched the rule batches, any other batch axis is mapped over around it.
TracedRule find_jvp_of_vmap(const Attr& rule, const Op& op, const RuleUse& use) {
    const std::size_t n = use.in_batched.size() / 2;
    RuleUse inner{{}, {}, std::vector<bool>(n), use.axis_size};
    std::vector<int> dims(2 * n, kNotMapped);
    bool extra = false;
    for (std::size_t i = 0; i < n; ++i) {
        const bool p = use.in_batched[i], t = use.in_batched[n + i];
        inner.in_batched[i] = p && t;
        if (p != t) dims[p ? i : n + i] = 0;
        extra = extra || p != t;
    }
    TracedRule r = find_rule(rule, op, inner);
    if (!r.closed_over.empty())
        throw Error(ErrorCode::NoRule, "expected a vmap rule that closes over nothing, to differentiate it, found one that does")
            .at(op.source.loc());
    r.jaxpr = jvp_jaxpr(r.jaxpr, std::vector<bool>(n, true), true).jaxpr;
    std::vector<bool> batched = r.out_batched;
    batched.insert(batched.end(), r.out_batched.begin(), r.out_batched.end());
    if (extra) {
        const BatchedJaxpr& outer = batch_jaxpr_front(r.jaxpr, use.axis_size, dims, std::vector<bool>(batched.size(), false));
        r.jaxpr = outer.jaxpr;
        for (std::size_t k = 0; k < batched.size(); ++k) batched[k] = batched[k] || outer.out_dims[k] != kNotMapped;
    }
    r.out_batched = std::move(batched);
    return r;
}

}  // namespace

std::string marks(const std::vector<bool>& which) {
    std::string out;
    for (const bool b : which) out += (out.empty() ? "" : ", ") + std::string(b ? "True" : "False");
    return "(" + out + (which.size() == 1 ? ",)" : ")");
}

TracedRule find_rule(const Attr& rule, const Op& op, const RuleUse& use) {
    if (const auto* ref = rule.get<Attr::Rule>()) return find_entry(*ref, op, use);
    if (const Attr::Record* r = derived(rule, kBatched)) return find_batched(batched_of(*r), op, use);
    if (const Attr::Record* r = derived(rule, kPruned)) return find_pruned(*r, op, use);
    if (const Attr::Record* r = derived(rule, kJvpOfVmap)) return find_jvp_of_vmap(field_of(*r, "rule"), op, use);
    refuse_missing(rule, op);
}

std::vector<int> closed_over(const Attr& rule) {
    if (const Attr::Record* r = rule.get_record()) return closed_over(field_of(*r, "rule"));
    const auto* ref = rule.get<Attr::Rule>();
    const std::shared_ptr<const CustomRules> table = ref ? ref->table.lock() : nullptr;
    std::vector<int> out;
    for (std::size_t i = ref ? ref->index : 0; table && i < table->rules.size(); ++i) {
        const CustomRule& r = table->rules[i];
        if (i != ref->index && r.variant_of != static_cast<int>(ref->index)) continue;
        out.insert(out.end(), r.closed_over.begin(), r.closed_over.end());
        if (i == ref->index && !r.symbolic_zeros) break;  // no variants
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
}

Attr batched_rule(const BatchedRule& of) {
    Attr::Record r;
    r.type = kBatched;
    r.text = Sym(text_of_rule(of.rule));
    r.fields = {{"rule", of.rule},
                {"fwd", of.fwd},
                {"size", Attr(of.size)},
                {"num_consts", Attr(of.num_consts)},
                {"in_dims", ints_attr(of.in_dims)},
                {"out_dims", ints_attr(of.out_dims)}};
    return std::make_shared<const Attr::Record>(std::move(r));
}

Attr pruned_rule(const Attr& rule, RuleKind kind, const std::vector<bool>& used, const Avals& results) {
    Attr::Record r;
    r.type = kPruned;
    r.text = Sym(text_of_rule(rule));
    r.fields = {{"rule", rule},
                {"kind", ints_attr({static_cast<int>(kind)})},
                {"used", ints_attr(std::vector<int>(used.begin(), used.end()))},
                {"results", Attr::tuple(Attrs(results.begin(), results.end()))}};
    return std::make_shared<const Attr::Record>(std::move(r));
}

Attr jvp_of_vmap_rule(const Attr& rule) {
    Attr::Record r;
    r.type = kJvpOfVmap;
    r.text = Sym("<function custom_vmap_jvp.<locals>.jvp_of_rule_rule at 0x_>");
    r.fields = {{"rule", rule}};
    return std::make_shared<const Attr::Record>(std::move(r));
}

}  // namespace jaxscope
