// SPDX-License-Identifier: Apache-2.0
#include "lax/named_axis.h"

namespace jaxscope {

namespace {

thread_local Sym t_name;

bool holds(const Attr& a, Sym name) {
    if (const Sym* s = a.get<Sym>()) return *s == name;
    const Attr::Seq* seq = a.get_seq();
    if (!seq) return false;
    for (const Attr& item : seq->items)
        if (const Sym* s = item.get<Sym>(); s && *s == name) return true;
    return false;
}

}  // namespace

NamedBatchAxis::NamedBatchAxis(Sym name) : outer_(t_name) { t_name = name; }
NamedBatchAxis::~NamedBatchAxis() { t_name = outer_; }
Sym NamedBatchAxis::current() { return t_name; }

bool names_axis(const ParamsRef& params, Sym name) {
    static const Sym kAxes("axes"), kAxisName("axis_name");
    if (name == Sym()) return false;
    for (const Sym key : {kAxes, kAxisName})
        if (const Attr* a = params->find(key); a && holds(*a, name)) return true;
    return false;
}

bool reaches_axis(const Primitive& prim, const ParamsRef& params, Sym name) {
    if (name == Sym()) return false;
    if (names_axis(params, name)) return true;
    if (!prim.calls() || !params->holds_jaxpr()) return false;
    std::vector<JaxprPtr> inner;
    for (const auto& [key, value] : params->entries()) value.collect_jaxprs(inner);
    for (const JaxprPtr& j : inner)
        for (const Jaxpr* at : all_jaxprs(*j))
            for (const Eqn& e : at->eqns)
                if (names_axis(e.params, name)) return true;
    return false;
}

}  // namespace jaxscope
