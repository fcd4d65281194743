// SPDX-License-Identifier: Apache-2.0
#pragma once
// What jnp.quantile and jnp.nanquantile are asked for, and how they bring several axes into one.
#include <string>

#include <jaxscope/numpy.h>

#include "ir/builder.h"

namespace jaxscope::jax::numpy {

struct Quantile {
    bool all = true;
    bool tuple = false;  ///< several axes, which become the last one
    ::jaxscope::Dims axes;
    bool keepdims = false, midpoint = false;
    std::int64_t axis = 0;
    std::string key() const;
};
/// Throws JAX's sentences for complex numbers and repeated axes.
Quantile quantile_options(::jaxscope::Builder& b, ::jaxscope::Value x, const Reduction& over);
void check_quantile(::jaxscope::AvalRef q);
/// The chosen axes as the last one. The others come first, each changing places with what stood there, as JAX permutes.
::jaxscope::Value quantile_axes_last(::jaxscope::Builder& b, ::jaxscope::Value x, const Quantile& o);

}  // namespace jaxscope::jax::numpy
