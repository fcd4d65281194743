// SPDX-License-Identifier: Apache-2.0
#pragma once
// jax.tree_util.tree_map: several trees walked side by side. In: trees of one structure, or a first one that is a prefix of the others.
// Out: a tree like the first. Nodes that count as leaves are named by their type (`is_leaf<Node>()`), as types are what C++ has for
// isinstance.
#include <jaxscope/tree_of.h>

namespace jaxscope::jax {

template <class Node>
struct LeafType {};
/// Python's `is_leaf=lambda n: isinstance(n, Node)`: nodes of this type are taken whole. `is_leaf<None>()`: arrays without a value are
/// leaves.
template <class Node>
constexpr LeafType<Node> is_leaf() {
    return {};
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
template <class T>
inline constexpr bool needs_filter = tree_problem<false, T>() == TreeProblem::no_tree;
template <class T>
constexpr bool is_mapped_over() {
    return !needs_filter<T> || is_model<T>();
}
template <class>
using ArrayOf = Array;
template <class R>
inline constexpr bool gives_array = std::is_convertible_v<R, Array> && !NoArray<R>;
/// Can it be made of nothing, and hold arrays?
template <class R>
constexpr bool is_tree_of_leaves() {
    if constexpr (std::is_void_v<R> || !std::is_default_constructible_v<R>)
        return false;
    else
        return is_tree<R>() && !needs_filter<R>;
}

/// Has U trees where T has leaves? Told by their types.
template <class T, class U>
constexpr bool deeper() {
    if constexpr (is_leaf<T>)
        return !is_leaf<U> && !AnyNumber<U> && is_mapped_over<U>();
    else if constexpr (std::is_same_v<T, U>)
        return false;
    else if constexpr (Map<T> && Map<U>)
        return deeper<typename T::mapped_type, typename U::mapped_type>();
    else if constexpr ((Sequence<T> && Sequence<U>) || (FixedArray<T> && FixedArray<U>))
        return deeper<typename T::value_type, typename U::value_type>();
    else if constexpr (TupleLike<T> && TupleLike<U>)
        return []<std::size_t... I>(std::index_sequence<I...>) {
            if constexpr (std::tuple_size_v<U> == sizeof...(I))
                return (deeper<std::remove_cvref_t<std::tuple_element_t<I, T>>, std::remove_cvref_t<std::tuple_element_t<I, U>>>() || ...);
            else
                return false;
        }
    (std::make_index_sequence<std::tuple_size_v<T>>());
    else return false;
}

/// The first tree and another one, down to the leaves of the first: throws where that isn't a prefix.
struct Side {
    Description first, other;
    Where where;
    [[noreturn]] void differ() const;
};

/// Calls f(leaf, what the others have there...) for the leaves of the first tree; nodes of type Stop are leaves. Where they differ,
/// `differ` is asked to throw.
template <class Stop, class D, class F, class T, class... U>
void walk_together(const D& differ, F& f, T& t, U&... u);

template <class Stop, class D, class F, class T, class... U>
void walk_rows(const D& differ, F& f, T& t, U&... u) {
    if (((count_of(t) != count_of(u)) || ...)) return differ();
    auto rows = std::make_tuple(u.begin()...);
    for (auto& v : t) {
        std::apply([&](auto&... row) { walk_together<Stop>(differ, f, v, *row...); }, rows);
        std::apply([](auto&... row) { (++row, ...); }, rows);
    }
}
template <class Stop, std::size_t I, class D, class F, class... M>
void walk_member(const D& differ, F& f, M&... members) {
    walk_together<Stop>(differ, f, std::get<I>(members)...);
}
template <class Stop, class D, class F, class... M>
void walk_members(const D& differ, F& f, M&&... members) {
    using First = std::remove_cvref_t<std::tuple_element_t<0, std::tuple<M...>>>;
    static_assert(((std::tuple_size_v<std::remove_cvref_t<M>> == std::tuple_size_v<First>)&&...), "tree_map: tuples of other lengths");
    [&]<std::size_t... I>(std::index_sequence<I...>) { (walk_member<Stop, I>(differ, f, members...), ...); }
    (std::make_index_sequence<std::tuple_size_v<First>>());
}
template <class T>
auto members_of(T& t) {
    return with_children(t, [](auto&... m) { return std::tie(m...); });
}
template <class Stop, class D, class F, class T, class... U>
void walk_together(const D& differ, F& f, T& t, U&... u) {
    using V = std::remove_cv_t<T>;
    constexpr bool same = (std::is_same_v<V, std::remove_cv_t<U>> && ...);
    if constexpr (std::is_same_v<V, Stop>) {
        f(t, u...);
    } else if constexpr (is_leaf<V>) {
        if (std::is_same_v<Stop, None> || t.has_value()) f(t, u...);
    } else if constexpr (is_static<V>) {
        if constexpr (same)
            if ((!(t == u) || ...)) differ();
    } else if constexpr (Registered<V> || (Aggregate<V> && !TupleLike<V> && !FixedArray<V> && is_mapped_over<V>())) {
        static_assert(same, "tree_map: where the first tree has a struct, the others have it too");
        if constexpr (same) walk_members<Stop>(differ, f, members_of(t), members_of(u)...);
    } else if constexpr (Optional<V>) {
        if (((t.has_value() != u.has_value()) || ...)) return differ();
        if (t.has_value()) walk_together<Stop>(differ, f, *t, *u...);
    } else if constexpr (Map<V>) {
        if (((count_of(t) != count_of(u)) || ...)) return differ();
        each_entry(t, [&](auto& entry) {
            if (((u.find(entry.first) == u.end()) || ...)) return differ();
            walk_together<Stop>(differ, f, entry.second, u.find(entry.first)->second...);
        });
    } else if constexpr (Sequence<V> || FixedArray<V>) {
        walk_rows<Stop>(differ, f, t, u...);
    } else if constexpr (TupleLike<V>) {
        walk_members<Stop>(differ, f, t, u...);
    } else if constexpr (Variant<V>) {
        static_assert(sizeof...(U) == 0, "tree_map: a std::variant in trees that are walked side by side");
        visit([&](auto& v) { walk_together<Stop>(differ, f, v); }, t);
    }
}
template <class Stop, class T, class U>
void check_side(const T& t, const U& u, const Where& where) {
    const Side side{description<needs_filter<T>>(t), description<needs_filter<U>>(u), where};
    const auto nothing = [](const auto&...) {};
    walk_together<Stop>([&] { side.differ(); }, nothing, t, u);
}
/// The first tree with f(leaf, what the others have there...) for each of its leaves.
template <class Stop, class F, class T, class... U>
T map_nodes(const Where& where, F& f, const T& t, const U&... u) {
    (check_side<Stop>(t, u, where), ...);
    T out(t);
    const auto set = [&]<class N>(N& node, const auto&... others) {
        constexpr bool callable = std::is_invocable_r_v<N, F&, const N&, decltype(others)...>;
        static_assert(callable,
                      "tree_map: the function takes each leaf of the first tree with what the others have there, and gives such a leaf");
        if constexpr (callable) node = f(static_cast<const N&>(node), others...);
    };
    walk_together<Stop>([] {}, set, out, u...);
    return out;
}

template <bool Filter, class F, class T, class... More>
T map_leaves(const Where& where, F&& f, const T& t, const More&... more) {
    (check_prefix(description<Filter>(t), description<Filter>(more), where), ...);
    const std::vector<Array> places[] = {places_in<Filter>(t), places_in<Filter>(more)...};
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
/// The first tree with a tree R, which `f` gives, for each leaf; what it gives of none is made of nothing.
template <class R, class F, class T, class... More>
auto map_to_trees(const Where& where, F&& f, const T& t, const More&... more) {
    (check_prefix(description(t), description(more), where), ...);
    const std::vector<Array> places[] = {places_in<false>(t), places_in<false>(more)...};
    std::size_t n = 0;
    return product_of<typename Product<T, R>::type>(t, [&]() -> R {
        const std::size_t k = n++;
        if (!places[0][k].has_value()) return R();
        return [&]<std::size_t... I>(std::index_sequence<I...>) { return f(places[0][k], places[I + 1][k]...); }
        (std::index_sequence_for<More...>());
    });
}
#define JAXSCOPE_NO_MAP "tree_map: the function takes an Array of each tree, and gives an Array"
enum class MapProblem : unsigned char { none, no_tree, function };
template <class F, class T, class... More>
constexpr MapProblem map_problem() {
    if constexpr (!is_mapped_over<T>()) {
        return MapProblem::no_tree;
    } else if constexpr ((deeper<T, More>() || ...)) {
        return MapProblem::none;  // asked leaf by leaf
    } else if constexpr (std::is_invocable_v<F&, const Array&, const ArrayOf<More>&...>) {
        using R = std::remove_cvref_t<std::invoke_result_t<F&, const Array&, const ArrayOf<More>&...>>;
        return gives_array<R> || (!needs_filter<T> && is_tree_of_leaves<R>()) ? MapProblem::none : MapProblem::function;
    } else {
        return MapProblem::function;
    }
}
template <MapProblem P, class F, class T, class... More>
auto map_trees(const Where& where, F& f, const T& t, const More&... more) {
    if constexpr (P != MapProblem::none) {
        return T(t);  // so that nothing else is said
    } else if constexpr ((deeper<T, More>() || ...)) {
        return map_nodes<void>(where, f, t, more...);
    } else {
        using R = std::remove_cvref_t<std::invoke_result_t<F&, const Array&, const ArrayOf<More>&...>>;
        if constexpr (gives_array<R>)
            return map_leaves<needs_filter<T>>(where, f, t, more...);
        else
            return map_to_trees<R>(where, f, t, more...);
    }
}
/// A function object, so that it has two names. Up to three trees: a place can't be left out behind any number of them.
struct TreeMap {
    template <class F, class T>
    auto operator()(F&& f, const T& t, Where where = {}) const {
        constexpr MapProblem problem = map_problem<F, T>();
        static_assert(problem != MapProblem::no_tree, JAXSCOPE_NO_PYTREE);
        static_assert(problem != MapProblem::function, JAXSCOPE_NO_MAP);
        return map_trees<problem>(where, f, t);
    }
    template <class F, class T, class U>
    auto operator()(F&& f, const T& t, const U& u, Where where = {}) const {
        constexpr MapProblem problem = map_problem<F, T, U>();
        static_assert(problem != MapProblem::no_tree, JAXSCOPE_NO_PYTREE);
        static_assert(problem != MapProblem::function, JAXSCOPE_NO_MAP);
        return map_trees<problem>(where, f, t, u);
    }
    template <class F, class T, class U, class V>
    auto operator()(F&& f, const T& t, const U& u, const V& v, Where where = {}) const {
        constexpr MapProblem problem = map_problem<F, T, U, V>();
        static_assert(problem != MapProblem::no_tree, JAXSCOPE_NO_PYTREE);
        static_assert(problem != MapProblem::function, JAXSCOPE_NO_MAP);
        return map_trees<problem>(where, f, t, u, v);
    }
    template <class F, class T, class U, class V, class W, class... More>
    auto operator()(F&& f, const T& t, const U& u, const V& v, const W& w, const More&... more) const {
        constexpr MapProblem problem = map_problem<F, T, U, V, W, More...>();
        static_assert(problem != MapProblem::no_tree, JAXSCOPE_NO_PYTREE);
        static_assert(problem != MapProblem::function, JAXSCOPE_NO_MAP);
        return map_trees<problem>(Where("", 0, ""), f, t, u, v, w, more...);
    }
    template <class F, class T, class Node>
    T operator()(F&& f, const T& t, LeafType<Node>, Where where = {}) const {
        return map_nodes<Node>(where, f, t);
    }
    template <class F, class T, class U, class Node>
    T operator()(F&& f, const T& t, const U& u, LeafType<Node>, Where where = {}) const {
        return map_nodes<Node>(where, f, t, u);
    }
    template <class F, class T, class U, class V, class Node>
    T operator()(F&& f, const T& t, const U& u, const V& v, LeafType<Node>, Where where = {}) const {
        return map_nodes<Node>(where, f, t, u, v);
    }
};
#undef JAXSCOPE_NO_MAP
PyTreeDef make_tree(const Description& d, const TreeType* leaf);
/// Throws where arrays stand outside of the nodes that are leaves.
void check_only_nodes(const PyTreeDef& tree, std::size_t nodes, const Where& where);
}  // namespace detail

/// f(leaf, leaf of the other trees...) for every leaf of the first. The others may be deeper: the function is given what they have below
/// a leaf of the first; another tree may have None there, an Array without a value. A function that gives a tuple (or another tree) makes a
/// tree of those. Throws JAX's error that names the first place where the trees differ. In a model, as filter_jit takes one, the arrays are
/// the leaves and all else stays. Behind the trees, `is_leaf<Node>()`: nodes of that type are given to the function whole.
inline constexpr detail::TreeMap tree_map{};

/// The nodes of that type, in order; arrays outside of them are left out. `is_leaf<None>()`: all arrays, those without a value too.
template <class T, class Node>
auto tree_leaves(const T& t, LeafType<Node>) {
    if constexpr (std::is_same_v<Node, None>) {
        return detail::places_in<detail::needs_filter<T>>(t);
    } else {
        std::vector<Node> out;
        const auto add = [&]<class N>(const N& node) {
            if constexpr (std::is_same_v<N, Node>) out.push_back(node);
        };
        detail::walk_together<Node>([] {}, add, t);
        return out;
    }
}
/// With a leaf for each of these nodes.
template <class T, class Node>
PyTreeDef tree_structure(const T& t, LeafType<Node>) {
    constexpr bool filter = detail::needs_filter<T>;
    using Leaf = std::conditional_t<std::is_same_v<Node, None>, Array, Node>;
    return detail::make_tree(detail::description<filter>(t), &detail::tree_type<filter, Leaf>);
}
/// Throws Error{BadUsage} where arrays stand outside of the nodes: C++ has no list of both.
template <class T, class Node>
auto tree_flatten(const T& t, LeafType<Node> leaf, Where where = {}) {
    std::pair out(tree_leaves(t, leaf), tree_structure(t, leaf));
    detail::check_only_nodes(out.second, out.first.size(), where);
    return out;
}

}  // namespace jaxscope::jax
