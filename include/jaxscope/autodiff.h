#pragma once
// jax.grad, value_and_grad, jvp, vjp: over functions of trees. `grad<0, 2>(f)` chooses arguments; a function that returns
// std::pair<Array, Aux> has auxiliary results.
#include <jaxscope/function.h>

namespace jaxscope::jax {

namespace detail {
/// Value, then auxiliary leaves, then gradients of the leaves of the chosen arguments.
std::vector<Array> value_and_grad(Call& call, const std::vector<std::size_t>& argnums, bool has_aux, const char* what);
/// Results, then tangents of the results.
std::vector<Array> jvp(Call& call, const std::vector<Array>& tangents);

template <bool WithValue, class F, std::size_t... I>
struct Gradient {
    F f;
    Where where;
    template <class... A>
    auto operator()(const A&... a) const {
        static_assert(((I < sizeof...(A)) && ...), "grad: an argnum is beyond the arguments of the call");
        using C = CallOf<F, A...>;
        using R = typename C::Result;
        constexpr bool aux = is_pair<R>;
        if constexpr (!is_leaf<R> && !aux) {
            static_assert(!sizeof(R), "grad: the function must return one Array, or std::pair<Array, Aux>");
        } else {
            C call(f, a...);
            call.where = where;
            const std::vector<Array> flat = value_and_grad(call, {I...}, aux, WithValue ? "value_and_grad" : "grad");
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
    }
};
}  // namespace detail

template <std::size_t... I, class F>
auto value_and_grad(F&& f, Where where = {}) {
    if constexpr (sizeof...(I) == 0)
        return detail::Gradient<true, detail::Stored<F>, 0>{static_cast<F&&>(f), where};
    else
        return detail::Gradient<true, detail::Stored<F>, I...>{static_cast<F&&>(f), where};
}
template <std::size_t... I, class F>
auto grad(F&& f, Where where = {}) {
    if constexpr (sizeof...(I) == 0)
        return detail::Gradient<false, detail::Stored<F>, 0>{static_cast<F&&>(f), where};
    else
        return detail::Gradient<false, detail::Stored<F>, I...>{static_cast<F&&>(f), where};
}

/// jax.jvp(f, primals, tangents), both tuples of arguments: the result and its tangent.
template <class F, class... A>
auto jvp(const F& f, const std::tuple<A...>& primals, const std::tuple<A...>& tangents) {
    return std::apply(
        [&](const auto&... a) {
            detail::CallOf call(f, a...);
            const std::vector<Array> flat = detail::jvp(call, tree_leaves(tangents));
            const Array* at = flat.data();
            auto value = detail::with_leaves(call.result(), at);
            return std::pair(std::move(value), detail::with_leaves(call.result(), at));
        },
        primals);
}

}  // namespace jaxscope::jax
