// SPDX-License-Identifier: Apache-2.0
#pragma once
// jax.grad, value_and_grad, jvp, vjp, linearize, linear_transpose: over functions of trees. `grad<0, 2>(f)` chooses arguments. A function
// for grad that returns std::pair<Array, Aux> has auxiliary results; the others ask for that: `vjp<has_aux>(f, x)`.
#include <jaxscope/kept.h>

namespace jaxscope::jax {

/// `vjp<has_aux>(f, x)`: the function returns std::pair(outputs, aux). No bool, which would be taken for an argument number.
enum class AuxResult : unsigned char { none, present };
inline constexpr AuxResult has_aux = AuxResult::present;

namespace detail {
/// Python's `argnums=1`, which is a template argument here.
struct NoArgnums {
    NoArgnums() = default;
    template <class T>
    NoArgnums(const T&) {  // NOLINT(google-explicit-constructor)
        static_assert(!sizeof(T), "argument numbers of grad and its kin are template arguments: jax::grad<1>(f), jax::grad<0, 2>(f)");
    }
};
}  // namespace detail
struct GradOptions {
    detail::NoArgnums argnums = {};
    Flag has_aux = false;  ///< a std::pair tells without it; a function that gives none is refused
    Flag holomorphic = false;
    Flag allow_int = false;     ///< gradients of integers are float0
    Argnames reduce_axes = {};  ///< gone, as in JAX: refused in its words
    Argnames arg_names = {};    ///< for errors, residuals and findings; else args[i]
    Argnames leaf_names = {};   ///< the same for all leaves of the arguments, in place of name and path
};

namespace detail {
/// Value, then auxiliary leaves, then gradients of the leaves of the chosen arguments.
std::vector<Array> value_and_grad(Call& call, const std::vector<std::size_t>& argnums, bool has_aux, const char* what,
                                  const GradOptions& options = {});
/// Results, then tangents of the results, then auxiliary results.
/// `none`: tangents that are zero whatever the arguments are come as None.
std::vector<Array> jvp(Call& call, const std::vector<Array>& tangents, const Description& tangent_tree, bool has_aux, bool none = false);

/// What one gets back: leaves of the function's results, auxiliary ones behind, and its linear half.
struct Linearized {
    std::vector<Array> results;
    KeptHandle linear;
};
enum class Half : unsigned char { pushforward, pullback };
Linearized linearize_call(Call& call, Half half, bool has_aux);
Linearized linear_transpose_call(Call& call);
/// Tangents of the results, or cotangents of the arguments; checks what is given as JAX does.
std::vector<Array> apply_linear(Kept& linear, const std::vector<Array>& in, const Description& tree, const Where& where);

/// What a result or an argument of type T is given as: a number where it is one Array.
template <class T, class U>
decltype(auto) given_as(const U& u) {
    if constexpr (is_leaf<T> && std::is_convertible_v<const U&, Array>)
        return Array(u);
    else if constexpr (!std::is_same_v<typename WithArrays<U>::type, U>)
        return typename WithArrays<U>::type(u);  // pairs and tuples of numbers
    else
        return (u);
}

template <class Y, class... K>
class Pullback {
public:
    Pullback(Y out, std::tuple<K...> arguments, KeptHandle linear)
        : out_(std::move(out)), arguments_(std::move(arguments)), linear_(std::move(linear)) {}
    /// The cotangents of all arguments for one of the result. May be called any number of times.
    template <class T>
    std::tuple<K...> operator()(const T& cotangent, Where where = {}) const {
        const auto& ct = given_as<Y>(cotangent);
        const std::vector<Array> flat = apply_linear(*linear_, tree_leaves(ct), description(ct), where);
        const Array* at = flat.data();
        return with_leaves(arguments_, at);
    }
    const Y& output() const { return out_; }

private:
    Y out_;
    std::tuple<K...> arguments_;
    KeptHandle linear_;
};
template <class Y, class... K>
class Pushforward {
public:
    Pushforward(Y out, std::tuple<K...> arguments, KeptHandle linear, Where made)
        : out_(std::move(out)), arguments_(std::move(arguments)), linear_(std::move(linear)), made_(made) {}
    template <class T>
    Y operator()(const T& tangent, Where where = {}) const {
        return apply(where, tangent);
    }
    template <class T, class U>
    Y operator()(const T& t, const U& u, Where where = {}) const {
        return apply(where, t, u);
    }
    template <class T, class U, class V, class... More>
    Y operator()(const T& t, const U& u, const V& v, const More&... more) const {
        return apply(made_, t, u, v, more...);
    }

private:
    template <class... T>
    Y apply(const Where& where, const T&... tangents) const {
        constexpr bool one_each = sizeof...(T) == sizeof...(K);
        static_assert(one_each, "linearize: the linear function takes one tangent for each argument");
        if constexpr (one_each) {
            const auto in = tuple_of(given_as<K>(tangents)...);
            const std::vector<Array> flat = apply_linear(*linear_, tree_leaves(in), description(in), where);
            const Array* at = flat.data();
            return with_leaves(out_, at);
        } else {
            return out_;
        }
    }
    Y out_;
    std::tuple<K...> arguments_;
    KeptHandle linear_;
    Where made_;  ///< where the function was linearized: the place of calls with more arguments
};

template <bool WithValue, class F, std::size_t... I>
struct Gradient {
    using Transformed = F;
    F f;
    GradOptions options;
    Where where;
    template <class... A>
    auto operator()(const A&... a) const {
        constexpr bool in_range = ((I < sizeof...(A)) && ...);
        static_assert(in_range, "grad: an argnum is beyond the arguments of the call");
        if constexpr (in_range) {  // else nothing more is said
            using C = CallOf<F, A...>;
            using R = typename C::Result;
            static_assert(gives_one_array<R>, "grad: the function must return one Array, or std::pair<Array, Aux>");
            if constexpr (!gives_one_array<R>)
                return Array();  // so that nothing else is said
            else if constexpr (C::callable)
                return differentiate(a...);
            else
                return C(f, a...).result();
        } else {
            return Array();
        }
    }

private:
    template <class... A>
    [[gnu::cold]] auto differentiate(const A&... a) const {
        using C = CallOf<F, A...>;
        using R = typename C::Result;
        constexpr bool aux = is_pair<R>;
        C call(f, a...);
        call.where = where;
        call.leaf_names = options.leaf_names;
        const std::vector<Array> flat = value_and_grad(call, {I...}, aux, WithValue ? "value_and_grad" : "grad", options);
        const Array* at = flat.data();
        R value = with_leaves(call.result(), at);
        const auto gradients = [&] {
            if constexpr (sizeof...(I) == 1)
                return call.template arg_like<(I, ...)>(at);
            else
                return std::tuple{call.template arg_like<I>(at)...};
        }();
        if constexpr (WithValue)
            return std::pair(std::move(value), gradients);
        else if constexpr (aux)
            return std::pair(gradients, std::move(value.second));
        else
            return gradients;
    }
};

template <bool Aux, class R>
struct Outputs {
    using type = R;
};
template <class R>
struct Outputs<true, R> {
    static_assert(is_pair<R>, "has_aux: the function must return std::pair(outputs, aux)");
    using type = typename R::first_type;
};
/// The differentiated part of a result, and, with `rest`, its auxiliary part.
template <bool Aux, class R>
const typename Outputs<Aux, R>::type& outputs_of(const R& r) {
    if constexpr (Aux)
        return r.first;
    else
        return r;
}
}  // namespace detail

template <std::size_t... I, class F>
auto value_and_grad(F&& f, GradOptions options = {}, Where where = {}) {
    if constexpr (sizeof...(I) == 0)
        return detail::Gradient<true, detail::Stored<F>, 0>{static_cast<F&&>(f), std::move(options), where};
    else
        return detail::Gradient<true, detail::Stored<F>, I...>{static_cast<F&&>(f), std::move(options), where};
}
template <std::size_t... I, class F>
auto grad(F&& f, GradOptions options = {}, Where where = {}) {
    if constexpr (sizeof...(I) == 0)
        return detail::Gradient<false, detail::Stored<F>, 0>{static_cast<F&&>(f), std::move(options), where};
    else
        return detail::Gradient<false, detail::Stored<F>, I...>{static_cast<F&&>(f), std::move(options), where};
}
template <AuxResult, std::size_t... I, class F>
auto value_and_grad(F&& f, GradOptions options = {}, Where where = {}) {
    options.has_aux = true;
    return value_and_grad<I...>(static_cast<F&&>(f), std::move(options), where);
}
template <AuxResult, std::size_t... I, class F>
auto grad(F&& f, GradOptions options = {}, Where where = {}) {
    options.has_aux = true;
    return grad<I...>(static_cast<F&&>(f), std::move(options), where);
}

namespace detail {
template <bool Aux, class F, class... A, class... T>
auto jvp_of(const F& f, const std::tuple<A...>& primals, const std::tuple<T...>& tangents, const Where& where) {
    return std::apply(
        [&](const auto&... a) {
            using C = CallOf<F, A...>;
            if constexpr (!C::callable)
                return std::pair(C(f, a...).result(), Array());
            else {
                C call(f, a...);
                call.where = where;
                const auto in = [&]<std::size_t... I>(std::index_sequence<I...>) {
                    return tuple_of(given_as<std::tuple_element_t<I, typename C::Args>>(std::get<I>(tangents))...);
                }
                (std::index_sequence_for<T...>());
                const std::vector<Array> flat = jvp(call, tree_leaves(in), description(in), Aux);
                const Array* at = flat.data();
                const auto& result = outputs_of<Aux>(call.result());
                auto value = with_leaves(result, at), tangent = with_leaves(result, at);
                if constexpr (Aux)
                    return std::tuple(std::move(value), std::move(tangent), with_leaves(call.result().second, at));
                else
                    return std::pair(std::move(value), std::move(tangent));
            }
        },
        primals);
}
}  // namespace detail
/// jax.jvp(f, primals, tangents), both tuples of arguments: the result and its tangent; with `jvp<has_aux>` what is auxiliary besides.
template <AuxResult Aux = AuxResult::none, class F, class... A, class... T>
auto jvp(const F& f, const std::tuple<A...>& primals, const std::tuple<T...>& tangents, Where where = {}) {
    constexpr bool one_each = sizeof...(A) == sizeof...(T);
    static_assert(one_each, "jvp: primals and tangents differ in number");
    if constexpr (one_each) return detail::jvp_of<Aux == has_aux>(f, primals, tangents, where);
}
template <AuxResult Aux = AuxResult::none, class F, class P, class T>
requires(!detail::is_tuple<P> || !detail::is_tuple<T>) auto jvp(const F&, const P&, const T&, Where = {}) {
    static_assert(detail::is_tuple<P> && detail::is_tuple<T>, "primal and tangent arguments to jax.jvp must be tuples: std::tuple(x)");
}

namespace detail {
/// What vjp (`Pulls`) and linearize give.
template <bool Aux, bool Pulls, class F, class... A>
auto linearized(const Where& where, const F& f, const A&... a) {
    CallOf<F, A...> call(f, a...);
    if constexpr (!CallOf<F, A...>::callable) {
        return std::pair(call.result(), None());
    } else {
        call.where = where;
        Linearized done = linearize_call(call, Pulls ? Half::pullback : Half::pushforward, Aux);
        const Array* at = done.results.data();
        auto value = with_leaves(outputs_of<Aux>(call.result()), at);
        const auto linear = [&]<class... K>(const std::tuple<K...>& arguments) {
            if constexpr (Pulls)
                return Pullback<decltype(value), K...>(value, arguments, std::move(done.linear));
            else
                return Pushforward<decltype(value), K...>(value, arguments, std::move(done.linear), where);
        }(call.given_arguments());
        if constexpr (Aux)
            return std::tuple(std::move(value), linear, with_leaves(call.result().second, at));
        else
            return std::pair(std::move(value), linear);
    }
}
template <class F, class... A>
auto transposed(const Where& where, const F& f, const A&... a) {
    CallOf<F, A...> call(f, a...);
    call.where = where;
    Linearized done = linear_transpose_call(call);
    return [&]<class... K>(const std::tuple<K...>& arguments) {
        return Pullback<typename decltype(call)::Result, K...>(call.result(), arguments, std::move(done.linear));
    }(call.given_arguments());
}
}  // namespace detail

// A place can't be left out behind any number of arguments: calls of up to three know the line that they stand in.
/// `auto [y, f_vjp] = jax::vjp(f, x, w);  auto [dx, dw] = f_vjp(dy);`
template <AuxResult Aux = AuxResult::none, class F, class A>
auto vjp(const F& f, const A& a, Where where = {}) {
    return detail::linearized<Aux == has_aux, true>(where, f, a);
}
template <AuxResult Aux = AuxResult::none, class F, class A, class B>
auto vjp(const F& f, const A& a, const B& b, Where where = {}) {
    return detail::linearized<Aux == has_aux, true>(where, f, a, b);
}
template <AuxResult Aux = AuxResult::none, class F, class A, class B, class C>
auto vjp(const F& f, const A& a, const B& b, const C& c, Where where = {}) {
    return detail::linearized<Aux == has_aux, true>(where, f, a, b, c);
}
template <AuxResult Aux = AuxResult::none, class F, class A, class B, class C, class D, class... More>
auto vjp(const F& f, const A& a, const B& b, const C& c, const D& d, const More&... more) {
    return detail::linearized<Aux == has_aux, true>(Where("", 0, ""), f, a, b, c, d, more...);
}
/// `auto [y, f_jvp] = jax::linearize(f, x, w);  auto dy = f_jvp(dx, dw);`
template <AuxResult Aux = AuxResult::none, class F, class A>
auto linearize(const F& f, const A& a, Where where = {}) {
    return detail::linearized<Aux == has_aux, false>(where, f, a);
}
template <AuxResult Aux = AuxResult::none, class F, class A, class B>
auto linearize(const F& f, const A& a, const B& b, Where where = {}) {
    return detail::linearized<Aux == has_aux, false>(where, f, a, b);
}
template <AuxResult Aux = AuxResult::none, class F, class A, class B, class C, class... More>
auto linearize(const F& f, const A& a, const B& b, const C& c, const More&... more) {
    return detail::linearized<Aux == has_aux, false>(Where("", 0, ""), f, a, b, c, more...);
}
/// Of a function that is linear: `auto [dx] = jax::linear_transpose(f, x)(dy);` Only the types of the arguments count.
template <class F, class A>
auto linear_transpose(const F& f, const A& a, Where where = {}) {
    return detail::transposed(where, f, a);
}
template <class F, class A, class B, class... More>
auto linear_transpose(const F& f, const A& a, const B& b, const More&... more) {
    return detail::transposed(Where("", 0, ""), f, a, b, more...);
}

}  // namespace jaxscope::jax
