// SPDX-License-Identifier: Apache-2.0
// jax.numpy.fft.
#include <fmt/core.h>

#include <algorithm>

#include <jaxscope/fft.h>

#include "base/error.h"
#include "lax/jitted.h"
#include "lax/ops.h"
#include "lax/params/linalg.h"
#include "lax/params/shapes.h"
#include "lax/primitives.h"
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
/// The last axis cut, or filled with zeros; JAX asks for the padding where none is needed, too.
Value of_length(Builder& b, Value x, std::int64_t length) {
    Dims limit = b.aval(x)->shape;
    const std::int64_t missing = std::max<std::int64_t>(length - limit.back(), 0);
    limit.back() = std::min(limit.back(), length);
    if (limit != b.aval(x)->shape) x = cl::slice(b, x, Dims(limit.size(), 0), limit);
    return jitted(b, "_pad", fmt::format("fft {}", missing), {x, detail::literal_of(Operand(0))}, [&](Builder& i, const Values& w) {
        PadConfig widths(limit.size(), PadDim{0, 0, 0});
        widths.back().high = missing;
        return i.bind1(kPad, {w[0], cl::convert_element_type(i, w[1], i.aval(w[0])->dtype)}, make_params(PadParams{widths}));
    });
}
Array transformed(const Operand& x, const char* name, FftType type, std::int64_t n) {
    return apply1({x}, [&](Builder& b, const Values& v) {
        if (b.aval(v[0])->rank() == 0)
            throw Error(ErrorCode::TypeMismatch, "fft: expected an array of one dimension or more, found a scalar");
        const std::int64_t last = b.aval(v[0])->shape.back(), size = n ? n : type == FftType::Irfft ? 2 * (last - 1) : last;
        const std::int64_t needed = type == FftType::Irfft ? size / 2 + 1 : size;
        if (n < 0) detail::refuse(fmt::format("Invalid number of FFT data points ({}) specified", n));
        const Values whole{n ? of_length(b, v[0], needed) : v[0]};
        return jitted(b, name, fmt::format("{} {}", static_cast<int>(type), size), whole, [&](Builder& i, const Values& w) {
            const bool complex = is_complex(i.aval(w[0])->dtype);
            const Value in = type == FftType::Rfft ? (is_inexact(i.aval(w[0])->dtype) ? w[0] : cl::convert_element_type(i, w[0], D::F32))
                             : complex             ? w[0]
                                                   : cl::convert_element_type(i, w[0], D::C64);
            return i.bind1(kFft, {in}, make_params(FftParams{{size}, type}));
        });
    });
}
}  // namespace
Array fft(const Operand& x, std::int64_t n) { return transformed(x, "fft", FftType::Fft, n); }
Array ifft(const Operand& x, std::int64_t n) { return transformed(x, "fft", FftType::Ifft, n); }
Array rfft(const Operand& x, std::int64_t n) { return transformed(x, "fft", FftType::Rfft, n); }
Array irfft(const Operand& x, std::int64_t n) { return transformed(x, "fft", FftType::Irfft, n); }

}  // namespace fft

}  // namespace jaxscope::jax
