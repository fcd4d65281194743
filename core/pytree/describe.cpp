// SPDX-License-Identifier: Apache-2.0
// The tree of a value, by what the public headers say of its type.
#include <fmt/format.h>

#include <charconv>
#include <complex>
#include <cstring>

#include "ir/print/attr_text.h"
#include "ir/types/literal.h"
#include "pytree/tree.h"

namespace jaxscope::jax::detail {

namespace {

using TypeKind = TreeType::Kind;

/// Names of a registered type's members: "w, b".
std::vector<std::string> listed(const char* text) {
    std::vector<std::string> out;
    for (const char* at = text; *at;) {
        const char* end = std::strchr(at, ',');
        out.emplace_back(at, end ? static_cast<std::size_t>(end - at) : std::strlen(at));
        for (at = end ? end + 1 : ""; *at == ' ';) ++at;
    }
    return out;
}

/// Writes the name of each child, then the child.
struct Describer : Visitor {
    Describer(const TreeType& t, TreeWriter& writer, const TreeType* leaf) : Visitor{on_child}, type(t), w(writer), leaf(leaf) {
        if (t.list) names = listed(t.list());
    }
    static void on_child(Visitor& visitor, void* value, const TreeType& type) {
        auto& self = static_cast<Describer&>(visitor);
        self.name_child();
        describe({value, &type}, self.w, self.leaf);
    }
    void name_child() {
        const std::size_t i = n++;
        switch (type.kind) {
            case TypeKind::structure:
                if (type.list)
                    w.name(i < names.size() ? names[i] : "");
                else
                    w.name(std::string(type.members[i].text, type.members[i].size));
                break;
            case TypeKind::variant:
                w.key("");
                break;
            case TypeKind::dict:
                w.key(type.fixed->text(key));
                break;
            case TypeKind::list:
            case TypeKind::tuple:
                w.key(std::to_string(i));
                break;
            case TypeKind::leaf:
            case TypeKind::fixed:
            case TypeKind::optional:
                break;
        }
    }
    const TreeType& type;
    TreeWriter& w;
    const TreeType* leaf;
    std::vector<std::string> names;
    std::size_t n = 0;
};

void open(const void* value, const TreeType& t, const Describer& children, TreeWriter& w) {
    switch (t.kind) {
        case TypeKind::structure:
            return w.open(TreeKind::custom, std::string(t.name.text, t.name.size), t.list ? children.names.size() : t.size);
        case TypeKind::variant:
            return w.open(TreeKind::custom, "variant:" + std::to_string(t.count(value)), 1);
        case TypeKind::dict:
            return w.open(TreeKind::dict, "", t.count(value));
        case TypeKind::list:
            return w.open(TreeKind::list, "", t.count(value));
        default:
            return w.open(TreeKind::tuple, "", t.size);
    }
}

}  // namespace

void describe(const Description& d, TreeWriter& w, const TreeType* leaf) {
    const TreeType& t = *d.type;
    if (&t == leaf) return w.leaf();
    if (t.kind == TypeKind::leaf) return static_cast<const Array*>(d.value)->has_value() ? w.leaf() : w.none();
    if (t.kind == TypeKind::fixed) return w.fixed(d.value, *t.fixed);
    if (t.kind == TypeKind::optional && t.count(d.value) == 0) return w.none();
    Describer children(t, w, leaf);
    if (t.kind != TypeKind::optional) open(d.value, t, children, w);
    t.children(const_cast<void*>(d.value), children);  // walks alone: nothing is written
    if (t.kind != TypeKind::optional) w.close();
}

std::string number_text(long long v) { return std::to_string(v); }
std::string number_text(unsigned long long v) { return std::to_string(v); }
std::string number_text(double v) { return python_float(v); }
/// The shortest digits that give this float, as Python writes them.
std::string number_text(float v) {
    const std::string digits = fmt::format("{}", v);
    double same = static_cast<double>(v);
    std::from_chars(digits.data(), digits.data() + digits.size(), same);
    return python_float(same);
}
std::string complex_text(double real, double imag) {
    return value_text(*make_literal(AvalRef(DType::C128, {}), std::complex<double>(real, imag)));
}
std::string quoted_text(std::string_view v) { return python_repr(v); }
std::string listed_texts(std::initializer_list<std::string> texts) { return fmt::format("{}", fmt::join(texts, ", ")); }
void list_text(std::string& list, const std::string& text) { list += (list.empty() ? "" : ", ") + text; }
std::string between(const char* open, const std::string& text, const char* close) { return open + text + close; }
std::string listed_name(const char* names, std::size_t n) {
    std::string all = names;
    std::erase(all, ' ');
    std::size_t from = 0;
    while (n-- > 0) from = all.find(',', from) + 1;
    return all.substr(from, all.find(',', from) - from);
}

}  // namespace jaxscope::jax::detail
