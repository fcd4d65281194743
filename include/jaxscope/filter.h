// SPDX-License-Identifier: Apache-2.0
#pragma once
// Equinox's filtered transformations: arrays are traced, everything else in the arguments is static. Members that are no arrays need no
// Static<>, only ==. Its functions on trees are in partition.h.
#include <jaxscope/autodiff.h>
#include <jaxscope/checkpoint.h>
#include <jaxscope/jit.h>
#include <jaxscope/partition.h>
#include <jaxscope/vmap.h>

namespace jaxscope::jax {

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
            return Lowered<true, detail::Invoke, F, detail::Held<A>...>(detail::Invoke(), state_,
                                                                        std::tuple<F, detail::Held<A>...>(f_, a...));
        else
            return Lowered<true, F, detail::Held<A>...>(f_, state_, std::tuple<detail::Held<A>...>(a...));
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
