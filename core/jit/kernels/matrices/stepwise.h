// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

// Decompositions step by step, of matrices with elements that aren't finite. LAPACK's and BLAS' implementations differ in what they make
// of NaN: some of those that Debian offers give zeros where a NaN was. Here it goes where arithmetic takes it, as in JAX's.
namespace jaxscope::exec {

namespace stepwise {
template <class T>
auto size_of(T x) {  // that BLAS looks for pivots by
    return std::abs(std::real(x)) + std::abs(std::imag(x));
}
template <class T>
T conjugate_of(T x) {
    if constexpr (std::is_floating_point_v<T>)
        return x;
    else
        return std::conj(x);
}
/// C's arithmetic of complex numbers would turn some NaNs into infinities.
template <class T>
T product(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
        return a * b;
    else
        return T(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
}
/// The columns [from, n) of a[m, n] below row `row`, times I - tau v v^H, where v is 1 and the m - row - 1 numbers at `v`.
template <class T>
void reflect(int m, int n, int row, int from, T tau, const T* v, T* a) {
    if (tau == T(0)) return;
    int last = m;  // what is behind v's last number isn't touched
    while (last > row + 1 && v[last - 1 - row - 1] == T(0)) --last;
    const auto empty = [&](int j) {
        const T* column = a + std::int64_t{j} * m;
        return std::all_of(column + row, column + last, [](T x) { return x == T(0); });
    };
    while (n > from && empty(n - 1)) --n;  // nor are columns of zeros behind all others
    for (int j = from; j < n; ++j) {
        T* column = a + std::int64_t{j} * m;
        T sum = column[row];
        for (int i = row + 1; i < last; ++i) sum += product(conjugate_of(v[i - row - 1]), column[i]);
        sum = product(tau, sum);
        column[row] -= sum;
        for (int i = row + 1; i < last; ++i) column[i] -= product(v[i - row - 1], sum);
    }
}
}  // namespace stepwise

/// LU of a[m, n] by columns; row exchanges count from 1, as LAPACK's.
template <class T>
void lu_stepwise(int m, int n, T* a, int* pivots) {
    using namespace stepwise;
    for (int k = 0; k < std::min(m, n); ++k) {
        T* column = a + std::int64_t{k} * m;
        int best = k;
        for (int i = k + 1; i < m; ++i)
            if (size_of(column[i]) > size_of(column[best])) best = i;
        pivots[k] = best + 1;
        if (column[best] == T(0)) continue;
        for (int j = 0; j < n && best != k; ++j) std::swap(a[std::int64_t{j} * m + k], a[std::int64_t{j} * m + best]);
        const T pivot = column[k];
        // A NaN divides nothing: no comparison finds it large enough.
        if (size_of(pivot) >= std::numeric_limits<decltype(size_of(pivot))>::min())
            for (int i = k + 1; i < m; ++i) column[i] = product(column[i], T(1) / pivot);
        for (int j = k + 1; j < n; ++j) {
            T* right = a + std::int64_t{j} * m;
            for (int i = k + 1; i < m; ++i) right[i] -= product(column[i], right[k]);
        }
    }
}

/// R of a[m, n] in its upper triangle, by columns, reflectors below it and their factors in `tau`.
template <class T>
void reflectors_stepwise(int m, int n, T* a, T* tau) {
    using namespace stepwise;
    for (int k = 0; k < std::min(m, n); ++k) {
        T* column = a + std::int64_t{k} * m;
        const T alpha = column[k];
        decltype(std::real(alpha)) norm = 0;
        for (int i = k + 1; i < m; ++i) norm = std::hypot(norm, std::abs(column[i]));
        tau[k] = T(0);
        if (norm == 0 && std::imag(alpha) == 0) continue;
        const auto length = std::hypot(std::abs(alpha), norm), beta = std::signbit(std::real(alpha)) ? length : -length;
        tau[k] = (T(beta) - alpha) / T(beta);
        const T scale = T(1) / (alpha - T(beta));
        for (int i = k + 1; i < m; ++i) column[i] = product(column[i], scale);
        column[k] = T(beta);
        reflect(m, n, k, k + 1, conjugate_of(tau[k]), column + k + 1, a);
    }
}

/// The first n columns of the product of k reflectors, in place of a[m, n], which has them below its diagonal.
template <class T>
void product_stepwise(int m, int n, int k, T* a, const T* tau) {
    using namespace stepwise;
    for (int j = k; j < n; ++j)
        for (int i = 0; i < m; ++i) a[std::int64_t{j} * m + i] = T(i == j);
    for (int j = k - 1; j >= 0; --j) {
        T* column = a + std::int64_t{j} * m;
        reflect(m, n, j, j + 1, tau[j], column + j + 1, a);
        for (int i = j + 1; i < m; ++i) column[i] = product(column[i], -tau[j]);
        column[j] = T(1) - tau[j];
        std::fill_n(column, j, T(0));
    }
}

}  // namespace jaxscope::exec
