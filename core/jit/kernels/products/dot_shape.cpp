// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/products/dot_shape.h"

#include <algorithm>

#include "jit/kernels/products/dot_routine.h"

namespace jaxscope::exec {

namespace {

/// Takes dimensions (outermost first) and merges neighbours while every stride allows it: the innermost run becomes the core's
/// dimension, the rest loops. Where it is short beside another one, that one does: thousands of products of two by two cost more than
/// strides.
DotLoop merge(std::vector<DotLoop> dims, std::vector<DotLoop>& rest) {
    std::erase_if(dims, [](const DotLoop& d) { return d.size == 1; });
    DotLoop core{1, 1, 1, 1};
    if (dims.empty()) return core;
    core = dims.back();
    dims.pop_back();
    while (!dims.empty()) {
        const DotLoop& o = dims.back();
        if (o.lhs != core.lhs * core.size || o.rhs != core.rhs * core.size || o.out != core.out * core.size) break;
        core.size *= o.size;
        dims.pop_back();
    }
    constexpr std::int64_t kShort = 8;
    const auto longest = std::max_element(dims.begin(), dims.end(), [](const DotLoop& a, const DotLoop& b) { return a.size < b.size; });
    if (longest != dims.end() && core.size < kShort && longest->size >= kShort * core.size) std::swap(core, *longest);
    rest.insert(rest.end(), dims.begin(), dims.end());
    return core;
}

}  // namespace

DotShape dot_shape(const Op& op, const DotKernel& spec, const Layouts& layouts) {
    const Dims &l = op.in[0]->shape, &r = op.in[1]->shape, &o = op.out[0]->shape;
    const auto strides = [&](std::size_t i, const Dims& shape) {
        return i < layouts.size() && !layouts[i].empty() ? layouts[i] : row_major_strides(shape);
    };
    const Dims ls = strides(0, l), rs = strides(1, r), os = strides(2, o);
    const auto in = [](const std::vector<int>& v, std::size_t d) { return std::find(v.begin(), v.end(), static_cast<int>(d)) != v.end(); };
    DotShape s;
    std::size_t at = 0;  // dimension of the result
    for (std::size_t b = 0; b < spec.lhs_batch.size(); ++b, ++at)
        s.loops.push_back(
            {o[at], ls[static_cast<std::size_t>(spec.lhs_batch[b])], rs[static_cast<std::size_t>(spec.rhs_batch[b])], os[at]});
    std::vector<DotLoop> m, n, k;
    for (std::size_t d = 0; d < l.size(); ++d)
        if (!in(spec.lhs_contract, d) && !in(spec.lhs_batch, d)) m.push_back({l[d], ls[d], 0, os[at++]});
    for (std::size_t d = 0; d < r.size(); ++d)
        if (!in(spec.rhs_contract, d) && !in(spec.rhs_batch, d)) n.push_back({r[d], 0, rs[d], os[at++]});
    for (std::size_t c = 0; c < spec.lhs_contract.size(); ++c) {
        const auto a = static_cast<std::size_t>(spec.lhs_contract[c]), b = static_cast<std::size_t>(spec.rhs_contract[c]);
        k.push_back({l[a], ls[a], rs[b], 0});
    }
    // Where any summed dimension is empty nothing is added up: the core says so, whichever dimension would have become its own.
    if (std::any_of(k.begin(), k.end(), [](const DotLoop& d) { return d.size == 0; })) k = {{0, 1, 1, 0}};
    const DotLoop cm = merge(m, s.loops), cn = merge(n, s.loops);
    // The order of summation is free: outermost first in the memory of one operand or the other merges best.
    const auto summed = [&](std::int64_t DotLoop::*side) {
        std::stable_sort(k.begin(), k.end(), [&](const DotLoop& a, const DotLoop& b) { return a.*side > b.*side; });
        DotShape with = s;
        const DotLoop ck = merge(k, with.sums);
        with.core = {cm.size, cn.size, ck.size, cm.lhs, ck.lhs, ck.rhs, cn.rhs, cm.out, cn.out};
        return with;
    };
    DotShape shape = summed(&DotLoop::lhs);
    if (k.size() < 2) return shape;
    DotShape other = summed(&DotLoop::rhs);
    return dot_cost(other, op) < dot_cost(shape, op) ? other : shape;
}

}  // namespace jaxscope::exec
