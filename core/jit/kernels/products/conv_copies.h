// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "jit/kernels/products/conv_sides.h"

namespace jaxscope::exec {

/// Copies the elements of a side to those of another of the same sizes, between two types of which at least one is float32, or that are
/// the same. The bases are where a side's element 0 stands, whatever `first` says; strides may be negative.
void copy_side(const ConvSide& from, DType from_type, const void* from_base, const ConvSide& to, DType to_type, void* to_base);

}  // namespace jaxscope::exec
