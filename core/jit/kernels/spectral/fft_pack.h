// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <complex>

#include "jit/kernels/wide_code.h"

namespace jaxscope::exec {

/// The same place of several rows: what is done to one is done to all at a time.
template <class T, int kRows>
struct Pack {
    T re[kRows], im[kRows];
};

template <class T, int kRows>
JAXSCOPE_INLINED Pack<T, kRows> operator+(const Pack<T, kRows>& a, const Pack<T, kRows>& b) {
    Pack<T, kRows> c;
    for (int i = 0; i < kRows; ++i) c.re[i] = a.re[i] + b.re[i], c.im[i] = a.im[i] + b.im[i];
    return c;
}
template <class T, int kRows>
JAXSCOPE_INLINED Pack<T, kRows> operator-(const Pack<T, kRows>& a, const Pack<T, kRows>& b) {
    Pack<T, kRows> c;
    for (int i = 0; i < kRows; ++i) c.re[i] = a.re[i] - b.re[i], c.im[i] = a.im[i] - b.im[i];
    return c;
}
/// a * w, the number the same for all rows.
template <class T, int kRows>
JAXSCOPE_INLINED Pack<T, kRows> times(const Pack<T, kRows>& a, std::complex<T> w) {
    const T x = w.real(), y = w.imag();
    Pack<T, kRows> c;
    for (int i = 0; i < kRows; ++i) c.re[i] = a.re[i] * x - a.im[i] * y, c.im[i] = a.re[i] * y + a.im[i] * x;
    return c;
}
template <class T, int kRows>
JAXSCOPE_INLINED Pack<T, kRows> conjugate(Pack<T, kRows> a) {
    for (int i = 0; i < kRows; ++i) a.im[i] = -a.im[i];
    return a;
}
/// By -i, or i for the inverse.
template <bool kInverse, class T, int kRows>
JAXSCOPE_INLINED Pack<T, kRows> quarter_turn(const Pack<T, kRows>& a) {
    Pack<T, kRows> c;
    for (int i = 0; i < kRows; ++i) c.re[i] = kInverse ? -a.im[i] : a.im[i], c.im[i] = kInverse ? a.re[i] : -a.re[i];
    return c;
}
/// By a root of the forward transform, or its conjugate.
template <bool kInverse, class T, int kRows>
JAXSCOPE_INLINED Pack<T, kRows> turned(const Pack<T, kRows>& a, std::complex<T> root) {
    return times(a, kInverse ? std::conj(root) : root);
}

}  // namespace jaxscope::exec
