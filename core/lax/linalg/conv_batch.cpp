// SPDX-License-Identifier: Apache-2.0
#include "lax/linalg/conv_batch.h"

#include "lax/linalg/dot.h"
#include "lax/ops.h"
#include "lax/primitives.h"
#include "lax/rule_support.h"

namespace jaxscope {
namespace {

Value conv(Builder& b, Value lhs, Value rhs, const ConvParams& p) { return b.bind1(kConvGeneralDilated, {lhs, rhs}, make_params(p)); }

/// The groups must stay outermost: factor them out of `axis`, merge the batch axis into what is left, put the groups back.
Value merge_inside_groups(Builder& b, Value x, int batch_dim, std::int64_t axis, std::int64_t groups) {
    x = split_axis(b, axis + (batch_dim <= axis), groups, x);
    x = merge_axis(b, batch_dim + (axis < batch_dim), axis + 1, x);
    return merge_axis(b, axis, axis, x);
}

BatchResult batch_both(Builder& b, const Values& x, const std::vector<int>& dims, std::int64_t size, ConvParams p) {
    const ConvDims& d = p.dimension_numbers;
    const bool by_batch = p.batch_group_count > 1;
    const Value lhs = merge_axis(b, dims[0], by_batch ? d.lhs_spec[0] : d.lhs_spec[1], x[0]);
    (by_batch ? p.batch_group_count : p.feature_group_count) *= size;
    const Value rhs = merge_axis(b, dims[1], d.rhs_spec[0], x[1]);
    return {{split_axis(b, d.out_spec[1], size, conv(b, lhs, rhs, p))}, {static_cast<int>(d.out_spec[1])}};
}

BatchResult batch_lhs(Builder& b, const Values& x, int dim, std::int64_t size, const ConvParams& p) {
    const ConvDims& d = p.dimension_numbers;
    const Value lhs = p.batch_group_count == 1 ? merge_axis(b, dim, d.lhs_spec[0], x[0])
                                               : merge_inside_groups(b, x[0], dim, d.lhs_spec[0], p.batch_group_count);
    return {{split_axis(b, d.out_spec[0], size, conv(b, lhs, x[1], p))}, {static_cast<int>(d.out_spec[0])}};
}

BatchResult batch_rhs(Builder& b, const Values& x, int dim, std::int64_t size, const ConvParams& p) {
    const ConvDims& d = p.dimension_numbers;
    const std::int64_t feature = d.out_spec[1], groups = p.feature_group_count > 1 ? p.feature_group_count : p.batch_group_count;
    if (groups == 1) {
        const Value rhs = merge_axis(b, dim, d.rhs_spec[0], x[1]);
        return {{split_axis(b, feature, size, conv(b, x[0], rhs, p))}, {static_cast<int>(feature)}};
    }
    const Value rhs = merge_inside_groups(b, x[1], dim, d.rhs_spec[0], groups);
    Value out = split_axis(b, feature, groups, conv(b, x[0], rhs, p));
    out = split_axis(b, feature + 1, size, out);
    return {{merge_axis(b, feature, feature + 1, out)}, {static_cast<int>(feature)}};
}

/// A batch axis of size 0: merging it would lose the shape, so the (empty) result is made directly.
BatchResult batch_empty(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims) {
    Op one{op.prim, op.params, {}, {}, op.source, op.context};
    for (std::size_t n = 0; n < 2; ++n) {
        const AvalRef a = b.aval(x[n]);
        one.in.push_back(dims[n] == kNotMapped ? a : with_shape(a, erased(a->shape, dims[n])));
    }
    const AvalRef out = kConvGeneralDilated.abstract_eval.fn(one).front();
    return {{lax::zeros_like(b, AvalRef(out->dtype, with_front(0, out->shape)))}, {0}};
}

}  // namespace

Value merge_axis(Builder& b, std::int64_t from, std::int64_t into, Value x) {
    const Dims shape = b.aval(x)->shape;
    Dims sizes = erased(shape, from);
    sizes[static_cast<std::size_t>(into)] *= shape[static_cast<std::size_t>(from)];
    const Dims order = inserted(erased(iota_dims(std::ssize(shape)), from), into, from);
    return lax::reshape(b, x, sizes, order);
}

Value split_axis(Builder& b, std::int64_t axis, std::int64_t major, Value x) {
    Dims shape = b.aval(x)->shape;
    std::int64_t& size = shape[static_cast<std::size_t>(axis)];
    if (major <= 0 || size % major != 0)
        throw Error(ErrorCode::TypeMismatch, "expected " + std::to_string(size) + " features or examples to divide into groups, found " +
                                                 std::to_string(major) + " of them");
    size /= major;
    return lax::reshape(b, x, inserted(shape, axis, major));
}

BatchResult conv_batch(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size) {
    const auto& p = op.as<ConvParams>();
    if (size == 0) return batch_empty(b, op, x, dims);
    if (dims[0] != kNotMapped && dims[1] != kNotMapped) return batch_both(b, x, dims, size, p);
    return dims[0] != kNotMapped ? batch_lhs(b, x, dims[0], size, p) : batch_rhs(b, x, dims[1], size, p);
}

}  // namespace jaxscope
