// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ir/builder.h"
#include "ir/primitive.h"

namespace jaxscope {

// Forward mode of matrix decompositions, and the small functions of linalg.py that it is made of.

PrimalsTangents cholesky_jvp_call(Builder& b, const Op& op, const Values& x, const Values& dx);
Values triangular_solve_jvp(Builder& b, const Op& op, const Values& x, const Values& y, const Values& dx);
PrimalsTangents eigh_jvp_call(Builder& b, const Op& op, const Values& x, const Values& dx);
PrimalsTangents eig_jvp_call(Builder& b, const Op& op, const Values& x, const Values& dx);
Values lu_jvp(Builder& b, const Op& op, const Values& x, const Values& y, const Values& dx);
PrimalsTangents svd_jvp_call(Builder& b, const Op& op, const Values& x, const Values& dx);
Values qr_jvp(Builder& b, const Op& op, const Values& x, const Values& y, const Values& dx);

/// 1 where column <= row + k, of shape (rows, columns); the identity converted to `dtype`.
Value lower_mask(Builder& b, std::int64_t rows, std::int64_t columns, std::int64_t k);
Value identity_matrix(Builder& b, DType dtype, std::int64_t n);
/// The matrices of `x` with the elements above the k-th diagonal (`keep_lower`) or below it set to zero.
Value triangle(Builder& b, Value x, bool keep_lower, std::int64_t k);
Value matrix_transpose(Builder& b, Value x);
/// Products of matrices, with one batch dimension for each leading dimension, at the highest precision.
Value precise_matmul(Builder& b, Value x, Value y);

}  // namespace jaxscope
