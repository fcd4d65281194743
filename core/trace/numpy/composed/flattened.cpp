// SPDX-License-Identifier: Apache-2.0
// jax.flatten_util: what ravel_pytree makes of a tree's leaves.
#include <fmt/core.h>

#include <jaxscope/flatten_util.h>
#include <jaxscope/lax.h>

#include "base/error.h"
#include "lax/ops.h"
#include "lax/params/shapes.h"
#include "lax/primitives.h"
#include "trace/promote.h"
#include "trace/refusals.h"
#include "trace/trace.h"

namespace jaxscope::jax::detail {

namespace {

/// The type that all have, or promote to; weak types count as any.
dtype common_type(const std::vector<Array>& leaves, bool& same) {
    Avals avals;
    same = true;
    for (const Array& a : leaves) {
        avals.push_back(AvalRef(static_cast<::jaxscope::DType>(a.dtype()), {}));
        same = same && a.dtype() == leaves[0].dtype();
    }
    return static_cast<dtype>(promoted_type(avals).type);
}

}  // namespace

std::vector<Array> unraveled(const Operand& flat, const std::vector<Array>& like) {
    if (like.empty()) return {};
    bool same = true;
    const dtype type = common_type(like, same);
    ::jaxscope::Dims sizes;
    for (const Array& a : like) sizes.push_back(a.size());
    return apply({&flat, 1}, flat.where, [&](Builder& b, const Values& v) {
        const AvalRef given = b.aval(v[0]);
        if (!same && given->dtype != static_cast<::jaxscope::DType>(type))
            refuse(fmt::format("unravel function given array of dtype {}, but expected dtype {}", info(given->dtype).name,
                               info(static_cast<::jaxscope::DType>(type)).name));
        std::int64_t all = 0;
        for (const std::int64_t n : sizes) all += n;
        if (given->shape != ::jaxscope::Dims{all})
            refuse(fmt::format("Sum of sizes {} must be equal to dimension 0 of the operand shape {}", all, Shape(given->shape).str()));
        Values parts = b.bind(kSplit, v, make_params(SplitParams{sizes, 0}));
        for (std::size_t k = 0; k < parts.size(); ++k) {
            parts[k] = ::jaxscope::lax::reshape(b, parts[k], like[k].shape().vector());
            if (!same) parts[k] = converted(b, parts[k], static_cast<::jaxscope::DType>(like[k].dtype()), false);
        }
        return parts;
    });
}
Array raveled(const std::vector<Array>& leaves, const Where& where) {
    const InUsersLine line(where);
    if (leaves.empty()) return numpy::zeros(0);
    bool same = true;
    const dtype type = common_type(leaves, same);
    std::vector<Array> rows;
    for (const Array& a : leaves) rows.push_back(lax::reshape(same ? a : lax::convert_element_type(a, type), a.size()));
    return lax::concatenate(rows, 0, where);
}

}  // namespace jaxscope::jax::detail
