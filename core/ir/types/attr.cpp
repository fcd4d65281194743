// SPDX-License-Identifier: Apache-2.0
#include "ir/types/attr.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/escaped.h"
#include "base/intern.h"

namespace jaxscope {

namespace {

template <class... Fs>
struct Overloaded : Fs... {
    using Fs::operator()...;
};
template <class... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

bool same_policy(const PolicyPtr& a, const PolicyPtr& b) {
    if (a == b) return true;
    return a && b && !a->name.empty() && *a == *b;
}
bool same_rule(const Attr::Rule& a, const Attr::Rule& b) {
    return a.index == b.index && !a.table.owner_before(b.table) && !b.table.owner_before(a.table);
}
/// NumPy's numbers, which stand among parameters (`axes=(np.int64(1),)`), are values; arrays are objects.
bool is_number(const ArrayPtr& a) { return a && a->aval->is_array() && a->aval->rank() == 0 && a->known(); }
bool same_array(const ArrayPtr& a, const ArrayPtr& b) {
    return a == b || (is_number(a) && is_number(b) && a->aval == b->aval && a->data == b->data);
}
std::size_t hash_of(const ArrayPtr& a) {
    if (!is_number(a)) return std::hash<const void*>{}(a.get());
    std::size_t h = a->aval.id();
    for (const std::byte b : a->data) h = hash_mix(h, static_cast<std::size_t>(b));
    return h;
}
bool same_double(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

std::size_t hash_of(const Attr::Seq& s) {
    std::size_t h = static_cast<std::size_t>(s.kind) + 17;
    for (const Attr& a : s.items) h = hash_mix(h, a.hash());
    return h;
}
std::size_t hash_of(const Attr::Record& r) {
    std::size_t h = r.type.id();
    for (const auto& [name, value] : r.fields) h = hash_mix(hash_mix(h, name.id()), value.hash());
    return h;
}

}  // namespace

Attr Attr::seq(SeqKind kind, Attrs items) { return Attr(std::make_shared<const Seq>(Seq{kind, std::move(items)})); }

const Attr::Seq* Attr::get_seq() const {
    const auto* p = get<std::shared_ptr<const Seq>>();
    return p ? p->get() : nullptr;
}
const Attr::Record* Attr::get_record() const {
    const auto* p = get<std::shared_ptr<const Record>>();
    return p ? p->get() : nullptr;
}

bool operator==(const Attr& a, const Attr& b) {
    if (a.value_.index() != b.value_.index()) return false;
    return std::visit(Overloaded{
                          [&](double x) { return same_double(x, *b.get<double>()); },
                          [&](const std::complex<double>& x) {
                              const auto& y = *b.get<std::complex<double>>();
                              return same_double(x.real(), y.real()) && same_double(x.imag(), y.imag());
                          },
                          [&](const std::shared_ptr<const Attr::Seq>& x) {
                              const auto& y = *b.get<std::shared_ptr<const Attr::Seq>>();
                              return x == y || (x->kind == y->kind && x->items == y->items);
                          },
                          [&](const std::shared_ptr<const Attr::Record>& x) {
                              const auto& y = *b.get<std::shared_ptr<const Attr::Record>>();
                              return x == y || (x->type == y->type && x->fields == y->fields && x->text == y->text);
                          },
                          [&](const ArrayPtr& x) { return same_array(x, *b.get<ArrayPtr>()); },
                          [&](const PolicyPtr& x) { return same_policy(x, *b.get<PolicyPtr>()); },
                          [&](const Attr::Rule& x) { return same_rule(x, *b.get<Attr::Rule>()); },
                          [&](const auto& x) { return x == *b.get<std::decay_t<decltype(x)>>(); },
                      },
                      a.value_);
}

std::size_t Attr::hash() const {
    const std::size_t value =
        std::visit(Overloaded{
                       [](None) { return std::size_t{1}; },
                       [](bool x) { return std::size_t{x} + 2; },
                       [](std::int64_t x) { return static_cast<std::size_t>(x); },
                       [](double x) { return static_cast<std::size_t>(std::bit_cast<std::uint64_t>(x)); },
                       [](const std::complex<double>& x) {
                           return hash_mix(std::bit_cast<std::uint64_t>(x.real()), std::bit_cast<std::uint64_t>(x.imag()));
                       },
                       [](Sym x) { return std::size_t{x.id()}; },
                       [](DType x) { return static_cast<std::size_t>(x); },
                       [](AvalRef x) { return std::size_t{x.id()}; },
                       [](const Enum& x) { return hash_mix(x.type.id(), x.member.id()); },
                       [](const std::shared_ptr<const Seq>& x) { return hash_of(*x); },
                       [](const std::shared_ptr<const Record>& x) { return hash_of(*x); },
                       [](const JaxprRef& x) { return std::hash<const void*>{}(x.jaxpr.get()); },
                       [](const ArrayPtr& x) { return hash_of(x); },
                       [](const PolicyPtr& x) { return x ? std::size_t{x->name.id()} : 0; },
                       [](const Rule& x) { return std::size_t{x.index}; },
                       [](const Object& x) { return hash_mix(hash_mix(x.type.id(), x.name.id()), x.text.id()); },
                   },
                   value_);
    return hash_mix(value_.index(), value);
}

void Attr::collect_jaxprs(std::vector<JaxprPtr>& out) const {
    if (const auto* j = get<JaxprRef>()) out.push_back(j->jaxpr);
    if (const Seq* s = get_seq())
        for (const Attr& a : s->items) a.collect_jaxprs(out);
    if (const Record* r = get_record())
        for (const auto& [name, value] : r->fields) value.collect_jaxprs(out);
}

bool Attr::holds_jaxpr() const {
    std::vector<JaxprPtr> found;
    collect_jaxprs(found);
    return !found.empty();
}

namespace {
/// Bare where the parser of policies reads it as one word.
std::string name_text(const std::string& name) {
    const auto separates = [](unsigned char c) { return c <= ' ' || c == 0x7F || std::strchr(",()[]{}'\"\\", c) != nullptr; };
    return name.empty() || std::any_of(name.begin(), name.end(), separates) ? quoted_name(name) : name;
}

std::string argument_text(const Attr& a) {
    if (const Sym* s = a.get<Sym>()) return name_text(s->str());
    if (const auto* p = a.get<PolicyPtr>()) return *p ? policy_text(**p) : "none";
    if (const auto* i = a.get<std::int64_t>()) return std::to_string(*i);
    if (const auto* b = a.get<bool>()) return *b ? "True" : "False";
    std::string out;
    if (const Attr::Seq* s = a.get_seq()) {
        for (const Attr& item : s->items) out += (out.empty() ? "" : ", ") + argument_text(item);
        return "[" + out + "]";
    }
    return "?";
}
}  // namespace

std::string policy_text(const PolicySpec& policy) {
    if (policy.name.empty()) return policy.text.str();
    if (policy.args.empty()) return policy.name.str();
    std::string args;
    for (const Attr& a : policy.args) args += (args.empty() ? "" : ", ") + argument_text(a);
    return policy.name.str() + "(" + args + ")";
}

}  // namespace jaxscope
