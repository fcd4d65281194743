// SPDX-License-Identifier: Apache-2.0
#pragma once
// jax.nn.initializers: `initializers::he_normal()(key, {784, 128})`.
#include <jaxscope/random.h>

namespace jaxscope::jax::nn::initializers {

/// A function of a key and a shape, whose last two dimensions are inputs and outputs.
class Initializer {
public:
    enum class Kind : unsigned char { zeros, ones, constant, normal, uniform, truncated_normal, scaled, orthogonal };
    enum class Fan : unsigned char { in, out, average };
    Array operator()(const Operand& key, const Shape& shape) const;

    Kind kind = Kind::zeros;
    double value = 0;                   ///< what a constant, a deviation or a scale is
    Fan fan = Fan::in;                  ///< of scaled ones
    Kind distribution = Kind::uniform;  ///< likewise
    double lower = -2, upper = 2;       ///< of truncated_normal
};

inline Initializer zeros() { return {Initializer::Kind::zeros}; }
inline Initializer ones() { return {Initializer::Kind::ones}; }
inline Initializer constant(double value) { return {Initializer::Kind::constant, value}; }
inline Initializer uniform(double scale = 1e-2) { return {Initializer::Kind::uniform, scale}; }
inline Initializer normal(double stddev = 1e-2) { return {Initializer::Kind::normal, stddev}; }
inline Initializer truncated_normal(double stddev = 1e-2) { return {Initializer::Kind::truncated_normal, stddev}; }
inline Initializer orthogonal(double scale = 1.) { return {Initializer::Kind::orthogonal, scale}; }
/// `distribution`: Kind::uniform, normal or truncated_normal.
inline Initializer variance_scaling(double scale, Initializer::Fan fan, Initializer::Kind distribution) {
    return {Initializer::Kind::scaled, scale, fan, distribution};
}
inline Initializer glorot_uniform() { return variance_scaling(1., Initializer::Fan::average, Initializer::Kind::uniform); }
inline Initializer glorot_normal() { return variance_scaling(1., Initializer::Fan::average, Initializer::Kind::truncated_normal); }
inline Initializer xavier_uniform() { return glorot_uniform(); }
inline Initializer xavier_normal() { return glorot_normal(); }
inline Initializer lecun_uniform() { return variance_scaling(1., Initializer::Fan::in, Initializer::Kind::uniform); }
inline Initializer lecun_normal() { return variance_scaling(1., Initializer::Fan::in, Initializer::Kind::truncated_normal); }
inline Initializer he_uniform() { return variance_scaling(2., Initializer::Fan::in, Initializer::Kind::uniform); }
inline Initializer he_normal() { return variance_scaling(2., Initializer::Fan::in, Initializer::Kind::truncated_normal); }
inline Initializer kaiming_uniform() { return he_uniform(); }
inline Initializer kaiming_normal() { return he_normal(); }

}  // namespace jaxscope::jax::nn::initializers
