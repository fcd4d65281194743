// SPDX-License-Identifier: Apache-2.0
// jnp.finfo, jnp.iinfo: what types of numbers can hold.
#include <cmath>

#include <jaxscope/numpy.h>

#include "base/error.h"
#include "ir/types/dtype.h"

namespace jaxscope::jax::numpy {

using D = ::jaxscope::DType;

FloatInfo finfo(dtype type) {
    D d = static_cast<D>(type);
    if (d == D::C64) d = D::F32;
    if (d == D::C128) d = D::F64;
    if (d != D::F16 && d != D::BF16 && d != D::F32 && d != D::F64)
        throw Error(ErrorCode::BadUsage, std::string("data type <class '") + ::jaxscope::info(d).name + "'> not inexact");
    const ::jaxscope::DTypeInfo& i = ::jaxscope::info(d);
    const int greatest = (1 << (i.exponent_bits - 1)) - 1;
    const double eps = std::ldexp(1.0, -i.mantissa_bits), max = std::ldexp(2 - eps, greatest), least = std::ldexp(1.0, 1 - greatest);
    return {8 * i.bytes, max, -max, eps, least, least};
}
IntInfo iinfo(dtype type) {
    const D d = static_cast<D>(type);
    if (!::jaxscope::is_integer(d))
        throw Error(ErrorCode::BadUsage, std::string("Invalid integer data type '") + ::jaxscope::info(d).name + "'.");
    int bits = 8 * ::jaxscope::info(d).bytes;
    if (d == D::S4 || d == D::U4) bits = 4;
    if (d == D::S2 || d == D::U2) bits = 2;
    if (::jaxscope::is_signed_int(d)) {
        const std::int64_t half = bits == 64 ? INT64_MAX : (std::int64_t{1} << (bits - 1)) - 1;
        return {bits, half, -half - 1};
    }
    // The greatest uint64 is beyond what the field holds.
    return {bits, bits == 64 ? INT64_MAX : (std::int64_t{1} << bits) - 1, 0};
}

}  // namespace jaxscope::jax::numpy
