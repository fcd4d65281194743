// SPDX-License-Identifier: Apache-2.0
#pragma once
// What functions of matrices share: arguments that are checked, the diagonal, triangular solves.
#include <jaxscope/linalg.h>

#include "trace/numpy/composed/composed.h"
#include "trace/trace.h"

namespace jaxscope::jax::numpy::matrices {

using detail::inexact_of;
void expect_square(const Array& a, const char* function, const Where& where);
void expect_matrix(const Array& a, const char* function, const Where& where);
::jaxscope::Dims swapped_last(std::size_t rank);
/// Where the row's number and the offset make that of the column.
::jaxscope::Value on_diagonal(::jaxscope::Builder& b, const ::jaxscope::Dims& shape, std::int64_t offset = 0);
::jaxscope::Value on_diagonal(::jaxscope::Builder& b, const ::jaxscope::Dims& shape, ::jaxscope::Value offset);
/// `with_offset`: it is an argument, even of 0.
Array trace_of(const Operand& x, const Diagonal& which, bool with_offset = false);
Array triangular(const Array& a, const Array& b, bool lower, bool unit, bool transposed);

}  // namespace jaxscope::jax::numpy::matrices
