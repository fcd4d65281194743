// SPDX-License-Identifier: Apache-2.0
#include "ir/print/text_form.h"

#include <algorithm>
#include <string_view>

#include "ir/print/attr_text.h"

namespace jaxscope {

namespace text_form {

bool always(const Attr&, const PrintedEqn&) { return true; }
bool if_none(const Attr& value, const PrintedEqn&) { return value.is_none(); }
bool if_false(const Attr& value, const PrintedEqn&) { return value.get<bool>() && !*value.get<bool>(); }
bool if_empty(const Attr& value, const PrintedEqn&) { return value.is_none() || (value.get_seq() && value.get_seq()->items.empty()); }
Attr none(const ReadEqn&) { return {}; }
Attr no(const ReadEqn&) { return false; }
Attr zero(const ReadEqn&) { return std::int64_t{0}; }
Attr empty_tuple(const ReadEqn&) { return Attr::tuple({}); }

std::string function_name(const Attr& a) {
    if (const auto* rule = a.get<Attr::Rule>()) return rule->text.str();
    if (const auto* object = a.get<Attr::Object>()) {
        if (!object->name.empty()) return object->name.str();
        // A WrappedFun's text: its transformations, then the function that it wraps.
        const std::string text = object->text.str();
        constexpr std::string_view kCore = "\nCore: ";
        const std::size_t core = text.rfind(kCore);
        return core == std::string::npos ? text : text.substr(core + kCore.size(), text.find('\n', core + 1) - core - kCore.size());
    }
    return str_text(a);
}

namespace {
/// `<function CustomVJPCallPrimitive.bind.<locals>.<lambda> at 0x7fa22951c9a0>` of JAX before 0.7: its last name.
std::string short_function_name(const std::string& text) {
    constexpr std::string_view kFunction = "<function ";
    const std::size_t end = text.rfind(" at 0x");
    if (!text.starts_with(kFunction) || end == std::string::npos || end < kFunction.size()) return text;
    const std::string name = text.substr(kFunction.size(), end - kFunction.size());
    return name.substr(name.rfind('.') + 1);
}
}  // namespace

Attr function_of_name(const Attr& shown) {
    const auto* object = shown.get<Attr::Object>();
    const Sym name = shown.get<Sym>() ? *shown.get<Sym>() : object ? Sym(short_function_name(object->text.str())) : Sym{};
    return Attr::Object{"function", name, name};
}

}  // namespace text_form

namespace {
constexpr HiddenParam kAccuracy[] = {{"accuracy", text_form::if_none, text_form::none}};
}
constinit const TextForm kAccuracyText{.hidden = kAccuracy};

}  // namespace jaxscope
