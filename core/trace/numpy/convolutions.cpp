// SPDX-License-Identifier: Apache-2.0
// jax.lax: convolutions and what walks over an array in windows.
#include <jaxscope/lax.h>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "lax/ops.h"
#include "lax/params/products.h"
#include "lax/params/windows.h"
#include "lax/primitives.h"
#include "trace/numpy/contractions.h"
#include "trace/promote.h"
#include "trace/refusals.h"
#include "trace/trace.h"

namespace jaxscope::jax::lax {

namespace cl = ::jaxscope::lax;
using detail::apply1;
using ::jaxscope::Builder;
using ::jaxscope::Dims;
using ::jaxscope::Value;
using ::jaxscope::Values;

namespace {

/// Positions of (batch, feature, spatial...) in "NHWC"; spatial letters in the order of the kernel's.
Dims positions(const std::string& spec, char first, char second, const std::string& spatial_of, char a, char c) {
    Dims out{static_cast<std::int64_t>(spec.find(first)), static_cast<std::int64_t>(spec.find(second))};
    for (const char letter : spatial_of)
        if (letter != a && letter != c) out.push_back(static_cast<std::int64_t>(spec.find(letter)));
    return out;
}
ConvDims conv_dims(const std::vector<std::string>& names, std::size_t rank) {
    if (names.empty()) {
        Dims all;
        for (std::size_t i = 0; i < rank; ++i) all.push_back(static_cast<std::int64_t>(i));
        return {all, all, all};
    }
    if (names.size() != 3 || std::any_of(names.begin(), names.end(), [&](const std::string& s) { return s.size() != rank; }))
        throw Error(ErrorCode::BadUsage, fmt::format("convolution dimension_numbers must be three names of {} letters", rank));
    const std::string& kernel = names[1];
    return {positions(names[0], 'N', 'C', kernel, 'O', 'I'), positions(kernel, 'O', 'I', kernel, 'O', 'I'),
            positions(names[2], 'N', 'C', kernel, 'O', 'I')};
}
/// What "SAME" and its kin put around `n` elements under windows of that size.
LowHigh padding_around(const std::string& name, std::int64_t n, std::int64_t window, std::int64_t stride) {
    if (name != "SAME" && name != "SAME_LOWER" && name != "VALID")
        throw Error(ErrorCode::BadUsage, "Unrecognized padding type: expected 'VALID', 'SAME', or 'SAME_LOWER', got " + name + ".");
    const std::int64_t results = (n + stride - 1) / stride;
    const std::int64_t total = name == "VALID" ? 0 : std::max<std::int64_t>(0, (results - 1) * stride + window - n);
    const std::int64_t half = total / 2;
    return name == "SAME_LOWER" ? LowHigh{total - half, half} : LowHigh{half, total - half};
}
std::int64_t dilated(std::int64_t kernel, std::int64_t dilation) { return kernel == 0 ? 0 : (kernel - 1) * dilation + 1; }
PadPairs conv_padding(const ConvPadding& padding, const ConvDims& d, const Dims& lhs, const Dims& rhs, const Dims& strides,
                      const Dims& rhs_dilation) {
    PadPairs out;
    for (const auto& [low, high] : padding.pairs) out.push_back({low, high});
    if (padding.name.empty()) return out;
    for (std::size_t i = 0; i < strides.size(); ++i) {
        const std::int64_t n = lhs[static_cast<std::size_t>(d.lhs_spec[i + 2])], k = rhs[static_cast<std::size_t>(d.rhs_spec[i + 2])];
        out.push_back(padding_around(padding.name, n, dilated(k, rhs_dilation[i]), strides[i]));
    }
    return out;
}
void check_convolution(const Dims& x, const Dims& k, const Shape& strides, const ConvPadding& padding, const ConvOptions& o) {
    if (x.size() != k.size())
        detail::refuse(fmt::format("convolution requires lhs and rhs ndim to be equal, got {} and {}.", x.size(), k.size()));
    if (x.size() < 2)
        detail::refuse("convolution requires operands of a batch and a feature dimension, got ndim " + std::to_string(x.size()));
    const std::size_t n = x.size() - 2;
    if (strides.size() != n)
        detail::refuse(
            fmt::format("conv_general_dilated window and window_strides must have the same number of dimensions, but got {} and {}", n,
                        strides.size()));
    for (std::size_t d = 0; d < n; ++d)
        if (strides[d] < 1)
            detail::refuse(fmt::format("expects window to have positive stride for {}-th window dimension, but got {}.", d, strides[d]));
    for (const Shape* dilation : {&o.lhs_dilation, &o.rhs_dilation})
        if (const Dims all = dilation->vector(); std::any_of(all.begin(), all.end(), [](std::int64_t d) { return d < 1; }))
            detail::refuse(fmt::format("All dilations must be positive, got {}.", dilation->str()));
    if (padding.name.empty() && padding.pairs.size() != n)
        detail::refuse(fmt::format("Wrong number of explicit pads for convolution: expected {}, got {}.", n, padding.pairs.size()));
}
/// What a transposed convolution puts around its operand, so that it undoes the convolution's padding.
std::pair<std::int64_t, std::int64_t> transposed_padding(const std::string& name, std::int64_t window, std::int64_t stride) {
    if (name == "SAME") {
        const std::int64_t total = window + stride - 2, low = stride > window - 1 ? window - 1 : (total + 1) / 2;
        return {low, total - low};
    }
    if (name != "VALID") throw Error(ErrorCode::BadUsage, "Invalid padding mode: " + name);
    return {window - 1, stride - 1 + std::max<std::int64_t>(window - stride, 0)};
}
const std::vector<std::string>& usual_names(std::size_t rank) {
    static const std::vector<std::string> names[] = {
        {"NC", "IO", "NC"}, {"NHC", "HIO", "NHC"}, {"NHWC", "HWIO", "NHWC"}, {"NHWDC", "HWDIO", "NHWDC"}};
    if (rank < 2 || rank > 5) throw Error(ErrorCode::BadUsage, "No 4+ dimensional dimension_number defaults.");
    return names[rank - 2];
}

}  // namespace

ConvPadding::ConvPadding(const char* same_or_valid) : name(same_or_valid) {}
ConvPadding::ConvPadding(std::vector<std::pair<std::int64_t, std::int64_t>> list) : pairs(std::move(list)) {}
ConvPadding::ConvPadding(std::initializer_list<std::pair<std::int64_t, std::int64_t>> list) : pairs(list) {}

Array conv_general_dilated(const Operand& lhs, const Operand& rhs, const Shape& strides, const ConvPadding& padding, const ConvOptions& o) {
    return apply1({lhs, rhs}, [&](Builder& b, const Values& v) {
        const Dims x = b.aval(v[0])->shape, k = b.aval(v[1])->shape, ones(strides.size(), 1);
        check_convolution(x, k, strides, padding, o);
        ConvParams p;
        p.batch_group_count = o.batch_group_count;
        p.feature_group_count = o.feature_group_count;
        p.dimension_numbers = conv_dims(o.dimension_numbers, x.size());
        p.lhs_dilation = o.lhs_dilation.size() ? o.lhs_dilation.vector() : ones;
        p.rhs_dilation = o.rhs_dilation.size() ? o.rhs_dilation.vector() : ones;
        p.window_strides = strides.vector();
        p.precision = detail::precision_of(o.precision);
        p.preferred_element_type = detail::type_asked(o.preferred_element_type);
        p.padding = conv_padding(padding, p.dimension_numbers, x, k, p.window_strides, p.rhs_dilation);
        return b.bind1(kConvGeneralDilated, v, make_params(p));
    });
}
Array conv(const Operand& lhs, const Operand& rhs, const Shape& strides, const char* padding) {
    return conv_general_dilated(lhs, rhs, strides, padding);
}
Array conv_with_general_padding(const Operand& lhs, const Operand& rhs, const Shape& strides, const ConvPadding& padding,
                                const Shape& lhs_dilation, const Shape& rhs_dilation) {
    return conv_general_dilated(lhs, rhs, strides, padding, {.lhs_dilation = lhs_dilation, .rhs_dilation = rhs_dilation});
}

Array conv_transpose(const Operand& lhs, const Operand& rhs, const Shape& strides, const ConvPadding& padding,
                     const ConvTransposeOptions& o) {
    const std::size_t rank = strides.size() + 2;
    const std::vector<std::string>& names = o.dimension_numbers.empty() ? usual_names(rank) : o.dimension_numbers;
    ConvPadding around = padding;
    if (!padding.name.empty()) {
        const Dims kernel = rhs.kind == Operand::Kind::array && rhs.node ? rhs.node->aval->shape : Dims();
        if (kernel.size() != rank)
            detail::refuse_at(lhs.where, ErrorCode::TypeMismatch,
                              fmt::format("conv_transpose: expected a kernel of rank {}, found one of shape {}", rank, Shape(kernel).str()),
                              "the kernel has the operand's rank: two dimensions for features, then the spatial ones");
        const ConvDims d = conv_dims(names, rank);
        around = std::vector<std::pair<std::int64_t, std::int64_t>>();
        for (std::size_t i = 0; i < strides.size(); ++i) {
            const std::int64_t k = kernel[static_cast<std::size_t>(d.rhs_spec[i + 2])];
            around.pairs.push_back(transposed_padding(padding.name, dilated(k, o.rhs_dilation.size() ? o.rhs_dilation[i] : 1), strides[i]));
        }
    }
    return conv_general_dilated(lhs, rhs, std::vector<std::int64_t>(strides.size(), 1), around,
                                {.lhs_dilation = strides,
                                 .rhs_dilation = o.rhs_dilation,
                                 .dimension_numbers = names,
                                 .precision = o.precision,
                                 .preferred_element_type = o.preferred_element_type});
}

namespace {

/// The primitive for a computation that starts from its neutral number.
const ::jaxscope::Primitive* window_primitive(Computation computation, const Operand& init) {
    const bool real = init.kind == Operand::Kind::real;
    const bool zero = (real && init.real == 0) || (init.kind == Operand::Kind::integer && init.integer == 0);
    if (computation == &add && zero) return &kReduceWindowSum;
    if (computation == &max && real && init.real == -HUGE_VAL) return &kReduceWindowMax;
    if (computation == &min && real && init.real == HUGE_VAL) return &kReduceWindowMin;
    return nullptr;
}

}  // namespace

Array reduce_window(const Operand& x, const Operand& init_value, Computation computation, const Shape& window, const Shape& strides,
                    const ConvPadding& padding) {
    const ::jaxscope::Primitive* prim = window_primitive(computation, init_value);
    if (!prim)
        detail::refuse_at(
            x.where, ErrorCode::NoRule,
            "reduce_window: expected lax::add from 0, lax::max from -inf or lax::min from inf, found another computation or start");
    return apply1({x}, [&](Builder& b, const Values& v) {
        const Dims shape = b.aval(v[0])->shape, ones(shape.size(), 1);
        detail::check_window("reduce_window", shape, window.vector(), strides.vector());
        PadPairs around;
        for (const auto& [low, high] : padding.pairs) around.push_back({low, high});
        for (std::size_t d = 0; d < shape.size() && !padding.name.empty(); ++d)
            around.push_back(padding_around(padding.name, shape[d], window[d], strides[d]));
        return b.bind1(*prim, v, make_params(ReduceWindowParams{ones, around, ones, window.vector(), strides.vector()}));
    });
}

}  // namespace jaxscope::jax::lax
