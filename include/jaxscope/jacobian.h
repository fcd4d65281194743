// SPDX-License-Identifier: Apache-2.0
#pragma once
// jax.jacfwd, jacrev, jacobian, hessian. A result's leaves are replaced by trees like the chosen arguments, as in JAX: the Hessian of a
// function of a struct is a TreeOf structs, `h[&Params::w].b`.
#include <jaxscope/autodiff.h>
#include <jaxscope/tree_of.h>

namespace jaxscope::jax {

/// Given to jacfwd, jacrev, hessian, as `has_aux` in angle brackets is: the function returns std::pair(outputs, aux), and so does its
/// Jacobian.
struct WithAux {};
inline constexpr WithAux with_aux{};

namespace detail {

struct JacobianOptions {
    Flag holomorphic = false, allow_int = false, aux = false;
};
/// For each differentiated result, for each leaf of the chosen arguments: a block; then what is auxiliary.
std::vector<Array> jacfwd(Call& call, const std::vector<std::size_t>& argnums, const JacobianOptions& options);
std::vector<Array> jacrev(Call& call, const std::vector<std::size_t>& argnums, const JacobianOptions& options);

template <bool Forward, bool Aux, class F, std::size_t... I>
struct Jacobian {
    using Transformed = F;
    F f;
    GradOptions options;
    Where where;
    template <class... A>
    auto operator()(const A&... a) const {
        constexpr bool in_range = ((I < sizeof...(A)) && ...);
        static_assert(in_range, "jacobian: an argnum is beyond the arguments of the call");
        if constexpr (!in_range)
            return Array();  // so that nothing else is said
        else if constexpr (!CallOf<F, A...>::callable)
            return CallOf<F, A...>(f, a...).result();
        else
            return differentiate(a...);
    }

private:
    template <class... A>
    auto differentiate(const A&... a) const {
        CallOf<F, A...> call(f, a...);
        call.where = where;
        const JacobianOptions o{options.holomorphic, options.allow_int, Aux};
        const std::vector<Array> flat = Forward ? jacfwd(call, {I...}, o) : jacrev(call, {I...}, o);
        const Array* at = flat.data();
        const auto block = [&] {
            if constexpr (sizeof...(I) == 1)
                return call.template arg_like<(I, ...)>(at);
            else
                return std::tuple{call.template arg_like<I>(at)...};
        };
        const auto& outputs = outputs_of<Aux>(call.result());
        using P = typename Product<std::remove_cvref_t<decltype(outputs)>, decltype(block())>::type;
        P jacobian = product_of<P>(outputs, block);
        if constexpr (Aux)
            return std::pair(std::move(jacobian), with_leaves(call.result().second, at));
        else
            return jacobian;
    }
};
template <bool Forward, bool Aux, std::size_t... I, class F>
auto jacobian_of(F&& f, GradOptions options, const Where& where) {
    if constexpr (sizeof...(I) == 0)
        return Jacobian<Forward, Aux, Stored<F>, 0>{static_cast<F&&>(f), std::move(options), where};
    else
        return Jacobian<Forward, Aux, Stored<F>, I...>{static_cast<F&&>(f), std::move(options), where};
}
}  // namespace detail

template <std::size_t... I, class F>
auto jacfwd(F&& f, GradOptions options = {}, Where where = {}) {
    return detail::jacobian_of<true, false, I...>(static_cast<F&&>(f), std::move(options), where);
}
template <std::size_t... I, class F>
auto jacfwd(F&& f, WithAux, GradOptions options = {}, Where where = {}) {
    return detail::jacobian_of<true, true, I...>(static_cast<F&&>(f), std::move(options), where);
}
template <AuxResult, std::size_t... I, class F>
auto jacfwd(F&& f, GradOptions options = {}, Where where = {}) {
    return jacfwd<I...>(static_cast<F&&>(f), with_aux, std::move(options), where);
}
template <std::size_t... I, class F>
auto jacrev(F&& f, GradOptions options = {}, Where where = {}) {
    return detail::jacobian_of<false, false, I...>(static_cast<F&&>(f), std::move(options), where);
}
template <std::size_t... I, class F>
auto jacrev(F&& f, WithAux, GradOptions options = {}, Where where = {}) {
    return detail::jacobian_of<false, true, I...>(static_cast<F&&>(f), std::move(options), where);
}
template <AuxResult, std::size_t... I, class F>
auto jacrev(F&& f, GradOptions options = {}, Where where = {}) {
    return jacrev<I...>(static_cast<F&&>(f), with_aux, std::move(options), where);
}
template <std::size_t... I, class F>
auto jacobian(F&& f, GradOptions options = {}, Where where = {}) {
    return jacrev<I...>(static_cast<F&&>(f), std::move(options), where);
}
template <std::size_t... I, class F>
auto hessian(F&& f, GradOptions options = {}, Where where = {}) {
    return jacfwd<I...>(jacrev<I...>(static_cast<F&&>(f), options, where), options, where);
}
template <std::size_t... I, class F>
auto hessian(F&& f, WithAux, GradOptions options = {}, Where where = {}) {
    return jacfwd<I...>(jacrev<I...>(static_cast<F&&>(f), with_aux, options, where), with_aux, options, where);
}
template <AuxResult, std::size_t... I, class F>
auto hessian(F&& f, GradOptions options = {}, Where where = {}) {
    return hessian<I...>(static_cast<F&&>(f), with_aux, std::move(options), where);
}

}  // namespace jaxscope::jax
