// SPDX-License-Identifier: Apache-2.0
#pragma once
// What functions of jax.numpy that work element by element are made of: one equation or a jitted few, after promotion.
#include <string>

#include "lax/jitted.h"
#include "lax/ops.h"
#include "lax/params/elementwise.h"
#include "trace/promote.h"
#include "trace/trace.h"

namespace jaxscope::jax::detail {

inline Value accurate(Builder& b, const Primitive& p, Value x) { return b.bind1(p, {x}, make_params(AccuracyParams{})); }
inline Value plain(Builder& b, const Primitive& p, const Values& in) { return b.bind1(p, in); }

/// One of a function of floats: integers become floats first.
template <class F>
Array on_inexact(const Operand& x, F f) {
    return apply1({x}, [&](Builder& b, const Values& v) { return f(b, inexact_operand(b, v[0])); });
}
template <class F>
Array on_promoted(const char* name, const Operand& x, const Operand& y, F f, bool to_inexact = false) {
    return apply1({x, y}, [&](Builder& b, const Values& v) {
        const Values p = promoted(b, v, to_inexact, name);
        return f(b, p[0], p[1]);
    });
}
/// The same under a jit of its own, as jax.numpy's jitted functions: promotion happens inside.
template <class F>
Array jitted_call(const char* name, std::initializer_list<Operand> in, F f, const std::string& key = {}) {
    return apply1(in, [&](Builder& b, const Values& v) {
        return jitted(b, name, key, v, [&](Builder& inner, const Values& w) { return f(inner, w); });
    });
}
/// A number of x's type, weak where x is weak.
inline Value weak_one(Builder& b, Value like, double v) { return ::jaxscope::lax::constant(b, like, v); }
/// Truth values of an array's shape.
inline Value all_of_one_truth(Builder& b, Value like, bool truth) {
    return broadcast_to(b, make_literal(AvalRef(::jaxscope::DType::Bool, {}), std::int64_t{truth}), b.aval(like)->shape);
}
/// Of complex numbers: are both parts? Whole numbers always are.
Value finite(Builder& b, Value x);
Value signbit_of(Builder& b, Value x);
/// The call of jax.numpy's remainder, whose sign is the divisor's.
Value remainder_call(Builder& b, Value x, Value y);
/// Truth values count as numbers: of int32.
inline Value numeric(Builder& b, Value x) {
    return b.aval(x)->dtype == ::jaxscope::DType::Bool ? ::jaxscope::lax::convert_element_type(b, x, ::jaxscope::DType::S32) : x;
}

}  // namespace jaxscope::jax::detail
