// SPDX-License-Identifier: Apache-2.0
#include "calls/call_params.h"

namespace jaxscope {

Attr::JaxprRef body_of(const Op& op, const char* param) {
    const Attr* a = op.params->find(param);
    if (!a) missing_param(param);
    Attr::JaxprRef body;
    from_attr(*a, body);
    return body;
}

Picks pick_all(std::size_t n) {
    Picks out;
    for (std::size_t i = 0; i < n; ++i) out.push_back(static_cast<int>(i));
    return out;
}
Picks pick_where(const std::vector<bool>& which, bool wanted) {
    Picks out;
    for (std::size_t i = 0; i < which.size(); ++i)
        if (which[i] == wanted) out.push_back(static_cast<int>(i));
    return out;
}
Picks operator+(Picks a, const Picks& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}
Picks new_ones(std::size_t n) { return Picks(n, kNew); }

namespace {

Attr picked(const Attr& tuple, const Picks& picks, const Attr& fresh) {
    const Attr::Seq* s = tuple.get_seq();
    if (!s) return tuple;
    Attrs out;
    for (const int p : picks) {
        const auto i = static_cast<std::size_t>(p);
        out.push_back(p == kNew || i >= s->items.size() ? fresh : s->items[i]);
    }
    return Attr::seq(s->kind, std::move(out));
}

}  // namespace

std::vector<bool> donated_inputs(const Params& params) {
    std::vector<bool> out;
    const Attr* donated = params.find("donated_invars");
    if (donated && donated->get_seq())
        for (const Attr& a : donated->get_seq()->items) out.push_back(a == Attr(true));
    return out;
}

ParamsRef jit_params(const ParamsRef& params, const JaxprPtr& body, const Picks& in, const Picks& out, bool keep_donation) {
    static const Attr unspecified = Attr::Object{"UnspecifiedValue", Sym(), "UnspecifiedValue"};
    static const Sym kJaxpr("jaxpr"), kIn("in_shardings"), kOut("out_shardings"), kInLayouts("in_layouts"), kOutLayouts("out_layouts"),
        kDonated("donated_invars");
    std::vector<Params::Entry> entries(params->entries().begin(), params->entries().end());
    for (auto& [name, value] : entries) {
        if (name == kJaxpr)
            value = Attr(Attr::JaxprRef{body, true});
        else if (name == kIn)
            value = picked(value, in, unspecified);
        else if (name == kOut)
            value = picked(value, out, unspecified);
        else if (name == kInLayouts)
            value = picked(value, in, Attr());
        else if (name == kOutLayouts)
            value = picked(value, out, Attr());
        else if (name == kDonated)
            value = picked(value, keep_donation ? in : new_ones(in.size()), Attr(false));
    }
    return Params::make(std::move(entries));
}

}  // namespace jaxscope
