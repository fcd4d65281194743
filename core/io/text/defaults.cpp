// SPDX-License-Identifier: Apache-2.0
// What JAX's printer leaves out and respells (ir/print/text_form.h), put back.
#include <algorithm>

#include "io/text/values.h"
#include "ir/primitive.h"
#include "ir/print/text_form.h"

namespace jaxscope {

namespace {

using Entries = std::vector<Params::Entry>;

Entries::iterator find(Entries& entries, std::string_view name) {
    return std::find_if(entries.begin(), entries.end(), [&](const Params::Entry& p) { return p.first.str() == name; });
}

}  // namespace

std::vector<Params::Entry> with_hidden_params(const Primitive& primitive, Entries e, const Avals& in, const Avals& out) {
    const TextForm* form = primitive.text;
    if (!form) return e;
    // A call's `name=` is that of its function, which the parser has taken from there already.
    if (form->title == TextForm::Title::Body) std::erase_if(e, [](const Params::Entry& p) { return p.first.str() == "name"; });
    for (const SpelledParam& s : form->spelled) {
        auto shown = find(e, s.shown);
        if (shown == e.end()) shown = find(e, s.name);  // as JAX before 0.7 has them
        if (shown != e.end() && s.read) *shown = {s.name, s.read(shown->second)};
    }
    for (const HiddenParam& h : form->hidden)
        if (h.put_back && find(e, h.name) == e.end()) e.emplace_back(h.name, h.put_back({e, in, out}));
    return e;
}

}  // namespace jaxscope
