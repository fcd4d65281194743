// SPDX-License-Identifier: Apache-2.0
#pragma once
// equinox.error_if and branched_error_if: errors that depend on values, under jit too.
#include <jaxscope/filter.h>

namespace jaxscope::jax {

namespace detail {
/// The same arrays.
std::vector<Array> error_if(const std::vector<Array>& leaves, const Operand& pred, const Operand& index,
                            const std::vector<std::string>& msgs, const Where& where);
}  // namespace detail

/// x; throws Error{CannotRun} with the `index`-th message where `pred` is true, or one of its elements. Of values that are known it throws
/// at once, else when the program runs.
template <class T>
T branched_error_if(const T& x, const Operand& pred, const Operand& index, const std::vector<std::string>& msgs, Where where = {}) {
    const std::vector<Array> flat = detail::error_if(detail::leaves_in<true>(x), pred, index, msgs, where);
    const Array* at = flat.data();
    return detail::refilled<true>(x, at);
}
template <class T>
T error_if(const T& x, const Operand& pred, const std::string& msg, Where where = {}) {
    return branched_error_if(x, pred, 0, {msg}, where);
}

}  // namespace jaxscope::jax
