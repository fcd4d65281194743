#include "lax/families.h"
#include "lax/rule_support.h"

// Tridiagonal systems (linalg.py of JAX 0.10.2).
namespace jaxscope {

namespace {

Avals eval_tridiagonal_solve(const Op& op) {
    expect_arrays(op, 4);
    expect_same_dtype(op, 0, 4);
    const Dims& b = op.in[3]->shape;
    if (!is_inexact(op.in[3]->dtype)) type_mismatch(op, "a floating dtype", info(op.in[3]->dtype).name);
    if (b.size() < 2) type_mismatch(op, "right-hand sides of rank 2 or more", shape_text(b));
    const Dims diagonal(b.begin(), b.end() - 1);
    for (std::size_t i = 0; i < 3; ++i)
        if (op.in[i]->shape != diagonal) type_mismatch(op, "diagonals of " + shape_text(diagonal), shape_text(op.in[i]->shape));
    return {with_shape(op.in[3], b)};
}

constinit const Primitive kTridiagonalSolve = typed_only("tridiagonal_solve", eval_tridiagonal_solve, "LAPACK's gtsv is not called");

}  // namespace

std::span<const Primitive* const> tridiagonal_primitives() {
    static constexpr const Primitive* all[] = {&kTridiagonalSolve};
    return all;
}

}  // namespace jaxscope
