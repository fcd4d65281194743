// SPDX-License-Identifier: Apache-2.0
#pragma once
// jax.flatten_util: all arrays of a tree as one vector, and back.
//   const auto [flat, unravel] = jax::flatten_util::ravel_pytree(params);  Params p = unravel(flat - 0.1 * g);
#include <jaxscope/pytree.h>

namespace jaxscope::jax {

namespace detail {
/// The leaves in a row, in the type that they promote to.
Array raveled(const std::vector<Array>& leaves, const Where& where);
/// Parts of `flat` in the shapes of `like`, and in its types where these differ among each other.
std::vector<Array> unraveled(const Operand& flat, const std::vector<Array>& like);
}  // namespace detail

namespace flatten_util {

/// What makes a tree like the one that was raveled of a vector.
template <class T>
class Unravel {
public:
    explicit Unravel(T like) : like_(std::move(like)) {}
    T operator()(const Operand& flat) const { return tree_unflatten(like_, detail::unraveled(flat, tree_leaves(like_))); }

private:
    T like_;
};
template <class T>
std::pair<Array, Unravel<T>> ravel_pytree(const T& tree, Where where = {}) {
    return {detail::raveled(tree_leaves(tree), where), Unravel<T>(tree)};
}

}  // namespace flatten_util

}  // namespace jaxscope::jax
