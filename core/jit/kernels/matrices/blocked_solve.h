// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <complex>
#include <cstdint>

// Triangular solves and Cholesky decompositions as products of blocks, on several threads; LAPACK's reference routines, which Debian
// installs, work column by column. T is float, double or one of their complex numbers.
namespace jaxscope::exec {

/// Equations sum_p c(j, p) x_p = b_j for j below `size`, c(j, p) = a[j * row + p * column], conjugated or not, 0 above (below) the
/// diagonal.
template <class T>
struct TriangularSystem {
    const T* a;
    std::int64_t size, row, column;
    bool lower, unit_diagonal, conjugate;
};
/// Right sides, each replaced by its solution: number l of x_j stands at x[j * row + l * column].
template <class T>
struct RightSides {
    T* x;
    std::int64_t count, row, column;
};
/// Is it worth it? Small systems are faster one after the other.
bool worth_blocks(std::int64_t size, std::int64_t count);
/// Scratch memory of each thread, for solving systems and decomposing matrices of this size.
template <class T>
std::int64_t blocked_bytes(std::int64_t size, std::int64_t count);
template <class T>
void solve_blocked(const TriangularSystem<T>& system, const RightSides<T>& sides, int threads, void* scratch);

/// Scratch memory of each thread for a decomposition: none of a single block.
template <class T>
std::int64_t cholesky_bytes(std::int64_t n);
/// The lower triangle of a[n, n], by columns, becomes L of L L^H. False where the matrix isn't positive definite.
template <class T>
bool cholesky_blocked(int n, T* a, int threads, void* scratch);

}  // namespace jaxscope::exec
