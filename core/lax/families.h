#pragma once
#include <span>

namespace jaxscope {
struct Primitive;

// The element-wise families and reductions, for registry.cpp; the families of shapes, slices, gathers, products and sorts are declared
// with their parameters (shape_ops.h, slicing.h, dot.h, sort.h).
std::span<const Primitive* const> unary_primitives();
std::span<const Primitive* const> inverse_trig_primitives();
std::span<const Primitive* const> special_primitives();
std::span<const Primitive* const> gamma_primitives();
std::span<const Primitive* const> binary_primitives();
std::span<const Primitive* const> compare_primitives();
std::span<const Primitive* const> convert_primitives();
std::span<const Primitive* const> reduce_primitives();
std::span<const Primitive* const> cumulative_primitives();
std::span<const Primitive* const> random_primitives();
std::span<const Primitive* const> typed_primitives();  ///< of which jaxscope knows little more than the types

}  // namespace jaxscope
