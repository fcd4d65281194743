// SPDX-License-Identifier: Apache-2.0
// jax.random with typed keys: the equations of jax.random's jitted functions.
#include <fmt/core.h>

#include <cmath>
#include <limits>

#include <jaxscope/random.h>

#include "base/error.h"
#include "lax/jitted.h"
#include "lax/ops.h"
#include "lax/params/elementwise.h"
#include "lax/params/products.h"
#include "lax/params/random.h"
#include "lax/params/shapes.h"
#include "lax/params/slicing.h"
#include "lax/params/sort.h"
#include "lax/primitives.h"
#include "lax/routine_primitives.h"
#include "trace/numpy/array_parts.h"
#include "trace/numpy/random_parts.h"
#include "trace/promote.h"
#include "trace/refusals.h"
#include "trace/trace.h"

namespace jaxscope::jax {

namespace cl = ::jaxscope::lax;
using detail::apply1;
using detail::number_of;
using ::jaxscope::Builder;
using ::jaxscope::Dims;
using ::jaxscope::Value;
using ::jaxscope::Values;
using D = ::jaxscope::DType;

namespace random {

namespace {

Value clipped(Builder& b, Value x) {
    const AvalRef bound(D::S32, {}, b.aval(x)->weak_type);
    const std::int64_t low = std::numeric_limits<std::int32_t>::min(), high = std::numeric_limits<std::int32_t>::max();
    return jitted(b, "clip", "", {x, make_literal(bound, low), make_literal(bound, high)}, [](Builder& i, const Values& w) {
        const Value least = i.bind1(kMax, detail::promoted(i, {w[1], w[0]}));
        return i.bind1(kMin, detail::promoted(i, {w[2], least}));
    });
}
/// Of two words the remainder by the span, so that no number below it is likelier.
Value randint_of(Builder& b, Value key, Value low, Value high, const Dims& shape) {
    return jitted(b, "_randint", Shape(shape).str(), {key, low, high}, [&](Builder& i, const Values& w) {
        const auto whole = [&](Value x) { return is_float(i.aval(x)->dtype) ? cl::convert_element_type(i, x, D::S32) : x; };
        const Value low_given = whole(w[1]), high_given = whole(w[2]);
        const Value most = clipped(i, make_literal(AvalRef(D::S32, {}), std::int64_t{std::numeric_limits<std::int32_t>::max()}));
        const Value beyond = cl::gt(i, high_given, most);
        Value from = cl::convert_element_type(i, clipped(i, low_given), D::S32);
        Value to = cl::convert_element_type(i, clipped(i, high_given), D::S32);
        from = with_rank(i, from, shape.size());
        to = with_rank(i, to, shape.size());
        const Value both = split_in(i, w[0], 2);
        const Value first = one_of(i, both, 0), second = one_of(i, both, 1);
        const Value upper = bits_of(i, first, shape), lower = bits_of(i, second, shape);
        Value span = cl::convert_element_type(i, cl::sub(i, to, from), D::U32);
        const Value none = cl::le(i, to, from);
        span = cl::select(i, none, detail::broadcast_to(i, word(1), i.aval(span)->shape), span);
        const Value all_words = i.bind1(kAnd, detail::promoted(i, {beyond, cl::gt(i, to, from)}));
        span = cl::select(i, all_words, cl::add(i, span, word(1)), span);
        Value multiplier = i.bind1(kRem, {word(65536), span});
        multiplier = i.bind1(kRem, {cl::mul(i, multiplier, multiplier), span});
        const Value high_part = cl::mul(i, i.bind1(kRem, {upper, span}), multiplier);
        const Value sum = cl::add(i, high_part, i.bind1(kRem, {lower, span}));
        const Value offset = cl::convert_element_type(i, i.bind1(kRem, {sum, span}), D::S32);
        return cl::add(i, from, offset);
    });
}

}  // namespace

namespace {
/// Of raw words raw words are made.
Value as_given(Builder& b, Value given, Value key) { return is_key(b.aval(given)->dtype) ? key : b.bind1(kRandomUnwrap, {key}); }
}  // namespace

Array key(const Operand& given) {
    Operand seed = given;  // of a number that has more bits the lowest count, as where JAX has no 64 of them
    if (seed.kind == Operand::Kind::integer) seed.integer = static_cast<std::int32_t>(seed.integer);
    return apply1({seed}, [](Builder& b, const Values& v) {
        const AvalRef a = b.aval(v[0]);
        if (!a->shape.empty())
            detail::refuse("key accepts a scalar seed, but was given an array of shape " + Shape(a->shape).str() +
                           " != (). Use jax.vmap for batching");
        if (!is_integer(a->dtype) && a->dtype != D::Bool) detail::refuse("PRNG key seed must be an integer; got " + to_text(a));
        const Value s = detail::converted(b, v[0], a->dtype, false);
        return b.bind1(kRandomSeed, {s}, Params::make({{"impl", Attr(Attr::Object{"PRNGImpl", "fry", "fry"})}}));
    });
}
Array PRNGKey(const Operand& seed) {
    const detail::InUsersLine line(seed.where);
    return key_data(key(seed));
}
Array split(const Operand& k, const Shape& num) {
    return apply1({k}, [&](Builder& b, const Values& v) {
        const Value key = detail::key_operand(b, "split", v[0]);
        return as_given(b, v[0], b.bind1(kRandomSplit, {key}, Params::make({{"shape", to_attr(num.vector())}})));
    });
}
Array fold_in(const Operand& k, const Operand& data) {
    if (data.kind == Operand::Kind::integer && (data.integer < 0 || data.integer > std::numeric_limits<std::uint32_t>::max()))
        detail::refuse_at(data.where, ErrorCode::BadUsage, fmt::format("Python integer {} out of bounds for uint32", data.integer),
                          "fold in what is 0 or more");
    return apply1({k, data}, [](Builder& b, const Values& v) {
        const Value key = detail::key_operand(b, "fold_in", v[0]);
        if (const AvalRef a = b.aval(v[1]); !a->shape.empty())
            detail::refuse("fold_in accepts a scalar, but was given an array ofshape " + Shape(a->shape).str() +
                           " != (). Use jax.vmap for batching.");
        const Value d = v[1].is_literal() ? detail::converted(b, v[1], D::U32, false) : cl::convert_element_type(b, v[1], D::U32);
        return as_given(b, v[0], b.bind1(kRandomFoldIn, {key, d}));
    });
}
Array key_data(const Operand& k) {
    return apply1({k},
                  [](Builder& b, const Values& v) { return b.bind1(kRandomUnwrap, {detail::key_operand(b, "key_data", v[0], true)}); });
}
Array wrap_key_data(const Operand& words) {
    return apply1({words}, [](Builder& b, const Values& v) { return detail::key_operand(b, "wrap_key_data", v[0], true); });
}
Array bits(const Operand& k, const Shape& shape, dtype type) {
    const D d = static_cast<D>(type);
    if (d != D::U8 && d != D::U16 && d != D::U32)
        detail::refuse_at(k.where, ErrorCode::BadUsage,
                          fmt::format("dtype argument to `bits` must be uint8, uint16 or uint32, got {}", info(d).name),
                          "convert the bits afterwards");
    return keyed("bits", {k}, [&](Builder& b, const Values& v) { return bits_of(b, v[0], shape.vector(), 8 * info(d).bytes); });
}
Array uniform(const Operand& k, const Shape& shape, const Operand& minval, const Operand& maxval) {
    return uniform(k, shape, dtype::float32, minval, maxval);
}
Array uniform(const Operand& k, const Shape& shape, dtype type, const Operand& minval, const Operand& maxval) {
    const D d = sampler_type("uniform", k, type);
    return keyed("uniform", {k, minval, maxval}, [&](Builder& b, const Values& v) {
        for (const Value bound : {v[1], v[2]})
            if (b.aval(bound)->rank() > static_cast<std::int64_t>(shape.size()))
                detail::refuse(fmt::format("broadcast_to_rank: rank {} must be greater than or equal to the rank of {}.", shape.size(),
                                           Shape(b.aval(bound)->shape).str()));
        return uniform_of(b, v[0], v[1], v[2], shape.vector(), false, d);
    });
}
Array normal(const Operand& k, const Shape& shape, dtype type) {
    const D d = sampler_type("normal", k, type);
    return keyed("normal", {k}, [&](Builder& b, const Values& v) { return normal_of(b, v[0], shape.vector(), d); });
}
Array bernoulli(const Operand& k, const Operand& p, const Shape& shape) {
    return keyed("bernoulli", {k, p}, [&](Builder& b, const Values& v) {
        if (const D d = b.aval(v[1])->dtype; !is_float(d))
            detail::refuse(std::string("bernoulli probability `p` must have a floating dtype, got ") + info(d).name + ".");
        const Value share = cl::convert_element_type(b, v[1], D::F32);
        const Dims of = shape_for(b, shape, {share});
        return jitted(b, "_bernoulli", Shape(of).str(), {v[0], share}, [&](Builder& i, const Values& w) {
            Value least = w[1];
            if (!i.aval(least)->shape.empty()) least = detail::broadcast_to(i, least, of);
            return cl::lt(i, uniform_of(i, w[0], weak_f32(0), weak_f32(1), of), least);
        });
    });
}

Array randint(const Operand& k, const Shape& shape, const Operand& minval, const Operand& maxval) {
    return keyed("randint", {k, minval, maxval}, [&](Builder& b, const Values& v) {
        check_shape("randint", shape, detail::shapes_of(b, {v[1], v[2]}));
        return randint_of(b, v[0], v[1], v[2], shape.vector());
    });
}
Array gumbel(const Operand& k, const Shape& shape, dtype type) {
    const D d = sampler_type("gumbel", k, type);
    return keyed("gumbel", {k}, [&](Builder& b, const Values& v) { return gumbel_of(b, v[0], shape.vector(), d); });
}
Array exponential(const Operand& k, const Shape& shape, dtype type) {
    const D d = sampler_type("exponential", k, type);
    return keyed("exponential", {k}, [&](Builder& b, const Values& v) { return exponential_of(b, v[0], shape.vector(), d); });
}
Array laplace(const Operand& k, const Shape& shape, dtype type) {
    const D d = sampler_type("laplace", k, type);
    return sampled(k, "_laplace", shape, d, [&](Builder& b, Value key) {
        const Value least = d == D::BF16 ? cl::convert_element_type(b, above_minus_one(d), D::F32) : above_minus_one(d);
        const Value u = uniform_of(b, key, least, weak_f32(1), shape.vector(), false, d);
        const Value sign = cl::sign(b, u);
        return cl::mul(b, sign, b.bind1(kLog1p, {cl::neg(b, cl::abs(b, u))}, make_params(AccuracyParams{})));
    });
}
Array logistic(const Operand& k, const Shape& shape, dtype type) {
    const D d = sampler_type("logistic", k, type);
    return sampled(k, "_logistic", shape, d, [&](Builder& b, Value key) {
        const Value u = uniform_of(b, key, number_of(d, numpy::finfo(type).tiny), weak_f32(1), shape.vector(), false, d);
        const Value left = cl::log(b, u);
        return cl::sub(b, left, b.bind1(kLog1p, {cl::neg(b, u)}, make_params(AccuracyParams{})));
    });
}
Array cauchy(const Operand& k, const Shape& shape, dtype type) {
    const D d = sampler_type("cauchy", k, type);
    return sampled(k, "_cauchy", shape, d, [&](Builder& b, Value key) {
        const Value u = uniform_of(b, key, number_of(d, numpy::finfo(type).eps), weak_f32(1), shape.vector(), false, d);
        const Value centred = cl::sub(b, u, number_of(d, 0.5));
        return b.bind1(kTan, {cl::mul(b, number_of(d, M_PI), centred)}, make_params(AccuracyParams{}));
    });
}
Array rademacher(const Operand& k, const Shape& shape, dtype type) {
    const D d = static_cast<D>(type);
    return sampled(k, "_rademacher", shape, d, [&](Builder& b, Value key) {
        const Value heads = jitted(b, "_bernoulli", shape.str(), {key, f32(0.5)}, [&](Builder& i, const Values& w) {
            return cl::lt(i, uniform_of(i, w[0], weak_f32(0), weak_f32(1), shape.vector()), w[1]);
        });
        const Value twice = cl::mul(b, number_of(d, 2), cl::convert_element_type(b, heads, d));
        return cl::sub(b, twice, number_of(d, 1));
    });
}
Array truncated_normal(const Operand& k, const Operand& lower, const Operand& upper, const Shape& shape, dtype type) {
    const D d = sampler_type("truncated_normal", k, type);
    return keyed("truncated_normal", {k, lower, upper}, [&](Builder& b, const Values& v) {
        const Dims of = shape_for(b, shape, {v[1], v[2]});
        return jitted(b, "_truncated_normal", Shape(of).str() + info(d).name, v, [&](Builder& i, const Values& w) {
            const Value low = cl::convert_element_type(i, w[1], d), high = cl::convert_element_type(i, w[2], d);
            const Value root = number_of(d, std::sqrt(2.0));
            const Value from = i.bind1(kErf, {cl::div(i, low, root)});
            const Value to = i.bind1(kErf, {cl::div(i, high, root)});
            const Value u = uniform_of(i, w[0], from, to, of, false, d);
            const Value out = cl::mul(i, root, i.bind1(kErfInv, {u}));
            const Value least = i.bind1(kNextAfter, {i.bind1(kStopGradient, {low}), number_of(d, INFINITY)});
            const Value most = i.bind1(kNextAfter, {i.bind1(kStopGradient, {high}), number_of(d, -INFINITY)});
            return jitted(i, "clip", "", {out, least, most}, [](Builder& c, const Values& u3) {
                const Value at_least = c.bind1(kMax, {u3[1], u3[0]});
                return c.bind1(kMin, {u3[2], at_least});
            });
        });
    });
}
Array gamma(const Operand& k, const Operand& a, const Shape& shape) {
    return keyed("gamma", {k, a}, [&](Builder& b, const Values& v) { return gamma_of(b, v[0], v[1], shape_for(b, shape, {v[1]}), false); });
}
Array loggamma(const Operand& k, const Operand& a, const Shape& shape) {
    return keyed("loggamma", {k, a},
                 [&](Builder& b, const Values& v) { return gamma_of(b, v[0], v[1], shape_for(b, shape, {v[1]}), true); });
}
Array beta(const Operand& k, const Operand& a, const Operand& b_parameter, const Shape& shape) {
    return keyed("beta", {k, a, b_parameter}, [&](Builder& b, const Values& v) {
        const Dims to = shape_for(b, shape, {v[1], v[2]});
        return jitted(b, "_beta", Shape(to).str(), v, [&](Builder& i, const Values& w) {
            const Value a32 = cl::convert_element_type(i, w[1], D::F32), b32 = cl::convert_element_type(i, w[2], D::F32);
            const Value both = split_in(i, w[0], 2);
            const Value first = one_of(i, both, 0), second = one_of(i, both, 1);
            const Value as = detail::broadcast_to(i, a32, to), bs = detail::broadcast_to(i, b32, to);
            const Value log_a = gamma_of(i, first, as, to, true), log_b = gamma_of(i, second, bs, to, true);
            // The larger one is taken out of both, so that neither exponential overflows.
            const Value most = i.bind1(kMax, {log_a, log_b});
            const Value exp_a = cl::exp(i, cl::sub(i, log_a, most));
            const Value exp_b = cl::exp(i, cl::sub(i, log_b, most));
            return cl::div(i, exp_a, cl::add(i, exp_a, exp_b));
        });
    });
}
Array chisquare(const Operand& k, const Operand& df, const Shape& shape) {
    return keyed("chisquare", {k, df}, [&](Builder& b, const Values& v) {
        const Dims to = shape_for(b, shape, {v[1]});
        return jitted(b, "_chisquare", Shape(to).str(), v, [&](Builder& i, const Values& w) {
            const Value half = cl::div(i, cl::convert_element_type(i, w[1], D::F32), f32(2));
            return cl::mul(i, cl::exp(i, gamma_of(i, w[0], half, to, true)), f32(2));
        });
    });
}
Array t(const Operand& k, const Operand& df, const Shape& shape) {
    return keyed("t", {k, df}, [&](Builder& b, const Values& v) {
        const Dims to = shape_for(b, shape, {v[1]});
        return jitted(b, "_t", Shape(to).str(), v, [&](Builder& i, const Values& w) {
            const Value d = cl::convert_element_type(i, w[1], D::F32);
            const Value both = split_in(i, w[0], 2);
            const Value first = one_of(i, both, 0), second = one_of(i, both, 1);
            const Value n = normal_of(i, first, to);
            const Value half = cl::div(i, d, f32(2));
            const Value g = gamma_of(i, second, half, to, false);
            return cl::mul(i, n, i.bind1(kSqrt, {cl::div(i, half, g)}, make_params(AccuracyParams{})));
        });
    });
}
Array pareto(const Operand& k, const Operand& b_parameter, const Shape& shape) {
    return keyed("pareto", {k, b_parameter}, [&](Builder& b, const Values& v) {
        const Dims to = shape_for(b, shape, {v[1]});
        return jitted(b, "_pareto", Shape(to).str(), v, [&](Builder& i, const Values& w) {
            const Value power = cl::convert_element_type(i, w[1], D::F32);
            return cl::exp(i, cl::div(i, exponential_of(i, w[0], to), power));
        });
    });
}
namespace {
Array categories(const Operand& k, const Operand& logits, std::int64_t axis, const Shape* shape) {
    return keyed("categorical", {k, logits}, [&](Builder& b, const Values& v) {
        const Dims of = b.aval(v[1])->shape;
        const auto rank = static_cast<std::int64_t>(of.size()), a = detail::axis_in(axis, rank);
        Dims batch = of;
        batch.erase(batch.begin() + a);
        const Dims wanted = shape ? shape->vector() : batch;
        if (wanted.size() < batch.size() || !std::equal(batch.rbegin(), batch.rend(), wanted.rbegin()))
            throw Error(ErrorCode::TypeMismatch,
                        fmt::format("categorical: expected a shape that ends in {}, found {}", Shape(batch).str(), Shape(wanted).str()));
        const auto added = static_cast<std::int64_t>(wanted.size() - batch.size());
        Dims all(wanted.begin(), wanted.begin() + added), front;
        all.insert(all.end(), of.begin(), of.end());
        for (std::int64_t i = 0; i < added; ++i) front.push_back(i);
        const Value noise = gumbel_of(b, v[0], all);
        const Value sum = cl::add(b, noise, added ? cl::expand_dims(b, v[1], front) : v[1]);
        return b.bind1(kArgMax, {sum}, make_params(ArgReduceParams{{a + added}, D::S32}));
    });
}
}  // namespace
Array categorical(const Operand& k, const Operand& logits, std::int64_t axis) { return categories(k, logits, axis, nullptr); }
Array categorical(const Operand& k, const Operand& logits, std::int64_t axis, const Shape& shape) {
    return categories(k, logits, axis, &shape);
}

}  // namespace random

}  // namespace jaxscope::jax
