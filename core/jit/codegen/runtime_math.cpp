// SPDX-License-Identifier: Apache-2.0
#include "jit/codegen/runtime_math.h"

#include <bit>
#include <cmath>
#include <cstdint>

#include "base/cancel.h"
#include "ir/types/element.h"
#include "jit/codegen/checked_index.h"
#include "jit/kernels/special/special_functions.h"
#include "jit/kernels/tiles/stage_tile.h"

namespace jaxscope::exec {

namespace {

/// The library's reads bits, and so sees denormals: those are zeros here, as in XLA.
double lgamma_f64(double x) {
    int sign = 0;
    return lgamma_r(x == 0 ? 0.0 : x, &sign);
}
/// float8_e8m0fnu's least value is a denormal float32, which runs flush where they convert it (threads/denormals.h): that goes by bits.
constexpr std::uint32_t kLeastOfE8M0 = 0x00400000;

std::uint32_t bits_of(std::uint32_t dtype, float v) {
    const auto type = static_cast<DType>(dtype);
    if (type == DType::F8E8M0FNU && std::bit_cast<std::uint32_t>(v) == kLeastOfE8M0) return 0;
    return small_float_bits(type, v);
}
float value_of(std::uint32_t dtype, std::uint32_t bits) {
    const auto type = static_cast<DType>(dtype);
    if (type == DType::F8E8M0FNU && bits == 0) return std::bit_cast<float>(kLeastOfE8M0);
    return static_cast<float>(small_float_value(type, static_cast<std::uint16_t>(bits)));
}
/// What a loop that is one function asks now and then.
std::uint8_t is_to_stop() { return CancelScope::any_cancelled() ? 1 : 0; }
template <class F>
void* address(F* f) {
    return reinterpret_cast<void*>(f);
}

}  // namespace

std::span<const RuntimeSymbol> runtime_math_symbols() {
    static const RuntimeSymbol all[] = {
        {"jaxscope_digamma", address(&digamma)},
        {"jaxscope_lgamma", address(&lgamma_f64)},
        {"jaxscope_stage_tile", address(&stage_tile)},
        {"jaxscope_checked_index", address(&checked_index)},
        {"jaxscope_small_float_bits", address(&bits_of)},
        {"jaxscope_small_float_value", address(&value_of)},
        {"jaxscope_loop_is_to_stop", address(&is_to_stop)},
    };
    return all;
}

}  // namespace jaxscope::exec
