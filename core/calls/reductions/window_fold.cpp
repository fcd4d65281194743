// SPDX-License-Identifier: Apache-2.0
#include "calls/reductions/window_fold.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "calls/control_flow.h"
#include "lax/ops.h"
#include "lax/params/slicing.h"
#include "lax/primitives.h"
#include "lax/rule_support.h"
#include "transforms/batch.h"
#include "transforms/split_builder.h"

namespace jaxscope {

namespace {

std::int64_t dilated(std::int64_t size, std::int64_t dilation) { return size == 0 ? 0 : dilation * (size - 1) + 1; }

/// How far the windows' first elements reach, and how many windows there are, in each dimension of a padded operand.
Dims window_counts(const Dims& padded, const ReduceWindowParams& w) {
    Dims out;
    for (std::size_t d = 0; d < padded.size(); ++d) {
        const std::int64_t window = dilated(w.window_dimensions[d], w.window_dilation[d]);
        out.push_back(padded[d] < window ? 0 : (padded[d] - window) / w.window_strides[d] + 1);
    }
    return out;
}

/// Where the element at `position` of the first window stands: the digits of the position, dilated.
Values start_of(JaxprBuilder& b, Value position, const ReduceWindowParams& w) {
    const std::size_t rank = w.window_dimensions.size();
    const AvalRef type = b.aval(position);
    const auto scalar = [&](std::int64_t v) { return Value(make_literal(type, v)); };
    Values start(rank);
    std::int64_t inner = 1;
    for (std::size_t d = rank; d-- > 0;) {
        const std::int64_t size = w.window_dimensions[d];
        if (size == 1) {
            start[d] = scalar(0);
            continue;
        }
        Value digit = inner == 1 ? position : b.bind1(kDiv, {position, scalar(inner)});
        digit = b.bind1(kRem, {digit, scalar(size)});
        start[d] = w.window_dilation[d] == 1 ? digit : lax::mul(b, digit, scalar(w.window_dilation[d]));
        inner *= size;
    }
    return start;
}

/// The element at `start` of every window: one array of `counts`.
Value elements_at(JaxprBuilder& b, Value padded, const Values& start, const Dims& counts, const Dims& strides) {
    Dims reach;
    for (std::size_t d = 0; d < counts.size(); ++d) reach.push_back((counts[d] - 1) * strides[d] + 1);
    Values in{padded};
    in.insert(in.end(), start.begin(), start.end());
    const Value block = b.bind1(kDynamicSlice, in, make_params(DynamicSliceParams{reach}));
    return lax::slice(b, block, Dims(counts.size(), 0), reach, strides);
}

/// The step of the scan: [padded operands, mask of what isn't padding (if any)], accumulators, position -> accumulators.
JaxprPtr fold_step(const JaxprPtr& function, const Avals& consts, bool masked, const Avals& accumulators, AvalRef position,
                   const ReduceWindowParams& w) {
    JaxprBuilder b;
    Values padded, acc;
    for (const AvalRef a : consts) padded.push_back(b.add_input(a));
    for (const AvalRef a : accumulators) acc.push_back(b.add_input(a));
    const Values start = start_of(b, b.add_input(position), w);
    const Dims& counts = accumulators.front()->shape;
    Values in = acc;
    for (std::size_t i = 0; i < acc.size(); ++i) in.push_back(elements_at(b, padded[i], start, counts, w.window_strides));
    Values out = eval_jaxpr(b, *on_arrays(function, counts), in);
    if (masked) {
        const Value counted = elements_at(b, padded.back(), start, counts, w.window_strides);
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = lax::select(b, counted, out[i], acc[i]);
    }
    return b.finish(out, function->name);
}

}  // namespace

const PlainReduction* plain_reduction(const Jaxpr& function) {
    static constexpr PlainReduction kAll[] = {
        {kMax, kReduceMax, kReduceWindowMax}, {kMin, kReduceMin, kReduceWindowMin}, {kAdd, kReduceSum, kReduceWindowSum}};
    if (function.eqns.size() != 1 || function.num_constvars != 0 || function.num_invars != 2 || function.outvars.size() != 1)
        return nullptr;
    const Eqn& e = function.eqns.front();
    const auto* found = std::ranges::find_if(kAll, [&](const PlainReduction& r) { return &r.combine == e.prim; });
    if (found == std::end(kAll)) return nullptr;
    const DType d = function.aval(function.invar(0))->dtype;
    if (e.prim == &kAdd && !is_integer(d) && d != DType::F32 && d != DType::F64) return nullptr;
    const Atom x = function.inputs(e)[0], y = function.inputs(e)[1], first = function.invar(0), second = function.invar(1);
    const bool of_both = (x == first && y == second) || (x == second && y == first);
    return of_both && function.outvars[0] == Atom(function.output(e, 0)) ? found : nullptr;
}

JaxprPtr on_arrays(JaxprPtr function, const Dims& shape) {
    for (auto d = shape.rbegin(); d != shape.rend(); ++d)
        function = vmap(function, *d, std::vector<int>(function->num_invars, 0), std::vector<int>(function->outvars.size(), 0));
    return function;
}

Values fold_windows(JaxprBuilder& b, const JaxprPtr& function, Values operands, const Values& inits, const ReduceWindowParams& w) {
    PadConfig config;
    const Dims shape = b.aval(operands.front())->shape;
    for (std::size_t d = 0; d < shape.size(); ++d) config.push_back({w.padding[d].low, w.padding[d].high, w.base_dilation[d] - 1});
    const std::size_t n = operands.size();
    const bool masked = config != PadConfig(shape.size());
    if (masked) {
        for (std::size_t i = 0; i < n; ++i) operands[i] = lax::pad(b, operands[i], inits[i], config);
        const AvalRef flag(DType::Bool, {});
        const Value all = lax::broadcast_in_dim(b, make_literal(flag, std::int64_t{1}), shape, {});
        operands.push_back(lax::pad(b, all, make_literal(flag, std::int64_t{0}), config));
    }
    Avals consts, accumulators;
    for (const Value v : operands) consts.push_back(b.aval(v));
    const Dims counts = window_counts(consts.front()->shape, w);
    Values in = operands;
    for (const Value v : inits) in.push_back(lax::broadcast_in_dim(b, v, counts, {}));
    const Values initial = rest(in, operands.size());
    if (element_count(counts) == 0) return initial;
    for (const Value v : initial) accumulators.push_back(b.aval(v));

    const std::int64_t length = element_count(w.window_dimensions);
    const DType index =
        std::max(length, element_count(consts.front()->shape)) > std::numeric_limits<std::int32_t>::max() ? DType::S64 : DType::S32;
    in.push_back(b.bind1(kIota, {}, make_params(IotaParams{.dtype = index, .shape = {length}})));
    const JaxprPtr step = fold_step(function, consts, masked, accumulators, AvalRef(index, {}), w);
    return b.bind(kScan, in,
                  make_params(ScanParams{.jaxpr = {step, true},
                                         .length = length,
                                         .num_carry = static_cast<std::int64_t>(n),
                                         .num_consts = static_cast<std::int64_t>(operands.size()),
                                         .reverse = false,
                                         .unroll = Attr(std::int64_t{1})}));
}

}  // namespace jaxscope
