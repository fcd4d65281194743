// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <atomic>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/intern.h"
#include "ir/types/attr.h"

namespace jaxscope {

class ParamsRef;

/// While it lives: the parameters that rules ask for in this thread, by name or as a struct's fields. What a rule never asks for, it
/// doesn't know (jit/graph/known_params.h).
class ParamReads {
public:
    ParamReads() : outer_(std::exchange(current_, this)) {}
    ~ParamReads() { current_ = outer_; }
    ParamReads(const ParamReads&) = delete;
    ParamReads& operator=(const ParamReads&) = delete;
    bool contains(Sym name) const;
    static void note(Sym name) {
        if (current_) current_->names_.push_back(name);
    }
    static bool recording() { return current_ != nullptr; }

private:
    static thread_local ParamReads* current_;
    ParamReads* outer_;
    std::vector<Sym> names_;
};

/// The parameters of an equation: (name, value) sorted by name. Printing, parsing, JSON, hashing and equality work on this one
/// form for every primitive, known or not; rules read it as a plain struct through `as<P>()`, decoded once and kept.
/// Parameter sets without jaxprs are interned, those with jaxprs are counted.
class Params {
public:
    using Entry = std::pair<Sym, Attr>;
    static ParamsRef make(std::vector<Entry> entries);  ///< sorts by name
    ~Params();
    Params(const Params&) = delete;
    Params& operator=(const Params&) = delete;

    std::span<const Entry> entries() const { return entries_; }
    const Attr* find(Sym name) const;
    std::size_t hash() const { return hash_; }
    /// The typed view. Throws Error{BadInput} that names the parameter when a field is missing or of another kind.
    template <class P>
    const P& as() const;
    std::vector<JaxprPtr> jaxprs() const;
    bool holds_jaxpr() const { return holds_jaxpr_; }

private:
    friend class ParamsRef;
    explicit Params(std::vector<Entry> entries);
    struct TypedBase {
        virtual ~TypedBase() = default;
        const void* tag = nullptr;
        TypedBase* next = nullptr;
    };
    template <class P>
    struct Typed : TypedBase {
        P value;
    };
    template <class F, class T>
    void read_field(const F& f, T& to) const;
    std::vector<Entry> entries_;
    std::size_t hash_ = 0;
    bool immortal_ = false, holds_jaxpr_ = false;
    mutable std::atomic<std::uint32_t> count_{0};
    mutable std::atomic<TypedBase*> typed_{nullptr};
};

/// A counted pointer to Params, 8 bytes. `ParamsRef{}` is "no parameters".
class ParamsRef {
public:
    ParamsRef() = default;
    explicit ParamsRef(const Params* p) : p_(p) { retain(); }
    ParamsRef(const ParamsRef& o) : p_(o.p_) { retain(); }
    ParamsRef(ParamsRef&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
    ParamsRef& operator=(ParamsRef o) noexcept {
        std::swap(p_, o.p_);
        return *this;
    }
    ~ParamsRef() { release(); }
    const Params& operator*() const { return p_ ? *p_ : empty(); }
    const Params* operator->() const { return &**this; }
    bool immortal() const { return !p_ || p_->immortal_; }  ///< holds nothing that may die
    /// By content; parameters that hold jaxprs are equal when those are the same objects.
    friend bool operator==(const ParamsRef& a, const ParamsRef& b);

private:
    static const Params& empty();
    void retain() const {
        if (p_ && !p_->immortal_) p_->count_.fetch_add(1, std::memory_order_relaxed);
    }
    void release() const;
    const Params* p_ = nullptr;
};

// ---- Conversion between a field's C++ type and Attr. An overload pair per type that parameter structs use.
Attr to_attr(bool v);
Attr to_attr(std::int64_t v);
Attr to_attr(double v);
Attr to_attr(Sym v);
Attr to_attr(DType v);
inline Attr to_attr(const Attr& v) { return v; }
Attr to_attr(const Dims& v);  ///< a tuple of ints
Attr to_attr(const std::vector<bool>& v);
Attr to_attr(const Attr::JaxprRef& v);
Attr to_attr(const PolicyPtr& v);  ///< null pointer: None
void from_attr(const Attr& a, bool& v);
void from_attr(const Attr& a, std::int64_t& v);  ///< NumPy integers are taken too
void from_attr(const Attr& a, double& v);        ///< ints are taken too
void from_attr(const Attr& a, Sym& v);           ///< a string, or an enum's member
void from_attr(const Attr& a, DType& v);
inline void from_attr(const Attr& a, Attr& v) { v = a; }
void from_attr(const Attr& a, Dims& v);  ///< any sequence of ints
void from_attr(const Attr& a, std::vector<bool>& v);
void from_attr(const Attr& a, Attr::JaxprRef& v);
void from_attr(const Attr& a, PolicyPtr& v);
template <class T>
Attr to_attr(const std::optional<T>& v) {
    return v ? to_attr(*v) : Attr();
}
template <class T>
void from_attr(const Attr& a, std::optional<T>& v) {
    if (a.is_none()) return v.reset();
    from_attr(a, v.emplace());
}
[[noreturn]] void wrong_attr(const Attr& found, const char* expected);  ///< throws Error{BadInput}
[[noreturn]] void missing_param(Sym name);

/// One line of a parameter struct's field list. `required` false: an absent parameter leaves the field's default.
template <class P, class T>
struct Field {
    const char* name;
    T P::*member;
    bool required = true;
};
template <class P, class T>
constexpr Field<P, T> field(const char* name, T P::*member) {
    return {name, member, true};
}
template <class P, class T>
constexpr Field<P, T> optional_field(const char* name, T P::*member) {
    return {name, member, false};
}
// A parameter struct declares: `static constexpr auto kFields = std::tuple(field("axes", &ReduceParams::axes), ...);`
// Parameters that no field names are dropped by make_params(struct), so list all that JAX prints (use Attr for those no rule reads).

template <class F, class T>
void Params::read_field(const F& f, T& to) const {
    const Sym name(f.name);
    const Attr* a = find(name);
    if (!a) {
        if (f.required) missing_param(name);
        return;
    }
    try {
        from_attr(*a, to);
    } catch (Error& e) {
        e.in("parameter " + name.str());
        throw;
    }
}

template <class P>
const P& Params::as() const {
    // Structs of different primitives may have the same fields (rev and squeeze: `dimensions`), and then share these interned parameters:
    // each keeps its own view in the list.
    static const char tag = 0;
    if (ParamReads::recording()) std::apply([](const auto&... f) { (ParamReads::note(Sym(f.name)), ...); }, P::kFields);
    const auto seen = [](TypedBase* t) -> const P* {
        for (; t; t = t->next)
            if (t->tag == &tag) return &static_cast<Typed<P>*>(t)->value;
        return nullptr;
    };
    TypedBase* head = typed_.load(std::memory_order_acquire);
    if (const P* known = seen(head)) return *known;
    auto made = std::make_unique<Typed<P>>();
    made->tag = &tag;
    std::apply([&](const auto&... f) { (read_field(f, made->value.*(f.member)), ...); }, P::kFields);
    do {
        if (const P* known = seen(head)) return *known;  // another thread was first
        made->next = head;
    } while (!typed_.compare_exchange_weak(head, made.get(), std::memory_order_acq_rel, std::memory_order_acquire));
    return made.release()->value;
}

/// Of a field's type: what tells its values apart. A struct of such fields is made into parameters once for each value that comes again.
template <class T>
struct ParamKey {};
template <class T>
requires std::is_same_v<T, bool> || std::is_same_v<T, std::int64_t> || std::is_enum_v<T>
struct ParamKey<T> {
    static std::size_t hash(T v) { return static_cast<std::size_t>(v); }
};
template <>
struct ParamKey<Sym> {
    static std::size_t hash(Sym v) { return v.id(); }
};
template <>
struct ParamKey<Attr> {
    static std::size_t hash(const Attr& v) { return v.hash(); }
};
template <>
struct ParamKey<Dims> {
    static std::size_t hash(const Dims& v) {
        std::size_t h = v.size();
        for (const std::int64_t d : v) h = hash_mix(h, static_cast<std::size_t>(d));
        return h;
    }
};
template <>
struct ParamKey<std::vector<bool>> {
    static std::size_t hash(const std::vector<bool>& v) { return std::hash<std::vector<bool>>{}(v); }
};
template <class T>
concept HasParamKey = requires(const T& v) {
    ParamKey<T>::hash(v);
};
template <HasParamKey T>
struct ParamKey<std::optional<T>> {
    static std::size_t hash(const std::optional<T>& v) { return v ? hash_mix(1, ParamKey<T>::hash(*v)) : 0; }
};

template <class P>
class KnownParams {
public:
    static constexpr bool kPossible = std::apply(
        [](const auto&... f) { return (HasParamKey<std::decay_t<decltype(std::declval<P>().*(f.member))>> && ...); }, P::kFields);
    explicit KnownParams(const P& p) : p_(p), hash_(hash()), entry_(entries_[(hash_ >> 7 ^ hash_) % entries_.size()]) {}
    const ParamsRef* find() const { return entry_.any && entry_.hash == hash_ && same() ? &entry_.made : nullptr; }
    void keep(const ParamsRef& made) { entry_ = {hash_, true, p_, made}; }

private:
    struct Entry {
        std::size_t hash = 0;
        bool any = false;
        P params = {};
        ParamsRef made;
    };
    std::size_t hash() const {
        return std::apply(
            [&](const auto&... f) {
                std::size_t h = 0;
                ((h = hash_mix(h, ParamKey<std::decay_t<decltype(p_.*(f.member))>>::hash(p_.*(f.member)))), ...);
                return h;
            },
            P::kFields);
    }
    bool same() const {
        return std::apply([&](const auto&... f) { return (... && (p_.*(f.member) == entry_.params.*(f.member))); }, P::kFields);
    }
    static inline thread_local std::array<Entry, 64> entries_;
    const P& p_;
    std::size_t hash_;
    Entry& entry_;
};

template <class P>
ParamsRef make_params(const P& p) {
    const auto made = [&] {
        std::vector<Params::Entry> entries;
        entries.reserve(std::tuple_size_v<std::decay_t<decltype(P::kFields)>>);
        std::apply([&](const auto&... f) { (entries.emplace_back(Sym(f.name), to_attr(p.*(f.member))), ...); }, P::kFields);
        return Params::make(std::move(entries));
    };
    if constexpr (KnownParams<P>::kPossible) {
        KnownParams<P> known(p);
        if (const ParamsRef* m = known.find()) return *m;
        ParamsRef m = made();
        if (m.immortal()) known.keep(m);
        return m;
    } else {
        return made();
    }
}

/// `params` with every jaxpr in it replaced by what `change` gives; the same object when nothing changes.
ParamsRef map_jaxprs(const ParamsRef& params, const std::function<JaxprPtr(const JaxprPtr&)>& change);

/// `params` with one entry replaced or added.
ParamsRef with_param(const ParamsRef& params, Sym name, Attr value);

}  // namespace jaxscope
