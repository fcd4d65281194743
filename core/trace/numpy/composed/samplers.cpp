// SPDX-License-Identifier: Apache-2.0
// jax.random: distributions that JAX composes of jax.numpy's functions and of other samplers.
#include <fmt/core.h>

#include <jaxscope/lax.h>
#include <jaxscope/random.h>

#include "ir/builder.h"
#include "trace/numpy/composed/composed.h"
#include "trace/numpy/random_parts.h"
#include "trace/promote.h"
#include "trace/refusals.h"
#include "trace/trace.h"

namespace jaxscope::jax::random {

using detail::composed_one;
using ::jaxscope::Builder;
using ::jaxscope::Values;

namespace {

/// A typed key, of words too.
Array key_for(const char* name, const Operand& k) {
    return keyed(name, {k}, [](Builder&, const Values& v) { return v[0]; });
}
/// The shape that was asked for, else that of the parameters; they have to broadcast to it.
Shape shape_of(const char* name, const Shape& asked, std::initializer_list<Operand> parameters) {
    std::vector<::jaxscope::Dims> shapes;
    for (const Operand& p : parameters) shapes.push_back(numpy::asarray(p).shape().vector());
    if (asked.size() == 0) return detail::broadcast_shapes(shapes);
    check_shape(name, asked, shapes);
    return asked;
}
Array f32(const Array& x) { return lax::convert_element_type(x, dtype::float32); }
Operand next_to(const Operand& k, const Array& key) { return {key, k.where.file, k.where.line, k.where.function}; }
Array keys_apart(const Array& key, Array& second) {
    const auto [a, b] = numpy::unpack<2>(split(key));
    second = b;
    return a;
}

}  // namespace

Array generalized_normal(const Operand& k, const Operand& p, const Shape& shape) {
    const Array key = key_for("generalized_normal", k);
    return composed_one("_generalized_normal", shape.str(), {next_to(k, key), p}, [&](const Arrays& v) {
        const Array keys = split(v[0]);
        const Array first = keys[0];
        const Array g = gamma(first, 1 / v[1], shape);
        const Array second = keys[1];
        const Array sign = rademacher(second, shape, dtype::float32);
        const Array root = 1 / v[1];
        const Array size = numpy::power(g, root);
        return sign * size;
    });
}
Array ball(const Operand& k, std::int64_t d, const Operand& p, const Shape& shape) {
    const Array key = key_for("ball", k);
    return composed_one("_ball", fmt::format("{} {}", d, shape.str()), {next_to(k, key), p}, [&](const Arrays& v) {
        Array second;
        const Array first = keys_apart(v[0], second);
        std::vector<std::int64_t> points = shape.vector();
        points.push_back(d);
        const Array g = generalized_normal(first, v[1], points);
        const Array e = exponential(second, shape);
        const Array sum = numpy::sum(numpy::power(numpy::abs(g), v[1]), -1) + e;
        const Array root = 1 / v[1];
        const Array length = numpy::power(sum, root);
        return g / length[{ellipsis, none}];
    });
}
Array triangular(const Operand& k, const Operand& left, const Operand& mode, const Operand& right, const Shape& asked) {
    const Array key = key_for("triangular", k);
    const Shape shape = shape_of("triangular", asked, {left, mode, right});
    const auto draw = [&](const Arrays& v) {
        const auto wide = [&](const Array& x) { return numpy::broadcast_to(f32(x), shape); };
        const Array low = wide(v[1]), high = wide(v[3]), most = wide(v[2]);
        const Array up = most - low, share = up / (high - low);
        const Array u = uniform(v[0], shape);
        const Array left_part = u * (high - low);
        const Array below = low + lax::sqrt(left_part * (most - low));
        const Array rest = 1 - u, right_part = rest * (high - low);
        const Array above = high - lax::sqrt(right_part * (high - most));
        const Array rising = u < share;
        return Arrays{lax::select(rising, below, above)};
    };
    return detail::in_line({next_to(k, key), left, mode, right}, draw).front();
}
Array wald(const Operand& k, const Operand& mean, const Shape& asked) {
    const Array key = key_for("wald", k);
    const Shape shape = shape_of("wald", asked, {mean});
    return composed_one("_wald", shape.str(), {next_to(k, key), mean}, [&](const Arrays& v) {
        Array second;
        const Array first = keys_apart(v[0], second);
        const Array m = numpy::broadcast_to(v[1].astype(dtype::float32), shape);
        const Array n = normal(first, shape), z = uniform(second, shape);
        const Array y = lax::integer_pow(n, 2), y2 = lax::integer_pow(y, 2), m2 = lax::integer_pow(m, 2);
        const Array linear = 4 * m * y, root = lax::sqrt(linear + m2 * y2);
        const Array up = m + m2 * y / 2, down = m / 2 * root;
        const Array x = up - down, chance = m / (m + x);
        const Array taken = lax::le(z, chance), other = m2 / x;
        return lax::select(taken, x, other);
    });
}
Array f(const Operand& k, const Operand& dfnum, const Operand& dfden, const Shape& asked) {
    const Array key = key_for("f", k);
    const Shape shape = shape_of("f", asked, {dfnum, dfden});
    return composed_one("_f", shape.str(), {next_to(k, key), dfnum, dfden}, [&](const Arrays& v) {
        const Array den = f32(v[2]), num = f32(v[1]);
        Array second;
        const Array first = keys_apart(v[0], second);
        const Array above = chisquare(second, num, shape), below = chisquare(first, den, shape);
        const Array top = lax::div(above, num), bottom = lax::div(below, den);
        return lax::div(top, bottom);
    });
}
Array double_sided_maxwell(const Operand& k, const Operand& loc, const Operand& scale, const Shape& asked) {
    const Array key = key_for("double_sided_maxwell", k);
    const Shape own = shape_of("double_sided_maxwell", {}, {loc, scale});
    std::vector<std::int64_t> shape = asked.size() ? asked.vector() : own.vector();
    shape.insert(shape.end(), own.begin(), own.end());
    return composed_one("_double_sided_maxwell", Shape(shape).str(), {next_to(k, key), loc, scale}, [&](const Arrays& v) {
        Array second;
        const Array first = keys_apart(v[0], second);
        const Array size = maxwell(first, shape), sign = rademacher(second, shape, dtype::float32);
        const Array scaled = sign * size * v[2];
        return scaled + v[1];
    });
}

}  // namespace jaxscope::jax::random
