// SPDX-License-Identifier: Apache-2.0
// jax.numpy: weighted means, covariances, and reductions of what is a number.
#include <fmt/core.h>

#include <jaxscope/lax.h>

#include "base/error.h"
#include "lax/ops.h"
#include "trace/numpy/array_parts.h"
#include "trace/numpy/composed.h"
#include "trace/promote.h"

namespace jaxscope::jax::numpy {

using detail::composed_one;
using ::jaxscope::Builder;
using ::jaxscope::Values;

namespace {

using Reducing = Array (*)(const Operand&, const Reduction&);

[[noreturn]] void refusal_at(const Where& where, const std::string& text) {
    throw Error(ErrorCode::BadUsage, text).at({where.file, where.line, 0});
}
std::string key_of(const Reduction& over) { return fmt::format("{} {} {}", over.axis.given, Shape(over.axis.axes).str(), over.keepdims); }
bool has_fractions(const Array& a) { return is_inexact(static_cast<::jaxscope::DType>(a.dtype())); }
Array number_like(const Array& a, double v) {
    return detail::made(Where("", 0, ""),
                        [&](Builder&) { return detail::number_of(static_cast<::jaxscope::DType>(a.dtype()), v, a.weak_type()); });
}
void refuse_mask(const char* name, const Operand& x, const Reduction& over) {
    if (over.where.has_value()) refusal_at(x.where, fmt::format("{}: a mask isn't there: put nan where elements don't count", name));
}
/// `neutral`: what stands for nan; `nan_alone`: nothing but nan gives nan.
Array without_nan(const char* name, const Operand& x, const Reduction& over, Reducing reduce, double neutral, bool nan_alone) {
    refuse_mask(name, x, over);
    return composed_one(name, key_of(over), {x}, [&](const Arrays& v) {
        const Array& a = v[0];
        if (!has_fractions(a)) return reduce(a, over);
        Array out = reduce(where(isnan(a), number_like(Array(0.F).astype(a.dtype()), neutral), a), over);
        if (!nan_alone) return out;
        return where(all(isnan(a), over), number_like(a, __builtin_nan("")), out);
    });
}

}  // namespace

Array nansum(const Operand& x, const Reduction& over) { return without_nan("nansum", x, over, sum, 0, false); }
Array nanmax(const Operand& x, const Reduction& over) { return without_nan("nanmax", x, over, max, -inf, true); }
Array nanmin(const Operand& x, const Reduction& over) { return without_nan("nanmin", x, over, min, inf, true); }
Array nanmean(const Operand& x, const Reduction& over) {
    refuse_mask("nanmean", x, over);
    return composed_one("nanmean", key_of(over), {x}, [&](const Arrays& v) {
        const Array& a = v[0];
        if (!has_fractions(a)) return mean(a, over);
        Array counts = jax::lax::bitwise_not(isnan(a)).astype(int32);
        Array count = sum(counts.astype(a.dtype()), over);
        return jax::lax::div(nansum(a, over), count);
    });
}

Array average(const Operand& x, const Weighting& over) {
    const Reduction along{.axis = over.axis, .keepdims = over.keepdims};
    if (!over.weights.has_value()) return mean(x, along);
    const auto weighted = [&](const Arrays& given) {
        const std::vector<Operand> operands(given.begin(), given.end());
        const Arrays v = detail::apply(operands, x.where, [](Builder& b, const Values& w) {
            detail::Promoted to = detail::promoted_type({b.aval(w[0]), b.aval(w[1])});
            to.type = detail::inexact(to.type);
            return Values{detail::converted(b, w[0], to.type, to.weak), detail::converted(b, w[1], to.type, to.weak)};
        });
        const Array& a = v[0];
        Array weights = v[1];
        if (a.shape() != weights.shape()) {
            if (!over.axis.given) refusal_at(x.where, "Axis must be specified when shapes of a and weights differ.");
            std::vector<std::int64_t> sizes, wide(static_cast<std::size_t>(a.ndim()), 1);
            for (const std::int64_t axis : over.axis.axes) {
                const std::int64_t d = detail::axis_in(axis, a.ndim());
                sizes.push_back(a.shape(d));
                wide[static_cast<std::size_t>(d)] = a.shape(d);
            }
            if (weights.shape() != Shape(sizes))
                refusal_at(x.where, "Shape of weights must be consistent with shape of a along specified axis.");
            if (sizes.size() > 1) refusal_at(x.where, "average: weights of several axes must have the shape of the array");
            weights = reshape(weights, wide);
        }
        Array total = sum(weights, along);
        return Arrays{sum(a * weights, along) / total};
    };
    return detail::in_line({x, Operand(over.weights, x.where.file, x.where.line, x.where.function)}, weighted).front();
}

Array cov(const Operand& x, bool rowvar) {
    return composed_one("cov", rowvar ? "" : "columns", {x}, [&](const Arrays& v) {
        if (v[0].ndim() > 2) refusal_at(x.where, "m has more than 2 dimensions");
        const Array given = has_fractions(v[0]) ? v[0] : v[0].astype(float32);
        Array rows = composed_one("atleast_2d", "", {given}, [](const Arrays& w) {
            return w[0].ndim() >= 2 ? w[0] : w[0].ndim() == 1 ? expand_dims(w[0], 0) : expand_dims(w[0], {0, 1});
        });
        if (!rowvar && v[0].ndim() != 1) rows = rows.T();
        const std::int64_t n = rows.shape(1);
        const Array centre = sum(rows, {.axis = 1}) / static_cast<double>(n);
        const Array weights = full(rows.shape(0), number_like(rows, static_cast<double>(n)));
        (void)weights[0];
        const Array centred = rows - centre[{jax::all, none}];
        const Array products = dot(centred, centred.T());
        return squeeze(products / static_cast<double>(n - 1));
    });
}

}  // namespace jaxscope::jax::numpy
