// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "ir/jaxpr.h"
#include "ir/primitive.h"

namespace jaxscope {

/// Parameters of remat2 (jax.checkpoint).
struct RematParams {
    bool differentiated = false;
    Attr::JaxprRef jaxpr;  ///< open
    PolicyPtr policy;      ///< null: nothing_saveable
    Attr prevent_cse;      ///< a bool, or a tuple with one per input
    static constexpr auto kFields = std::tuple(field("differentiated", &RematParams::differentiated), field("jaxpr", &RematParams::jaxpr),
                                               field("policy", &RematParams::policy), field("prevent_cse", &RematParams::prevent_cse));
};

/// A split of a checkpointed call by autodiff: types of the inputs that are kept for the second half, and what the first half makes for it.
struct RematSplit {
    Avals inputs;
    JaxprPtr known;  ///< its last `num_residuals` results are what is made
    std::size_t num_residuals = 0;
};
/// Is told of each split of this thread, if there is one: for logs.
std::function<void(const RematSplit&)>& remat_split_listener();

/// jax.checkpoint of a whole function: one remat2 equation with all constvars and inputs. Constvars stay constvars.
JaxprPtr checkpoint(const JaxprPtr& j, const PolicyPtr& policy, SourceRef source = {});

/// The jaxpr with another policy in those of its remat2 equations that `chosen` picks, nested ones too (a shared body once); those that
/// are differentiated already are never asked about. `found`, where given: how many were picked.
JaxprPtr replace_policy(const JaxprPtr& j, const std::function<bool(const Eqn&)>& chosen, const PolicyPtr& policy, int* found = nullptr);

}  // namespace jaxscope
