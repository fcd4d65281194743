// SPDX-License-Identifier: Apache-2.0
#pragma once
// A policy of the public headers as core knows it.
#include <jaxscope/policy.h>

#include "transforms/policies.h"

namespace jaxscope::jax::detail {

/// Null: nothing is saved. Throws Error{BadUsage} for a text that is no policy.
PolicyPtr policy_spec(const Policy& policy);
/// A parameter of an equation as JAX prints it; texts without quotes.
std::string param_text(const Attr& value);

}  // namespace jaxscope::jax::detail
