// SPDX-License-Identifier: Apache-2.0
// jax.random: distributions that are made of others, and poisson with its two loops.
#include <cmath>
#include <limits>

#include <jaxscope/random.h>

#include "base/error.h"
#include "calls/control_flow.h"
#include "lax/jitted.h"
#include "lax/ops.h"
#include "lax/params/elementwise.h"
#include "lax/params/products.h"
#include "lax/primitives.h"
#include "trace/numpy/random_parts.h"
#include "trace/promote.h"
#include "trace/trace.h"

namespace jaxscope::jax::random {

namespace cl = ::jaxscope::lax;
using ::jaxscope::Builder;
using ::jaxscope::Dims;
using ::jaxscope::Value;
using ::jaxscope::Values;
using D = ::jaxscope::DType;

namespace {

Value s32(std::int64_t v) { return make_literal(AvalRef(D::S32, {}), v); }
Value turns(std::int64_t v) { return make_literal(AvalRef(D::S32, {}, true), v); }
Value filled(Builder& b, Value scalar, const Dims& shape) { return detail::broadcast_to(b, scalar, shape); }
Value unit(Builder& b, Value key, const Dims& shape) { return uniform_of(b, key, weak_f32(0), weak_f32(1), shape); }
Value log1p_of(Builder& b, Value x) { return b.bind1(kLog1p, {x}, make_params(AccuracyParams{})); }

// ---- poisson
using Step = std::function<Values(Builder&, const Values&)>;

JaxprPtr traced(const Builder& b, const Values& in, const Step& f) {
    JaxprBuilder inner;
    inner.context = b.context;
    Values operands;
    for (const Value v : in) operands.push_back(inner.add_input(b.aval(v)));
    return inner.finish(f(inner, operands));
}
/// A while loop whose condition and body read these constants before what is carried.
Values loop(Builder& b, const Values& cond_consts, const Step& cond, const Values& body_consts, const Step& body, const Values& carry) {
    const auto with = [](Values first, const Values& second) {
        first.insert(first.end(), second.begin(), second.end());
        return first;
    };
    WhileParams p;
    p.cond_nconsts = static_cast<std::int64_t>(cond_consts.size());
    p.body_nconsts = static_cast<std::int64_t>(body_consts.size());
    p.cond_jaxpr = {traced(b, with(cond_consts, carry), cond), true};
    p.body_jaxpr = {traced(b, with(body_consts, carry), body), true};
    return b.bind(kWhile, with(cond_consts, with(body_consts, carry)), make_params(p));
}
Dims all_axes(Builder& b, Value x) {
    Dims axes;
    for (std::int64_t d = 0; d < b.aval(x)->rank(); ++d) axes.push_back(d);
    return axes;
}
/// Some element isn't done, and the loop hasn't gone round as often as a count can say.
Value goes_on(Builder& b, Value open, Value turn) {
    const Value any = b.bind1(kReduceOr, {open}, make_params(ReduceParams{all_axes(b, open)}));
    const Value count = cl::convert_element_type(b, turn, D::S32);  // turns are counted by a number, weakly typed
    return b.bind1(kAnd, {any, cl::lt(b, count, s32(std::numeric_limits<std::int32_t>::max()))});
}
/// Multiplies uniform numbers until the product is below exp(-lambda).
Value small_rate(Builder& b, Value key, Value rate, const Dims& shape) {
    return jitted(b, "_poisson_knuth", Shape(shape).str(), {key, rate}, [&](Builder& i, const Values& w) {
        const Values carry{turns(0), filled(i, s32(0), shape), w[0], filled(i, f32(0), shape)};
        const Step cond = [](Builder& c, const Values& v) {
            const Value least = cl::neg(c, v[0]);
            return Values{goes_on(c, cl::gt(c, v[4], least), v[1])};
        };
        const Step body = [&](Builder& c, const Values& v) {
            const Value keys = split_in(c, v[3], 2);
            const Value next = one_of(c, keys, 0), sub = one_of(c, keys, 1);
            const Value open = cl::gt(c, v[4], cl::neg(c, v[0]));
            const Value more = cl::add(c, v[2], s32(1));
            const Value k = cl::select(c, open, more, v[2]);
            const Value u = unit(c, sub, shape);
            const Value turn = cl::add(c, v[1], turns(1));
            return Values{turn, k, next, cl::add(c, v[4], cl::log(c, u))};
        };
        return cl::sub(i, loop(i, {w[1]}, cond, {w[1]}, body, carry)[1], s32(1));
    });
}
/// Hörmann's transformed rejection.
Value great_rate(Builder& b, Value key, Value rate, const Dims& shape) {
    return jitted(b, "_poisson_rejection", Shape(shape).str(), {key, rate}, [&](Builder& i, const Values& w) {
        const Value log_rate = cl::log(i, w[1]);
        const Value width = cl::add(i, f32(0.931), cl::mul(i, f32(2.53), cl::sqrt(i, w[1])));
        const Value a = cl::add(i, f32(-0.059), cl::mul(i, f32(0.02483), width));
        const Value inverse = cl::add(i, f32(1.1239), cl::div(i, f32(1.1328), cl::sub(i, width, f32(3.4))));
        const Value v_r = cl::sub(i, f32(0.9277), cl::div(i, f32(3.6224), cl::sub(i, width, f32(2))));
        const Values carry{turns(0), filled(i, f32(-1), shape), filled(i, make_literal(AvalRef(D::Bool, {}), std::int64_t{0}), shape),
                           w[0]};
        const Step cond = [](Builder& c, const Values& v) { return Values{goes_on(c, c.bind1(kNot, {v[2]}), v[0])}; };
        const Step body = [&](Builder& c, const Values& v) {
            const Value a_ = v[0], b_ = v[1], rate_ = v[2], inverse_ = v[3], log_ = v[4], v_r_ = v[5];
            const Value keys = split_in(c, v[9], 3);
            const Value next = one_of(c, keys, 0), first = one_of(c, keys, 1), second = one_of(c, keys, 2);
            const Value u = cl::sub(c, unit(c, first, shape), f32(0.5));
            const Value v_ = unit(c, second, shape);
            const Value u_shifted = cl::sub(c, f32(0.5), cl::abs(c, u));
            const Value slope = cl::add(c, cl::div(c, cl::mul(c, f32(2), a_), u_shifted), b_);
            const Value k = cl::floor(c, cl::add(c, cl::add(c, cl::mul(c, slope, u), rate_), f32(0.43)));
            const Value above = cl::mul(c, v_, inverse_);
            const Value squared = cl::mul(c, u_shifted, u_shifted);
            const Value s = cl::log(c, cl::div(c, above, cl::add(c, cl::div(c, a_, squared), b_)));
            const Value minus_rate = cl::neg(c, rate_);
            const Value mean = cl::add(c, minus_rate, cl::mul(c, k, log_));
            const Value t = cl::sub(c, mean, c.bind1(kLgamma, {cl::add(c, k, f32(1))}));
            const Value inside = cl::ge(c, u_shifted, f32(0.07));
            const Value accept1 = c.bind1(kAnd, {inside, cl::le(c, v_, v_r_)});
            const Value negative = cl::lt(c, k, f32(0)), narrow = cl::lt(c, u_shifted, f32(0.013));
            const Value outside = c.bind1(kAnd, {narrow, cl::gt(c, v_, u_shifted)});
            const Value reject = c.bind1(kOr, {negative, outside});
            const Value fits = cl::le(c, s, t);
            const Value accept2 = c.bind1(kAnd, {c.bind1(kNot, {reject}), fits});
            const Value accept = c.bind1(kOr, {accept1, accept2});
            const Value out = cl::select(c, accept, k, v[7]), done = c.bind1(kOr, {v[8], accept});
            return Values{cl::add(c, v[6], turns(1)), out, done, next};
        };
        return cl::convert_element_type(i, loop(i, {}, cond, {a, width, w[1], inverse, log_rate, v_r}, body, carry)[1], D::S32);
    });
}

}  // namespace

Array poisson(const Operand& k, const Operand& lam, const Shape& shape) {
    return keyed("poisson", {k, lam}, [&](Builder& b, const Values& v) {
        const Dims to = shape_for(b, shape, {v[1]});
        const Value rate = cl::convert_element_type(b, filled(b, v[1], to), D::F32);
        return jitted(b, "_poisson", Shape(to).str(), {v[0], rate}, [&](Builder& i, const Values& w) {
            const Value nan = cl::ne(i, w[1], w[1]);
            const Value small = i.bind1(kOr, {nan, cl::lt(i, w[1], f32(10))});
            const Value low = cl::select(i, small, w[1], filled(i, f32(0), to)), high = cl::select(i, small, filled(i, f32(1e5), to), w[1]);
            const Value by_product = small_rate(i, w[0], low, to), by_rejection = great_rate(i, w[0], high, to);
            const Value out = cl::select(i, small, by_product, by_rejection);
            const Value none = cl::eq(i, w[1], f32(0));
            return cl::select(i, none, filled(i, s32(0), to), out);
        });
    });
}

Array dirichlet(const Operand& k, const Operand& alpha, const Shape& shape) {
    return keyed("dirichlet", {k, alpha}, [&](Builder& b, const Values& v) {
        const Dims of = b.aval(v[1])->shape;
        if (of.empty()) throw Error(ErrorCode::TypeMismatch, "dirichlet requires alpha.ndim >= 1, got alpha.ndim == 0");
        Dims to = shape.size() ? shape.vector() : Dims(of.begin(), of.end() - 1);
        to.push_back(of.back());
        return jitted(b, "_dirichlet", Shape(to).str(), v, [&](Builder& i, const Values& w) {
            const Value logs = gamma_of(i, w[0], cl::convert_element_type(i, w[1], D::F32), to, true);
            const Dims last{static_cast<std::int64_t>(to.size()) - 1};
            const Value top = i.bind1(kReduceMax, {logs}, make_params(ReduceParams{last}));
            const Value most = cl::expand_dims(i, i.bind1(kMax, {f32(-INFINITY), top}), last);
            const Value e = cl::exp(i, cl::sub(i, logs, i.bind1(kStopGradient, {most})));
            return cl::div(i, e, cl::expand_dims(i, cl::reduce_sum(i, e, last), last));
        });
    });
}

Array rayleigh(const Operand& k, const Operand& scale, const Shape& shape) {
    return keyed("rayleigh", {k, scale}, [&](Builder& b, const Values& v) {
        const Dims to = shape_for(b, shape, {v[1]});
        return jitted(b, "_rayleigh", Shape(to).str(), v, [&](Builder& i, const Values& w) {
            const Value u = unit(i, w[0], to);
            const Value by = filled(i, cl::convert_element_type(i, w[1], D::F32), to);
            return cl::mul(i, by, cl::sqrt(i, cl::mul(i, cl::log(i, u), f32(-2))));
        });
    });
}

Array maxwell(const Operand& k, const Shape& shape) {
    return sampled(k, "_maxwell", shape, D::F32, [&](Builder& b, Value key) {
        Dims of = shape.vector();
        of.push_back(3);
        const Dims last{static_cast<std::int64_t>(of.size()) - 1};
        return jitted(b, "norm", "true (-1,) false", {normal_of(b, key, of)},
                      [&](Builder& i, const Values& w) { return cl::sqrt(i, cl::reduce_sum(i, cl::mul(i, w[0], w[0]), last)); });
    });
}

Array lognormal(const Operand& k, const Operand& sigma, const Shape& shape) {
    return keyed("lognormal", {k, sigma}, [&](Builder& b, const Values& v) {
        const Value n = normal_of(b, v[0], shape_for(b, shape, {v[1]}));
        const Values both = detail::promoted(b, {n, v[1]});
        return cl::exp(b, cl::mul(b, both[0], both[1]));
    });
}

Array weibull_min(const Operand& k, const Operand& scale, const Operand& concentration, const Shape& shape) {
    return keyed("weibull_min", {k, scale, concentration}, [&](Builder& b, const Values& v) {
        return jitted(b, "_weibull_min", shape.str(), v, [&](Builder& i, const Values& w) {
            const AvalRef weak(D::S32, {}, true);
            const Value u = uniform_of(i, w[0], make_literal(weak, std::int64_t{0}), make_literal(weak, std::int64_t{1}), shape.vector());
            const Value e = cl::neg(i, log1p_of(i, cl::neg(i, u)));
            const Values inverse = detail::promoted(i, {weak_f32(1), w[2]}, true);
            const Values power = detail::promoted(i, {e, cl::div(i, inverse[0], inverse[1])});
            const Values out = detail::promoted(i, {i.bind1(kPow, power), w[1]});
            return cl::mul(i, out[0], out[1]);
        });
    });
}

Array geometric(const Operand& k, const Operand& p, const Shape& shape) {
    return keyed("geometric", {k, p}, [&](Builder& b, const Values& v) {
        const Dims to = shape_for(b, shape, {v[1]});
        return jitted(b, "_geometric", Shape(to).str(), v, [&](Builder& i, const Values& w) {
            const AvalRef given = i.aval(w[1]);
            const Value share = is_inexact(given->dtype) ? w[1] : cl::convert_element_type(i, w[1], D::F32, given->weak_type);
            const Value u = unit(i, w[0], to);
            const Value none = cl::eq(i, u, f32(0));
            const Value log_u = cl::log(i, detail::where_call(i, none, make_literal(AvalRef(D::S32, {}, true), std::int64_t{1}), u));
            const Value log_q = filled(i, log1p_of(i, cl::neg(i, share)), to);
            const Value count = cl::add(i, cl::floor(i, cl::div(i, log_u, log_q)), f32(1));
            return cl::convert_element_type(i, count, D::S32);
        });
    });
}

}  // namespace jaxscope::jax::random
