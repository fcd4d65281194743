// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a value is taken apart into arrays and put together again: tuples, vectors, maps, optionals, variants, `Static<T>`, aggregates, and
// structs that say their members (JAXSCOPE_PYTREE). Containers are met by shape, so no container's header is included here.
// In: any such type. Out: its leaves in order, its tree for comparing and printing. Never here: what a tree of arrays is used for.
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <jaxscope/reflect.h>

namespace jaxscope::jax {

/// A value that belongs to the tree instead of being a leaf: changing it traces anew. T needs == ; its text is taken from std::to_string,
/// strings and bools as they are.
template <class T>
struct Static {
    static constexpr bool comparable = std::is_empty_v<T> || requires(const T& a) { static_cast<bool>(a == a); };
    static_assert(comparable, "Static<T> needs ==");
    T value{};
    friend bool operator==(const Static&, const Static&) = default;
};

namespace detail {

// ---- Kinds of nodes

template <class T>
inline constexpr bool is_static = false;
template <class T>
inline constexpr bool is_static<Static<T>> = true;
template <class T>
concept Optional = requires(T t) {
    t.has_value();
    t.emplace(*t);
    t.reset();
};
template <class T>
concept Variant = requires(T t) {
    t.index();
    t.valueless_by_exception();
};
template <class T>
concept Map = requires(T t) {
    typename T::key_type;
    typename T::mapped_type;
    t.begin()->second;
};
template <class T>
concept Sequence = requires(T t) {
    typename T::value_type;
    t.begin();
    t.end();
    t.push_back(*t.begin());
}
&&!requires(T t) { t.c_str(); };
template <class T>
concept FixedArray = requires(T t) {
    t.begin();
    t.data();
    std::tuple_size<T>::value;
};
template <class T>
concept TupleLike = requires {
    std::tuple_size<T>::value;
}
&&!FixedArray<T>;
template <class T>
concept Registered = requires(T& t) {
    jaxscope_members(t, [](auto&...) {});
};
template <class T>
concept Text = requires(const T& t) {
    t.c_str();
};
template <class T>
concept Aggregate = std::is_aggregate_v<T> && std::is_class_v<T> && !FixedArray<T>;
template <class T>
inline constexpr bool is_leaf = std::is_base_of_v<Array, T>;

template <class T>
constexpr bool is_tree();
template <class T>
struct Members;  // a pack of member types, for is_tree
template <class T>
constexpr bool is_tree() {
    return is_leaf<T> || is_static<T> || Registered<T> || Optional<T> || Variant<T> || Map<T> || Sequence<T> || FixedArray<T> ||
           TupleLike<T> || Aggregate<T>;
}

/// Writes the tree of a value: core/pytree keeps it.
class TreeWriter {
public:
    enum class Kind : unsigned char { leaf, none, tuple, list, dict, custom, fixed };
    virtual void open(Kind kind, const std::string& type, std::size_t children) = 0;
    virtual void name(const std::string& member) = 0;  ///< of the next child: `.w`
    virtual void key(const std::string& repr) = 0;     ///< `['a']`, `[0]`
    virtual void close() = 0;
    virtual void leaf() = 0;
    virtual void none() = 0;
    virtual void fixed(const std::string& text, const void* value, bool (*equal)(const void*, const void*), void* (*copy)(const void*),
                       void (*drop)(void*)) = 0;

protected:
    ~TreeWriter() = default;
};

template <class T>
constexpr bool is_plain();
template <class T>
std::string text_of(const T& v) {
    if constexpr (std::is_same_v<T, bool>)
        return v ? "True" : "False";
    else if constexpr (std::is_enum_v<T>)
        return std::to_string(static_cast<long long>(v));
    else if constexpr (std::is_arithmetic_v<T>)
        return std::to_string(v);
    else if constexpr (Text<T>)
        return "'" + std::string(v.c_str()) + "'";
    else if constexpr (std::is_convertible_v<T, const char*>)
        return "'" + std::string(v) + "'";
    else if constexpr (Sequence<T> || FixedArray<T>) {
        std::string out;
        for (const auto& e : v) out += (out.empty() ? "" : ", ") + text_of(e);
        return "[" + out + "]";
    } else
        return type_name<T>();
}
/// A value that can hold no array: numbers, enums, text and containers of these.
template <class T>
constexpr bool is_plain() {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T> || Text<T> || std::is_convertible_v<T, const char*>)
        return true;
    else if constexpr (Map<T>)
        return is_plain<typename T::mapped_type>();
    else if constexpr (Sequence<T> || FixedArray<T>)
        return is_plain<typename T::value_type>();
    else if constexpr (Optional<T>)
        return is_plain<std::remove_cvref_t<decltype(*std::declval<T&>())>>();
    else if constexpr (TupleLike<T>)
        return []<std::size_t... I>(std::index_sequence<I...>) {
            return sizeof...(I) > 0 && (is_plain<std::remove_cvref_t<std::tuple_element_t<I, T>>>() && ...);
        }
    (std::make_index_sequence<std::tuple_size<T>::value>());
    else return false;
}

/// Calls f(child) for the children of an inner node, in order. With `Filter` (filter_jit and its family) what is no tree has none.
template <bool Filter = false, class T, class F>
void each_child(T& t, F&& f) {
    using U = std::remove_cv_t<T>;
    if constexpr (is_static<U>) {
    } else if constexpr (Registered<U>) {
        jaxscope_members(t, [&](auto&... m) { (f(m), ...); });
    } else if constexpr (Optional<U>) {
        if (t.has_value()) f(*t);
    } else if constexpr (Variant<U>) {
        visit([&](auto& v) { f(v); }, t);
    } else if constexpr (Map<U>) {
        for (auto& entry : t) f(entry.second);
    } else if constexpr (Sequence<U> || FixedArray<U>) {
        for (auto& v : t) f(v);
    } else if constexpr (TupleLike<U>) {
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            using std::get;
            (f(get<I>(t)), ...);
        }
        (std::make_index_sequence<std::tuple_size<U>::value>());
    } else if constexpr (Aggregate<U>) {
        with_members(t, [&](auto&... m) { (f(m), ...); });
    } else {
        static_assert(Filter || !sizeof(T),
                      "T is no pytree: it has constructors, private members or bases; add JAXSCOPE_PYTREE(T, member, ...) or "
                      "wrap it in Static<>");
    }
}
/// Calls f(Array&) for each leaf, in order. Arrays without a value are no leaves.
template <bool Filter = false, class T, class F>
void each_leaf(T& t, F&& f) {
    if constexpr (is_leaf<std::remove_cv_t<T>>) {
        if (t.has_value()) f(t);
    } else {
        each_child<Filter>(t, [&](auto& child) { each_leaf<Filter>(child, f); });
    }
}

template <bool Filter = false, class T>
void describe(const T& t, TreeWriter& w);

template <bool Filter, class U, std::size_t... I>
void describe_aggregate(const U& t, TreeWriter& w, std::index_sequence<I...>) {
    w.open(TreeWriter::Kind::custom, type_name<U>(), sizeof...(I));
    with_members(t, [&](const auto&... m) { ((w.name(aggregate_member_name<U, I>()), describe<Filter>(m, w)), ...); });
    w.close();
}
template <class T>
std::size_t count_of(const T& t) {
    std::size_t n = 0;
    for (auto i = t.begin(); i != t.end(); ++i) ++n;
    return n;
}
/// A value that belongs to the tree.
template <class V>
void describe_fixed(const V& value, TreeWriter& w) {
    const auto equal = [](const void* a, const void* b) -> bool {
        if constexpr (std::is_empty_v<V>)
            return true;
        else
            return *static_cast<const V*>(a) == *static_cast<const V*>(b);
    };
    w.fixed(
        text_of(value), &value, equal, [](const void* a) -> void* { return new V(*static_cast<const V*>(a)); },
        [](void* a) { delete static_cast<V*>(a); });
}
template <class V>
concept Comparable = std::is_empty_v<V> || requires(const V& a) {
    { a == a } -> std::convertible_to<bool>;
};
template <bool Filter, class T>
void describe(const T& t, TreeWriter& w) {
    using Kind = TreeWriter::Kind;
    if constexpr (is_leaf<T>) {
        t.has_value() ? w.leaf() : w.none();
    } else if constexpr (is_static<T>) {
        using V = std::remove_cvref_t<decltype(t.value)>;
        constexpr bool comparable = Comparable<V>;
        if constexpr (comparable) describe_fixed(t.value, w);
    } else if constexpr (Registered<T>) {
        std::size_t n = 0;
        jaxscope_members(t, [&](const auto&... m) { n = sizeof...(m); });
        w.open(Kind::custom, type_name<T>(), n);
        std::size_t at = 0;
        const std::string names = jaxscope_member_names(&t);
        const auto one = [&](const auto& m) {
            const std::size_t end = names.find(',', at);
            w.name(names.substr(at, end - at));
            at = end == std::string::npos ? end : names.find_first_not_of(' ', end + 1);
            describe<Filter>(m, w);
        };
        jaxscope_members(t, [&](const auto&... m) { (one(m), ...); });
        w.close();
    } else if constexpr (Optional<T>) {
        if (t.has_value())
            describe<Filter>(*t, w);
        else
            w.none();
    } else if constexpr (Variant<T>) {
        w.open(Kind::custom, "variant:" + std::to_string(t.index()), 1);
        w.key("");
        visit([&](const auto& v) { describe<Filter>(v, w); }, t);
        w.close();
    } else if constexpr (Map<T>) {
        w.open(Kind::dict, "", count_of(t));
        for (const auto& entry : t) {
            w.key(text_of(entry.first));
            describe<Filter>(entry.second, w);
        }
        w.close();
    } else if constexpr (Sequence<T> || FixedArray<T>) {
        w.open(Sequence<T> ? Kind::list : Kind::tuple, "", count_of(t));
        std::size_t i = 0;
        for (const auto& v : t) {
            w.key(std::to_string(i++));
            describe<Filter>(v, w);
        }
        w.close();
    } else if constexpr (TupleLike<T>) {
        w.open(Kind::tuple, "", std::tuple_size<T>::value);
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            using std::get;
            ((w.key(std::to_string(I)), describe<Filter>(get<I>(t), w)), ...);
        }
        (std::make_index_sequence<std::tuple_size<T>::value>());
        w.close();
    } else if constexpr (Aggregate<T>) {
        describe_aggregate<Filter>(t, w, std::make_index_sequence<member_count<T>()>());
    } else if constexpr (Filter) {
        static_assert(Comparable<T>, "filter_jit: T is no array and no tree, so it is static, and static values need ==");
        describe_fixed(t, w);
    } else {
        static_assert(!sizeof(T),
                      "T is no pytree: it has constructors, private members or bases; add JAXSCOPE_PYTREE(T, member, ...) or "
                      "wrap it in Static<>");
    }
}

struct TreeNode;
void retain_tree(const TreeNode* t) noexcept;
void release_tree(const TreeNode* t) noexcept;

}  // namespace detail

/// Makes a class with constructors or private members a tree: `JAXSCOPE_PYTREE(Model, w, b)` inside of it or behind it, in its namespace.
#define JAXSCOPE_PYTREE(T, ...)                                                                                                   \
    template <class JaxscopeSelf, class JaxscopeF>                                                                                \
    requires std::is_same_v<std::remove_cv_t<JaxscopeSelf>, T>                                                                    \
    friend void jaxscope_members(JaxscopeSelf& jaxscope_self, JaxscopeF&& jaxscope_f) { jaxscope_self.jaxscope_all(jaxscope_f); } \
    friend const char* jaxscope_member_names(const T*) { return #__VA_ARGS__; }                                                   \
    template <class JaxscopeF>                                                                                                    \
    void jaxscope_all(JaxscopeF& jaxscope_f) {                                                                                    \
        jaxscope_f(__VA_ARGS__);                                                                                                  \
    }                                                                                                                             \
    template <class JaxscopeF>                                                                                                    \
    void jaxscope_all(JaxscopeF& jaxscope_f) const {                                                                              \
        jaxscope_f(__VA_ARGS__);                                                                                                  \
    }

/// The shape of a tree: compares, hashes, prints as JAX's PyTreeDef.
class PyTreeDef {
public:
    PyTreeDef() noexcept = default;
    PyTreeDef(const PyTreeDef& o) noexcept : tree_(o.tree_) {
        if (tree_) detail::retain_tree(tree_);
    }
    PyTreeDef(PyTreeDef&& o) noexcept : tree_(o.tree_) { o.tree_ = nullptr; }
    PyTreeDef& operator=(PyTreeDef o) noexcept {
        std::swap(tree_, o.tree_);
        return *this;
    }
    ~PyTreeDef() {
        if (tree_) detail::release_tree(tree_);
    }
    std::size_t num_leaves() const;
    std::size_t num_nodes() const;
    std::size_t hash() const;
    std::string str() const;  ///< `PyTreeDef({'a': *})`
    std::vector<PyTreeDef> children() const;
    std::vector<std::string> paths() const;  ///< keystr of each leaf
    std::vector<std::string> paths(bool simple, const std::string& separator) const;
    friend bool operator==(const PyTreeDef& a, const PyTreeDef& b);
    const detail::TreeNode* node() const { return tree_; }
    explicit PyTreeDef(const detail::TreeNode* t) : tree_(t) {}  ///< takes over one count

private:
    const detail::TreeNode* tree_ = nullptr;
};
std::ostream& operator<<(std::ostream& out, const PyTreeDef& d);

namespace detail {
struct Description {
    const void* value;
    void (*describe)(const void*, TreeWriter&);
};
PyTreeDef make_tree(const Description& d);
/// Of the tree without leaves `n` is wanted: throws JAX's errors for too few and too many.
void check_leaf_count(const PyTreeDef& tree, std::size_t n);
/// JAX's error of tree_map for trees that differ.
[[noreturn]] void trees_differ(const PyTreeDef& a, const PyTreeDef& b, const char* name);
template <bool Filter = false, class T>
Description description(const T& t) {
    return {&t, [](const void* v, TreeWriter& w) { describe<Filter>(*static_cast<const T*>(v), w); }};
}
}  // namespace detail

template <class T>
PyTreeDef tree_structure(const T& t) {
    return detail::make_tree(detail::description(t));
}
template <class T>
std::vector<Array> tree_leaves(const T& t) {
    std::vector<Array> out;
    detail::each_leaf(t, [&](const Array& a) { out.push_back(a); });
    return out;
}
template <class T>
std::pair<std::vector<Array>, PyTreeDef> tree_flatten(const T& t) {
    return {tree_leaves(t), tree_structure(t)};
}
/// A tree like `prototype` with other leaves.
template <class T>
T tree_unflatten(const T& prototype, const std::vector<Array>& leaves) {
    T out(prototype);
    std::size_t n = 0;
    detail::each_leaf(out, [&](Array& a) {
        if (n < leaves.size()) a = leaves[n];
        ++n;
    });
    if (n != leaves.size()) detail::check_leaf_count(tree_structure(prototype), leaves.size());
    return out;
}
/// f(leaf, leaf of the other trees...) for every leaf. Throws JAX's error that names the first place where the trees differ.
template <class F, class T, class... More>
T tree_map(F&& f, const T& t, const More&... more) {
    if constexpr (sizeof...(More) > 0) {
        const PyTreeDef first = tree_structure(t);
        const auto same = [&](const auto& other) {
            const PyTreeDef d = tree_structure(other);
            if (!(d == first)) detail::trees_differ(first, d, "tree_map");
        };
        (same(more), ...);
    }
    const std::vector<Array> others[] = {std::vector<Array>(), tree_leaves(more)...};
    T out(t);
    std::size_t n = 0;
    detail::each_leaf(out, [&](Array& a) {
        [&]<std::size_t... I>(std::index_sequence<I...>) { a = f(static_cast<const Array&>(a), others[I + 1][n]...); }
        (std::index_sequence_for<More...>());
        ++n;
    });
    return out;
}

}  // namespace jaxscope::jax
