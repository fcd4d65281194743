// SPDX-License-Identifier: Apache-2.0
#include "lax/reductions/windows.h"

#include <algorithm>

#include "base/checked.h"
#include "lax/families.h"
#include "lax/ops.h"
#include "lax/primitives.h"
#include "lax/rule_support.h"
#include "lax/shapes/slicing.h"

namespace jaxscope {
namespace {

std::int64_t dilated(std::int64_t size, std::int64_t dilation) { return size == 0 ? 0 : checked_add(1, checked_mul(dilation, size - 1)); }

}  // namespace

/// A window fits where it lies wholly inside the padded and dilated operand.
Dims window_shape(const Op& op, const Dims& shape, const ReduceWindowParams& p) {
    const std::size_t n = shape.size();
    for (const Dims* list : {&p.window_dimensions, &p.window_strides, &p.base_dilation, &p.window_dilation})
        if (list->size() != n || std::ranges::any_of(*list, [](std::int64_t v) { return v < 1; }))
            type_mismatch(op, "window sizes, strides and dilations of 1 and more for each dimension of " + shape_text(shape),
                          shape_text(*list));
    if (p.padding.size() != n) type_mismatch(op, "padding for each dimension of " + shape_text(shape), std::to_string(p.padding.size()));
    Dims out;
    for (std::size_t d = 0; d < n; ++d) {
        std::int64_t padded = dilated(shape[d], p.base_dilation[d]);
        if (__builtin_add_overflow(padded, p.padding[d].low, &padded) || __builtin_add_overflow(padded, p.padding[d].high, &padded))
            type_mismatch(op, "padding below 2^63", std::to_string(p.padding[d].low));
        const std::int64_t window = dilated(p.window_dimensions[d], p.window_dilation[d]);
        out.push_back(padded < window ? 0 : (padded - window) / p.window_strides[d] + 1);
    }
    return out;
}

namespace {

Avals reduce_window_eval(const Op& op) {
    expect_arrays(op, 1);
    const DType dtype = op.in[0]->dtype;
    if (op.prim == &kReduceWindowSum && !is_integer(dtype) && !is_inexact(dtype)) type_mismatch(op, "a numeric dtype", info(dtype).name);
    return {standard_result(op, dtype, window_shape(op, op.in[0]->shape, op.as<ReduceWindowParams>()))};
}

/// The transpose of a sum over windows is a sum over windows of the dilated cotangent.
void reduce_window_sum_transpose(Builder& b, const Op& op, const Values& ct, const Values&, TransposeSink& sink) {
    if (ct[0].is_zero()) return;
    const auto& p = op.as<ReduceWindowParams>();
    const AvalRef t = b.aval(ct[0]);
    ReduceWindowParams q = p;
    PadConfig config;
    for (std::size_t d = 0; d < t->shape.size(); ++d) {
        const std::int64_t in = dilated(op.in[0]->shape[d], p.base_dilation[d]),
                           window = dilated(p.window_dimensions[d], p.window_dilation[d]);
        const std::int64_t low = window - p.padding[d].low - 1;
        config.push_back({low, in + window - 1 - dilated(t->shape[d], p.window_strides[d]) - low, p.window_strides[d] - 1});
        q.padding[d] = {};
        q.base_dilation[d] = 1;
    }
    q.window_strides = p.base_dilation;
    const Value padded = lax::pad(b, ct[0], make_literal(AvalRef(t->dtype, {}), 0.0), config);
    sink.add(0, b.bind1(kReduceWindowSum, {padded}, make_params(q)));
}

BatchResult reduce_window_batch(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t) {
    auto p = op.as<ReduceWindowParams>();
    for (Dims* list : {&p.window_dimensions, &p.window_strides, &p.base_dilation, &p.window_dilation}) *list = inserted(*list, dims[0], 1);
    p.padding.insert(p.padding.begin() + dims[0], LowHigh{});
    return {{b.bind1(*op.prim, x, make_params(p))}, {dims[0]}};
}

Attr comparison(bool largest) { return Attr::Object{"Primitive", largest ? "ge" : "le", largest ? "ge" : "le"}; }

Values reduce_window_extremum_jvp(Builder& b, const Op& op, const Values& x, const Values&, const Values& dx) {
    if (dx[0].is_zero()) return {Value::zero()};
    const auto& p = op.as<ReduceWindowParams>();
    const SelectAndGatherParams q{.base_dilation = p.base_dilation,
                                  .padding = p.padding,
                                  .select_prim = comparison(op.prim == &kReduceWindowMax),
                                  .window_dilation = p.window_dilation,
                                  .window_dimensions = p.window_dimensions,
                                  .window_strides = p.window_strides};
    return {b.bind1(kSelectAndGatherAdd, {dx[0], x[0]}, make_params(q))};
}

Avals select_and_gather_eval(const Op& op) {
    expect_arrays(op, 2);
    expect_same_dtype(op, 0, 2);
    const auto& p = op.as<SelectAndGatherParams>();
    selects_largest(p.select_prim);
    if (op.in[0]->shape != op.in[1]->shape)
        type_mismatch(op, "tangents of the operand's shape", shape_text(op.in[0]->shape) + " and " + shape_text(op.in[1]->shape));
    const ReduceWindowParams window{p.base_dilation, p.padding, p.window_dilation, p.window_dimensions, p.window_strides};
    return {standard_result(op, op.in[0]->dtype, window_shape(op, op.in[1]->shape, window))};
}

Avals select_and_scatter_eval(const Op& op) {
    expect_arrays(op, 2);
    expect_same_dtype(op, 0, 2);
    const auto& p = op.as<SelectAndScatterParams>();
    selects_largest(p.select_prim);
    const Dims ones(op.in[1]->shape.size(), 1);
    const Dims source = window_shape(op, op.in[1]->shape, {ones, p.padding, ones, p.window_dimensions, p.window_strides});
    if (source != op.in[0]->shape)
        type_mismatch(op, "a source element for each window: " + shape_text(source), shape_text(op.in[0]->shape));
    return {standard_result(op, op.in[0]->dtype, op.in[1]->shape)};
}

/// Linear in the first input; JAX doesn't differentiate the choice of the element.
Values first_input_jvp(Builder& b, const Op& op, const Values& x, const Values&, const Values& dx) {
    if (dx[0].is_zero()) return {Value::zero()};
    return b.bind(*op.prim, {dx[0], x[1]}, op.params);
}

void select_and_gather_transpose(Builder& b, const Op& op, const Values& ct, const Values& x, TransposeSink& sink) {
    const auto& p = op.as<SelectAndGatherParams>();
    const auto ones = [](const Dims& d) { return std::ranges::all_of(d, [](std::int64_t v) { return v == 1; }); };
    if (!ones(p.window_dilation))
        throw Error(ErrorCode::NotDifferentiable, "expected windows without dilation, found window_dilation=" +
                                                      shape_text(p.window_dilation) + ": JAX has no reverse mode for it either");
    if (ct[0].is_zero()) return;
    const SelectAndScatterParams q{p.padding, p.select_prim, p.window_dimensions, p.window_strides};
    if (ones(p.base_dilation)) return sink.add(0, b.bind1(kSelectAndScatterAdd, {ct[0], x[1]}, make_params(q)));
    const AvalRef operand = op.in[1];
    PadConfig spread;
    for (const std::int64_t d : p.base_dilation) spread.push_back({0, 0, d - 1});
    const LiteralRef identity = extremum_identity(operand->dtype, selects_largest(p.select_prim));
    const Value dilated_operand = lax::pad(b, x[1], identity, spread);
    const Value result = b.bind1(kSelectAndScatterAdd, {ct[0], dilated_operand}, make_params(q));
    const Dims shape = b.aval(result)->shape;
    sink.add(0, b.bind1(kSlice, {result}, make_params(SliceParams{Dims(shape.size(), 0), shape, p.base_dilation})));
}

void select_and_scatter_transpose(Builder& b, const Op& op, const Values& ct, const Values& x, TransposeSink& sink) {
    if (ct[0].is_zero()) return;
    const auto& p = op.as<SelectAndScatterParams>();
    const Dims ones(p.window_dimensions.size(), 1);
    const SelectAndGatherParams q{ones, p.padding, p.select_prim, ones, p.window_dimensions, p.window_strides};
    sink.add(0, b.bind1(kSelectAndGatherAdd, {ct[0], x[1]}, make_params(q)));
}

BatchResult select_and_gather_batch(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size) {
    auto p = op.as<SelectAndGatherParams>();
    for (Dims* list : {&p.window_dimensions, &p.window_strides, &p.base_dilation, &p.window_dilation}) *list = with_front(1, *list);
    p.padding.insert(p.padding.begin(), LowHigh{});
    const Value tangents = batch_to_front(b, x[0], dims[0], size);
    return {{b.bind1(*op.prim, {tangents, batch_to_front(b, x[1], dims[1], size)}, make_params(p))}, {0}};
}

BatchResult select_and_scatter_batch(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size) {
    auto p = op.as<SelectAndScatterParams>();
    for (Dims* list : {&p.window_dimensions, &p.window_strides}) *list = with_front(1, *list);
    p.padding.insert(p.padding.begin(), LowHigh{});
    const Value source = batch_to_front(b, x[0], dims[0], size);
    return {{b.bind1(*op.prim, {source, batch_to_front(b, x[1], dims[1], size)}, make_params(p))}, {0}};
}

/// One operation for each element of each window.
Cost window_cost(const Op& op) {
    double flops = static_cast<double>(op.prim == &kSelectAndScatterAdd ? op.in[0]->size() : op.out[0]->size());
    Dims window;
    from_attr(*op.params->find("window_dimensions"), window);
    for (const std::int64_t d : window) flops *= static_cast<double>(d);
    return {.flops = flops, .bytes = total_bytes(op)};
}

}  // namespace

bool selects_largest(const Attr& select_prim) {
    Sym name;
    if (const auto* object = select_prim.get<Attr::Object>())
        name = object->text.empty() ? object->name : object->text;
    else
        from_attr(select_prim, name);
    if (name != Sym("ge") && name != Sym("le")) wrong_attr(select_prim, "ge or le");
    return name == Sym("ge");
}

// Rules of windowed_reductions.py, JAX 0.10.2.

constinit const Primitive kReduceWindowSum{
    .name = "reduce_window_sum",
    .abstract_eval = reduce_window_eval,
    .jvp = jvp_linear,
    .transpose = reduce_window_sum_transpose,
    .batch = reduce_window_batch,
    .lower = NoRule{"expands to slices"},
    .expand = reduce_window_expand,
    .cost = window_cost,
};

constinit const Primitive kReduceWindowMax{
    .name = "reduce_window_max",
    .abstract_eval = reduce_window_eval,
    .jvp = reduce_window_extremum_jvp,
    .transpose = NoRule{"not linear: jvp emits select_and_gather_add"},
    .batch = reduce_window_batch,
    .lower = NoRule{"expands to slices"},
    .expand = reduce_window_expand,
    .cost = window_cost,
};

constinit const Primitive kReduceWindowMin{
    .name = "reduce_window_min",
    .abstract_eval = reduce_window_eval,
    .jvp = reduce_window_extremum_jvp,
    .transpose = NoRule{"not linear: jvp emits select_and_gather_add"},
    .batch = reduce_window_batch,
    .lower = NoRule{"expands to slices"},
    .expand = reduce_window_expand,
    .cost = window_cost,
};

constinit const Primitive kSelectAndGatherAdd{
    .name = "select_and_gather_add",
    .abstract_eval = select_and_gather_eval,
    .jvp = first_input_jvp,
    .transpose = select_and_gather_transpose,
    .batch = select_and_gather_batch,
    .lower = NoRule{"expands to slices"},
    .expand = select_and_gather_expand,
    .cost = window_cost,
};

constinit const Primitive kSelectAndScatterAdd{
    .name = "select_and_scatter_add",
    .abstract_eval = select_and_scatter_eval,
    .jvp = first_input_jvp,
    .transpose = select_and_scatter_transpose,
    .batch = select_and_scatter_batch,
    .lower = NoRule{"expands to slices and a scatter"},
    .expand = select_and_scatter_expand,
    .cost = window_cost,
};

std::span<const Primitive* const> window_primitives() {
    static constexpr const Primitive* all[] = {&kReduceWindowSum, &kReduceWindowMax, &kReduceWindowMin, &kSelectAndGatherAdd,
                                               &kSelectAndScatterAdd};
    return all;
}

}  // namespace jaxscope
