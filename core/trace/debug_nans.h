// SPDX-License-Identifier: Apache-2.0
#pragma once
// Results that are no numbers: whether anybody wants to be told, and which operation computed the first of them.
#include <span>
#include <vector>

#include "ir/jaxpr.h"

namespace jaxscope::jax::detail {

/// Is debug_nans or debug_infs on?
bool checks_values();
/// Runs the operations of a jaxpr without constvars one by one. Throws JAX's error with the line of the first whose result is refused; of a
/// jitted one in it, that of the first inside.
std::vector<ArrayPtr> run_checked(const JaxprPtr& open, std::span<const ArrayPtr> in);
/// The results of a jitted function that has run: throws where they have a value that is refused, after its operations ran one by one.
void check_results(const JaxprPtr& closed, std::span<const ArrayPtr> in, std::span<const ArrayPtr> results, const std::string& function);

}  // namespace jaxscope::jax::detail
