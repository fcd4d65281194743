// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/core.h>

#include "base/checked.h"
#include "ir/kernel_builder.h"
#include "lax/families.h"
#include "lax/linalg/conv_batch.h"
#include "lax/linalg/dot.h"
#include "lax/ops.h"
#include "lax/params/shapes.h"
#include "lax/partition.h"
#include "lax/primitives.h"
#include "lax/rule_support.h"

namespace jaxscope {
namespace {

// ---- Types

std::int64_t dilated(std::int64_t size, std::int64_t dilation) { return size == 0 ? 0 : checked_add(1, checked_mul(dilation, size - 1)); }

Dims dilated(const Dims& sizes, const Dims& dilation) {
    Dims result;
    for (std::size_t d = 0; d < sizes.size(); ++d) result.push_back(dilated(sizes[d], dilation[d]));
    return result;
}

Dims spatial(const Dims& spec) { return {spec.begin() + 2, spec.end()}; }

void check_spec(const Op& op, const Dims& spec, const Aval& aval) {
    if (std::ssize(spec) != aval.rank() || spec.size() < 2 || !distinct(spec) || !in_range(spec, aval.rank()))
        type_mismatch(op, "a spec that orders the dimensions of " + shape_text(aval.shape), shape_text(spec));
}

/// In JAX's order and words.
void check_groups(const Op& op, const ConvParams& p) {
    const ConvDims& d = p.dimension_numbers;
    const auto dim = [&](std::size_t operand, std::int64_t at) { return op.in[operand]->shape[static_cast<std::size_t>(at)]; };
    const auto refuse = [](const std::string& what) { throw Error(ErrorCode::TypeMismatch, "conv_general_dilated " + what); };
    const std::int64_t features = p.feature_group_count, batches = p.batch_group_count;
    const std::int64_t in_features = dim(0, d.lhs_spec[1]), batch = dim(0, d.lhs_spec[0]);
    const std::int64_t window_features = dim(1, d.rhs_spec[1]), out_features = dim(1, d.rhs_spec[0]);
    if (features < 1) refuse(fmt::format("feature_group_count must be a positive integer, got {}.", features));
    if (in_features % features)
        refuse(
            fmt::format("feature_group_count must divide lhs feature dimension size, but {} does not divide {}.", features, in_features));
    if (in_features / features != window_features)
        refuse(
            fmt::format("lhs feature dimension size divided by feature_group_count must equal the rhs input feature dimension size, but "
                        "{} // {} != {}.",
                        in_features, features, window_features));
    const char* multiple = "rhs output feature dimension size must be a multiple of {}, but {} is not a multiple of {}.";
    if (out_features % features) refuse(fmt::format(fmt::runtime(multiple), "feature_group_count", out_features, features));
    if (batches < 1) refuse(fmt::format("batch_group_count must be a positive integer, got {}.", batches));
    if (batch % batches)
        refuse(fmt::format("batch_group_count must divide lhs batch dimension size, but {} does not divide {}.", batches, batch));
    if (out_features % batches) refuse(fmt::format(fmt::runtime(multiple), "batch_group_count", out_features, batches));
    if (batches > 1 && features > 1)
        throw Error(ErrorCode::TypeMismatch, fmt::format("At most one of batch_group_count and feature_group_count may be > 1, got "
                                                         "batch_group_count={} and feature_group_count={}",
                                                         batches, features));
}

/// JAX's _validate_preferred_element_type: of the same kind, no narrower, integers with the same sign or floating.
DType result_dtype(const Op& op, const ConvParams& p) {
    const DType in = op.in[0]->dtype, out = p.preferred_element_type.value_or(in);
    const bool same_kind = is_integer(in)   ? is_float(out) || (is_signed_int(in) ? is_signed_int(out) : is_integer(out))
                           : is_float(in)   ? is_float(out)
                           : is_complex(in) ? is_complex(out)
                                            : true;
    if (!same_kind || byte_size(out) < byte_size(in))
        type_mismatch(op, std::string("a preferred_element_type that holds ") + info(in).name, info(out).name);
    return out;
}

Avals conv_eval(const Op& op) {
    expect_arrays(op, 2);
    const auto& p = op.as<ConvParams>();
    const ConvDims& d = p.dimension_numbers;
    check_spec(op, d.lhs_spec, *op.in[0]);
    check_spec(op, d.rhs_spec, *op.in[1]);
    if (op.in[0]->rank() != op.in[1]->rank() || d.out_spec.size() != d.lhs_spec.size() || !distinct(d.out_spec) ||
        !in_range(d.out_spec, op.in[0]->rank()))
        type_mismatch(op, "operands and result of one rank", shape_text(op.in[0]->shape) + " and " + shape_text(op.in[1]->shape));
    const std::size_t n = d.lhs_spec.size() - 2;
    if (p.window_strides.size() != n || p.padding.size() != n || p.lhs_dilation.size() != n || p.rhs_dilation.size() != n)
        type_mismatch(op, "strides, padding and dilations for each spatial dimension", shape_text(p.window_strides));
    for (const Dims* counts : {&p.window_strides, &p.lhs_dilation, &p.rhs_dilation})
        if (std::ranges::any_of(*counts, [](std::int64_t c) { return c < 1; }))
            type_mismatch(op, "strides and dilations of 1 and more", shape_text(*counts));
    check_groups(op, p);
    expect_same_dtype(op, 0, 2);
    const Dims in = dilated(take(op.in[0]->shape, spatial(d.lhs_spec)), p.lhs_dilation);
    const Dims window = dilated(take(op.in[1]->shape, spatial(d.rhs_spec)), p.rhs_dilation);
    Dims ordered{op.in[0]->shape[static_cast<std::size_t>(d.lhs_spec[0])] / p.batch_group_count,
                 op.in[1]->shape[static_cast<std::size_t>(d.rhs_spec[0])]};
    for (std::size_t s = 0; s < n; ++s) {
        std::int64_t padded = 0;
        if (__builtin_add_overflow(in[s], p.padding[s].low, &padded) || __builtin_add_overflow(padded, p.padding[s].high, &padded) ||
            padded < 0)
            type_mismatch(op, "padding that leaves a size of 0 and more", shape_text({p.padding[s].low, p.padding[s].high}));
        ordered.push_back(padded < window[s] ? 0 : (padded - window[s]) / p.window_strides[s] + 1);
    }
    return {standard_result(op, result_dtype(op, p), take(ordered, argsort(d.out_spec)))};
}

// ---- Transposition (convolution.py, which explains the groups: the transpose of feature groups with respect to the kernel is
// batch groups, and the other way round)

Dims swapped(Dims spec) {
    std::swap(spec[0], spec[1]);
    return spec;
}

/// Sizes of the three spatial extents as if nothing were strided or dilated.
struct Extents {
    Dims in, window, out;
};
Extents extents(const Op& op, const ConvParams& p, const Dims& out_shape) {
    const ConvDims& d = p.dimension_numbers;
    return {dilated(take(op.in[0]->shape, spatial(d.lhs_spec)), p.lhs_dilation),
            dilated(take(op.in[1]->shape, spatial(d.rhs_spec)), p.rhs_dilation),
            dilated(take(out_shape, spatial(d.out_spec)), p.window_strides)};
}

Value convert_if_needed(Builder& b, Value v, DType dtype) {
    return b.aval(v)->dtype == dtype ? v : lax::convert_element_type(b, v, dtype, false);
}

Value transpose_lhs(Builder& b, const Op& op, Value g, Value rhs) {
    const auto& p = op.as<ConvParams>();
    const ConvDims& d = p.dimension_numbers;
    ConvParams q = p;
    const std::int64_t groups = std::max(p.feature_group_count, p.batch_group_count);
    const Dims window_dims = spatial(d.rhs_spec);
    if (groups > 1) {  // the group index moves from the kernel's output features to its input features
        rhs = split_axis(b, d.rhs_spec[0], groups, rhs);
        rhs = merge_axis(b, d.rhs_spec[0], d.rhs_spec[1], rhs);
    }
    q.feature_group_count = groups;
    q.batch_group_count = 1;
    q.dimension_numbers = {d.out_spec, swapped(d.rhs_spec), d.lhs_spec};
    const Extents e = extents(op, p, b.aval(g)->shape);
    for (std::size_t s = 0; s < window_dims.size(); ++s) {
        const std::int64_t low = e.window[s] - p.padding[s].low - 1;
        q.padding[s] = {low, e.in[s] + e.window[s] - 1 - e.out[s] - low};
    }
    const Value reversed = b.bind1(kRev, {rhs}, make_params(RevParams{window_dims}));
    const Value weights = convert_if_needed(b, reversed, b.aval(g)->dtype);
    q.window_strides = p.lhs_dilation;
    q.lhs_dilation = p.window_strides;
    Value out = convert_if_needed(b, b.bind1(kConvGeneralDilated, {g, weights}, make_params(q)), op.in[0]->dtype);
    if (p.batch_group_count > 1) {
        out = split_axis(b, d.lhs_spec[1], p.batch_group_count, out);
        out = merge_axis(b, d.lhs_spec[1], d.lhs_spec[0], out);
    }
    return out;
}

Value transpose_rhs(Builder& b, const Op& op, Value g, Value lhs) {
    const auto& p = op.as<ConvParams>();
    const ConvDims& d = p.dimension_numbers;
    ConvParams q = p;
    std::swap(q.feature_group_count, q.batch_group_count);
    q.dimension_numbers = {swapped(d.lhs_spec), swapped(d.out_spec), swapped(d.rhs_spec)};
    const Extents e = extents(op, p, b.aval(g)->shape);
    for (std::size_t s = 0; s < q.padding.size(); ++s) {
        const std::int64_t low = p.padding[s].low;
        q.padding[s] = {low, e.out[s] - e.in[s] + e.window[s] - low - 1};
    }
    q.window_strides = p.rhs_dilation;
    q.rhs_dilation = p.window_strides;
    const Value left = convert_if_needed(b, lhs, b.aval(g)->dtype);
    return convert_if_needed(b, b.bind1(kConvGeneralDilated, {left, g}, make_params(q)), op.in[1]->dtype);
}

void conv_transpose(Builder& b, const Op& op, const Values& ct, const Values& x, TransposeSink& sink) {
    if (ct[0].is_zero()) return;
    const bool left = x[0].is_linear();
    if (!sink.wanted(left ? 0 : 1)) return;
    if (left) return sink.add(0, transpose_lhs(b, op, ct[0], x[1]));
    // An empty cotangent would ask for a kernel of spatial size 0.
    if (b.aval(ct[0])->size() > 0) sink.add(1, transpose_rhs(b, op, ct[0], x[0]));
}

// ---- Running

KernelSpec conv_kernel(const Op& op) {
    const auto& p = op.as<ConvParams>();
    const ConvDims& d = p.dimension_numbers;
    std::vector<std::pair<std::int64_t, std::int64_t>> padding;
    for (const auto& [low, high] : p.padding) padding.emplace_back(low, high);
    return {ConvKernel{.lhs_spec = to_ints(d.lhs_spec),
                       .rhs_spec = to_ints(d.rhs_spec),
                       .out_spec = to_ints(d.out_spec),
                       .window_strides = p.window_strides,
                       .lhs_dilation = p.lhs_dilation,
                       .rhs_dilation = p.rhs_dilation,
                       .padding = std::move(padding),
                       .feature_groups = p.feature_group_count,
                       .batch_groups = p.batch_group_count}};
}

/// Devices that have some of the groups each: as many fewer as they have features of the result.
ParamsRef conv_params_of_part(const Op& op, const std::vector<Dims>& out) {
    ConvParams p = op.as<ConvParams>();
    const auto features = static_cast<std::size_t>(p.dimension_numbers.out_spec[1]);
    for (std::int64_t* groups : {&p.feature_group_count, &p.batch_group_count})
        if (*groups != 1) *groups = *groups * out[0][features] / op.out[0]->shape[features];
    return make_params(p);
}

/// Images and output features are cut freely, input features are summed over; windows reach across spatial dimensions. Groups are cut
/// between them: they lie one behind the other along output features, and along input features or (batch groups) images.
PartitionRule partition_conv(const Op& op) {
    const auto& p = op.as<ConvParams>();
    PartitionRule rule;
    rule.combine = Combine::Sum;
    rule.in = {whole_dims(op, 0), whole_dims(op, 1)};
    rule.out.emplace_back(op.out[0]->shape.size(), PartitionRule::kWhole);
    const std::int64_t groups = p.feature_group_count * p.batch_group_count;  // one of the two is 1
    const ConvDims& d = p.dimension_numbers;
    const auto at = [](std::vector<int>& dims, std::int64_t k) -> int& { return dims[static_cast<std::size_t>(k)]; };
    if (p.batch_group_count == 1) at(rule.in[0], d.lhs_spec[0]) = at(rule.out[0], d.out_spec[0]) = rule.new_factor();
    at(rule.in[1], d.rhs_spec[0]) = at(rule.out[0], d.out_spec[1]) = rule.new_factor(groups == 1 ? 0 : groups);
    if (groups != 1) {
        at(rule.in[0], d.lhs_spec[p.batch_group_count == 1 ? 1 : 0]) = at(rule.out[0], d.out_spec[1]);
        rule.params = conv_params_of_part;
    }
    if (p.feature_group_count == 1) at(rule.in[0], d.lhs_spec[1]) = at(rule.in[1], d.rhs_spec[1]) = rule.new_factor();
    return rule;
}

/// A multiplication and an addition for each element of the result and of the window below it, padding counted.
Cost conv_cost(const Op& op) {
    const ConvDims& d = op.as<ConvParams>().dimension_numbers;
    double flops = 2 * static_cast<double>(op.out[0]->size());
    Dims window = spatial(d.rhs_spec);
    window.push_back(d.rhs_spec[1]);
    for (const std::int64_t size : take(op.in[1]->shape, window)) flops *= static_cast<double>(size);
    return {.flops = is_complex(op.out[0]->dtype) ? 4 * flops : flops, .bytes = total_bytes(op)};
}

}  // namespace

// Rules of convolution.py, JAX 0.10.2: bilinear, each side's transpose a convolution again.
constinit const Primitive kConvGeneralDilated{
    .name = "conv_general_dilated",
    .abstract_eval = conv_eval,
    .jvp = jvp_bilinear,
    .transpose = conv_transpose,
    .batch = conv_batch,
    .lower = NoRule{"runs as a kernel"},
    .kernel = conv_kernel,
    .cost = conv_cost,
    .partition = partition_conv,
    .product = Product::Convolution,
};

std::span<const Primitive* const> conv_primitives() {
    static constexpr const Primitive* all[] = {&kConvGeneralDilated};
    return all;
}

}  // namespace jaxscope
