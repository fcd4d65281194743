// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "ir/params.h"
#include "ir/primitive.h"

namespace jaxscope {

// Parameters of matrix decompositions and Fourier transforms (linalg.py, fft.py). Matrices are the last two dimensions; those before
// are batch dimensions.

/// Solves a x = b (`left_side`) or x a = b for triangular a; the other triangle is not read.
struct TriangularSolveParams {
    bool conjugate_a = false, left_side = false, lower = false, transpose_a = false, unit_diagonal = false;
    static constexpr auto kFields =
        std::tuple(field("conjugate_a", &TriangularSolveParams::conjugate_a), field("left_side", &TriangularSolveParams::left_side),
                   field("lower", &TriangularSolveParams::lower), field("transpose_a", &TriangularSolveParams::transpose_a),
                   field("unit_diagonal", &TriangularSolveParams::unit_diagonal));
};

/// Results: eigenvectors, eigenvalues.
struct EighParams {
    Attr algorithm = {};
    bool lower = true, sort_eigenvalues = true;
    std::optional<Dims> subset_by_index = {};
    static constexpr auto kFields = std::tuple(optional_field("algorithm", &EighParams::algorithm), field("lower", &EighParams::lower),
                                               optional_field("sort_eigenvalues", &EighParams::sort_eigenvalues),
                                               optional_field("subset_by_index", &EighParams::subset_by_index));
};

/// Results: singular values, then u and vh when `compute_uv`.
struct SvdParams {
    Attr algorithm = {};
    bool compute_uv = true, full_matrices = true;
    std::optional<Dims> subset_by_index = {};
    static constexpr auto kFields =
        std::tuple(optional_field("algorithm", &SvdParams::algorithm), field("compute_uv", &SvdParams::compute_uv),
                   field("full_matrices", &SvdParams::full_matrices), optional_field("subset_by_index", &SvdParams::subset_by_index));
};

/// Results: q, r, and with `pivoting` the column permutation.
struct QrParams {
    bool full_matrices = true, pivoting = false;
    Attr use_magma = {};
    static constexpr auto kFields =
        std::tuple(field("full_matrices", &QrParams::full_matrices), optional_field("pivoting", &QrParams::pivoting),
                   optional_field("use_magma", &QrParams::use_magma));
};

/// Results: eigenvalues, then left and right eigenvectors as asked for.
struct EigParams {
    bool compute_left_eigenvectors = true, compute_right_eigenvectors = true;
    Attr enable_eigvec_derivs = {}, implementation = {};
    static constexpr auto kFields = std::tuple(field("compute_left_eigenvectors", &EigParams::compute_left_eigenvectors),
                                               field("compute_right_eigenvectors", &EigParams::compute_right_eigenvectors),
                                               optional_field("enable_eigvec_derivs", &EigParams::enable_eigvec_derivs),
                                               optional_field("implementation", &EigParams::implementation));
};

/// Results: the Schur form, then the vectors when asked for.
struct SchurParams {
    bool compute_schur_vectors = true, sort_eig_vals = false;
    Attr select_callable = {};
    static constexpr auto kFields =
        std::tuple(field("compute_schur_vectors", &SchurParams::compute_schur_vectors),
                   optional_field("select_callable", &SchurParams::select_callable), field("sort_eig_vals", &SchurParams::sort_eig_vals));
};

/// Operands: lower diagonal, diagonal, upper diagonal, right-hand sides.
struct TridiagonalParams {
    bool lower = true;
    static constexpr auto kFields = std::tuple(field("lower", &TridiagonalParams::lower));
};

struct TridiagonalSolveParams {
    bool perturb_singular = false;
    static constexpr auto kFields = std::tuple(optional_field("perturb_singular", &TridiagonalSolveParams::perturb_singular));
};

struct LuPivotsParams {
    std::int64_t permutation_size = 0;
    static constexpr auto kFields = std::tuple(field("permutation_size", &LuPivotsParams::permutation_size));
};

enum class FftType : std::uint8_t { Fft, Ifft, Rfft, Irfft };  ///< JAX's FftType members 0 to 3
Attr to_attr(FftType v);
void from_attr(const Attr& a, FftType& v);

/// Over the last dimensions, as many as there are lengths.
struct FftParams {
    Dims fft_lengths;
    FftType fft_type = FftType::Fft;
    static constexpr auto kFields = std::tuple(field("fft_lengths", &FftParams::fft_lengths), field("fft_type", &FftParams::fft_type));
};

}  // namespace jaxscope
