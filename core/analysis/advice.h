// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/inspection.h"

namespace jaxscope {

/// A policy that was laid around the function, or put into the checkpoints that are in it, and what the backward pass then keeps: derived,
/// not guessed.
struct TriedPolicy {
    std::string python;  ///< "loss = jax.checkpoint(loss, policy=jax.checkpoint_policies.dots_saveable)"
    std::int64_t total_bytes = 0;
    std::set<std::string> kept;  ///< the values that it keeps (ResidualRow::maker)
};
/// Those of JAX's policies under which the function keeps less than it does now; what keeps most (and so recomputes least) first.
std::vector<TriedPolicy> try_policies(const Inspection& inspection);

struct Advice {
    std::string python;
    std::int64_t saved_bytes = 0;  ///< of all residuals
};
/// What no longer keeps this row's value; nothing where no policy that was tried does.
std::optional<Advice> advice_on(const ResidualReport& now, const ResidualRow& row, const std::vector<TriedPolicy>& tried);

}  // namespace jaxscope
