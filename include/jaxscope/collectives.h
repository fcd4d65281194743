// SPDX-License-Identifier: Apache-2.0
#pragma once
// jax.lax's collectives over axes that `jax::vmap(f, {.axis_name = "i"})` named.
#include <jaxscope/lax.h>

namespace jaxscope::jax::lax {

/// One name, or several: `psum(x, "i")`, `psum(x, {"i", "j"})`.
class AxisNames {
public:
    AxisNames(const char* name);                         // NOLINT(google-explicit-constructor)
    AxisNames(std::string name);                         // NOLINT(google-explicit-constructor)
    AxisNames(std::initializer_list<const char*> list);  // NOLINT(google-explicit-constructor)
    std::vector<std::string> names;
};

Array psum(const Operand& x, const AxisNames& axis_name);
Array pmean(const Operand& x, const AxisNames& axis_name);
Array pmax(const Operand& x, const AxisNames& axis_name);
Array pmin(const Operand& x, const AxisNames& axis_name);
/// The same over a tree, leaf by leaf: `psum(gradients, "batch")`.
template <class T>
requires detail::TreeOfArrays<T> T psum(const T& tree, const AxisNames& axis_name, Where where = {}) {
    return tree_map([&](const Array& a) { return psum(Operand(a, where.file, where.line, where.function), axis_name); }, tree);
}
template <class T>
requires detail::TreeOfArrays<T> T pmean(const T& tree, const AxisNames& axis_name, Where where = {}) {
    return tree_map([&](const Array& a) { return pmean(Operand(a, where.file, where.line, where.function), axis_name); }, tree);
}
Array axis_index(const AxisNames& axis_name, Where where = {});
Array axis_size(const AxisNames& axis_name, Where where = {});
struct GatherOptions {
    std::int64_t axis = 0;
    Flag tiled = false;
};
Array all_gather(const Operand& x, const AxisNames& axis_name, const GatherOptions& options = {});
struct ScatterOptions {
    std::int64_t scatter_dimension = 0;
    Flag tiled = false;
};
/// What the member at `first` has goes to the one at `second`.
using Permutation = std::vector<std::pair<std::int64_t, std::int64_t>>;
Array ppermute(const Operand& x, const AxisNames& axis_name, const Permutation& perm);
/// The member at `i` gets what the one at `perm[i]` has.
Array pshuffle(const Operand& x, const AxisNames& axis_name, const std::vector<std::int64_t>& perm);
struct ExchangeOptions {
    Flag tiled = false;
};
/// The mapped axis stands at `concat_axis`, and what was `split_axis` is mapped.
Array all_to_all(const Operand& x, const AxisNames& axis_name, std::int64_t split_axis, std::int64_t concat_axis,
                 const ExchangeOptions& options = {});
Array pswapaxes(const Operand& x, const AxisNames& axis_name, std::int64_t axis);
Array psum_scatter(const Operand& x, const AxisNames& axis_name, const ScatterOptions& options = {});

}  // namespace jaxscope::jax::lax
