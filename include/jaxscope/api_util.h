// SPDX-License-Identifier: Apache-2.0
#pragma once
// JAX's api_util: functions of trees as functions of flat lists, some arguments fixed, names of functions. What the installed
// transformations are made of, for who writes another one.
#include <jaxscope/function.h>
#include <jaxscope/tree.h>

namespace jaxscope::jax {

namespace detail {
[[noreturn]] void expected_another_tree(const PyTreeDef& expected, const PyTreeDef& got);
/// One argument of a call; `name`: null for a positional one.
struct CallPart {
    const char* name;
    Description value;
};
/// Of `((args...), {kwargs})`.
PyTreeDef tree_of_call(const CallPart* parts, std::size_t n);
/// The leaves of positional arguments, then of keyword arguments sorted by name.
std::vector<Array> leaves_of_call(const char* const* names, const std::vector<Array>* leaves, std::size_t n);
/// Where each argument's leaves begin among all of the call's.
std::vector<std::size_t> first_leaves(const char* const* names, const std::vector<std::size_t>& sizes);
std::string formatted(std::string pattern, const std::string& name, const std::string& doc);

/// The tree of what a function returned: empty before it ran, and set once.
class Store {
public:
    void set(PyTreeDef tree);
    const PyTreeDef& operator()() const;

private:
    PyTreeDef tree_;
    bool set_ = false;
};
}  // namespace detail

/// The tree of a call's arguments, `((args...), {kwargs})`; keyword arguments come by `kw`.
template <class... A>
PyTreeDef call_structure(const A&... a) {
    const detail::CallPart parts[]{{detail::keyword_name(a), detail::description(detail::unkeyed(a))}..., {}};
    return detail::tree_of_call(parts, sizeof...(A));
}
/// The leaves of positional arguments, then of keyword arguments sorted by name.
template <class... A>
std::vector<Array> call_leaves(const A&... a) {
    const char* const names[]{detail::keyword_name(a)..., nullptr};
    const std::vector<Array> leaves[]{tree_leaves(detail::unkeyed(a))..., {}};
    return detail::leaves_of_call(names, leaves, sizeof...(A));
}

/// A function of flat leaves: those of arguments like its examples. After it ran, once, `out_tree()` is the tree of its result.
template <class F, class... A>
class FlatFun {
public:
    using Result = std::remove_cvref_t<std::invoke_result_t<const F&, const typename detail::Unkeyed<A>::type&...>>;
    explicit FlatFun(F f, const A&... a) : f_(std::move(f)), example_(a...) {}
    std::vector<Array> operator()(const std::vector<Array>& leaves) {
        const Result r = call(leaves);
        out_tree_.set(tree_structure(r));
        return tree_leaves(r);
    }
    PyTreeDef out_tree() const { return out_tree_(); }

protected:
    Result call(const std::vector<Array>& leaves) {
        const auto wanted = std::apply([](const auto&... a) { return call_leaves(a...).size(); }, example_);
        if (leaves.size() != wanted)
            detail::check_leaf_count(std::apply([](const auto&... a) { return call_structure(a...); }, example_), leaves.size(),
                                     Where("", 0, ""));
        auto args = example_;
        // Leaves as call_leaves orders them: each argument is told where its own begin.
        std::vector<std::size_t> first = std::apply([](const auto&... a) { return begins(a...); }, example_);
        std::size_t n = 0;
        std::apply(
            [&](auto&... a) {
                const auto put = [&](auto& arg) {
                    std::size_t at = first[n++];
                    detail::each_leaf(value_of(arg), [&](Array& leaf) { leaf = leaves[at++]; });
                };
                (put(a), ...);
            },
            args);
        return std::apply([&](const auto&... a) { return f_(detail::unkeyed(a)...); }, args);
    }

private:
    template <class T>
    static T& value_of(T& t) {
        return t;
    }
    template <class T>
    static T& value_of(Keyword<T>& k) {
        return k.value;
    }
    static std::vector<std::size_t> begins(const A&... a) {
        const char* const names[]{detail::keyword_name(a)..., nullptr};
        return detail::first_leaves(names, {call_leaves(a).size()...});
    }
    F f_;
    std::tuple<A...> example_;
    detail::Store out_tree_;
};
/// `flatten_fun(f, args..., kw("k", v)...)`; without keyword arguments it is flatten_fun_nokwargs.
template <class F, class... A>
FlatFun<detail::Stored<F>, A...> flatten_fun(F&& f, const A&... example) {
    return FlatFun<detail::Stored<F>, A...>(static_cast<F&&>(f), example...);
}
template <class F, class... A>
FlatFun<detail::Stored<F>, A...> flatten_fun_nokwargs(F&& f, const A&... example) {
    static_assert((!detail::is_keyword<A> && ...), "flatten_fun_nokwargs: keyword arguments need flatten_fun");
    return FlatFun<detail::Stored<F>, A...>(static_cast<F&&>(f), example...);
}
/// Of a function that returns a result and auxiliary values: both flat, and both trees.
template <class F, class... A>
class FlatFunWithAux : FlatFun<F, A...> {
public:
    using FlatFun<F, A...>::FlatFun;
    std::pair<std::vector<Array>, std::vector<Array>> operator()(const std::vector<Array>& leaves) {
        const auto r = this->call(leaves);
        tree_.set(tree_structure(r.first));
        aux_tree_.set(tree_structure(r.second));
        return {tree_leaves(r.first), tree_leaves(r.second)};
    }
    std::pair<PyTreeDef, PyTreeDef> out_trees() const { return {tree_(), aux_tree_()}; }

private:
    detail::Store tree_, aux_tree_;
};
template <class F, class... A>
FlatFunWithAux<detail::Stored<F>, A...> flatten_fun_nokwargs2(F&& f, const A&... example) {
    return FlatFunWithAux<detail::Stored<F>, A...>(static_cast<F&&>(f), example...);
}

/// Calls a function of flat leaves with trees; the result has the shape of `out`. Throws "Expected TREE, got TREE".
template <class F, class R, class... A>
R apply_flat_fun(F&& flat, const PyTreeDef& in_tree_expected, const R& out, const A&... a) {
    if (const PyTreeDef got = call_structure(a...); !(got == in_tree_expected)) detail::expected_another_tree(in_tree_expected, got);
    return tree_unflatten(out, flat(call_leaves(a...)));
}
template <class F, class R, class... A>
R apply_flat_fun_nokwargs(F&& flat, const PyTreeDef& in_tree_expected, const R& out, const std::tuple<A...>& args) {
    if (const PyTreeDef got = tree_structure(args); !(got == in_tree_expected)) detail::expected_another_tree(in_tree_expected, got);
    return tree_unflatten(out, flat(tree_leaves(args)));
}

/// A value that compares and hashes as itself.
template <class T>
struct Hashable {
    static constexpr const char* kind = "Hashable";
    T val;
    std::size_t hash() const {
        if constexpr (detail::Number<T> || std::is_enum_v<T>)
            return static_cast<std::size_t>(val);
        else
            return detail::make_tree(detail::description<true>(val)).hash();
    }
    friend bool operator==(const Hashable& a, const Hashable& b) { return a.val == b.val; }
};
/// An array compares and hashes as the object that it is.
struct WrapHashably {
    static constexpr const char* kind = "WrapHashably";
    Array val;
    std::size_t hash() const { return reinterpret_cast<std::size_t>(val.node()); }
    friend bool operator==(const WrapHashably& a, const WrapHashably& b) { return a.val.node() == b.val.node(); }
};
template <class T>
auto wrap_hashably(const T& v) {
    if constexpr (detail::is_leaf<T>)
        return WrapHashably{v};
    else if constexpr (std::is_convertible_v<T, const char*>)
        return Hashable<std::string>{v};
    else
        return Hashable<T>{v};
}

namespace detail {
template <class F, class Fixed, std::size_t... I>
struct ArgnumsPartial {
    F f;
    Fixed fixed;  ///< all arguments, wrapped; those at I aren't read
    template <class... D>
    auto operator()(const D&... dynamic) const {
        static_assert(sizeof...(D) == sizeof...(I), "argnums_partial: one value for each number");
        const auto given = std::tie(dynamic...);
        return [&]<std::size_t... K>(std::index_sequence<K...>)->decltype(auto) { return f(at<K>(given)...); }
        (std::make_index_sequence<std::tuple_size_v<Fixed>>());
    }
    template <std::size_t K, class G>
    decltype(auto) at(const G& given) const {
        if constexpr (((K == I) || ...)) {
            constexpr std::size_t numbers[] = {I...};
            constexpr std::size_t place = [&] {
                std::size_t n = 0;
                while (numbers[n] != K) ++n;
                return n;
            }();
            return std::get<place>(given);
        } else {
            return (std::get<K>(fixed).val);
        }
    }
};
}  // namespace detail
/// `auto [f, dynamic] = argnums_partial<2, 0>(g, a, b, c)`: the other arguments are fixed, those at the numbers come back as a tuple in the
/// numbers' order, and `f` takes new ones in that order.
template <std::size_t... I, class F, class... A>
auto argnums_partial(F&& f, const A&... a) {
    static_assert(((I < sizeof...(A)) && ...), "argnums_partial: a number is beyond the arguments");
    const auto all_given = std::tie(a...);
    auto fixed = std::tuple(wrap_hashably(a)...);
    return std::pair(detail::ArgnumsPartial<detail::Stored<F>, decltype(fixed), I...>{static_cast<F&&>(f), std::move(fixed)},
                     std::tuple(std::get<I>(all_given)...));
}

/// A function with a name and a description.
template <class F>
struct Named {
    F f;
    std::string name, doc;
    template <class... A>
    auto operator()(const A&... a) const -> std::invoke_result_t<const F&, const A&...> {
        return f(a...);
    }
};
template <class F>
std::string get_name(const F& f) {
    if constexpr (requires { std::string(f.name); })
        return f.name;
    else
        return "<unnamed function>";
}
template <class F>
std::string get_doc(const F& f) {
    if constexpr (requires { std::string(f.doc); })
        return f.doc;
    else
        return "";
}
struct WrapsOptions {
    std::string namestr = "{fun}", docstr = "{doc}";
};
/// `fun` under the name of `wrapped`, as the patterns have it: `wraps(f, g, {.namestr = "jit({fun})"})`.
template <class W, class F>
Named<detail::Stored<F>> wraps(const W& wrapped, F&& fun, const WrapsOptions& o = {}) {
    const std::string name = get_name(wrapped), doc = get_doc(wrapped);
    return {static_cast<F&&>(fun), detail::formatted(o.namestr, name, doc), detail::formatted(o.docstr, name, doc)};
}

}  // namespace jaxscope::jax
