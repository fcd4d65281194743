// SPDX-License-Identifier: Apache-2.0
#include "trace/numpy/random_parts.h"

#include <fmt/core.h>

#include <cmath>

#include "base/error.h"
#include "lax/jitted.h"
#include "lax/ops.h"
#include "lax/params/elementwise.h"
#include "lax/params/random.h"
#include "lax/params/shapes.h"
#include "lax/params/slicing.h"
#include "lax/primitives.h"
#include "lax/routine_primitives.h"
#include "trace/numpy/array_parts.h"
#include "trace/promote.h"
#include "trace/refusals.h"
#include "trace/trace.h"

namespace jaxscope::jax::random {

namespace cl = ::jaxscope::lax;
using detail::apply1;
using detail::number_of;
using ::jaxscope::Builder;
using ::jaxscope::Dims;
using ::jaxscope::Value;
using ::jaxscope::Values;
using D = ::jaxscope::DType;

Value word(std::int64_t v) { return make_literal(AvalRef(D::U32, {}), v); }
Value f32(double v) { return make_literal(AvalRef(D::F32, {}), v); }
Value weak_f32(double v) { return make_literal(AvalRef(D::F32, {}, true), v); }
Value above_minus_one(D type) { return number_of(type, numpy::finfo(static_cast<dtype>(type)).eps / 2 - 1); }
Value bits_of(Builder& b, Value key, const Dims& shape, std::int64_t width) {
    return b.bind1(kRandomBits, {key}, Params::make({{"bit_width", Attr(width)}, {"shape", to_attr(shape)}}));
}
namespace {
/// Numbers from 0 to 1: random bits as the mantissa of numbers from 1 to 2, less one.
Value unit_of(Builder& b, Value key, const Dims& shape, D type) {
    const DTypeInfo& format = info(type);
    const std::int64_t width = 8 * format.bytes, drawn = format.mantissa_bits < 8 ? 8 : width;
    const D words = width == 16 ? D::U16 : width == 32 ? D::U32 : D::U64;
    const auto word_of = [&](std::int64_t v) { return make_literal(AvalRef(words, {}), v); };
    const Value bits = cl::convert_element_type(b, bits_of(b, key, shape, drawn), words);
    const Value shifted = b.bind1(kShiftRightLogical, {bits, word_of(drawn - format.mantissa_bits)});
    const std::int64_t bias = (std::int64_t{1} << (format.exponent_bits - 1)) - 1;
    const Value mantissa = b.bind1(kOr, {shifted, word_of(bias << format.mantissa_bits)});
    return cl::sub(b, b.bind1(kBitcastConvertType, {mantissa}, make_params(BitcastParams{type})), number_of(type, 1));
}
}  // namespace
Value with_rank(Builder& b, Value x, std::size_t rank) {
    Dims front;
    for (std::int64_t d = b.aval(x)->rank(); d < static_cast<std::int64_t>(rank); ++d)
        front.push_back(static_cast<std::int64_t>(front.size()));
    return b.aval(x)->rank() == 0 ? cl::broadcast_in_dim(b, x, Dims(rank, 1), {}) : cl::expand_dims(b, x, front);
}
Value uniform_of(Builder& b, Value key, Value low, Value high, const Dims& shape, bool by_name, D type) {
    const Values in = by_name ? Values{key, high, low} : Values{key, low, high};
    const std::string static_arguments = Shape(shape).str() + info(type).name + (by_name ? " by name" : "");
    return jitted(b, "_uniform", static_arguments, in, [&](Builder& i, const Values& w) {
        Value from = cl::convert_element_type(i, w[by_name ? 2 : 1], type), to = cl::convert_element_type(i, w[by_name ? 1 : 2], type);
        from = with_rank(i, from, shape.size());
        to = with_rank(i, to, shape.size());
        const Value unit = unit_of(i, w[0], shape, type);
        const Value span = cl::sub(i, to, from);
        Value scaled = cl::add(i, cl::mul(i, unit, span), from);
        if (shape.empty()) scaled = i.bind1(kReshape, {scaled}, make_params(ReshapeParams{{}}));
        return i.bind1(kMax, {from, scaled});
    });
}

Value one_of(Builder& b, Value keys, std::int64_t at) {
    return cl::squeeze(b, b.bind1(kSlice, {keys}, make_params(SliceParams{{at}, {at + 1}, Dims{1}})), {0});
}
Value split_in(Builder& b, Value key, std::int64_t n) { return b.bind1(kRandomSplit, {key}, Params::make({{"shape", to_attr(Dims{n})}})); }
Dims shape_for(Builder& b, const Shape& given, const Values& parameters) {
    std::vector<Dims> shapes;
    for (const Value p : parameters) shapes.push_back(b.aval(p)->shape);
    return given.size() ? given.vector() : detail::broadcast_shapes(shapes);
}
void check_shape(const char* name, const Shape& shape, std::vector<Dims> parameters) {
    parameters.insert(parameters.begin(), shape.vector());
    if (const Dims common = detail::broadcast_shapes(parameters); common != shape.vector())
        detail::refuse(
            fmt::format("{} parameter shapes must be broadcast-compatible with shape argument, and the result of broadcasting the shapes "
                        "must equal the shape argument, but got result {} for shape argument {}.",
                        name, Shape(common).str(), shape.str()));
}
Array keyed(const char* name, std::initializer_list<Operand> in, const std::function<Value(Builder&, const Values&)>& emit) {
    return apply1(in, [&](Builder& b, Values v) {
        v[0] = detail::key_operand(b, name, v[0]);
        return emit(b, v);
    });
}
Array sampled(const Operand& k, const char* name, const Shape& shape, D type, const std::function<Value(Builder&, Value)>& f) {
    return keyed(name + 1, {k}, [&](Builder& b, const Values& v) {
        return jitted(b, name, shape.str() + info(type).name, v, [&](Builder& i, const Values& w) { return f(i, w[0]); });
    });
}
D sampler_type(const char* name, const Operand& k, dtype type) {
    const D d = static_cast<D>(type);
    if (d == D::F32 || d == D::BF16 || d == D::F16) return d;
    detail::refuse_at(k.where, ErrorCode::BadUsage,
                      fmt::format("dtype argument to `{}` must be float32, bfloat16 or float16, got {}", name, info(d).name),
                      "draw in float32 and convert with astype");
}
Value normal_of(Builder& b, Value key, const Dims& shape, D type) {
    const std::string at = Shape(shape).str() + info(type).name;
    return jitted(b, "_normal", at, {key}, [&](Builder& i, const Values& w) {
        return jitted(i, "_normal_real", at, w, [&](Builder& r, const Values& x) {
            // The least number above -1: the inverse of erf is infinite at -1.
            const Value u = uniform_of(r, x[0], above_minus_one(type), number_of(type, 1), shape, false, type);
            const Value erf_inv = r.bind1(kErfInv, {u});
            return cl::mul(r, number_of(type, std::sqrt(2.0)), erf_inv);
        });
    });
}
Value exponential_of(Builder& b, Value key, const Dims& shape, D type) {
    return jitted(b, "_exponential", Shape(shape).str() + info(type).name, {key}, [&](Builder& i, const Values& w) {
        const Value u = uniform_of(i, w[0], weak_f32(0), weak_f32(1), shape, false, type);
        return cl::neg(i, i.bind1(kLog1p, {cl::neg(i, u)}, make_params(AccuracyParams{})));
    });
}
Value gamma_of(Builder& b, Value key, Value a, const Dims& shape, bool log_space) {
    return jitted(b, "_gamma", Shape(shape).str() + (log_space ? " log" : ""), {key, a}, [&](Builder& i, const Values& w) {
        Value alpha = cl::convert_element_type(i, w[1], D::F32);
        if (i.aval(alpha)->shape != shape) alpha = detail::broadcast_to(i, alpha, shape);
        return i.bind1(kRandomGamma, {w[0], alpha}, make_params(RandomGammaParams{log_space}));
    });
}
Value gumbel_of(Builder& b, Value key, const Dims& shape, D type) {
    return jitted(b, "_gumbel", Shape(shape).str() + info(type).name, {key}, [&](Builder& i, const Values& w) {
        const Value u = uniform_of(i, w[0], number_of(type, numpy::finfo(static_cast<dtype>(type)).tiny), weak_f32(1), shape, true, type);
        const Value inner = cl::neg(i, cl::log(i, u));
        return cl::neg(i, cl::log(i, inner));
    });
}

}  // namespace jaxscope::jax::random
