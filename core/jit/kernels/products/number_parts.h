// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <complex>

namespace jaxscope::exec {

/// What a number is made of: itself, or its real and its imaginary part.
template <class T>
struct Parts {
    using Real = T;
    static constexpr int kParts = 1;
};
template <class R>
struct Parts<std::complex<R>> {
    using Real = R;
    static constexpr int kParts = 2;  ///< real parts, then imaginary ones
};
template <class T>
using RealOf = typename Parts<T>::Real;

}  // namespace jaxscope::exec
