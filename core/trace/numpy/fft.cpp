// SPDX-License-Identifier: Apache-2.0
// jax.numpy.fft.
#include <fmt/core.h>

#include <algorithm>
#include <complex>

#include <jaxscope/fft.h>
#include <jaxscope/lax.h>

#include "base/error.h"
#include "lax/jitted.h"
#include "lax/ops.h"
#include "lax/params/linalg.h"
#include "lax/params/shapes.h"
#include "lax/primitives.h"
#include "trace/numpy/composed/composed.h"
#include "trace/promote.h"
#include "trace/refusals.h"
#include "trace/trace.h"

namespace jaxscope::jax {

namespace cl = ::jaxscope::lax;
using detail::apply1;
using ::jaxscope::Builder;
using ::jaxscope::Dims;
using ::jaxscope::Value;
using ::jaxscope::Values;
using D = ::jaxscope::DType;

namespace fft {

namespace {
/// Cut, or filled with zeros; JAX asks for the padding where none is needed, too.
Value of_shape(Builder& b, Value x, const Dims& shape) {
    Dims limit = b.aval(x)->shape;
    PadConfig widths;
    for (std::size_t d = 0; d < limit.size(); ++d) {
        widths.push_back({0, std::max<std::int64_t>(shape[d] - limit[d], 0), 0});
        limit[d] = std::min(limit[d], shape[d]);
    }
    if (limit != b.aval(x)->shape) x = cl::slice(b, x, Dims(limit.size(), 0), limit);
    return jitted(b, "_pad", "fft " + Shape(shape).str(), {x, detail::literal_of(Operand(0))}, [&](Builder& i, const Values& w) {
        return i.bind1(kPad, {w[0], cl::convert_element_type(i, w[1], i.aval(w[0])->dtype)}, make_params(PadParams{widths}));
    });
}
/// What is asked for: `type`, the transform of a function called `name`.
struct Asked {
    const char* name;
    FftType type;
    Shape s;
    Axes axes;
    const char* norm;
};
/// Over the last dimensions, up to three at once.
Value transformed_last(Builder& b, Value x, FftType type, const Dims& lengths) {
    if (lengths.size() > 3) detail::refuse("fft over more than three axes at once isn't there: transform three, then the others");
    const std::string key = fmt::format("{} {}", static_cast<int>(type), Shape(lengths).str());
    return jitted(b, "fft", key, {x}, [&](Builder& i, const Values& w) {
        const D given = i.aval(w[0])->dtype;
        const bool real = type == FftType::Rfft;
        const D wanted = real ? (is_inexact(given) ? given : D::F32) : is_complex(given) ? given : D::C64;
        return i.bind1(kFft, {cl::convert_element_type(i, w[0], wanted)}, make_params(FftParams{lengths, type}));
    });
}
/// The axes as they are counted from the front.
Dims axes_for(const Asked& a, std::int64_t rank) {
    Dims axes;
    for (const std::int64_t d : a.axes.axes) axes.push_back(detail::axis_in(d, rank));
    if (a.axes.given) return axes;
    for (std::int64_t d = a.s.size() ? rank - static_cast<std::int64_t>(a.s.size()) : 0; d < rank; ++d) axes.push_back(d);
    return axes;
}
void check(const Asked& a, const Dims& axes) {
    for (const std::int64_t n : a.s)
        if (n <= 0) detail::refuse("Shape should be positive.");
    if (a.s.size() && a.axes.given && a.s.size() != axes.size()) detail::refuse("Shape and axes have different lengths.");
    Dims distinct = axes;
    std::sort(distinct.begin(), distinct.end());
    if (std::adjacent_find(distinct.begin(), distinct.end()) != distinct.end())
        detail::refuse(fmt::format("jax.numpy.fft.{} does not support repeated axes. Got axes {}.", a.name,
                                   Shape(a.axes.given ? a.axes.axes : axes).str()));
}
/// The transform's factor, which JAX computes of the lengths.
Array scaled(const Array& x, const Asked& a, const Dims& lengths) {
    const std::string_view norm = a.norm;
    const bool inverse = a.name[0] == 'i';
    if (norm != "backward" && norm != "ortho" && norm != "forward")
        detail::refuse(fmt::format("Invalid norm value {}; should be \"backward\",\"ortho\" or \"forward\".", norm));
    if (norm == "backward") return x * numpy::asarray(1, x.dtype());
    const auto rank = static_cast<std::int64_t>(lengths.size());
    const std::vector<std::complex<float>> of_complex(lengths.begin(), lengths.end());
    const bool complex = x.dtype() == dtype::complex64;
    const Array sizes = complex ? Array(of_complex, rank) : Array(std::vector<float>(lengths.begin(), lengths.end()), rank);
    const Array count = lax::reduce_prod(sizes, 0);
    const Array by = norm == "ortho" ? numpy::sqrt(count) : count;
    return x * (inverse ? by : 1 / by);
}
Array transformed(const Operand& x, const Asked& a) {
    const auto body = [&](const Arrays& v) {
        const std::int64_t rank = v[0].ndim();
        if (rank == 0) throw Error(ErrorCode::TypeMismatch, "fft: expected an array of one dimension or more, found a scalar");
        const Dims axes = axes_for(a, rank);
        check(a, axes);
        Dims last;
        for (std::size_t k = 0; k < axes.size(); ++k) last.push_back(rank - static_cast<std::int64_t>(axes.size() - k));
        const Array moved = a.axes.given ? numpy::moveaxis(v[0], axes, last) : v[0];
        const bool half = a.type == FftType::Irfft;
        Dims lengths = a.s.vector(), shape = moved.shape().vector();
        for (std::size_t k = 0; k < axes.size(); ++k) {
            std::int64_t& size = shape[static_cast<std::size_t>(last[k])];
            const bool halved = half && k + 1 == axes.size();
            if (a.s.size())
                size = halved ? lengths[k] / 2 + 1 : lengths[k];
            else
                lengths.push_back(halved ? std::max<std::int64_t>(0, 2 * (size - 1)) : size);
        }
        Array out = apply1({Operand(moved)}, [&](Builder& b, const Values& w) {
            return transformed_last(b, a.s.size() ? of_shape(b, w[0], shape) : w[0], a.type, lengths);
        });
        if (a.norm) out = scaled(out, a, lengths);
        return Arrays{a.axes.given ? numpy::moveaxis(out, last, axes) : out};
    };
    return detail::in_line({x}, body).front();
}
Array along_one(const Operand& x, const char* name, FftType type, const Transform& how) {
    return transformed(x, {name, type, how.n ? Shape(how.n) : Shape(), how.axis, how.norm});
}
Array along_two(const Operand& x, const char* name, FftType type, const Transforms& how) {
    const Axes axes = how.axes.given ? how.axes : Axes{-2, -1};
    if (axes.axes.size() != 2)
        detail::refuse(fmt::format("jax.numpy.fft.{} only supports 2 axes. Got axes = {}.", name, detail::list_text(axes.axes)));
    return transformed(x, {name, type, how.s, axes, how.norm});
}
Array along_many(const Operand& x, const char* name, FftType type, const Transforms& how) {
    return transformed(x, {name, type, how.s, how.axes, how.norm});
}
}  // namespace

Array fft(const Operand& x, const Transform& how) { return along_one(x, "fft", FftType::Fft, how); }
Array ifft(const Operand& x, const Transform& how) { return along_one(x, "ifft", FftType::Ifft, how); }
Array rfft(const Operand& x, const Transform& how) { return along_one(x, "rfft", FftType::Rfft, how); }
Array irfft(const Operand& x, const Transform& how) { return along_one(x, "irfft", FftType::Irfft, how); }
Array fft(const Operand& x, std::int64_t n) { return fft(x, {.n = n}); }
Array ifft(const Operand& x, std::int64_t n) { return ifft(x, {.n = n}); }
Array rfft(const Operand& x, std::int64_t n) { return rfft(x, {.n = n}); }
Array irfft(const Operand& x, std::int64_t n) { return irfft(x, {.n = n}); }
Array fft2(const Operand& x, const Transforms& how) { return along_two(x, "fft2", FftType::Fft, how); }
Array ifft2(const Operand& x, const Transforms& how) { return along_two(x, "ifft2", FftType::Ifft, how); }
Array rfft2(const Operand& x, const Transforms& how) { return along_two(x, "rfft2", FftType::Rfft, how); }
Array irfft2(const Operand& x, const Transforms& how) { return along_two(x, "irfft2", FftType::Irfft, how); }
Array fftn(const Operand& x, const Transforms& how) { return along_many(x, "fftn", FftType::Fft, how); }
Array ifftn(const Operand& x, const Transforms& how) { return along_many(x, "ifftn", FftType::Ifft, how); }
Array rfftn(const Operand& x, const Transforms& how) { return along_many(x, "rfftn", FftType::Rfft, how); }
Array irfftn(const Operand& x, const Transforms& how) { return along_many(x, "irfftn", FftType::Irfft, how); }

Array hfft(const Operand& x, const Transform& how) {
    const auto body = [&](const Arrays& v) {
        const Array a = numpy::conj(v[0]);
        const std::int64_t n = how.n ? how.n : 2 * (a.shape(how.axis) - 1);
        return Arrays{irfft(a, how) * n};
    };
    return detail::in_line({x}, body).front();
}
Array ihfft(const Operand& x, const Transform& how) {
    const auto body = [&](const Arrays& v) {
        const std::int64_t n = how.n ? how.n : v[0].shape(how.axis);
        return Arrays{numpy::conj(rfft(v[0], how)) * (1. / static_cast<double>(n))};
    };
    return detail::in_line({x}, body).front();
}

}  // namespace fft

}  // namespace jaxscope::jax
