// SPDX-License-Identifier: Apache-2.0
#include "ir/params.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "base/intern.h"
#include "ir/types/element.h"

namespace jaxscope {

namespace {

/// Objects by address (rules, arrays, functions) may die while interned parameters live on: such parameters are counted instead.
bool counted(const Attr& a) {
    if (a.get<Attr::JaxprRef>() || a.get<Attr::Rule>()) return true;
    if (const auto* o = a.get<Attr::Object>()) return o->host != nullptr;
    if (const auto* p = a.get<ArrayPtr>()) return !*p || (*p)->aval->rank() != 0;
    if (const auto* p = a.get<PolicyPtr>()) return *p && !(*p)->verdicts.empty();
    if (const Attr::Seq* s = a.get_seq()) return std::any_of(s->items.begin(), s->items.end(), counted);
    if (const Attr::Record* r = a.get_record())
        return std::any_of(r->fields.begin(), r->fields.end(), [](const auto& f) { return counted(f.second); });
    return false;
}

std::string kind_text(const Attr& a) {
    static constexpr const char* kKinds[] = {"None",     "a bool",   "an integer",    "a float",    "a complex", "a string",
                                             "a dtype",  "an aval",  "an enum",       "a sequence", "a record",  "a jaxpr",
                                             "an array", "a policy", "a custom rule", "an object"};
    static_assert(std::size(kKinds) == std::variant_size_v<Attr::Variant>);
    return kKinds[a.variant().index()];
}

struct Interned {
    std::mutex mutex;
    std::unordered_multimap<std::size_t, const Params*> by_hash;
};
Interned& interned() {
    static auto& t = *new Interned;  // never destroyed: static primitives hold parameters
    return t;
}

}  // namespace

Params::Params(std::vector<Entry> entries) : entries_(std::move(entries)) {
    std::vector<JaxprPtr> found;
    for (const auto& [name, value] : entries_) {
        hash_ = hash_mix(hash_mix(hash_, name.id()), value.hash());
        value.collect_jaxprs(found);
    }
    holds_jaxpr_ = !found.empty();
}
Params::~Params() {
    for (TypedBase* t = typed_.load(); t != nullptr;) {
        TypedBase* next = t->next;
        delete t;
        t = next;
    }
}

ParamsRef Params::make(std::vector<Entry> entries) {
    if (entries.empty()) return {};
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.first.str() < b.first.str(); });
    const bool count = std::any_of(entries.begin(), entries.end(), [](const Entry& e) { return counted(e.second); });
    std::unique_ptr<Params> made(new Params(std::move(entries)));
    if (count) return ParamsRef(made.release());
    Interned& table = interned();
    std::lock_guard lock(table.mutex);
    auto [first, last] = table.by_hash.equal_range(made->hash_);
    for (auto it = first; it != last; ++it)
        if (it->second->entries_ == made->entries_) return ParamsRef(it->second);
    made->immortal_ = true;
    table.by_hash.emplace(made->hash_, made.get());
    return ParamsRef(made.release());
}

thread_local ParamReads* ParamReads::current_ = nullptr;
bool ParamReads::contains(Sym name) const { return std::find(names_.begin(), names_.end(), name) != names_.end(); }

const Attr* Params::find(Sym name) const {
    ParamReads::note(name);
    for (const auto& [n, value] : entries_)
        if (n == name) return &value;
    return nullptr;
}

std::vector<JaxprPtr> Params::jaxprs() const {
    std::vector<JaxprPtr> found;
    for (const auto& [name, value] : entries_) value.collect_jaxprs(found);
    return found;
}

const Params& ParamsRef::empty() {
    static const Params& e = *new Params({});
    return e;
}
void ParamsRef::release() const {
    if (p_ && !p_->immortal_ && p_->count_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete p_;
}
bool operator==(const ParamsRef& a, const ParamsRef& b) {
    return a.p_ == b.p_ || (a->hash() == b->hash() && std::ranges::equal(a->entries(), b->entries()));
}

namespace {

Attr map_jaxprs(const Attr& a, const std::function<JaxprPtr(const JaxprPtr&)>& change) {
    if (const auto* j = a.get<Attr::JaxprRef>()) return Attr(Attr::JaxprRef{change(j->jaxpr), j->closed});
    if (!a.holds_jaxpr()) return a;
    if (const Attr::Seq* s = a.get_seq()) {
        Attrs items;
        for (const Attr& i : s->items) items.push_back(map_jaxprs(i, change));
        return Attr::seq(s->kind, std::move(items));
    }
    Attr::Record r = *a.get_record();
    for (auto& [name, value] : r.fields) value = map_jaxprs(value, change);
    return Attr(std::make_shared<const Attr::Record>(std::move(r)));
}

}  // namespace

ParamsRef map_jaxprs(const ParamsRef& params, const std::function<JaxprPtr(const JaxprPtr&)>& change) {
    if (!params->holds_jaxpr()) return params;
    std::vector<Params::Entry> entries;
    bool changed = false;
    for (const auto& [name, value] : params->entries()) {
        entries.emplace_back(name, map_jaxprs(value, change));
        changed = changed || !(entries.back().second == value);
    }
    return changed ? Params::make(std::move(entries)) : params;
}

ParamsRef with_param(const ParamsRef& params, Sym name, Attr value) {
    std::vector<Params::Entry> entries(params->entries().begin(), params->entries().end());
    for (auto& e : entries)
        if (e.first == name) {
            e.second = std::move(value);
            return Params::make(std::move(entries));
        }
    entries.emplace_back(name, std::move(value));
    return Params::make(std::move(entries));
}

void wrong_attr(const Attr& found, const char* expected) {
    throw Error(ErrorCode::BadInput, std::string("expected ") + expected + ", found " + kind_text(found));
}
void missing_param(Sym name) { throw Error(ErrorCode::BadInput, "expected the parameter '" + printable(name.str()) + "', found none"); }

Attr to_attr(bool v) { return Attr(v); }
Attr to_attr(std::int64_t v) { return Attr(v); }
Attr to_attr(double v) { return Attr(v); }
Attr to_attr(Sym v) { return Attr(v); }
Attr to_attr(DType v) { return Attr(v); }
Attr to_attr(const Attr::JaxprRef& v) { return v.jaxpr ? Attr(v) : Attr(); }
Attr to_attr(const PolicyPtr& v) { return v ? Attr(v) : Attr(); }
Attr to_attr(const Dims& v) {
    Attrs items;
    items.reserve(v.size());
    for (const std::int64_t d : v) items.emplace_back(d);
    return Attr::tuple(std::move(items));
}
Attr to_attr(const std::vector<bool>& v) {
    Attrs items;
    items.reserve(v.size());
    for (const bool b : v) items.emplace_back(b);
    return Attr::tuple(std::move(items));
}

namespace {
template <class T>
const T& expect(const Attr& a, const char* what) {
    const T* p = a.get<T>();
    if (!p) wrong_attr(a, what);
    return *p;
}
/// An int of Python, or one of NumPy's (`np.int64(1)`), which captures keep apart because JAX prints them apart.
std::int64_t expect_integer(const Attr& a) {
    if (const auto* p = a.get<ArrayPtr>(); p && *p && (*p)->aval->rank() == 0 && is_integer((*p)->aval->dtype) && (*p)->known())
        return load_element((*p)->aval->dtype, (*p)->data.data()).integer;
    return expect<std::int64_t>(a, "an integer");
}
/// Python's range, which stands for a tuple in some of JAX's own dimension numbers and prints as itself: `range(1, 2)`.
std::optional<Dims> dims_of_range(const Attr& a) {
    const auto* o = a.get<Attr::Object>();
    if (!o || o->type.str() != "range") return std::nullopt;
    const std::string& text = o->text.str();
    std::vector<std::int64_t> v;
    const char* const last = text.data() + text.size();
    for (const char* at = std::find(text.data(), last, '('); at < last && *at != ')';) {
        at += std::min<std::ptrdiff_t>(*at == '(' ? 1 : 2, last - at);  // "range(1, 2)"
        const auto r = std::from_chars(at, last, v.emplace_back());
        if (r.ec != std::errc()) return std::nullopt;
        at = r.ptr;
    }
    if (v.size() < 2 || v.size() > 3) return std::nullopt;
    const std::int64_t begin = v[0], end = v[1], step = v.size() == 3 ? v[2] : 1;
    constexpr std::int64_t kMost = 1 << 16;  // beyond any rank
    if (step == 0 || std::abs(begin) > kMost || std::abs(end) > kMost || std::abs(step) > kMost) return std::nullopt;
    Dims d;
    for (std::int64_t i = begin; step > 0 ? i < end : i > end; i += step) d.push_back(i);
    return d;
}
const Attrs& expect_items(const Attr& a, const char* what) {
    const Attr::Seq* s = a.get_seq();
    if (!s || s->kind == Attr::SeqKind::Dict) wrong_attr(a, what);
    return s->items;
}
}  // namespace

void from_attr(const Attr& a, bool& v) { v = expect<bool>(a, "a bool"); }
void from_attr(const Attr& a, std::int64_t& v) { v = expect_integer(a); }
void from_attr(const Attr& a, double& v) {
    if (const auto* i = a.get<std::int64_t>())
        v = static_cast<double>(*i);
    else
        v = expect<double>(a, "a number");
}
void from_attr(const Attr& a, Sym& v) {
    if (const auto* e = a.get<Attr::Enum>())
        v = e->member;
    else
        v = expect<Sym>(a, "a string");
}
void from_attr(const Attr& a, DType& v) {
    // A class of NumPy scalars says a dtype too; it prints otherwise.
    if (const auto* o = a.get<Attr::Object>(); o && o->type.str() == "type")
        if (const auto d = dtype_from_name(o->name.str())) {
            v = *d;
            return;
        }
    v = expect<DType>(a, "a dtype");
}
void from_attr(const Attr& a, Attr::JaxprRef& v) { v = expect<Attr::JaxprRef>(a, "a jaxpr"); }
void from_attr(const Attr& a, PolicyPtr& v) {
    if (a.is_none())
        v = nullptr;
    else
        v = expect<PolicyPtr>(a, "a policy");
}
void from_attr(const Attr& a, Dims& v) {
    v.clear();
    if (auto range = dims_of_range(a)) {
        v = std::move(*range);
        return;
    }
    for (const Attr& i : expect_items(a, "a sequence of integers")) v.push_back(expect_integer(i));
}
void from_attr(const Attr& a, std::vector<bool>& v) {
    v.clear();
    for (const Attr& i : expect_items(a, "a sequence of bools")) v.push_back(expect<bool>(i, "a bool"));
}

}  // namespace jaxscope
