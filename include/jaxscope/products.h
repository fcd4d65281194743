// SPDX-License-Identifier: Apache-2.0
#pragma once
// jax.numpy's products of arrays, and how exactly products are computed.
#include <jaxscope/tree_map.h>

namespace jaxscope::jax {

/// The type that a result is made in; left out, the operands' own (Python's `dtype=None`).
class AsType {
public:
    AsType() = default;
    AsType(dtype t) : type(t), given(true) {}  // NOLINT(google-explicit-constructor)
    AsType(None) {}                            // NOLINT(google-explicit-constructor)
    dtype type = dtype::float32;
    bool given = false;
};
/// How exactly a backend computes a product: "default", "high" or "highest" (or JAX's other names of these), a pair of them for the two
/// operands, or the name of a dot algorithm ("BF16_BF16_F32"). It stands in the jaxpr, and accelerators and their estimates heed it; a CPU
/// computes in the operands' own type in any case. Left out: None.
class Precision {
public:
    Precision() = default;
    Precision(None) {}                                // NOLINT(google-explicit-constructor)
    Precision(const char* of_both) : lhs(of_both) {}  // NOLINT(google-explicit-constructor)
    Precision(const char* of_lhs, const char* of_rhs) : lhs(of_lhs), rhs(of_rhs) {}
    const char *lhs = nullptr, *rhs = nullptr;
};

/// While it lives, products and convolutions that ask for no precision are traced with this one ("highest", "BF16_BF16_F32"; none: as
/// without it), on its thread: `jax::default_matmul_precision scope("highest");`. Throws JAX's error for other names.
class default_matmul_precision {
public:
    explicit default_matmul_precision(const char* name, Where where = {});
    explicit default_matmul_precision(None);
    ~default_matmul_precision();
    default_matmul_precision(const default_matmul_precision&) = delete;
    default_matmul_precision& operator=(const default_matmul_precision&) = delete;

private:
    std::string outer_;
};

namespace numpy {

/// Of matmul, dot, einsum and their kin. `preferred_element_type`: what the sums are made in, and the result is.
struct ProductOptions {
    Precision precision = {};
    AsType preferred_element_type = {};
};

// Callables, so that they can be given to vmap, grad and jit as they are.
struct Matmul {
    Array operator()(const Operand& x, const Operand& y, const ProductOptions& how = {}) const;
};
struct Dot {
    Array operator()(const Operand& x, const Operand& y, const ProductOptions& how = {}) const;
};
struct Vdot {
    Array operator()(const Operand& x, const Operand& y, const ProductOptions& how = {}) const;
};
/// Of rows that belong together; the dimensions before them broadcast.
struct Vecdot {
    Array operator()(const Operand& x, const Operand& y, const ProductOptions& how = {}) const;
};
struct Inner {
    Array operator()(const Operand& x, const Operand& y, const ProductOptions& how = {}) const;
};
inline constexpr Matmul matmul{};
inline constexpr Dot dot{};
inline constexpr Vdot vdot{};
inline constexpr Vecdot vecdot{};
inline constexpr Inner inner{};

Array matvec(const Operand& x, const Operand& v);  ///< a matrix, or several, by a vector each
Array vecmat(const Operand& v, const Operand& x);  ///< the vector's conjugate by the matrix

/// Over the last axes of x and the first of y, or over pairs of axes: `tensordot(x, y, {{0, 1}, {1, 0}})`.
Array tensordot(const Operand& x, const Operand& y, std::int64_t axes = 2, const ProductOptions& how = {});
Array tensordot(const Operand& x, const Operand& y, const std::pair<Shape, Shape>& axes, const ProductOptions& how = {});

/// Einstein's sums: `einsum("bij,bjk->bik", x, y)`; without `->` the result has the names that stand once, sorted. Three and more
/// operands are contracted in the order that needs fewest operations.
Array einsum(const char* subscripts, const Operand& x, const ProductOptions& how = {});
Array einsum(const char* subscripts, const Operand& x, const Operand& y, const ProductOptions& how = {});
Array einsum(const char* subscripts, const Operand& x, const Operand& y, const Operand& z, const ProductOptions& how = {});
Array einsum(const char* subscripts, const Operand& x, const Operand& y, const Operand& z, const Operand& w,
             const ProductOptions& how = {});
Array einsum(const char* subscripts, const std::vector<Array>& operands, const ProductOptions& how = {}, Where where = {});
// Operands before the subscripts.
template <class T, class... More>
requires(!std::is_convertible_v<const T&, const char*>) Array einsum(const T&, const More&...) {
    static_assert(std::is_convertible_v<const T&, const char*>, "einsum takes the subscripts first, as text: einsum(\"ij,jk->ik\", x, y)");
    return Array();
}

}  // namespace numpy
}  // namespace jaxscope::jax
