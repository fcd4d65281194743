// SPDX-License-Identifier: Apache-2.0
#pragma once
// jax.numpy: how often numbers are there, where they are, and which are in one array or in another.
#include <utility>

#include <jaxscope/reductions.h>

namespace jaxscope::jax::numpy {

struct Counting {
    Array weights = {};          ///< of the shape of x
    std::int64_t minlength = 0;  ///< of the result, where the numbers are known
    std::int64_t length = -1;    ///< of the result; -1: one more than the largest number, which has to be known
};
Array bincount(const Operand& x, const Counting& how = {});
/// In which bin each number is: bins[i - 1] <= x < bins[i]; `right`: bins[i - 1] < x <= bins[i].
Array digitize(const Operand& x, const Operand& bins, bool right = false);
/// Positions of what isn't zero, of each dimension an array of `size` numbers; what is too much is left out, what is missing is
/// `fill_value`, 0 where there is none.
Arrays nonzero(const Operand& x, std::int64_t size = -1, const Array& fill_value = {});
Array flatnonzero(const Operand& x, std::int64_t size = -1, const Array& fill_value = {});
Array argwhere(const Operand& x, std::int64_t size = -1, const Array& fill_value = {});
struct Sized {
    std::int64_t size = -1;
    Array fill_value = {};
};
Arrays where(const Operand& condition, const Sized& how = {});  ///< nonzero
// Without what stands where it doesn't hold.
template <class T>
requires(!std::is_same_v<T, Sized>) Array where(const Operand&, const T&) {
    static_assert(std::is_same_v<T, Sized>, "where takes a condition and two arrays or numbers: where(x > 0, x, 0.)");
    return Array();
}
struct Compression {
    Axes axis = {};
    /// Of the result: what is too much is left out, what doesn't hold is `fill_value`. -1: as many as hold, which has to be known.
    std::int64_t size = -1;
    Array fill_value = {};  ///< none: 0
};
/// The parts for which a condition holds; of the elements in a row, where there is no axis.
Array compress(const Operand& condition, const Operand& x, const Compression& how = {});
Array extract(const Operand& condition, const Operand& x, const Sized& how = {});
/// The `kth` number in its place, smaller ones before it and larger ones behind it, in any order; or their positions.
Array partition(const Operand& x, std::int64_t kth, std::int64_t axis = -1);
Array argpartition(const Operand& x, std::int64_t kth, std::int64_t axis = -1);
struct Distinct {
    /// Of the result: what is too much is left out, what is missing is `fill_value`. -1: as many as there are, which has to be known.
    std::int64_t size = -1;
    Array fill_value = {};  ///< none: the least one
    Axes axis = {};         ///< none: of the elements in a row
    Flag equal_nan = true;
};
/// Sorted, each once.
Array unique(const Operand& x, const Distinct& how = {});
struct Unique {
    Array values, indices, inverse_indices, counts;
};
/// Where each is first, which of them each element is, and how often each is there.
Unique unique_all(const Operand& x, const Sized& how = {});
Unique unique_counts(const Operand& x, const Sized& how = {});
Unique unique_inverse(const Operand& x, const Sized& how = {});
Array unique_values(const Operand& x, const Sized& how = {});
/// In one, in the other, or in both.
Array union1d(const Operand& x, const Operand& y, const Sized& how = {});
struct SetOptions {
    Flag assume_unique = false;
    std::int64_t size = -1;  ///< -1: as many as there are, which has to be known
    Array fill_value = {};
};
Array intersect1d(const Operand& x, const Operand& y, const SetOptions& how = {});  ///< in both
Array setdiff1d(const Operand& x, const Operand& y, const SetOptions& how = {});    ///< in the first alone
Array setxor1d(const Operand& x, const Operand& y, const SetOptions& how = {});     ///< in one of them alone
/// Positions in `shape` by those in a row, and back.
Arrays unravel_index(const Operand& indices, const Shape& shape);
struct Raveling {
    const char* mode = "raise";  ///< of positions outside: "raise" (they have to be known), "wrap", "clip" or "ignore"
    const char* order = "C";     ///< or "F": the first dimension is the fastest
};
Array ravel_multi_index(const Arrays& multi_index, const Shape& dims, const Raveling& how = {}, Where where = {});
std::pair<Array, Array> tril_indices(std::int64_t n, std::int64_t k = 0, std::int64_t m = -1);
std::pair<Array, Array> triu_indices(std::int64_t n, std::int64_t k = 0, std::int64_t m = -1);
Arrays diag_indices(std::int64_t n, std::int64_t ndim = 2);
std::pair<Array, Array> tril_indices_from(const Operand& x, std::int64_t k = 0);
std::pair<Array, Array> triu_indices_from(const Operand& x, std::int64_t k = 0);
Arrays diag_indices_from(const Operand& x);
/// The vectors along an axis each, which broadcast to a grid: `x[{rows, columns}]` of their results chooses a part of a matrix.
Arrays ix_(const Arrays& vectors, Where where = {});
struct Membership {
    Flag assume_unique = false;  ///< makes nothing faster here, as in JAX
    Flag invert = false;
};
Array isin(const Operand& element, const Operand& test_elements, const Membership& how = {});
/// From one number to another: `{-1., 1.}`; none where nothing is given.
struct Limits {
    Limits() = default;
    Limits(double least, double largest) : first(least), second(largest), given(true) {}
    Limits(const double (&ends)[2]) : Limits(ends[0], ends[1]) {}  // NOLINT(google-explicit-constructor): {{-1., 1.}}
    template <class T>
    requires std::is_same_v<T, std::pair<double, double>> Limits(const T& ends) : Limits(ends.first, ends.second) {}  // NOLINT
    double first = 0., second = 0.;
    bool given = false;
};
struct Binning {
    Limits range = {};  ///< none: from the least to the largest
    Array weights = {};
    Flag density = false;
};
Array histogram_bin_edges(const Operand& a, std::int64_t bins = 10, const Limits& range = {});
/// Counts, and the edges of the bins.
std::pair<Array, Array> histogram(const Operand& a, std::int64_t bins = 10, const Binning& how = {});

}  // namespace jaxscope::jax::numpy
