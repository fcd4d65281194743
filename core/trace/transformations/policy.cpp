// SPDX-License-Identifier: Apache-2.0
// Checkpoint policies: JAX's by their texts, and callables, which are asked about one application at a time.
#include "trace/policy.h"

#include <memory>

#include "base/error.h"
#include "ir/print/attr_text.h"
#include "trace/functions.h"
#include "trace/kept.h"
#include "trace/trace.h"

namespace jaxscope::jax {

namespace detail {

namespace {

/// A callable, and the spec by which core asks it.
class KeptPolicy final : public Kept {
public:
    explicit KeptPolicy(AskedPolicy* p) : policy(p) {}
    std::shared_ptr<AskedPolicy> policy;
    PolicyPtr spec;
};

struct Asked {
    const Primitive& prim;
    const Avals& in;
    const ParamsRef& params;
};

Verdict verdict_of(const PolicyVerdict& v) {
    using Kind = PolicyVerdict::Kind;
    return v.kind == Kind::Offload ? Offloadable(v.src.str(), v.dst.str()) : Verdict(v.kind == Kind::Save);
}
PolicyVerdict core_verdict(const Verdict& v) {
    using Kind = PolicyVerdict::Kind;
    if (v.kind == Verdict::Kind::offload) return {Kind::Offload, Sym(v.src), Sym(v.dst)};
    return {v.kind == Verdict::Kind::yes || v.kind == Verdict::Kind::save ? Kind::Save : Kind::Recompute, {}, {}};
}
bool is_bool(const Verdict& v) { return v.kind == Verdict::Kind::yes || v.kind == Verdict::Kind::no; }
std::string verdict_text(const Verdict& v) {
    switch (v.kind) {
        case Verdict::Kind::yes:
            return "True";
        case Verdict::Kind::no:
            return "False";
        case Verdict::Kind::recompute:
            return "Recompute";
        case Verdict::Kind::save:
            return "Saveable";
        case Verdict::Kind::offload:
            break;
    }
    return std::string("Offloadable(src='") + v.src + "', dst='" + v.dst + "')";
}

}  // namespace

KeptHandle keep_policy(AskedPolicy* policy, const char* name) {
    auto* kept = new KeptPolicy(policy);
    KeptHandle handle(kept);
    // The answer must not be traced: it is asked while core transforms, with whatever trace is current.
    kept->spec = make_callable_policy(name, [p = kept->policy](const Primitive& prim, const Avals& in, const ParamsRef& params) {
        std::vector<Array> types;
        for (const AvalRef a : in) types.push_back(abstract_array(a, Where()));
        const Asked asked{prim, in, params};
        return core_verdict(p->ask(Application(&asked, prim.name.c_str(), std::move(types))));
    });
    return handle;
}

std::string param_text(const Attr& value) {
    const Sym* text = value.get<Sym>();
    return text ? text->str() : str_text(value);
}

PolicyPtr policy_spec(const Policy& policy) {
    if (policy.callable) return static_cast<KeptPolicy&>(*policy.callable).spec;
    return policy.text.empty() ? nullptr : parse_policy(policy.text);
}

}  // namespace detail

std::string Application::param(const char* name) const {
    const Attr* a = static_cast<const detail::Asked*>(asked_)->params->find(name);
    return a ? detail::param_text(*a) : std::string();
}

Application::Application(const void* asked, const char* name, std::vector<Array> types)
    : primitive(name), operands(std::move(types)), asked_(asked) {}

Verdict Offloadable(const std::string& src, const std::string& dst) {
    Verdict v(Verdict::Kind::offload);
    v.src = Sym(src).c_str(), v.dst = Sym(dst).c_str();
    return v;
}

Policy::Policy(std::string policy) : text(std::move(policy)) {}
Policy::Policy(const char* policy) : text(policy) {}
Policy::Policy(const NamedPolicy& policy) : text(policy.name) {}
Verdict Policy::operator()(const Application& a) const {
    const auto& asked = *static_cast<const detail::Asked*>(a.asked());
    if (callable) return static_cast<const detail::KeptPolicy&>(*callable).policy->ask(a);
    return detail::verdict_of(PolicyQuery{detail::policy_spec(*this), {}}(asked.prim, asked.in, asked.params));
}
Verdict NamedPolicy::operator()(const Application& a) const { return Policy(*this)(a); }

namespace policies {
namespace {
std::string listed(const std::vector<std::string>& names) {
    std::string out;
    for (const std::string& n : names) out += (out.empty() ? "" : ", ") + repr_text(Attr(Sym(n)));
    return out;
}
Policy of_names(const char* policy, const std::vector<std::string>& names) { return {std::string(policy) + "(" + listed(names) + ")"}; }
}  // namespace
Policy save_only_these_names(const std::vector<std::string>& names) { return of_names("save_only_these_names", names); }
Policy save_any_names_but_these(const std::vector<std::string>& names) { return of_names("save_any_names_but_these", names); }
Policy save_anything_except_these_names(const std::vector<std::string>& names) {
    return of_names("save_anything_except_these_names", names);
}
Policy save_from_both_policies(const Policy& a, const Policy& b) {
    if (!a.callable && !b.callable) return {"save_from_both_policies(" + a.text + ", " + b.text + ")"};
    return Policy(
        [a, b](const Application& x) {
            const Verdict p = a(x), q = b(x);
            if (!detail::is_bool(p) || !detail::is_bool(q))
                throw Error(ErrorCode::BadUsage,
                            "The return value of the policies should be a boolean. Got: " + detail::verdict_text(p) + " and " +
                                detail::verdict_text(q) +
                                ". Please write a custom policy function directly, rather than using this helper function.");
            return p.kind == Verdict::Kind::yes || q.kind == Verdict::Kind::yes;
        },
        "save_from_both_policies.<locals>.policy");
}
Policy save_and_offload_only_these_names(const std::vector<std::string>& saved, const std::vector<std::string>& offloaded,
                                         const std::string& source, const std::string& destination, Where where) {
    Policy p{"save_and_offload_only_these_names([" + listed(saved) + "], [" + listed(offloaded) + "], " + listed({source, destination}) +
             ")"};
    detail::at_place(where, [&] { return detail::policy_spec(p); });  // refuses a name on both sides here, where JAX does
    return p;
}
Policy offload_dot_with_no_batch_dims(const std::string& source, const std::string& destination) {
    return {"offload_dot_with_no_batch_dims(" + listed({source, destination}) + ")"};
}
}  // namespace policies

}  // namespace jaxscope::jax
