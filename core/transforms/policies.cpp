// SPDX-License-Identifier: Apache-2.0
#include "transforms/policies.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <set>
#include <unordered_map>

#include "base/text.h"
#include "ir/print/attr_text.h"

namespace jaxscope {

namespace {

using Kind = PolicyVerdict::Kind;

PolicyVerdict save_if(bool yes) { return {yes ? Kind::Save : Kind::Recompute, {}, {}}; }

bool lists_name(const Attrs& names, Sym name) {
    return std::any_of(names.begin(), names.end(), [&](const Attr& a) {
        const Sym* s = a.get<Sym>();
        return s && *s == name;
    });
}
const Attrs& list_of(const Attr& a) {
    static const Attrs empty;
    const Attr::Seq* s = a.get_seq();
    return s ? s->items : empty;
}
Sym text_of(const Attr& a) {
    const Sym* s = a.get<Sym>();
    return s ? *s : Sym();
}
/// Has a dot_general no batch dimensions? `dimension_numbers` is ((lhs contracting, rhs contracting), (lhs batch, rhs batch)).
bool without_batch_dims(const ParamsRef& params) {
    const Attr* numbers = params->find("dimension_numbers");
    if (!numbers || list_of(*numbers).size() != 2) return false;
    const Attrs& batch = list_of(list_of(*numbers)[1]);
    return std::all_of(batch.begin(), batch.end(), [](const Attr& a) { return list_of(a).empty(); });
}

struct Ask {
    const PolicySpec& spec;
    const Primitive& prim;
    const Avals& in;
    const ParamsRef& params;
};

PolicyVerdict dots(const Ask& a) { return save_if(a.prim.product != Product::None); }
PolicyVerdict dots_without_batch(const Ask& a) {
    if (a.prim.product == Product::ScaledDot) return save_if(!a.in.empty() && a.in[0]->rank() > 0 && a.in[0]->shape[0] == 1);
    return save_if(a.prim.product == Product::Dot && without_batch_dims(a.params));
}
PolicyVerdict offload_dots(const Ask& a) {
    if (a.prim.product != Product::Dot || !without_batch_dims(a.params)) return {};
    return {Kind::Offload, text_of(a.spec.args[0]), text_of(a.spec.args[1])};
}
PolicyVerdict only_names(const Ask& a) {
    const auto name = given_name(a.prim, a.params);
    return save_if(name && lists_name(a.spec.args, *name));
}
PolicyVerdict any_names_but(const Ask& a) {
    const auto name = given_name(a.prim, a.params);
    return save_if(name && !lists_name(a.spec.args, *name));
}
PolicyVerdict save_and_offload(const Ask& a) {
    const auto name = given_name(a.prim, a.params);
    if (!name) return {};
    if (lists_name(list_of(a.spec.args[0]), *name)) return save_if(true);
    if (lists_name(list_of(a.spec.args[1]), *name)) return {Kind::Offload, text_of(a.spec.args[2]), text_of(a.spec.args[3])};
    return {};
}
PolicyVerdict ask(const Ask& a);
/// Recompute, Saveable and Offloadable are marks in JAX, only the plain policies answer with booleans.
bool gives_marks(const PolicySpec& p) {
    static constexpr std::string_view kMarks[] = {"offload_dot_with_no_batch_dims", "save_and_offload_only_these_names"};
    return std::find(std::begin(kMarks), std::end(kMarks), p.name.str()) != std::end(kMarks);
}
/// An answer as Python prints it.
std::string answer_text(const PolicyVerdict& v, bool mark) {
    if (v.kind == Kind::Offload) return "Offloadable(src='" + v.src.str() + "', dst='" + v.dst.str() + "')";
    const bool save = v.kind == Kind::Save;
    if (!mark) return save ? "True" : "False";
    return std::string("<jax._src.interpreters.partial_eval.") + (save ? "SaveableType" : "RecomputeType") + " object>";
}
PolicyVerdict both(const Ask& a) {
    PolicyVerdict v[2];
    bool mark[2] = {false, false};
    for (std::size_t i = 0; i < 2; ++i) {
        const auto* p = a.spec.args[i].get<PolicyPtr>();
        v[i] = *p ? ask({**p, a.prim, a.in, a.params}) : PolicyVerdict{};
        mark[i] = *p && gives_marks(**p);
    }
    if (mark[0] || mark[1])
        throw Error(ErrorCode::BadInput, "The return value of the policies should be a boolean. Got: " + answer_text(v[0], mark[0]) +
                                             " and " + answer_text(v[1], mark[1]) +
                                             ". Please write a custom policy function directly, rather than using this helper function.");
    return save_if(v[0].kind == Kind::Save || v[1].kind == Kind::Save);
}

/// Callables that can still be asked, by the spec that stands for them.
class Callables {
public:
    static Callables& all() {
        // Never destroyed: policies are held by caches that live until the process ends.
        static auto* callables = new Callables;
        return *callables;
    }
    void add(PolicySpec* spec, PolicyAnswer answer) {
        const std::lock_guard lock(mutex_);
        by_spec_.emplace(spec, Callable{spec, std::move(answer)});
    }
    void remove(const PolicySpec* spec) {
        const std::lock_guard lock(mutex_);
        by_spec_.erase(spec);
    }
    /// None: no callable of a program that runs now.
    std::optional<PolicyVerdict> ask(const Ask& a) {
        Callable found;
        {
            const std::lock_guard lock(mutex_);
            const auto at = by_spec_.find(&a.spec);
            if (at == by_spec_.end()) return std::nullopt;
            found = at->second;
        }
        const PolicyVerdict verdict = found.answer(a.prim, a.in, a.params);
        const std::lock_guard lock(mutex_);
        note(*found.spec, a, verdict);
        return verdict;
    }

private:
    struct Callable {
        PolicySpec* spec = nullptr;
        PolicyAnswer answer;
    };
    static void note(PolicySpec& spec, const Ask& a, const PolicyVerdict& v) {
        Attrs params;
        if (!a.params->holds_jaxpr())
            for (const auto& [key, value] : a.params->entries()) params.push_back(Attr::tuple({Attr(key), value}));
        const Attr said = v.kind == Kind::Offload ? Attr::tuple({Attr(Sym("offload")), Attr(v.src), Attr(v.dst)})
                                                  : Attr(Sym(v.kind == Kind::Save ? "save" : "recompute"));
        const Attr dict = Attr::seq(Attr::SeqKind::Dict, std::move(params));
        for (const PolicySpec::Verdict& known : spec.verdicts)
            if (known.primitive == &a.prim && known.in == a.in && known.params == dict) return;
        spec.verdicts.push_back({&a.prim, a.in, dict, said});
    }
    std::mutex mutex_;
    std::unordered_map<const PolicySpec*, Callable> by_spec_;
};

/// A callable of the user's: its answer, or what it said of equal applications when the program was captured.
PolicyVerdict recorded(const Ask& a) {
    if (const auto said = Callables::all().ask(a)) return *said;
    const PolicySpec::Verdict* best = nullptr;
    int best_score = 0;
    for (const PolicySpec::Verdict& v : a.spec.verdicts) {
        if (v.primitive != &a.prim) continue;
        int score = 1;
        if (v.in == a.in) {
            score = 2;
            const Attrs& params = list_of(v.params);
            const bool same = std::all_of(params.begin(), params.end(), [&](const Attr& item) {
                const Attrs& kv = list_of(item);
                const Attr* own = kv.size() == 2 ? a.params->find(text_of(kv[0])) : nullptr;
                return own && *own == kv[1];
            });
            if (same) score = 3;
        }
        if (score > best_score) {
            best = &v;
            best_score = score;
        }
    }
    // Policies that people write look at the primitive and at names: another shape of the same primitive is answered alike, if all answers
    // are.
    if (best && best_score < 3)
        for (const PolicySpec::Verdict& v : a.spec.verdicts)
            if (v.primitive == best->primitive && !(v.verdict == best->verdict)) best = nullptr;
    const Sym word = best ? text_of(best->verdict) : Sym();
    if (best && word == Sym("save")) return save_if(true);
    if (best && (word == Sym("recompute") || word == Sym("unknown"))) return save_if(false);
    if (const Attrs* items = best ? &list_of(best->verdict) : nullptr; items && items->size() == 3)
        return {Kind::Offload, text_of((*items)[1]), text_of((*items)[2])};
    throw Error(ErrorCode::BadInput, "expected an answer of the policy " + printable(a.spec.text.str()) + " about '" + a.prim.name +
                                         "', found none in the capture: it is a Python function, and jaxscope runs no Python")
        .advise("choose one of JAX's policies, such as save_only_these_names(...)");
}

void collect_unknown(const PolicySpec& policy, std::vector<UnknownVerdict>& out) {
    for (const PolicySpec::Verdict& v : policy.verdicts) {
        if (text_of(v.verdict) != Sym("unknown")) continue;
        const auto found = std::find_if(out.begin(), out.end(),
                                        [&](const UnknownVerdict& u) { return u.policy == policy.text && u.primitive == v.primitive; });
        if (found == out.end())
            out.push_back({policy.text, v.primitive, 1});
        else
            ++found->signatures;
    }
    for (const Attr& a : policy.args)
        if (const auto* inner = a.get<PolicyPtr>(); inner && *inner) collect_unknown(**inner, out);
}

struct Known : PolicySignature {
    Known(const PolicyInfo& i, PolicyVerdict (*a)(const Ask&), Args kind) : PolicySignature{i, kind}, answer(a) {}
    PolicyVerdict (*answer)(const Ask&);
};
constexpr auto kNone = Known::Args::None;

const std::vector<Known>& known() {
    static const std::vector<Known> all{
        {{"everything_saveable", "everything_saveable", "all values are saved, as without checkpoint"},
         [](const Ask&) { return save_if(true); },
         kNone},
        {{"nothing_saveable", "nothing_saveable", "only inputs are saved; checkpoint without a policy"},
         [](const Ask&) { return save_if(false); },
         kNone},
        {{"dots_saveable", "dots_saveable", "results of matrix products and convolutions are saved"}, dots, kNone},
        {{"checkpoint_dots", "checkpoint_dots", "dots_saveable"}, dots, kNone},
        {{"dots_with_no_batch_dims_saveable", "dots_with_no_batch_dims_saveable",
          "results of matrix products without batch dimensions are saved"},
         dots_without_batch,
         kNone},
        {{"checkpoint_dots_with_no_batch_dims", "checkpoint_dots_with_no_batch_dims", "dots_with_no_batch_dims_saveable"},
         dots_without_batch,
         kNone},
        {{"offload_dot_with_no_batch_dims", "offload_dot_with_no_batch_dims(SRC, DST)",
          "results of matrix products without batch dimensions are put into another memory"},
         offload_dots,
         Known::Args::SourceTarget},
        {{"save_anything_except_these_names", "save_anything_except_these_names(NAME, ...)",
          "all values are saved (JAX 0.10.2 forgets the names)"},
         [](const Ask&) { return save_if(true); },
         Known::Args::Names},
        {{"save_any_names_but_these", "save_any_names_but_these(NAME, ...)", "values named by checkpoint_name are saved, but not these"},
         any_names_but,
         Known::Args::Names},
        {{"save_only_these_names", "save_only_these_names(NAME, ...)", "values that checkpoint_name gave one of these names are saved"},
         only_names,
         Known::Args::Names},
        {{"save_from_both_policies", "save_from_both_policies(POLICY, POLICY)", "what either of two policies saves"},
         both,
         Known::Args::Policies},
        {{"save_and_offload_only_these_names", "save_and_offload_only_these_names([NAME, ...], [NAME, ...], SRC, DST)",
          "the first names are saved, the second put into another memory"},
         save_and_offload,
         Known::Args::Lists}};
    return all;
}
const Known* find_known(Sym name) {
    static const std::unordered_map<Sym, const Known*> by_name = [] {
        std::unordered_map<Sym, const Known*> out;
        for (const Known& k : known()) out.emplace(k.info.name, &k);
        return out;
    }();
    const auto found = by_name.find(name);
    return found == by_name.end() ? nullptr : found->second;
}

PolicyVerdict ask(const Ask& a) {
    if (const Known* k = find_known(a.spec.name)) return k->answer(a);
    return recorded(a);
}

bool all_text(const Attrs& items) {
    return std::all_of(items.begin(), items.end(), [](const Attr& a) { return a.get<Sym>() != nullptr; });
}
bool is_list_of_text(const Attr& a) { return a.get_seq() && all_text(list_of(a)); }

bool fits(const Known& k, const Attrs& args) {
    switch (k.args) {
        case Known::Args::None:
            return args.empty();
        case Known::Args::Names:
            return all_text(args);
        case Known::Args::SourceTarget:
            return args.size() == 2 && all_text(args);
        case Known::Args::Lists:
            return args.size() == 4 && is_list_of_text(args[0]) && is_list_of_text(args[1]) && args[2].get<Sym>() && args[3].get<Sym>();
        case Known::Args::Policies:
            return args.size() == 2 && args[0].get<PolicyPtr>() && args[1].get<PolicyPtr>();
    }
    return false;
}

}  // namespace

const PolicySignature* policy_signature(Sym name) { return find_known(name); }

PolicyVerdict PolicyQuery::operator()(const Primitive& prim, const Avals& in, const ParamsRef& params) const {
    return spec ? ask({*spec, prim, in, params}) : PolicyVerdict{};
}
PolicyQuery PolicyQuery::everything() {
    static const PolicyPtr p = make_policy("everything_saveable");
    return {p, {}};
}

const std::vector<PolicyInfo>& known_policies() {
    static const std::vector<PolicyInfo> all = [] {
        std::vector<PolicyInfo> out;
        for (const Known& k : known()) out.push_back(k.info);
        return out;
    }();
    return all;
}

namespace {

/// A policy of JAX's is a dataclass or a function; functions have addresses, which captures and we replace.
std::string printed_by_jax(const Known& k, const Attrs& args) {
    const std::string name = k.info.name;
    const auto function = [](const std::string& qualified) { return "<function " + qualified + " at 0xXXXXXXXXXXXX>"; };
    const auto names = [&] { return args.empty() ? "frozenset()" : repr_text(Attr::seq(Attr::SeqKind::Set, args)); };
    if (k.answer == dots) return "DotsSaveable(only_if_no_batch_dims=False)";
    if (k.answer == dots_without_batch) return "DotsSaveable(only_if_no_batch_dims=True)";
    if (k.answer == only_names) return "SaveOnlyTheseNames(saveable_names=" + names() + ")";
    if (k.answer == any_names_but) return "SaveAnyNamesButThese(names=" + names() + ")";
    if (k.args == Known::Args::None) return function(name);
    return function(name + ".<locals>." + (k.args == Known::Args::Names ? "<lambda>" : "policy"));
}

/// The sentence of JAX's ValueError.
void refuse_names_on_both_sides(const Attrs& saved, const Attrs& offloaded) {
    Attrs both;
    for (const Attr& a : saved)
        if (lists_name(offloaded, text_of(a))) both.push_back(a);
    if (both.empty()) return;
    const auto set = [](const Attrs& names) {
        std::string items;
        for (const Attr& name : names) items += (items.empty() ? "" : ", ") + repr_text(name);
        return printable("{" + items + "}");
    };
    throw Error(ErrorCode::BadUsage,
                "The names should be exclusive and should not intersect in `names_which_can_be_saved` and "
                "`names_which_can_be_offloaded`. Got names_which_can_be_saved=" +
                    set(saved) + ", names_which_can_be_offloaded=" + set(offloaded) + " and the intersection=" + set(both));
}

}  // namespace

PolicyPtr make_policy(Sym name, Attrs args) {
    const Known* k = find_known(name);
    if (!k || !fits(*k, args)) {
        PolicySpec found{name, args, {}, {}};
        throw Error(ErrorCode::BadUsage, std::string("expected ") + (k ? k->info.usage : "a policy of jax.checkpoint_policies") +
                                             ", found " + printable(policy_text(found)));
    }
    if (k->args == Known::Args::Lists) refuse_names_on_both_sides(list_of(args[0]), list_of(args[1]));
    PolicySpec p{name, std::move(args), {}, {}};
    p.text = printed_by_jax(*k, p.args);
    return std::make_shared<const PolicySpec>(std::move(p));
}

PolicyPtr make_callable_policy(const std::string& name, PolicyAnswer answer) {
    static std::atomic<std::uint64_t> serial{0};
    auto* spec = new PolicySpec;
    // As a Python function prints; the number is no address, as those are used again.
    char text[64];
    std::snprintf(text, sizeof text, "%012llx", 0x7f0000000000ull + 16 * static_cast<unsigned long long>(serial.fetch_add(1)));
    spec->text = Sym("<function " + name + " at 0x" + text + ">");
    Callables::all().add(spec, std::move(answer));
    return PolicyPtr(spec, [](const PolicySpec* p) {
        Callables::all().remove(p);
        delete p;
    });
}

std::vector<UnknownVerdict> unknown_verdicts(const Jaxpr& j) {
    static const Sym kPolicy("policy");
    std::vector<UnknownVerdict> out;
    std::set<const PolicySpec*> seen;
    for (const Jaxpr* inner : all_jaxprs(j))
        for (const Eqn& e : inner->eqns)
            if (const Attr* a = e.params->find(kPolicy); a && a->get<PolicyPtr>())
                if (const PolicyPtr& policy = *a->get<PolicyPtr>(); policy && seen.insert(policy.get()).second)
                    collect_unknown(*policy, out);
    return out;
}

}  // namespace jaxscope
