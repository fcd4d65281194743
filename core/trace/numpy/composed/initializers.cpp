// SPDX-License-Identifier: Apache-2.0
// jax.nn.initializers, and the matrices by chance that one of them draws.
#include <jaxscope/initializers.h>

#include <fmt/core.h>

#include <cmath>

#include <jaxscope/lax.h>
#include <jaxscope/linalg.h>

#include "base/error.h"
#include "lax/jitted.h"
#include "trace/numpy/array_parts.h"
#include "trace/numpy/composed/composed.h"
#include "trace/numpy/random_parts.h"
#include "trace/promote.h"
#include "trace/refusals.h"

namespace jaxscope::jax {

using ::jaxscope::Builder;
using ::jaxscope::Values;

namespace random {

namespace {
Array typed(const char* name, const Operand& k) {
    return keyed(name, {k}, [](Builder&, const Values& v) { return v[0]; });
}
}  // namespace

Array multivariate_normal(const Operand& k, const Operand& mean, const Operand& cov, const Shape& shape) {
    const Array key = typed("multivariate_normal", k);
    const Operand first(key, k.where.file, k.where.line, k.where.function);
    return detail::composed_one("_multivariate_normal", shape.str(), {first, mean, cov}, [&](const Arrays& v) {
        const Array &centre = v[1], &spread = v[2];
        if (centre.ndim() < 1)
            detail::refuse("multivariate_normal requires mean.ndim >= 1, got mean.ndim == " + std::to_string(centre.ndim()));
        if (spread.ndim() < 2)
            detail::refuse("multivariate_normal requires cov.ndim >= 2, got cov.ndim == " + std::to_string(spread.ndim()));
        const std::int64_t n = centre.shape(-1);
        if (spread.shape(-1) != n || spread.shape(-2) != n)
            detail::refuse(fmt::format("multivariate_normal requires cov.shape == (..., n, n) for n={}, but got cov.shape == {}.", n,
                                       spread.shape().str()));
        const auto leading = [](const Array& a, std::size_t own) {
            Dims d = a.shape().vector();
            return d.erase(d.end() - static_cast<std::ptrdiff_t>(own), d.end()), d;
        };
        Dims samples = shape.size() ? shape.vector() : detail::broadcast_shapes({leading(centre, 1), leading(spread, 2)});
        samples.push_back(n);
        const Array factor = numpy::linalg::cholesky(spread), noise = normal(v[0], samples);
        const bool plain = samples.size() == 1 && spread.ndim() == 2;
        return centre + (plain ? numpy::matmul(factor, noise) : numpy::einsum("...ij,...j->...i", {factor, noise}));
    });
}
Array orthogonal(const Operand& k, std::int64_t n, std::int64_t m) {
    const Array key = typed("orthogonal", k);
    const std::int64_t columns = m ? m : n, tall = std::max(n, columns), narrow = std::min(n, columns);
    return detail::composed_one("_orthogonal", fmt::format("{} {}", n, columns),
                                {Operand(key, k.where.file, k.where.line, k.where.function)}, [&](const Arrays& v) {
                                    const auto [q, r] = numpy::linalg::qr(normal(v[0], {tall, narrow}));
                                    const Array signs = lax::sign(numpy::diagonal(r));
                                    const Array out = q * numpy::expand_dims(signs, 0);
                                    return n < columns ? out.T() : out;
                                });
}

}  // namespace random

namespace nn::initializers {

namespace {

Array strong(double v) {
    return detail::made(Where("", 0, ""), [&](Builder&) { return detail::number_of(::jaxscope::DType::F32, v); });
}
double fan_of(const Shape& shape, Initializer::Fan fan, const Where& where) {
    if (shape.size() < 2)
        detail::refuse_at(where, ErrorCode::BadUsage,
                          fmt::format("Can't compute input and output sizes of a {}-dimensional weights tensor with default "
                                      "in_axis. Must be at least 2D or specify in_axis explicitly.",
                                      shape.size()),
                          "initializers like this one are for weights of two dimensions and more");
    double field = 1;
    for (std::size_t d = 0; d + 2 < shape.size(); ++d) field *= static_cast<double>(shape[d]);
    const double in = field * static_cast<double>(shape[shape.size() - 2]), out = field * static_cast<double>(shape[shape.size() - 1]);
    return fan == Initializer::Fan::in ? in : fan == Initializer::Fan::out ? out : (in + out) / 2;
}
/// Numbers by chance whose variance is the scale divided by the fan.
Array scaled(const Array& key, const Shape& shape, const Initializer& i, const Where& where) {
    const Array variance = strong(i.value / fan_of(shape, i.fan, where));
    if (i.distribution == Initializer::Kind::uniform) {
        Array drawn = random::uniform(key, shape, -1);
        return drawn * numpy::sqrt(3 * variance);
    }
    if (i.distribution == Initializer::Kind::normal) {
        Array drawn = random::normal(key, shape);
        return drawn * numpy::sqrt(variance);
    }
    // A normal distribution cut at two deviations has a smaller one.
    constexpr double kCutDeviation = .87962566103423978;
    Array deviation = numpy::sqrt(variance) / strong(kCutDeviation);
    return random::truncated_normal(key, -2, 2, shape) * deviation;
}
Array orthogonal_matrix(const Array& key, const Shape& shape, double scale, const Where& where) {
    if (shape.size() < 2)
        detail::refuse_at(where, ErrorCode::BadUsage, "orthogonal initializer requires at least a 2D shape",
                          "initializers like this one are for weights of two dimensions and more");
    std::int64_t rows = 1;
    for (std::size_t d = 0; d + 1 < shape.size(); ++d) rows *= shape[d];
    return strong(scale) * numpy::reshape(random::orthogonal(key, rows, shape[shape.size() - 1]), shape);
}
Array made_by(const Initializer& i, const Array& key, const Shape& shape, const Where& where) {
    using Kind = Initializer::Kind;
    switch (i.kind) {
        case Kind::zeros:
            return numpy::zeros(shape);
        case Kind::ones:
            return numpy::ones(shape);
        case Kind::constant:
            return numpy::full(shape, strong(i.value));
        case Kind::uniform:
            return random::uniform(key, shape) * strong(i.value);
        case Kind::normal:
            return random::normal(key, shape) * strong(i.value);
        case Kind::truncated_normal:
            return random::truncated_normal(key, i.lower, i.upper, shape) * strong(i.value);
        case Kind::orthogonal:
            return orthogonal_matrix(key, shape, i.value, where);
        case Kind::scaled:
            return scaled(key, shape, i, where);
    }
    return {};
}

}  // namespace

Array Initializer::operator()(const Operand& key, const Shape& shape) const {
    return detail::in_line({key}, [&](const Arrays& v) { return Arrays{made_by(*this, v[0], shape, key.where)}; }).front();
}

}  // namespace nn::initializers

}  // namespace jaxscope::jax
