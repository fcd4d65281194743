// SPDX-License-Identifier: Apache-2.0
// Equinox's tree_equal over leaves.
#include <jaxscope/filter_trees.h>
#include <jaxscope/numpy.h>

#include "trace/node.h"
#include "trace/trace.h"

namespace jaxscope::jax::detail {

Array trees_equal(const std::vector<Array>& a, const std::vector<Array>& b, const TreeEquality& how, const Where& where) {
    const InUsersLine line(where);
    if (a.size() != b.size()) return false;
    Array out = true;
    for (std::size_t k = 0; k < a.size(); ++k) {
        if (a[k].has_value() != b[k].has_value()) return false;
        if (!a[k].has_value()) continue;
        if (a[k].shape() != b[k].shape() || a[k].dtype() != b[k].dtype()) return false;
        const bool near = is_inexact(a[k]) && (how.rtol != 0 || how.atol != 0);
        const Array same = near ? numpy::allclose(a[k], b[k], how.rtol, how.atol) : numpy::all(a[k] == b[k]);
        out = out & same;
    }
    return out;
}

}  // namespace jaxscope::jax::detail
