// SPDX-License-Identifier: Apache-2.0
#include "ir/print/print_rules.h"

#include <algorithm>
#include <string_view>

#include "ir/primitive.h"
#include "ir/print/attr_text.h"
#include "ir/print/text_form.h"

namespace jaxscope {

namespace {

using PrintedParams = std::vector<PrintedParam>;

PrintedParams::iterator find(PrintedParams& params, std::string_view name) {
    return std::find_if(params.begin(), params.end(), [&](const PrintedParam& p) { return p.name == name; });
}

void hide(PrintedParams& params, const TextForm& form, const PrintedEqn& e) {
    for (const HiddenParam& h : form.hidden)
        if (const auto p = find(params, h.name); p != params.end() && h.hidden(*p->value, e)) params.erase(p);
}

void respell(PrintedParams& params, const TextForm& form) {
    for (const SpelledParam& s : form.spelled)
        if (const auto p = find(params, s.name); p != params.end()) *p = {s.shown, nullptr, s.spell(*p->value)};
    std::sort(params.begin(), params.end(), [](const PrintedParam& a, const PrintedParam& b) { return a.name < b.name; });
}

void put_title_first(PrintedParams& params, const Eqn& e) {
    if (e.prim->text->title == TextForm::Title::Param) {
        if (const auto name = find(params, "name"); name != params.end()) std::rotate(params.begin(), name, name + 1);
        return;
    }
    const Attr* body = e.params->find(e.prim->body);
    const auto* j = body ? body->get<Attr::JaxprRef>() : nullptr;
    if (!j || j->jaxpr->name.empty()) return;  // texts of JAX before 0.7 hold none
    params.insert(params.begin(), {"name", nullptr, j->jaxpr->name.str()});
}

}  // namespace

PrintedParams printed_params(const Eqn& e, bool outermost) {
    const TextForm* form = e.prim->text;
    PrintedParams params;
    if (form && form->no_params) return params;
    params.reserve(e.params->entries().size());
    for (const auto& [name, value] : e.params->entries()) params.push_back({name.str(), &value, {}});
    if (!form) return params;
    hide(params, *form, {*e.params, outermost});
    if (!form->spelled.empty()) respell(params, *form);
    if (form->title != TextForm::Title::None) put_title_first(params, e);
    return params;
}

}  // namespace jaxscope
