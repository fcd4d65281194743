// SPDX-License-Identifier: Apache-2.0
#include "jit/run/made_up.h"

#include <algorithm>
#include <cmath>

#include "ir/types/element.h"
#include "jit/jit.h"
#include "jit/kernels/threads/parallel.h"
#include "lax/primitives.h"

namespace jaxscope::exec {

namespace {

constexpr std::int64_t kPieces = 64;

template <std::size_t n>
bool is_one_of(const Primitive* p, const Primitive* const (&all)[n]) {
    return std::find(std::begin(all), std::end(all), p) != std::end(all);
}

/// Defined for positive numbers alone.
bool wants_positive(const Primitive* p) {
    static constexpr const Primitive* all[] = {&kSqrt, &kRsqrt, &kLog, &kPow};
    return is_one_of(p, all);
}
/// Positive where its operands are.
bool keeps_positive(const Primitive* p) {
    static constexpr const Primitive* all[] = {
        &kAdd,   &kAddAny,         &kMul,     &kDiv,       &kMax,    &kMin, &kConvertElementType, &kCopy,
        &kCopyP, &kBroadcastInDim, &kReshape, &kTranspose, &kSqueeze};
    return is_one_of(p, all);
}

/// 32 bits that look random, of a counter: without a chain from one to the next, so that it is done on many at a time.
std::uint32_t bits_of(std::uint32_t i, std::uint32_t seed) {
    std::uint32_t h = i * 0x9E3779B1u + seed;
    h = (h ^ h >> 15) * 0x85EBCA77u;
    h = (h ^ h >> 13) * 0xC2B2AE3Du;
    return h ^ h >> 16;
}
/// From -1 to 1.
float unit_of(std::uint32_t bits) { return static_cast<float>(static_cast<std::int32_t>(bits)) * 0x1p-31f; }

void fill_floats(float* to, std::int64_t n, std::uint32_t seed, bool positive) {
    parallel_for(usable_threads(0), kPieces, static_cast<double>(n), [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t i = n * first / kPieces; i < n * last / kPieces; ++i) {
            const float v = unit_of(bits_of(static_cast<std::uint32_t>(i), seed));
            to[i] = positive ? std::fabs(v) : v;
        }
    });
}

}  // namespace

std::vector<bool> read_as_positive(const Graph& g) {
    std::vector<bool> value(g.values.size(), false);
    for (std::size_t i = g.nodes.size(); i-- > 0;) {
        const Node& n = g.nodes[i];
        const bool asked = std::any_of(n.out.begin(), n.out.end(), [&](ValueId v) { return value[g.root(v)]; });
        if (!wants_positive(n.op().prim) && !(asked && keeps_positive(n.op().prim))) continue;
        for (const ValueId v : n.in) value[g.root(v)] = true;
    }
    std::vector<bool> out;
    for (const ValueId v : g.inputs) out.push_back(value[g.root(v)]);
    return out;
}

ArrayPtr made_up(AvalRef aval, std::uint64_t seed, bool positive) {
    auto array = std::make_shared<ArrayConst>();
    array->aval = aval;
    array->data.resize(static_cast<std::size_t>(aval->bytes()));
    const std::int64_t width = byte_size(aval->dtype), n = width ? aval->size() : 0;
    const auto mixed = static_cast<std::uint32_t>((seed + 1) * 0x9E3779B97F4A7C15ull >> 32);
    if (aval->dtype == DType::F32) {  // what programs have most of
        fill_floats(reinterpret_cast<float*>(array->data.data()), n, mixed, positive);
        return array;
    }
    for (std::int64_t i = 0; i < n; ++i) {
        const std::uint32_t bits = bits_of(static_cast<std::uint32_t>(i), mixed);
        const double unit = positive ? std::fabs(unit_of(bits)) : unit_of(bits);
        const std::int64_t integer = bits >> 30;
        const Element e{aval->dtype == DType::Bool ? integer & 1 : integer, {unit, is_complex(aval->dtype) ? 0.5 * unit : 0.0}};
        store_element(aval->dtype, array->data.data() + i * width, e);
    }
    return array;
}

}  // namespace jaxscope::exec

namespace jaxscope {

ArrayPtr synthesise(AvalRef aval, std::uint64_t seed) { return exec::made_up(aval, seed, false); }

}  // namespace jaxscope
