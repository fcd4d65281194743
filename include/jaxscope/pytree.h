// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a value is taken apart into arrays and put together again.
// In: any type that is a tree (tree_kinds.h). Out: its leaves in order, its tree for comparing and printing. Never here: what a tree of
// arrays is used for.
#include <jaxscope/tree_kinds.h>

namespace jaxscope::jax {

namespace detail {

// ---- How values of a type are taken apart: one constant a type, by which the library walks any value. What it can't know of a type is
// asked through pointers, so that a program holds one small function for each of its types and none for each use of them.

struct TreeType;
/// Who walks: is given the children of a value, one after the other.
struct Visitor {
    void (*child)(Visitor& self, void* value, const TreeType& type);
    const void* key = nullptr;  ///< of a dict's next child
};
/// A value that belongs to the tree instead of having leaves.
struct FixedType {
    enum class Key : unsigned char { none, bytes, text, unknown };
    Key key;            ///< what tells its value: nothing, so many bytes, characters, or comparing alone
    std::size_t bytes;  ///< of an unequal value
    std::string_view (*characters)(const void*);
    std::string (*text)(const void*);
    bool (*equal)(const void*, const void*);  ///< null: such values can't be compared
    void* (*copy)(const void*);
    void (*drop)(void*);
};
struct TreeType {
    enum class Kind : unsigned char { leaf, fixed, optional, variant, dict, list, tuple, structure };
    Kind kind;
    std::size_t size = 0;                         ///< children of a tuple; of a structure with names
    std::size_t (*count)(const void*) = nullptr;  ///< children of other nodes; a variant's alternative
    void (*children)(void*, Visitor&) = nullptr;
    const FixedType* fixed = nullptr;  ///< what it is, or what a dict's keys are
    Name name = {};                    ///< of the type of a structure
    const Name* members = nullptr;     ///< their names, or
    const char* (*list)() = nullptr;   ///< the same separated by commas
};

template <class V>
concept Comparable = std::is_empty_v<V> || requires(const V& a) {
    { a == a } -> std::convertible_to<bool>;
};
template <class V>
struct Fixed {
    static const V& of(const void* v) { return *static_cast<const V*>(v); }
    static std::string_view characters(const void* v) {
        if constexpr (Text<V>)
            return characters_of(of(v));
        else
            return {};
    }
    static std::string text(const void* v) { return text_of(of(v)); }
    static bool equal(const void* a, const void* b) {
        if constexpr (std::is_empty_v<V>)
            return true;
        else
            return of(a) == of(b);
    }
    static void* copy(const void* v) { return new V(of(v)); }
    static void drop(void* v) { delete static_cast<V*>(v); }
    static constexpr FixedType make() {
        using Key = FixedType::Key;
        constexpr Key key = std::is_empty_v<V>                                          ? Key::none
                            : AnyNumber<V> || std::is_enum_v<V> || std::is_pointer_v<V> ? Key::bytes
                            : Text<V>                                                   ? Key::text
                                                                                        : Key::unknown;
        if constexpr (Comparable<V>)
            return {key, sizeof(V), characters, text, equal, copy, drop};
        else
            return {key, sizeof(V), nullptr, nullptr, nullptr, nullptr, nullptr};
    }
};
template <class V>
inline constexpr FixedType fixed_type = Fixed<V>::make();

template <bool Filter, class T>
struct TypeOf;
template <bool Filter, class T>
inline constexpr TreeType tree_type = TypeOf<Filter, T>::make();

template <bool Filter>
struct ToVisitor {
    Visitor& visitor;
    template <class C>
    void operator()(C& child) const {
        using U = std::remove_cv_t<C>;
        if constexpr (is_leaf<U>)
            visitor.child(visitor, static_cast<Array*>(const_cast<U*>(&child)), tree_type<Filter, Array>);
        else
            visitor.child(visitor, const_cast<U*>(&child), tree_type<Filter, U>);
    }
};
template <class T>
std::size_t count_of(const T& t) {
    std::size_t n = 0;
    for (auto i = t.begin(); i != t.end(); ++i) ++n;
    return n;
}
template <bool Filter, class T>
struct TypeOf {
    static void children(void* value, Visitor& v) {
        T& t = *static_cast<T*>(value);
        if constexpr (Map<T> && !is_static<T> && !Registered<T>) {
            each_entry(t, [&](auto& entry) { v.key = &entry.first, ToVisitor<Filter>{v}(entry.second); });
        } else {
            each_child<Filter>(t, ToVisitor<Filter>{v});
        }
    }
    static std::size_t count(const void* value) {
        const T& t = *static_cast<const T*>(value);
        if constexpr (Optional<T>)
            return t.has_value();
        else if constexpr (Variant<T>)
            return t.index();
        else
            return count_of(t);
    }
    static constexpr TreeType make() {
        using Kind = TreeType::Kind;
        if constexpr (is_leaf<T>) {
            return {Kind::leaf};
        } else if constexpr (is_static<T>) {
            using V = std::remove_cvref_t<decltype(std::declval<T&>().value)>;
            static_assert(Comparable<V>, "Static<T> needs ==");
            return {.kind = Kind::fixed, .fixed = &fixed_type<V>};
        } else if constexpr (Registered<T>) {
            return {.kind = Kind::structure, .children = children, .name = type_name<T>, .list = [] {
                        return jaxscope_member_names(static_cast<const T*>(nullptr));
                    }};
        } else if constexpr (std::is_same_v<T, None>) {  // an optional that never has a value
            return {.kind = Kind::optional, .count = [](const void*) { return std::size_t{0}; }, .children = children};
        } else if constexpr (Optional<T>) {
            return {.kind = Kind::optional, .count = count, .children = children};
        } else if constexpr (Variant<T>) {
            return {.kind = Kind::variant, .count = count, .children = children};
        } else if constexpr (Map<T>) {
            static_assert(told_by_text<typename T::key_type>(),
                          "T is no pytree: the keys of its map must be numbers, enums or text, or tuples, vectors or structs of these");
            return {.kind = Kind::dict, .count = count, .children = children, .fixed = &fixed_type<typename T::key_type>};
        } else if constexpr (Sequence<T>) {
            return {.kind = Kind::list, .count = count, .children = children};
        } else if constexpr (FixedArray<T> || TupleLike<T>) {
            return {.kind = Kind::tuple, .size = std::tuple_size<T>::value, .children = children};
        } else if constexpr (std::is_array_v<T>) {
            return {.kind = Kind::tuple, .size = std::extent_v<T>, .children = children};
        } else if constexpr (Aggregate<T>) {
            return {.kind = Kind::structure,
                    .size = member_count<T>(),
                    .children = children,
                    .name = type_name<T>,
                    .members = member_names<T>.names};
        } else {
            static_assert(Filter || !sizeof(T), JAXSCOPE_NO_PYTREE);
            return {.kind = Kind::fixed, .fixed = &fixed_type<T>};
        }
    }
};

/// Calls `f` with each array that has a value, in order.
void each_leaf_of(void* value, const TreeType& type, void* context, void (*f)(void* context, Array& leaf));
void append_leaves(const void* value, const TreeType& type, std::vector<Array>& out);
/// Arrays without a value, too.
void append_places(const void* value, const TreeType& type, std::vector<Array>& out);
/// With `Filter` those of a tree that holds other values, too.
template <bool Filter, class T>
std::vector<Array> leaves_in(const T& t) {
    std::vector<Array> out;
    append_leaves(&t, tree_type<Filter, T>, out);
    return out;
}
/// The arrays at all places, those without a value, too.
template <bool Filter, class T>
std::vector<Array> places_in(const T& t) {
    std::vector<Array> out;
    append_places(&t, tree_type<Filter, T>, out);
    return out;
}
/// Other arrays where it has some; `leaves` moves on.
void set_leaves(void* value, const TreeType& type, const Array*& leaves);

/// Calls f(Array&) for each leaf, in order. Arrays without a value are no leaves.
template <bool Filter = false, class T, class F>
void each_leaf(T& t, F&& f) {
    using U = std::remove_cv_t<T>;
    if constexpr (is_leaf<U>) {
        if (t.has_value()) f(t);
    } else {
        using G = std::remove_reference_t<F>;
        each_leaf_of(const_cast<U*>(&t), tree_type<Filter, U>, const_cast<std::remove_const_t<G>*>(&f),
                     [](void* context, Array& leaf) { (*static_cast<G*>(context))(leaf); });
    }
}

/// What keeps a value from being a tree. Asked first where users call, so that one sentence says what is wrong.
enum class TreeProblem : unsigned char { none, no_tree, no_equality };
constexpr TreeProblem first_problem(std::initializer_list<TreeProblem> list) {
    for (const TreeProblem p : list)
        if (p != TreeProblem::none) return p;
    return TreeProblem::none;
}
/// `Outer`: the types that it stands in.
template <bool Filter, class T, class... Outer>
constexpr TreeProblem tree_problem() {
    if constexpr ((std::is_same_v<T, Outer> || ...) || is_leaf<T> || (!is_static<T> && (Registered<T> || Optional<T> || Variant<T>)))
        return TreeProblem::none;
    else if constexpr (is_static<T>)
        return Comparable<decltype(T::value)> ? TreeProblem::none : TreeProblem::no_equality;
    else if constexpr (Map<T>)
        return tree_problem<Filter, typename T::mapped_type, T, Outer...>();
    else if constexpr (Sequence<T> || FixedArray<T>)
        return tree_problem<Filter, typename T::value_type, T, Outer...>();
    else if constexpr (std::is_array_v<T>)
        return tree_problem<Filter, std::remove_all_extents_t<T>, T, Outer...>();
    else if constexpr (TupleLike<T>)
        return []<std::size_t... I>(std::index_sequence<I...>) {
            return first_problem({tree_problem<Filter, std::remove_cvref_t<std::tuple_element_t<I, T>>, T, Outer...>()...});
        }
    (std::make_index_sequence<std::tuple_size<T>::value>());
    else if constexpr (Aggregate<T>) return decltype(with_members(std::declval<T&>(), []<class... M>(M&...) {
        return std::integral_constant<TreeProblem, first_problem({tree_problem<Filter, std::remove_cv_t<M>, T, Outer...>()...})>();
    }))::value;
    else return Filter && Comparable<T> ? TreeProblem::none : TreeProblem::no_tree;
}

struct TreeNode;
void retain_tree(const TreeNode* t) noexcept;
void release_tree(const TreeNode* t) noexcept;

}  // namespace detail

/// Makes a class with constructors or private members a tree: `JAXSCOPE_PYTREE(Model, w, b)` inside of it or behind it, in its namespace.
#define JAXSCOPE_PYTREE(T, ...)                                                                   \
    template <class JaxscopeSelf, class JaxscopeF>                                                \
    requires std::is_same_v<std::remove_cv_t<JaxscopeSelf>, T>                                    \
    friend decltype(auto) jaxscope_members(JaxscopeSelf& jaxscope_self, JaxscopeF&& jaxscope_f) { \
        return jaxscope_self.jaxscope_all(jaxscope_f);                                            \
    }                                                                                             \
    friend const char* jaxscope_member_names(const T*) { return #__VA_ARGS__; }                   \
    template <class JaxscopeF>                                                                    \
    decltype(auto) jaxscope_all(JaxscopeF& jaxscope_f) {                                          \
        return jaxscope_f(__VA_ARGS__);                                                           \
    }                                                                                             \
    template <class JaxscopeF>                                                                    \
    decltype(auto) jaxscope_all(JaxscopeF& jaxscope_f) const {                                    \
        return jaxscope_f(__VA_ARGS__);                                                           \
    }

/// The shape of a tree: compares, hashes, prints as JAX's PyTreeDef.
class PyTreeDef {
public:
    PyTreeDef() noexcept = default;
    PyTreeDef(const PyTreeDef& o) noexcept;
    PyTreeDef(PyTreeDef&& o) noexcept : tree_(o.tree_) { o.tree_ = nullptr; }
    PyTreeDef& operator=(PyTreeDef o) noexcept {
        const detail::TreeNode* const old = tree_;
        tree_ = o.tree_;
        o.tree_ = old;
        return *this;
    }
    ~PyTreeDef();
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
    const TreeType* type;
};
PyTreeDef make_tree(const Description& d);
/// Of the tree without leaves `n` is wanted: throws JAX's errors for too few and too many.
void check_leaf_count(const PyTreeDef& tree, std::size_t n, const Where& where);
/// JAX's error of tree_map for trees that differ.
[[noreturn]] void trees_differ(const PyTreeDef& a, const PyTreeDef& b, const char* name, const Where& where,
                               bool leaves_are_prefixes = false);
/// Throws that where the first isn't a prefix of the second: an array may stand where that has None.
void check_prefix(const Description& prefix, const Description& tree, const Where& where);
template <bool Filter = false, class T>
Description description(const T& t) {
    if constexpr (Filter)
        static_assert(tree_problem<true, T>() == TreeProblem::none,
                      "filter_jit: T is no array and no tree, so it is static, and static values need ==");
    return {&t, &tree_type<Filter, T>};
}
}  // namespace detail

template <class T>
PyTreeDef tree_structure(const T& t) {
    constexpr bool is_pytree = detail::tree_problem<false, T>() != detail::TreeProblem::no_tree;
    static_assert(is_pytree, JAXSCOPE_NO_PYTREE);
    if constexpr (is_pytree)
        return detail::make_tree(detail::description(t));
    else
        return {};  // so that nothing else is said
}
template <class T>
std::vector<Array> tree_leaves(const T& t) {
    constexpr bool is_pytree = detail::tree_problem<false, T>() != detail::TreeProblem::no_tree;
    static_assert(is_pytree, JAXSCOPE_NO_PYTREE);
    if constexpr (is_pytree)
        return detail::leaves_in<false>(t);
    else
        return {};
}
template <class T>
std::pair<std::vector<Array>, PyTreeDef> tree_flatten(const T& t) {
    return {tree_leaves(t), tree_structure(t)};
}
/// A tree like `prototype` with other leaves.
template <class T>
T tree_unflatten(const T& prototype, const std::vector<Array>& leaves, Where where = {}) {
    T out(prototype);
    std::size_t n = 0;
    detail::each_leaf(out, [&](Array& a) {
        if (n < leaves.size()) a = leaves[n];
        ++n;
    });
    if (n != leaves.size()) detail::check_leaf_count(tree_structure(prototype), leaves.size(), where);
    return out;
}

}  // namespace jaxscope::jax
