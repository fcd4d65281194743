// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "ir/builder.h"
#include "ir/kernel_builder.h"
#include "ir/primitive.h"

namespace jaxscope {

// What rules of many families need.

/// Throws Error{TypeMismatch}: "PRIMITIVE: expected EXPECTED, found FOUND".
[[noreturn]] void type_mismatch(const Op& op, const std::string& expected, const std::string& found);
std::string shape_text(const Dims& dims);  ///< (2, 3) and (4,), as Python prints tuples

/// Checks that the application has `n` inputs and that all are arrays.
void expect_arrays(const Op& op, std::size_t n);
/// The same for inputs of any kind.
void expect_inputs(const Op& op, std::size_t n);
/// All inputs are arrays, at least `n` of them.
void expect_arrays_at_least(const Op& op, std::size_t n);
/// Random keys are no numbers: what computes with its first `n` operands says so. (Element-wise operations name the classes they take.)
void refuse_keys(const Op& op, std::size_t n = SIZE_MAX);
/// JAX's check_same_dtypes on inputs [first, first + n).
void expect_same_dtype(const Op& op, std::size_t first, std::size_t n);

/// A result as JAX's standard_primitive makes it: weak when all inputs are weak, in the memory space of the inputs of rank 1 and
/// more (which must agree).
AvalRef standard_result(const Op& op, DType dtype, Dims shape);
/// The same with the weak type of one input (JAX's _argnum_weak_type).
AvalRef result_like_input(const Op& op, std::size_t input, DType dtype, Dims shape);

/// A parameter that holds dimensions or sizes, none of them negative; refuses another one, and one that is missing.
Dims dims_param(const Op& op, const Attr* param, const char* what);

/// A primitive whose types are known and nothing else: `why` is what the user reads where a rule is asked for.
constexpr Primitive typed_only(const char* name, AbstractEvalFn* eval, const char* why) {
    return {.name = name, .abstract_eval = eval, .jvp = NoRule{why}, .transpose = NoRule{why}, .batch = NoRule{why}, .lower = NoRule{why}};
}

/// What runs as a routine of the runtime (jit/kernels) rather than element by element: its `lower` and its `kernel`.
inline constexpr NoRule kRunsAsRoutine{"runs as a routine of the runtime"};
KernelSpec routine_kernel(const Op& op);

// ---- Lists of dimensions

bool contains(const Dims& dims, std::int64_t d);
bool distinct(const Dims& dims);
bool in_range(const Dims& dims, std::int64_t rank);
bool sorted_distinct_in(const Dims& dims, std::int64_t rank);
bool disjoint(const Dims& a, const Dims& b);
Dims iota_dims(std::int64_t n);                                        ///< 0 .. n-1
Dims remaining(std::int64_t rank, const Dims& a, const Dims& b = {});  ///< those of 0 .. rank-1 in neither list
Dims take(const Dims& values, const Dims& positions);
Dims argsort(const Dims& values);
Dims plus(Dims dims, std::int64_t n);  ///< n added to each
Dims with_front(std::int64_t d, Dims dims);
/// Positions after an axis was inserted at `axis`: those at or behind it move by one.
Dims bump(Dims dims, std::int64_t axis);
Dims erased(Dims dims, std::int64_t position);
Dims inserted(Dims dims, std::int64_t position, std::int64_t value);
std::vector<int> to_ints(const Dims& dims);
/// JAX's int_dtype_for_shape(signed=False): uint32 unless a dimension exceeds it.
DType index_dtype_unsigned(const Dims& shape);

// ---- Rules shared by families

/// Forward mode of linear primitives: the same application on the tangents, zeros made where one is symbolic.
Values jvp_linear(Builder& b, const Op& op, const Values& x, const Values& y, const Values& dx);
/// Forward mode of bilinear ones: lhs part, then rhs part, added.
Values jvp_bilinear(Builder& b, const Op& op, const Values& x, const Values& y, const Values& dx);
/// The tangent itself, or zeros of the input's tangent type.
Value instantiate_tangent(Builder& b, Value dx, AvalRef primal);

/// jax's batching.moveaxis: no equation when nothing moves.
Value moveaxis(Builder& b, Value x, int from, int to);
/// The batch axis moved, or a new one of `size` broadcast, to the front.
Value batch_to_front(Builder& b, Value x, int dim, std::int64_t size);
/// The mapped axis at `axis`; a value that isn't mapped is broadcast there.
Value batch_to(Builder& b, Value x, int dim, int axis, std::int64_t size);
/// Rules of primitives of one operand that treat all dimensions alike and have no parameters.
BatchResult batch_unary(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size);

/// An element of an index operand as a position (S64); unsigned 64-bit values beyond 2^63 become 2^63-1, not negative.
KScalar position(ElementBuilder& k, KScalar index);
/// The result index, unchanged, of operand `operand`.
KScalar load_same(ElementBuilder& k, int operand, const KIndex& i);

Cost data_movement_cost(const Op& op);  ///< no FLOPs; bytes of all inputs and outputs
double total_bytes(const Op& op);

}  // namespace jaxscope
