// SPDX-License-Identifier: Apache-2.0
#include "lax/dual.h"

#include <algorithm>

#include "lax/params/slicing.h"
#include "lax/primitives.h"

namespace jaxscope {

Dual bind_dual(Builder& b, const Primitive& prim, const Duals& in, const ParamsRef& params) {
    Values x, dx;
    Op op{&prim, params, {}, {}, {}, {}};
    for (const Dual& d : in) {
        x.push_back(d.primal);
        dx.push_back(d.tangent);
        op.in.push_back(b.aval(d.primal));
    }
    const Values y = b.bind(prim, x, params);
    if (std::ranges::all_of(dx, [](Value v) { return v.is_zero(); })) return {y[0], Value::zero()};
    op.out.push_back(b.aval(y[0]));
    return {y[0], prim.jvp.fn(b, op, x, y, dx)[0]};
}

Dual slice_dual(Builder& b, const Dual& x, std::int64_t axis, std::int64_t start, std::int64_t limit, std::int64_t stride) {
    SliceParams p;
    p.limit_indices = b.aval(x.primal)->shape;
    p.start_indices.assign(p.limit_indices.size(), 0);
    p.strides.emplace(p.limit_indices.size(), 1);
    const auto at = static_cast<std::size_t>(axis);
    p.start_indices[at] = start;
    p.limit_indices[at] = limit;
    (*p.strides)[at] = stride;
    return bind_dual(b, kSlice, {x}, make_params(std::move(p)));
}

}  // namespace jaxscope
