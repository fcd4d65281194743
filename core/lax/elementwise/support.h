// SPDX-License-Identifier: Apache-2.0
#pragma once
// core/lax/elementwise: primitives whose result at an index depends on the operands at that index alone. In come operands of one shape (or
// scalars, which stretch), out goes an array of that shape, by one scalar operation an element. Never here: what looks at neighbours or
// changes shapes.
#include "ir/builder.h"
#include "ir/kernel_builder.h"
#include "ir/primitive.h"

namespace jaxscope {

// What element-wise primitives share (lax.py: unop, naryop).

/// Sets of dtypes that a primitive takes, to be or-ed.
enum DTypeClass : unsigned { kBoolClass = 1, kIntClass = 2, kFloatClass = 4, kComplexClass = 8, kKeyClass = 16 };
constexpr unsigned kNumClass = kIntClass | kFloatClass | kComplexClass;
constexpr unsigned kOrderedClass = kIntClass | kFloatClass | kBoolClass;
constexpr unsigned kAnyClass = kOrderedClass | kComplexClass;
bool in_class(DType d, unsigned classes);

/// Refuses dtypes outside `classes` in JAX's words. Shapes: equal, or scalars, or of unit dimensions that stretch.
/// Returns the common shape.
Dims check_nary(const Op& op, std::size_t n, unsigned classes);
/// One array in, the same aval out (JAX's standard_unop).
template <unsigned kClasses>
Avals eval_unary(const Op& op);
/// Two arrays of one dtype in, the same dtype out.
template <unsigned kClasses>
Avals eval_binary(const Op& op);
Avals eval_unary_in(const Op& op, unsigned classes);
Avals eval_binary_in(const Op& op, unsigned classes);
template <unsigned kClasses>
Avals eval_unary(const Op& op) {
    return eval_unary_in(op, kClasses);
}
template <unsigned kClasses>
Avals eval_binary(const Op& op) {
    return eval_binary_in(op, kClasses);
}

/// JAX's broadcast_batcher: operands with agreeing batch axes as they are, else axes to the front and unit axes for those without.
BatchResult batch_nary(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size);

/// Forward mode of primitives whose result doesn't change with small changes of the input.
Values jvp_zero(Builder& b, const Op& op, const Values& x, const Values& y, const Values& dx);

/// The operand's element that meets result index `i`: scalars and unit dimensions stand still.
KScalar load_stretched(ElementBuilder& k, const Op& op, int operand, const KIndex& i);

/// One KOp on the operands' elements.
template <KOp kOp>
KScalar lower_unary(ElementBuilder& k, const Op& op, const KIndex& i) {
    return k.op(kOp, load_stretched(k, op, 0, i));
}
/// A function of the C library on the operand's elements.
template <const KFunction& kFunction>
KScalar lower_function(ElementBuilder& k, const Op& op, const KIndex& i) {
    return k.call(kFunction, load_stretched(k, op, 0, i));
}
template <KOp kOp>
KScalar lower_binary(ElementBuilder& k, const Op& op, const KIndex& i) {
    const KScalar x = load_stretched(k, op, 0, i);
    return k.op(kOp, x, load_stretched(k, op, 1, i));
}

/// FLOPs: `per_element` for each element of the result.
template <int kPerElement = 1>
Cost elementwise_cost(const Op& op) {
    return {kPerElement * static_cast<double>(op.out.empty() ? op.in[0]->size() : op.out[0]->size()), 0};
}
constexpr int kTranscendental = 10;  ///< FLOPs that an exp, log, tanh, ... counts for

/// The sum of those parts that aren't zero, by add_any (JAX's standard_jvp).
Value sum_tangents(Builder& b, std::initializer_list<Value> parts);

}  // namespace jaxscope
