// SPDX-License-Identifier: Apache-2.0
#pragma once
// Equinox's functions on trees of arrays and values of any kind: is_array, filter, partition, combine, tree_at.
// A member that is no array can't be empty in C++: where Equinox puts None in its place, it stays as it is. An array that is left out is an
// Array without a value.
#include <jaxscope/tree_map.h>

namespace jaxscope::jax {

namespace detail {
bool is_inexact(const Array& a);
}
inline constexpr struct {
    template <class T>
    bool operator()(const T& v) const {
        if constexpr (detail::is_leaf<T>)
            return v.has_value();
        else
            return false;
    }
} is_array{};
inline constexpr struct {
    template <class T>
    bool operator()(const T& v) const {
        if constexpr (detail::is_leaf<T>)
            return v.has_value() && detail::is_inexact(v);
        else
            return false;
    }
} is_inexact_array{};
inline constexpr struct {
    template <class T>
    bool operator()(const T& v) const {
        return detail::AnyNumber<T> || is_array(v);
    }
} is_array_like{};
inline constexpr struct {
    template <class T>
    bool operator()(const T& v) const {
        return std::is_floating_point_v<T> || detail::Complex<T> || is_inexact_array(v);
    }
} is_inexact_array_like{};

/// Given to combine, filter and partition: nodes of which pred holds are taken whole.
template <class P>
struct IsLeaf {
    P pred;
};
template <class P>
IsLeaf<P> is_leaf(P pred) {
    return {static_cast<P&&>(pred)};
}

struct FilterOptions {
    bool inverse = false;
    Array replace = {};  ///< what stands where a leaf was taken out; nothing: None
};
namespace detail {
[[noreturn]] void spec_is_no_prefix(const PyTreeDef& spec, const PyTreeDef& tree, const Where& where);
bool truth_of(const Array& a, const Where& where);
/// Calls f with every place of an array, those without a value, too.
template <class T, class F>
void each_place(T& t, F&& f) {
    if constexpr (is_leaf<std::remove_cv_t<T>>)
        f(t);
    else
        each_child<true>(t, [&](auto& child) { each_place(child, f); });
}

struct NoNode {};
/// What a specification answers to a node that is taken whole: false where it is asked about arrays alone.
template <class S, class T>
bool answer_to_node(const S& spec, const T& node) {
    if constexpr (std::is_invocable_r_v<bool, const S&, const T&>)
        return spec(node);
    else
        return false;
}
/// Calls f(leaf, kept) for each array of the tree, as the specification answers to it, or to the node that `leaf` holds of.
template <class T, class S, class P, class F>
void each_asked(T& t, const S& spec, const P& leaf, F&& f) {
    using U = std::remove_cv_t<T>;
    if constexpr (std::is_same_v<P, NoNode> || is_leaf<U>) {
        each_leaf<true>(t, [&](Array& a) { f(a, static_cast<bool>(spec(static_cast<const Array&>(a)))); });
    } else {
        if constexpr (std::is_invocable_r_v<bool, const P&, const U&>)
            if (leaf(static_cast<const U&>(t))) {
                const bool kept = answer_to_node(spec, static_cast<const U&>(t));
                each_leaf<true>(t, [&](Array& a) { f(a, kept); });
                return;
            }
        each_child<true>(t, [&](auto& child) { each_asked(child, spec, leaf, f); });
    }
}

/// Calls f(leaf, kept) for each array of the tree. A specification is a bool, a callable, or a tree of these that is a prefix; one of the
/// tree's own type has arrays of one bool as leaves.
template <class T, class S, class F, class P = NoNode>
void each_chosen(T& t, const S& spec, const Where& where, F&& f, const P& leaf = {}) {
    using U = std::remove_cv_t<T>;
    if constexpr (std::is_same_v<S, bool>) {
        each_leaf<true>(t, [&](Array& a) { f(a, spec); });
    } else if constexpr (std::is_invocable_v<const S&, const Array&> && !is_tree<S>()) {
        each_asked(t, spec, leaf, f);
    } else if constexpr (std::is_invocable_v<const S&, const Array&> && std::is_empty_v<S>) {
        each_asked(t, spec, leaf, f);
    } else if constexpr (std::is_same_v<U, S>) {
        check_prefix(description<true>(spec), description<true>(static_cast<const U&>(t)), where);
        const std::vector<Array> chosen = places_in<true>(spec);
        std::size_t n = 0;
        each_place(t, [&](Array& a) {
            const Array& choice = chosen[n++];
            if (a.has_value()) f(a, truth_of(choice, where));
        });
    } else if constexpr (TupleLike<U> && TupleLike<S>) {
        static_assert(std::tuple_size_v<U> == std::tuple_size_v<S>, "filter: the specification must be a prefix of the tree");
        [&]<std::size_t... I>(std::index_sequence<I...>) { (each_chosen(std::get<I>(t), std::get<I>(spec), where, f, leaf), ...); }
        (std::make_index_sequence<std::tuple_size_v<U>>());
    } else if constexpr ((Map<U> && Map<S>) || (Sequence<U> && Sequence<S>)) {
        bool fits = count_of(t) == count_of(spec);
        if constexpr (Map<U>) {
            for (auto i = t.begin(); fits && i != t.end(); ++i) fits = spec.find(i->first) != spec.end();
            if (fits) each_entry(t, [&](auto& entry) { each_chosen(entry.second, spec.find(entry.first)->second, where, f, leaf); });
        } else if (fits) {
            auto s = spec.begin();
            for (auto i = t.begin(); i != t.end(); ++i, ++s) each_chosen(*i, *s, where, f, leaf);
        }
        if (!fits) spec_is_no_prefix(make_tree(description<true>(spec)), make_tree(description<true>(static_cast<const U&>(t))), where);
    } else {
        static_assert(!sizeof(S), "filter: `filter_spec` must consist of booleans and callables only, in a prefix of the tree");
    }
}
}  // namespace detail

/// The tree with the leaves that the specification chooses; the others are `options.replace`.
template <class T, class S>
T filter(const T& tree, const S& filter_spec, const FilterOptions& options = {}, Where where = {}) {
    T out(tree);
    detail::each_chosen(out, filter_spec, where, [&](Array& a, bool chosen) {
        if (chosen == options.inverse) a = options.replace;
    });
    return out;
}
/// `filter(tree, spec, is_leaf(pred))`: a callable is asked about whole nodes, where pred holds of one; all arrays of a node go with it.
template <class T, class S, class P>
T filter(const T& tree, const S& filter_spec, const IsLeaf<P>& leaf, const FilterOptions& options = {}, Where where = {}) {
    T out(tree);
    const auto keep = [&](Array& a, bool chosen) {
        if (chosen == options.inverse) a = options.replace;
    };
    detail::each_chosen(out, filter_spec, where, keep, leaf.pred);
    return out;
}
/// What the specification chooses, and the rest: each with None in the other's places.
template <class T, class S>
std::pair<T, T> partition(const T& tree, const S& filter_spec, const Array& replace = {}, Where where = {}) {
    return {filter(tree, filter_spec, {.replace = replace}, where),
            filter(tree, filter_spec, {.inverse = true, .replace = replace}, where)};
}
template <class T, class S, class P>
std::pair<T, T> partition(const T& tree, const S& filter_spec, const IsLeaf<P>& leaf, const Array& replace = {}, Where where = {}) {
    return {filter(tree, filter_spec, leaf, {.replace = replace}, where),
            filter(tree, filter_spec, leaf, {.inverse = true, .replace = replace}, where)};
}
namespace detail {
/// Throws JAX's error of tree_map where their arrays don't stand in the same places, or one has a place that the other hasn't. Arrays
/// without a value have their place; what else the trees hold isn't compared.
void check_same_places(const Description& a, const Description& b, const Where& where = Where("", 0, ""));
template <class T, class... More>
T combined(const Where& where, const T& first, const More&... more) {
    T out(first);
    const auto fill = [&](const T& other) {
        check_same_places(description<true>(first), description<true>(other), where);
        const std::vector<Array> theirs = places_in<true>(other);
        std::size_t n = 0;
        each_place(out, [&](Array& a) {
            if (!a.has_value()) a = theirs[n];
            ++n;
        });
    };
    (fill(more), ...);
    return out;
}
}  // namespace detail
/// At each place the first of the trees' values that isn't None. Where `is_leaf` holds of a node of the first tree, that node is taken
/// whole.
template <class T>
T combine(const T& first, const T& second, Where where = {}) {
    return detail::combined(where, first, second);
}
template <class T, class... More>
T combine(const T& first, const More&... more) {
    return detail::combined(Where("", 0, ""), first, more...);
}

/// For tree_at: what a function makes of the old node.
template <class F>
struct ReplaceFn {
    F f;
};
template <class F>
ReplaceFn<F> replace_fn(F f) {
    return {static_cast<F&&>(f)};
}
namespace detail {
/// A node that tree_at's `where` returned, as the tree's walk meets it.
struct ChosenNode {
    const void* at;
    const TreeType* type;
};
template <class Node>
ChosenNode chosen(const Node& node) {
    if constexpr (is_leaf<Node>)
        return {static_cast<const Array*>(&node), &tree_type<true, Array>};
    else
        return {&node, &tree_type<true, Node>};
}
/// Throws Equinox's error where one isn't a node of the tree, or stands in another one that is chosen.
void check_chosen(const Description& tree, const ChosenNode* nodes, std::size_t n, const Where& where);
/// A node that was chosen twice is replaced once.
inline bool is_first(const ChosenNode* nodes, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i)
        if (nodes[i].at == nodes[n].at && nodes[i].type == nodes[n].type) return false;
    return true;
}
/// What an array is refused to be made of is no new node either.
template <class New, class Node>
constexpr bool assigns() {
    if constexpr (is_leaf<std::remove_cvref_t<Node>> && (TextLike<New> || NumberRange<New>))
        return false;
    else
        return std::is_assignable_v<Node, const New&>;
}
template <class Node, class New>
void replace_node(Node& node, const New& value) {
    if constexpr (requires { value.f(static_cast<const Node&>(node)); }) {
        node = value.f(static_cast<const Node&>(node));
    } else if constexpr (assigns<New, Node&>()) {
        node = value;
    }
}
template <class New, class Node>
constexpr bool replaces() {
    return assigns<New, Node>() || requires(const New& value, Node node) { node = value.f(std::as_const(node)); };
}
}  // namespace detail
/// A copy with other nodes: `tree_at([](auto& m) -> auto& { return m.hidden.w; }, model, w)`. `where` returns a reference, or a tuple of
/// them (std::tie) for a tuple of new nodes.
template <class W, class T, class R>
T tree_at(W&& where, const T& tree, const R& replace, Where line = {}) {
    T out(tree);
    using Found = decltype(where(out));
    if constexpr (std::is_lvalue_reference_v<Found>) {
        auto& node = where(out);
        constexpr bool fits = detail::replaces<R, decltype(node)>();
        static_assert(fits, "tree_at: the new node isn't of the type of the old one (or `where` returns a const reference)");
        const detail::ChosenNode chosen = detail::chosen(node);
        detail::check_chosen(detail::description<true>(out), &chosen, 1, line);
        detail::replace_node(node, replace);
    } else {
        constexpr bool found = detail::TupleLike<Found>;
        static_assert(found, "tree_at: `where` must return a reference into the tree, or a tuple of them (std::tie)");
        if constexpr (!found)
            return out;
        else {
            auto nodes = where(out);
            [&]<std::size_t... I>(std::index_sequence<I...>) {
                const detail::ChosenNode chosen[] = {detail::chosen(std::get<I>(nodes))...};
                detail::check_chosen(detail::description<true>(out), chosen, sizeof...(I), line);
                if constexpr (requires { replace.f(std::get<0>(nodes)); }) {
                    ((detail::is_first(chosen, I) ? detail::replace_node(std::get<I>(nodes), replace) : void()), ...);
                } else {
                    static_assert(std::tuple_size_v<R> == sizeof...(I),
                                  "tree_at: `where` must return a sequence of leaves of the same length as `replace`.");
                    static_assert((detail::replaces<std::tuple_element_t<I, R>, decltype(std::get<I>(nodes))>() && ...),
                                  "tree_at: a new node isn't of the type of the old one (or `where` returns a const reference)");
                    (detail::replace_node(std::get<I>(nodes), std::get<I>(replace)), ...);
                }
            }
            (std::make_index_sequence<std::tuple_size_v<Found>>());
        }
    }
    return out;
}

}  // namespace jaxscope::jax
