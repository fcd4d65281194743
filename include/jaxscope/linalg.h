// SPDX-License-Identifier: Apache-2.0
#pragma once
// jax.numpy.linalg. Matrices are the last two dimensions; those before are batch dimensions.
#include <jaxscope/numpy.h>

namespace jaxscope::jax::numpy::linalg {

Array inv(const Operand& a);
/// x where a x = b, of a vector or of a matrix' columns.
Array solve(const Operand& a, const Operand& b);
Array det(const Operand& a);
struct Slogdet {
    Array sign, logabsdet;
};
Slogdet slogdet(const Operand& a);
struct CholeskyOptions {
    Flag upper = false, symmetrize_input = true;
};
Array cholesky(const Operand& a, const CholeskyOptions& options = {});
struct Qr {
    Array Q, R;
};
/// `mode`: "reduced" or "complete".
Qr qr(const Operand& a, const char* mode = "reduced");
struct Svd {
    Array U, S, Vh;
};
Svd svd(const Operand& a, bool full_matrices = true);
Array svdvals(const Operand& a);
struct Eigh {
    Array eigenvalues, eigenvectors;
};
/// `uplo`: which triangle is read, 'L' or 'U'.
Eigh eigh(const Operand& a, char uplo = 'L', bool symmetrize_input = true);
struct Eig {
    Array eigenvalues, eigenvectors;
};
Eig eig(const Operand& a);  ///< of any square matrix: complex numbers
Array eigvals(const Operand& a);
/// x whose sum of products over its axes with the last ones of `a` is b.
Array tensorsolve(const Operand& a, const Operand& b);
Array tensorinv(const Operand& a, std::int64_t ind = 2);
Array eigvalsh(const Operand& a, char uplo = 'L');
Array matrix_power(const Operand& a, std::int64_t n);
/// Of vectors: any number; 1, 2, inf and their negatives of matrices. "fro" and "nuc".
struct Order {
    template <detail::Number T>
    Order(T p) : value(static_cast<double>(p)), given(true) {}  // NOLINT(google-explicit-constructor)
    Order(const char* n) : name(n), given(true) {}              // NOLINT(google-explicit-constructor)
    Order(None) {}                                              // NOLINT(google-explicit-constructor)
    double value = 2;
    const char* name = nullptr;
    bool given = false;
};
Array norm(const Operand& x, const Order& ord, const Reduction& over = {});
struct VectorNorm {
    Order ord = none;  ///< none: 2
    Axes axis = {};
    Flag keepdims = false;
};
Array vector_norm(const Operand& x, const VectorNorm& how = {});
Array matrix_norm(const Operand& x, const Order& ord = "fro", bool keepdims = false);
/// The pseudo-inverse: singular values up to `rtol` times the largest one count as zero.
Array pinv(const Operand& a, const Array& rtol = {});
Array matrix_rank(const Operand& a, const Array& rtol = {});  ///< `rtol`: what singular values have to be larger than
/// How much larger errors become: the norm times that of the inverse; without `p` the ratio of singular values.
Array cond(const Operand& a, const Order& p = none);
struct Lstsq {
    Array x, resid, rank, s;
};
/// x for which a x comes nearest to b. `rcond`: singular values up to as much of the largest one count as zero.
Lstsq lstsq(const Operand& a, const Operand& b, const Array& rcond = {});
/// The product of several, in the order that needs fewest operations.
Array multi_dot(const Arrays& arrays, const ProductOptions& how = {}, Where where = {});
Array outer(const Operand& x, const Operand& y);
Array diagonal(const Operand& x, std::int64_t offset = 0);
Array trace(const Operand& x, std::int64_t offset = 0);
using numpy::matmul;
using numpy::matrix_transpose;
using numpy::tensordot;
using numpy::vecdot;

}  // namespace jaxscope::jax::numpy::linalg
