// SPDX-License-Identifier: Apache-2.0
#pragma once
// jax.lax.custom_linear_solve and custom_root: what an equation defines, differentiated by solving with its linear part, whatever way
// the solution was found by.
#include <jaxscope/autodiff.h>

namespace jaxscope::jax {

namespace detail {
/// The functions are calls with a value like b. Null: nobody gave a way to solve the transposed system; `symmetric`: it is the same one.
std::vector<Array> custom_linear_solve(Call& matvec, Call& solve, Call* vecmat, Call* transpose_solve, bool symmetric);
/// `tangent_solve` is a call with a solution and a right side.
std::vector<Array> custom_root(Call& f, Call& solve, Call& tangent_solve);
}  // namespace detail

namespace lax {

struct LinearSolveOptions {
    Flag symmetric = false;  ///< the transposed system is solved as the other one
};
/// x where matvec(x) is b, by `solve(matvec, b)`. Without a way to solve the transposed system the result has no gradient.
template <class M, class B, class S>
B custom_linear_solve(const M& matvec, const B& b, const S& solve, const LinearSolveOptions& options = {}, Where where = {}) {
    const auto with_matvec = [&](const B& right) { return B(solve(matvec, right)); };
    detail::CallOf product(matvec, b);
    detail::CallOf solution(with_matvec, b);
    product.where = solution.where = where;
    const std::vector<Array> flat = detail::custom_linear_solve(product, solution, nullptr, nullptr, options.symmetric);
    const Array* at = flat.data();
    return detail::with_leaves(b, at);
}
/// `transpose_solve(vecmat, b)`
template <class M, class B, class S, class T>
requires(!std::is_convertible_v<const T&, LinearSolveOptions>) B
    custom_linear_solve(const M& matvec, const B& b, const S& solve, const T& transpose_solve, Where where = {}) {
    const auto with_matvec = [&](const B& right) { return B(solve(matvec, right)); };
    const auto of_b = jax::linear_transpose(matvec, b, where);
    const auto vecmat = [&](const B& right) { return std::get<0>(of_b(right, where)); };
    const auto transposed = [&](const B& right) { return B(transpose_solve(vecmat, right)); };
    detail::CallOf product(matvec, b);
    detail::CallOf solution(with_matvec, b);
    detail::CallOf transposed_product(vecmat, b);
    detail::CallOf transposed_solution(transposed, b);
    product.where = solution.where = transposed_product.where = transposed_solution.where = where;
    const std::vector<Array> flat = detail::custom_linear_solve(product, solution, &transposed_product, &transposed_solution, false);
    const Array* at = flat.data();
    return detail::with_leaves(b, at);
}
/// x where f(x) is zero, by `solve(f, initial_guess)`. `tangent_solve(g, y)` gives x where the linear function g(x) is y.
template <class F, class X, class S, class T>
auto custom_root(const F& f, const X& initial_guess, const S& solve, const T& tangent_solve, Where where = {}) {
    using V = typename detail::WithArrays<X>::type;
    const V guess(initial_guess);
    const auto with_f = [&](const V& x) { return V(solve(f, x)); };
    const auto linear = [&](const V& x, const V& right) {
        const auto value_and_tangent = jax::linearize(f, x, where);
        return V(tangent_solve(value_and_tangent.second, right));
    };
    detail::CallOf value(f, guess);
    detail::CallOf solution(with_f, guess);
    detail::CallOf of_tangents(linear, guess, guess);
    value.where = solution.where = of_tangents.where = where;
    const std::vector<Array> flat = detail::custom_root(value, solution, of_tangents);
    const Array* at = flat.data();
    return detail::with_leaves(guess, at);
}

}  // namespace lax

}  // namespace jaxscope::jax
