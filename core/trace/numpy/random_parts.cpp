// SPDX-License-Identifier: Apache-2.0
#include "trace/numpy/random_parts.h"

#include <cmath>

#include "lax/jitted.h"
#include "lax/ops.h"
#include "lax/params/elementwise.h"
#include "lax/params/random.h"
#include "lax/params/shapes.h"
#include "lax/params/slicing.h"
#include "lax/primitives.h"
#include "lax/routine_primitives.h"
#include "trace/promote.h"
#include "trace/refusals.h"
#include "trace/trace.h"

namespace jaxscope::jax::random {

namespace cl = ::jaxscope::lax;
using detail::apply1;
using ::jaxscope::Builder;
using ::jaxscope::Dims;
using ::jaxscope::Value;
using ::jaxscope::Values;
using D = ::jaxscope::DType;

Value word(std::int64_t v) { return make_literal(AvalRef(D::U32, {}), v); }
Value f32(double v) { return make_literal(AvalRef(D::F32, {}), v); }
Value weak_f32(double v) { return make_literal(AvalRef(D::F32, {}, true), v); }
Value bits_of(Builder& b, Value key, const Dims& shape) {
    return b.bind1(kRandomBits, {key}, Params::make({{"bit_width", Attr(32)}, {"shape", to_attr(shape)}}));
}
Value uniform_of(Builder& b, Value key, Value low, Value high, const Dims& shape, bool by_name) {
    const Values in = by_name ? Values{key, high, low} : Values{key, low, high};
    return jitted(b, "_uniform", Shape(shape).str() + (by_name ? " by name" : ""), in, [&](Builder& i, const Values& w) {
        Value from = cl::convert_element_type(i, w[by_name ? 2 : 1], D::F32), to = cl::convert_element_type(i, w[by_name ? 1 : 2], D::F32);
        const Dims ones(shape.size(), 1);
        from = cl::broadcast_in_dim(i, from, ones, {});
        to = cl::broadcast_in_dim(i, to, ones, {});
        const Value shifted = i.bind1(kShiftRightLogical, {bits_of(i, w[0], shape), word(9)});
        const Value mantissa = i.bind1(kOr, {shifted, word(1065353216)});
        const Value one_to_two = i.bind1(kBitcastConvertType, {mantissa}, make_params(BitcastParams{D::F32}));
        const Value unit = cl::sub(i, one_to_two, f32(1));
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
Array keyed(const char* name, std::initializer_list<Operand> in, const std::function<Value(Builder&, const Values&)>& emit) {
    return apply1(in, [&](Builder& b, Values v) {
        v[0] = detail::key_operand(b, name, v[0]);
        return emit(b, v);
    });
}
Array sampled(const Operand& k, const char* name, const Shape& shape, const std::function<Value(Builder&, Value)>& f) {
    return keyed(name + 1, {k}, [&](Builder& b, const Values& v) {
        return jitted(b, name, shape.str(), v, [&](Builder& i, const Values& w) { return f(i, w[0]); });
    });
}
Value normal_of(Builder& b, Value key, const Dims& shape) {
    const std::string at = Shape(shape).str();
    return jitted(b, "_normal", at, {key}, [&](Builder& i, const Values& w) {
        return jitted(i, "_normal_real", at, w, [&](Builder& r, const Values& x) {
            // The least float above -1: the inverse of erf is infinite at -1.
            const Value u = uniform_of(r, x[0], f32(std::nextafterf(-1.0f, 0.0f)), f32(1), shape);
            const Value erf_inv = r.bind1(kErfInv, {u});
            return cl::mul(r, f32(std::sqrt(2.0)), erf_inv);
        });
    });
}
Value exponential_of(Builder& b, Value key, const Dims& shape) {
    return jitted(b, "_exponential", Shape(shape).str(), {key}, [&](Builder& i, const Values& w) {
        const Value u = uniform_of(i, w[0], weak_f32(0), weak_f32(1), shape);
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
Value gumbel_of(Builder& b, Value key, const Dims& shape) {
    return jitted(b, "_gumbel", Shape(shape).str(), {key}, [&](Builder& i, const Values& w) {
        const Value u = uniform_of(i, w[0], f32(kTiny), weak_f32(1), shape, true);
        const Value inner = cl::neg(i, cl::log(i, u));
        return cl::neg(i, cl::log(i, inner));
    });
}

}  // namespace jaxscope::jax::random
