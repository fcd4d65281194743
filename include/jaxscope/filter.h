// SPDX-License-Identifier: Apache-2.0
#pragma once
// Equinox's filtered transformations: arrays are traced, everything else in the arguments is static. Members that are no arrays need no
// Static<>, only ==. And its functions on trees: is_array, partition, combine, filter, tree_at.
// A member that is no array can't be empty in C++: where Equinox puts None in its place, it stays as it is. An array that is left out is an
// Array without a value.
#include <jaxscope/autodiff.h>
#include <jaxscope/checkpoint.h>
#include <jaxscope/jit.h>
#include <jaxscope/vmap.h>

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

// ---- Trees

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

/// Calls f(leaf, kept) for each array of the tree. A specification is a bool, a callable, or a tree of these that is a prefix; one of the
/// tree's own type has arrays of one bool as leaves.
template <class T, class S, class F>
void each_chosen(T& t, const S& spec, const Where& where, F&& f) {
    using U = std::remove_cv_t<T>;
    if constexpr (std::is_same_v<S, bool>) {
        each_leaf<true>(t, [&](Array& a) { f(a, spec); });
    } else if constexpr (std::is_invocable_v<const S&, const Array&> && !is_tree<S>()) {
        each_leaf<true>(t, [&](Array& a) { f(a, static_cast<bool>(spec(static_cast<const Array&>(a)))); });
    } else if constexpr (std::is_invocable_v<const S&, const Array&> && std::is_empty_v<S>) {
        each_leaf<true>(t, [&](Array& a) { f(a, static_cast<bool>(spec(static_cast<const Array&>(a)))); });
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
        [&]<std::size_t... I>(std::index_sequence<I...>) { (each_chosen(std::get<I>(t), std::get<I>(spec), where, f), ...); }
        (std::make_index_sequence<std::tuple_size_v<U>>());
    } else if constexpr ((Map<U> && Map<S>) || (Sequence<U> && Sequence<S>)) {
        bool fits = count_of(t) == count_of(spec);
        if constexpr (Map<U>) {
            for (auto i = t.begin(); fits && i != t.end(); ++i) fits = spec.find(i->first) != spec.end();
            if (fits) each_entry(t, [&](auto& entry) { each_chosen(entry.second, spec.find(entry.first)->second, where, f); });
        } else if (fits) {
            auto s = spec.begin();
            for (auto i = t.begin(); i != t.end(); ++i, ++s) each_chosen(*i, *s, where, f);
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
/// What the specification chooses, and the rest: each with None in the other's places.
template <class T, class S>
std::pair<T, T> partition(const T& tree, const S& filter_spec, const Array& replace = {}, Where where = {}) {
    std::pair<T, T> out(tree, tree);
    detail::each_chosen(out.first, filter_spec, where, [&](Array& a, bool chosen) {
        if (!chosen) a = replace;
    });
    detail::each_chosen(out.second, filter_spec, where, [&](Array& a, bool chosen) {
        if (chosen) a = replace;
    });
    return out;
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

// ---- filter_jit

/// What only jax.jit takes: given at all, it is refused, as Equinox does.
class JitKeyword {
public:
    JitKeyword() = default;
    JitKeyword(std::initializer_list<int>) : given(true) {}          // NOLINT(google-explicit-constructor)
    JitKeyword(std::initializer_list<const char*>) : given(true) {}  // NOLINT(google-explicit-constructor)
    JitKeyword(int) : given(true) {}                                 // NOLINT(google-explicit-constructor)
    JitKeyword(const char*) : given(true) {}                         // NOLINT(google-explicit-constructor)
    bool given = false;
};
/// `donate`: "all" (all arrays of all arguments), "all-except-first", the same with JAX's warnings ("warn", "warn-except-first"), "none".
struct FilterJitOptions {
    std::string donate = "none";
    Argnames arg_names = {};
    const char* name = "<unnamed function>";
    Flag keep_unused = false;
    Flag inline_ = false;
    JitKeyword static_argnums = {}, static_argnames = {}, donate_argnums = {}, donate_argnames = {};  ///< filter_jit decides these itself
};
namespace detail {
JitHandle filter_jit(const FilterJitOptions& options, bool function_is_argument, const Where& where);

/// A function object that is a tree is an argument of its own: its arrays are traced, too.
template <class F>
constexpr bool has_arrays_of_its_own() {
    if constexpr (is_transformed<F>) {  // it holds no arrays but those of the function that it transforms
        constexpr bool of_function = has_arrays_of_its_own<typename F::Transformed>();
        static_assert(!of_function,
                      "filter_jit: of a transformed module; give the module as an argument: filter_jit(transform(f))(module, x)");
        return false;
    } else {
        return (Registered<F> || Aggregate<F>)&&!std::is_empty_v<F>;
    }
}
struct Invoke {
    template <class F, class... A>
    auto operator()(const F& f, const A&... a) const -> std::invoke_result_t<const F&, const A&...> {
        return f(a...);
    }
};
}  // namespace detail

template <class F>
class FilterJitted {
    static constexpr bool kOwn = detail::has_arrays_of_its_own<F>();

public:
    using Transformed = F;
    FilterJitted(F f, detail::JitHandle state) : f_(std::move(f)), state_(std::move(state)) {}
    template <class... A>
    auto operator()(const A&... a) const {
        if constexpr (kOwn)
            return detail::run_jitted<detail::FilterCallOf<detail::Invoke, F, A...>>(*state_, detail::Invoke(), f_, a...);
        else
            return detail::run_jitted<detail::FilterCallOf<F, A...>>(*state_, f_, a...);
    }
    template <class... A>
    auto lower(const A&... a) const {
        if constexpr (kOwn)
            return Lowered<true, detail::Invoke, F, A...>(detail::Invoke(), state_, std::tuple<F, A...>(f_, a...));
        else
            return Lowered<true, F, A...>(f_, state_, std::tuple<A...>(a...));
    }
    /// `use` of the call that these arguments make, which isn't run.
    template <class Use, class... A>
    auto with_call(const Use& use, const A&... a) const {
        if constexpr (kOwn) {
            const detail::Invoke invoke;
            detail::FilterCallOf<detail::Invoke, F, A...> call(invoke, f_, a...);
            return use(call);
        } else {
            detail::FilterCallOf<F, A...> call(f_, a...);
            return use(call);
        }
    }
    std::string donation_report() const { return detail::donation_report(*state_); }
    std::vector<std::string> retraces() const { return detail::retraces(*state_); }
    detail::JitState& state() const { return *state_; }
    const F& function() const { return f_; }

private:
    F f_;
    detail::JitHandle state_;
};
/// equinox.filter_jit: arrays are traced, all other values static. Throws for an unknown `donate`.
template <class F>
FilterJitted<detail::Stored<F>> filter_jit(F&& f, const FilterJitOptions& options = {}, Where where = {}) {
    return {static_cast<F&&>(f), detail::filter_jit(options, detail::has_arrays_of_its_own<detail::Stored<F>>(), where)};
}

// ---- The other transformations

template <class F>
auto filter_make_jaxpr(F&& f, MakeJaxprOptions options = {}, Where where = {}) {
    return [f = detail::Stored<F>(static_cast<F&&>(f)), options = std::move(options), where](const auto&... a) {
        detail::FilterCallOf call(f, a...);
        call.where = where;
        return detail::make_jaxpr(call, options);
    };
}

namespace detail {
/// The leaves that are differentiated, and a tree with others there.
template <class T>
std::vector<Array> inexact_leaves(const T& t) {
    std::vector<Array> out;
    each_leaf<true>(t, [&](const Array& a) {
        if (is_inexact_array(a)) append(out, a);
    });
    return out;
}
/// Their paths in the first argument.
std::vector<std::string> inexact_paths(const PyTreeDef& tree, const std::vector<Array>& places);
template <class T>
T with_inexact(const T& t, const std::vector<Array>& leaves) {
    T out(t);
    std::size_t n = 0;
    each_leaf<true>(out, [&](Array& a) {
        if (is_inexact_array(a)) a = leaves[n++];
    });
    return out;
}
template <class T>
T gradient_like(const T& t, const std::vector<Array>& leaves) {
    T out(t);
    std::size_t n = 0;
    each_leaf<true>(out, [&](Array& a) { a = is_inexact_array(a) ? leaves[n++] : Array(); });
    return out;
}
/// A result of which the traced call left the shape: its arrays are those of this call.
template <class R>
R with_arrays(const R& traced, const std::vector<Array>& leaves) {
    const Array* at = leaves.data();
    return refilled<true>(traced, at);
}

/// Arguments of a filtered transformation that differentiates by the first one.
template <class F, class T, class... A>
constexpr bool differentiates_first() {
    constexpr bool arrays = !is_keyword<T> && tree_problem<true, T>() == TreeProblem::none && !is_plain<T>();
    static_assert(arrays, "the first argument, by which is differentiated, must be an Array or a tree of them");
    constexpr bool callable = std::is_invocable_v<const F&, const T&, const typename Unkeyed<A>::type&...>;
    static_assert(!arrays || callable, "the function can't be called with these arguments");
    return arrays && callable;
}

template <bool WithValue, class F>
struct FilterGradient {
    using Transformed = F;
    F f;
    Where where;
    template <class T, class... A>
    auto operator()(const T& x, const A&... a) const {
        if constexpr (differentiates_first<F, T, A...>()) {
            using R = std::remove_cvref_t<std::invoke_result_t<const F&, const T&, const typename Unkeyed<A>::type&...>>;
            static_assert(gives_one_array<R>, "grad: the function must return one Array, or std::pair<Array, Aux>");
            if constexpr (gives_one_array<R>) return differentiate(x, unkeyed(a)...);
        }
    }

private:
    template <class T, class... A>
    auto differentiate(const T& x, const A&... a) const {
        using R = std::remove_cvref_t<std::invoke_result_t<const F&, const T&, const A&...>>;
        constexpr bool aux = is_pair<R>;
        std::vector<R> traced;
        const auto flat = [&](const std::vector<Array>& leaves) {
            R r = f(with_inexact(x, leaves), a...);
            traced.assign(1, r);
            if constexpr (aux)
                return std::pair(r.first, leaves_in<true>(r.second));
            else
                return r;
        };
        auto [value, gradients] = jax::value_and_grad(
            flat, {.leaf_names = inexact_paths(make_tree(description<true>(x)), places_in<true>(x))}, where)(inexact_leaves(x));
        T gradient = gradient_like(x, gradients);
        if constexpr (aux) {
            auto extra = with_arrays(traced.front().second, value.second);
            if constexpr (WithValue)
                return std::pair(std::pair(value.first, std::move(extra)), std::move(gradient));
            else
                return std::pair(std::move(gradient), std::move(extra));
        } else if constexpr (WithValue) {
            return std::pair(std::move(value), std::move(gradient));
        } else {
            return gradient;
        }
    }
};
}  // namespace detail
/// Gradient with respect to the floating-point arrays of the first argument; None for its other arrays. A function that returns
/// std::pair<Array, Aux> has auxiliary results, which may hold values that are no arrays.
template <class F>
auto filter_grad(F&& f, Where where = {}) {
    return detail::FilterGradient<false, detail::Stored<F>>{static_cast<F&&>(f), where};
}
template <class F>
auto filter_value_and_grad(F&& f, Where where = {}) {
    return detail::FilterGradient<true, detail::Stored<F>>{static_cast<F&&>(f), where};
}

namespace detail {
/// The arrays that a forward derivative moves along: those with a tangent.
struct Moving {
    std::vector<Array> in, dot;
    /// The next place of the tangents, and what stands there in the primals.
    void tangent(const std::vector<Array>& primals, const Array& t);
    /// The next place of the arguments, given other values of those that move.
    void give(Array& a, const std::vector<Array>& leaves, std::size_t& at, std::size_t& given) const;

private:
    std::string moves_;  ///< per place: 0 or 1
};
/// Throws Equinox's error where the tangents have other places than the primals.
void check_tangents(const Description& primals, const Description& tangents, const Where& where);
template <class P, class T>
Moving moving_along(const P& primals, const T& tangents, const Where& where) {
    check_tangents(description<true>(primals), description<true>(tangents), where);
    Moving out;
    const auto places = places_in<true>(primals);
    each_place(tangents, [&](const Array& t) { out.tangent(places, t); });
    return out;
}
}  // namespace detail

/// jvp over tuples of arguments: where a tangent is None, that array isn't differentiated. A result's tangent is None where it is zero
/// whatever the arguments are.
template <class F, class... A>
auto filter_jvp(const F& f, const std::tuple<A...>& primals, const std::tuple<A...>& tangents, Where where = {}) {
    using R = std::remove_cvref_t<std::invoke_result_t<const F&, const A&...>>;
    const auto moving = detail::moving_along(primals, tangents, where);
    std::vector<R> traced;
    const auto flat = [&](const std::vector<Array>& leaves) {
        std::tuple<A...> args(primals);
        std::size_t at = 0, k = 0;
        detail::each_place(args, [&](Array& a) { moving.give(a, leaves, at, k); });
        R r = std::apply(f, args);
        traced.assign(1, r);
        return detail::leaves_in<true>(r);
    };
    detail::CallOf call(flat, moving.in);
    call.where = where;
    const std::vector<Array> values = detail::jvp(call, moving.dot, detail::description(std::tuple(moving.dot)), false, true);
    R out = detail::with_arrays(traced.front(), values), out_dot = out;
    std::size_t n = values.size() / 2;
    detail::each_leaf<true>(out_dot, [&](Array& a) { a = values[n++]; });
    return std::pair(std::move(out), std::move(out_dot));
}

}  // namespace jaxscope::jax
