// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>

#include "trace/promote.h"
#include "trace/refusals.h"

namespace jaxscope::jax::detail {

using ::jaxscope::Dims;
using D = ::jaxscope::DType;

namespace {
std::string text(const Dims& d) { return Shape(d).str(); }
bool some_below(const Dims& d, std::int64_t least) {
    return std::ranges::any_of(d, [least](std::int64_t n) { return n < least; });
}
/// Does a pair, dimension by dimension, break a rule?
template <class Breaks>
bool some_place(const Dims& a, const Dims& b, const Breaks& breaks) {
    for (std::size_t d = 0; d < std::min(a.size(), b.size()); ++d)
        if (breaks(a[d], b[d])) return true;
    return false;
}
}  // namespace

void check_window(const char* name, const Dims& shape, const Dims& window, const Dims& strides) {
    if (window.size() != shape.size())
        refuse(fmt::format("{0} got the wrong number of window_dimensions for operand: got operand shape {1} with window_dimensions {2}.",
                           name, text(shape), text(window)));
    if (strides.size() != window.size())
        refuse(fmt::format("{} got inconsistent window_strides and window_dimensions: got window_strides {} and window_dimensions {}.",
                           name, text(strides), text(window)));
    if (some_below(window, 1))
        refuse(fmt::format("{} window_dimensions must have every element be strictly positive, got {}.", name, text(window)));
    if (some_below(strides, 1))
        refuse(fmt::format("{} window_strides must have every element be strictly positive, got {}.", name, text(strides)));
}

void check_slice(const Dims& shape, const Dims& start, const Dims& limit, const Dims& strides) {
    const auto count = [&](const char* what, const Dims& given) {
        if (given.size() != shape.size())
            refuse(fmt::format(
                "slice {0} must have length equal to the number of dimensions of the operand, got {0} {1} for operand shape {2}.", what,
                text(given), text(shape)));
    };
    count("start_indices", start);
    if (limit.size() != start.size())
        refuse(fmt::format("slice limit_indices must have the same length as start_indices, got start_indices {} and limit_indices {}.",
                           text(start), text(limit)));
    if (some_place(limit, shape, std::greater<>()))
        refuse(fmt::format("slice limit_indices must be less than or equal to operand shape, got limit_indices {} for operand shape {}.",
                           text(limit), text(shape)));
    if (some_below(start, 0)) refuse(fmt::format("slice start_indices must have every element be nonnegative, got {}.", text(start)));
    if (some_place(limit, start, std::less<>()))
        refuse(fmt::format("slice limit_indices must be greater than or equal to start_indices, got start_indices {} and limit_indices {}.",
                           text(start), text(limit)));
    if (strides.empty() && !shape.empty()) return;
    count("strides", strides);
    if (some_below(strides, 1)) refuse(fmt::format("slice strides must have every element be strictly positive, got {}.", text(strides)));
}

void check_select(const Builder& b, const Values& v) {
    const AvalRef which = b.aval(v[0]), first = b.aval(v[1]);
    if (which->dtype != D::Bool && !is_integer(which->dtype))
        refuse(fmt::format("select `which` must be boolean or integer type, got {}.", info(which->dtype).name));
    if (which->dtype == D::Bool && v.size() > 3) refuse("select with boolean `which` cannot have > 2 cases.");
    std::vector<Dims> shapes = shapes_of(b, v);
    shapes.erase(shapes.begin());
    if (std::ranges::any_of(shapes, [&](const Dims& s) { return s != first->shape; }))
        refuse(fmt::format("select cases must have the same shapes, got [{}].", shape_list(shapes)));
    if (!which->shape.empty() && which->shape != first->shape)
        refuse(fmt::format("select `which` must be scalar or have the same shape as cases, got `which` shape {} but case shape {}.",
                           text(which->shape), text(first->shape)));
}

void check_clamp(const Builder& b, const Values& v) {
    const Dims operand = b.aval(v[1])->shape;
    for (const auto& [name, bound] : {std::pair("min", b.aval(v[0])->shape), std::pair("max", b.aval(v[2])->shape)})
        if (!bound.empty() && bound != operand)
            refuse(fmt::format("clamp requires {0}.shape == operand.shape or {0}.shape == (), got {0}.shape={1}, operand.shape={2}.", name,
                               text(bound), text(operand)));
}

void refuse_without_order(const char* name, D type) {
    if (is_complex(type))
        refuse(
            fmt::format("{} does not accept dtype {} at position 0. Accepted dtypes at position 0 are subtypes of integer, floating, bool.",
                        name, info(type).name));
}

void check_rev(const Dims& shape, const Dims& dimensions) {
    Dims sorted = dimensions;
    std::ranges::sort(sorted);
    if (std::ranges::adjacent_find(sorted) != sorted.end()) refuse(fmt::format("rev dimensions must be unique, got {}.", text(dimensions)));
    const auto rank = static_cast<std::int64_t>(shape.size());
    if (std::ranges::any_of(dimensions, [rank](std::int64_t d) { return d >= rank; }))
        refuse(fmt::format("rev dimensions must all be less than operand ndim, got dimensions {} for operand ndim {}.", text(dimensions),
                           rank));
}

void check_pad(const Builder& b, const Values& v, const PadConfig& config) {
    const Dims shape = b.aval(v[0])->shape;
    std::string all;
    Dims out = shape;
    for (std::size_t d = 0; d < config.size(); ++d) {
        const auto& [low, high, interior] = config[d];
        all += fmt::format("{}({}, {}, {})", d ? ", " : "", low, high, interior);
        if (d < out.size()) out[d] += low + high + std::max<std::int64_t>(shape[d] - 1, 0) * interior;
    }
    all = "(" + all + (config.size() == 1 ? ",)" : ")");
    if (const Dims& value = b.aval(v[1])->shape; !value.empty())
        refuse("padding_value must be a scalar; got np.shape(padding_value)=" + text(value));
    if (config.size() != shape.size())
        refuse(fmt::format("length of padding_config must equal the number of axes of operand, got padding_config {} for operand shape {}",
                           all, text(shape)));
    if (std::ranges::any_of(config, [](const PadDim& d) { return d.interior < 0; }))
        refuse("interior padding in padding_config must be nonnegative, got padding_config " + all);
    if (some_below(out, 0))
        refuse(
            fmt::format("Dimension size after padding is not at least 0, got result shape {}, for padding_config {} and operand shape {}",
                        text(out), all, text(shape)));
}

}  // namespace jaxscope::jax::detail
