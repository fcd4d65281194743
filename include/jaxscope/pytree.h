// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a value is taken apart into arrays and put together again: tuples, vectors, maps, optionals, variants, `Static<T>`, aggregates, and
// structs that say their members (JAXSCOPE_PYTREE). Containers are met by shape, so no container's header is included here.
// In: any such type. Out: its leaves in order, its tree for comparing and printing. Never here: what a tree of arrays is used for.
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <jaxscope/reflect.h>

namespace jaxscope::jax {

/// A value that belongs to the tree instead of being a leaf: changing it traces anew. T needs == ; its text is taken from std::to_string,
/// strings and bools as they are.
template <class T>
struct Static {
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
concept Text = std::is_same_v<T, std::string_view> || requires(const T& t) {
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
           TupleLike<T> || Aggregate<T> || std::is_array_v<T>;
}

/// Kinds of a tree's nodes.
enum class TreeKind : unsigned char { leaf, none, tuple, list, dict, custom, fixed };

std::string number_text(long long v);
std::string number_text(unsigned long long v);
std::string number_text(double v);
std::string number_text(float v);
std::string complex_text(double real, double imag);
std::string quoted_text(std::string_view v);  ///< as Python writes it
std::string listed_texts(std::initializer_list<std::string> texts);
template <class T>
std::string_view characters_of(const T& v) {
    if constexpr (std::is_convertible_v<const T&, std::string_view>)
        return v;
    else
        return v.c_str();
}
template <class T>
constexpr bool is_plain();
/// `<function relu>`, or by its address where the program's symbols don't name it.
std::string function_text(const void* address);
template <class T>
std::string text_of(const T& v);
template <class T>
std::string texts_of(const T& v) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
        using std::get;
        return listed_texts({text_of(get<I>(v))...});
    }
    (std::make_index_sequence<std::tuple_size<T>::value>());
}
template <class T>
std::string text_of(const T& v) {
    if constexpr (std::is_same_v<T, bool>)
        return v ? "True" : "False";
    else if constexpr (std::is_enum_v<T>)
        return number_text(static_cast<long long>(v));
    else if constexpr (std::is_same_v<T, float>)
        return number_text(v);
    else if constexpr (std::is_floating_point_v<T>)
        return number_text(static_cast<double>(v));
    else if constexpr (std::is_unsigned_v<T>)
        return number_text(static_cast<unsigned long long>(v));
    else if constexpr (std::is_arithmetic_v<T>)
        return number_text(static_cast<long long>(v));
    else if constexpr (Complex<T>)
        return complex_text(static_cast<double>(v.real()), static_cast<double>(v.imag()));
    else if constexpr (Text<T>)
        return quoted_text(characters_of(v));
    else if constexpr (std::is_convertible_v<T, const char*>)
        return quoted_text(v);
    else if constexpr (Optional<T>)
        return v.has_value() ? text_of(*v) : "None";
    else if constexpr (Sequence<T> || FixedArray<T>) {
        std::string out;
        for (const auto& e : v) out += (out.empty() ? "" : ", ") + text_of(e);
        return "[" + out + "]";
    } else if constexpr (TupleLike<T>)
        return "(" + texts_of(v) + (std::tuple_size<T>::value == 1 ? ",)" : ")");
    else if constexpr (Aggregate<T> && !Map<T>)
        return std::string(type_name<T>.text, type_name<T>.size) + "(" +
               with_members(v, [](const auto&... m) { return listed_texts({text_of(m)...}); }) + ")";
    else if constexpr (std::is_pointer_v<T> && std::is_function_v<std::remove_pointer_t<T>>)
        return function_text(reinterpret_cast<const void*>(v));
    else
        return std::string(type_name<T>.text, type_name<T>.size);
}
/// Does the text tell one value from another? The keys of a map are compared by it.
template <class T>
constexpr bool told_by_text() {
    if constexpr (AnyNumber<T> || std::is_enum_v<T> || Text<T> || std::is_convertible_v<T, const char*> || std::is_empty_v<T>)
        return true;
    else if constexpr (Optional<T>)
        return told_by_text<std::remove_cvref_t<decltype(*std::declval<T&>())>>();
    else if constexpr (Sequence<T> || FixedArray<T>)
        return told_by_text<typename T::value_type>();
    else if constexpr (TupleLike<T>)
        return []<std::size_t... I>(std::index_sequence<I...>) {
            return (told_by_text<std::remove_cvref_t<std::tuple_element_t<I, T>>>() && ...);
        }
    (std::make_index_sequence<std::tuple_size<T>::value>());
    else if constexpr (Aggregate<T> && !Map<T>) return decltype(with_members(
        std::declval<T&>(), []<class... M>(M&...) { return std::bool_constant<(told_by_text<std::remove_cv_t<M>>() && ...)>(); }))::value;
    else return false;
}
/// A function's address, or a function object that holds nothing.
template <class T>
concept PlainFunction = (std::is_pointer_v<T> && std::is_function_v<std::remove_pointer_t<T>>) ||
                        (std::is_class_v<T> && std::is_empty_v<T> && !std::is_aggregate_v<T> && std::is_copy_constructible_v<T>);
/// A value that can hold no array: numbers, enums, text, functions and containers of these.
template <class T>
constexpr bool is_plain() {
    if constexpr (AnyNumber<T> || std::is_enum_v<T> || Text<T> || std::is_convertible_v<T, const char*> || PlainFunction<T>)
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

/// Where the entries of a map are, to be put in order.
class Places {
public:
    Places();
    ~Places();
    Places(const Places&) = delete;
    Places& operator=(const Places&) = delete;
    void add(const void* entry);
    void sort(bool (*less)(const void*, const void*));
    const void* const* begin() const { return first_; }
    const void* const* end() const { return first_ + n_; }
    std::size_t size() const { return n_; }

private:
    const void** first_ = nullptr;
    std::size_t n_ = 0, room_ = 0;
};
template <class T>
concept AscendingMap = requires {
    typename T::key_compare;
    requires std::is_same_v<typename T::key_compare, std::less<typename T::key_type>> ||
        std::is_same_v<typename T::key_compare, std::less<>>;
};
/// Calls f(entry) for a map's entries, keys ascending, as JAX takes a dict's.
template <class T, class F>
void each_entry(T& t, F&& f) {
    if constexpr (AscendingMap<std::remove_cv_t<T>>) {
        for (auto& entry : t) f(entry);
    } else {
        using Entry = std::remove_reference_t<decltype(*t.begin())>;
        static_assert(
            requires(Entry & e) { e.first < e.first; }, "T is no pytree: the keys of its map have no order (<)");
        Places entries;
        for (auto& entry : t) entries.add(&entry);
        entries.sort(
            [](const void* a, const void* b) -> bool { return static_cast<const Entry*>(a)->first < static_cast<const Entry*>(b)->first; });
        for (const void* entry : entries) f(*static_cast<Entry*>(const_cast<void*>(entry)));
    }
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
        each_entry(t, [&](auto& entry) { f(entry.second); });
    } else if constexpr (Sequence<U> || FixedArray<U> || std::is_array_v<U>) {
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
            static_assert(Filter || !sizeof(T),
                          "T is no pytree: it has constructors, private members or bases; add JAXSCOPE_PYTREE(T, member, ...) or "
                          "wrap it in Static<>");
            return {.kind = Kind::fixed, .fixed = &fixed_type<T>};
        }
    }
};

/// Calls `f` with each array that has a value, in order.
void each_leaf_of(void* value, const TreeType& type, void* context, void (*f)(void* context, Array& leaf));
void append_leaves(const void* value, const TreeType& type, std::vector<Array>& out);
/// Arrays without a value, too.
void append_places(const void* value, const TreeType& type, std::vector<Array>& out);
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
    const TreeType* type;
};
PyTreeDef make_tree(const Description& d);
/// Of the tree without leaves `n` is wanted: throws JAX's errors for too few and too many.
void check_leaf_count(const PyTreeDef& tree, std::size_t n, const Where& where);
/// JAX's error of tree_map for trees that differ.
[[noreturn]] void trees_differ(const PyTreeDef& a, const PyTreeDef& b, const char* name, const Where& where);
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
    static_assert(
        is_pytree,
        "T is no pytree: it has constructors, private members or bases; add JAXSCOPE_PYTREE(T, member, ...) or wrap it in Static<>");
    if constexpr (is_pytree)
        return detail::make_tree(detail::description(t));
    else
        return {};  // so that nothing else is said
}
template <class T>
std::vector<Array> tree_leaves(const T& t) {
    constexpr bool is_pytree = detail::tree_problem<false, T>() != detail::TreeProblem::no_tree;
    static_assert(
        is_pytree,
        "T is no pytree: it has constructors, private members or bases; add JAXSCOPE_PYTREE(T, member, ...) or wrap it in Static<>");
    std::vector<Array> out;
    if constexpr (is_pytree) detail::append_leaves(&t, detail::tree_type<false, T>, out);
    return out;
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
namespace detail {
/// A struct of arrays and of what filter_jit and its family take for static, or a container of such.
template <class T>
constexpr bool is_model() {
    if constexpr (Aggregate<T>)
        return tree_problem<true, T>() == TreeProblem::none;
    else if constexpr (Sequence<T> || FixedArray<T>)
        return is_model<typename T::value_type>();
    else if constexpr (Map<T>)
        return is_model<typename T::mapped_type>();
    else
        return false;
}
template <bool Filter, class T>
std::vector<Array> places_of(const T& t) {
    std::vector<Array> out;
    append_places(&t, tree_type<Filter, T>, out);
    return out;
}
template <class>
using ArrayOf = Array;
template <bool Filter, class F, class T, class... More>
T map_leaves(const Where& where, F&& f, const T& t, const More&... more) {
    (check_prefix(description<Filter>(t), description<Filter>(more), where), ...);
    const std::vector<Array> places[] = {places_of<Filter>(t), places_of<Filter>(more)...};
    T out(t);
    std::size_t n = 0;
    each_leaf<Filter>(out, [&](Array& a) {
        while (!places[0][n].has_value()) ++n;
        [&]<std::size_t... I>(std::index_sequence<I...>) { a = f(static_cast<const Array&>(a), places[I + 1][n]...); }
        (std::index_sequence_for<More...>());
        ++n;
    });
    return out;
}
enum class MapProblem : unsigned char { none, no_tree, function };
template <class F, class T, class... More>
constexpr MapProblem map_problem() {
    if constexpr (tree_problem<false, T>() == TreeProblem::no_tree && !is_model<T>())
        return MapProblem::no_tree;
    else
        return std::is_invocable_r_v<Array, F&, const Array&, const ArrayOf<More>&...> ? MapProblem::none : MapProblem::function;
}
template <class F, class T, class... More>
T map_trees(const Where& where, F&& f, const T& t, const More&... more) {
    if constexpr (map_problem<F, T, More...>() == MapProblem::none)
        return map_leaves<tree_problem<false, T>() == TreeProblem::no_tree>(where, f, t, more...);
    else
        return t;  // so that nothing else is said
}
/// A function object, so that it has two names. Up to three trees: a place can't be left out behind any number of them.
struct TreeMap {
    template <class F, class T>
    T operator()(F&& f, const T& t, Where where = {}) const {
        constexpr MapProblem problem = map_problem<F, T>();
        static_assert(
            problem != MapProblem::no_tree,
            "T is no pytree: it has constructors, private members or bases; add JAXSCOPE_PYTREE(T, member, ...) or wrap it in Static<>");
        static_assert(problem != MapProblem::function, "tree_map: the function takes an Array of each tree, and gives an Array");
        return map_trees(where, f, t);
    }
    template <class F, class T, class U>
    T operator()(F&& f, const T& t, const U& u, Where where = {}) const {
        constexpr MapProblem problem = map_problem<F, T, U>();
        static_assert(
            problem != MapProblem::no_tree,
            "T is no pytree: it has constructors, private members or bases; add JAXSCOPE_PYTREE(T, member, ...) or wrap it in Static<>");
        static_assert(problem != MapProblem::function, "tree_map: the function takes an Array of each tree, and gives an Array");
        return map_trees(where, f, t, u);
    }
    template <class F, class T, class U, class V>
    T operator()(F&& f, const T& t, const U& u, const V& v, Where where = {}) const {
        constexpr MapProblem problem = map_problem<F, T, U, V>();
        static_assert(
            problem != MapProblem::no_tree,
            "T is no pytree: it has constructors, private members or bases; add JAXSCOPE_PYTREE(T, member, ...) or wrap it in Static<>");
        static_assert(problem != MapProblem::function, "tree_map: the function takes an Array of each tree, and gives an Array");
        return map_trees(where, f, t, u, v);
    }
    template <class F, class T, class U, class V, class W, class... More>
    T operator()(F&& f, const T& t, const U& u, const V& v, const W& w, const More&... more) const {
        static_assert(map_problem<F, T, U, V, W, More...>() == MapProblem::none,
                      "tree_map: the function takes an Array of each tree, and gives an Array");
        return map_trees(Where("", 0, ""), f, t, u, v, w, more...);
    }
};
}  // namespace detail
/// f(leaf, leaf of the other trees...) for every leaf of the first; another tree may have None there, an Array without a value. Throws
/// JAX's error that names the first place where the trees differ. In a model, as filter_jit takes one, the arrays are the leaves and all
/// else stays.
inline constexpr detail::TreeMap tree_map{};

}  // namespace jaxscope::jax
