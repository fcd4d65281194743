// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "analysis/choices.h"
#include "analysis/naming/candidates.h"
#include "analysis/naming/placements.h"

namespace jaxscope {

/// What values marked by hand come to: names at lines, and a policy of these names.
struct ByHand {
    JaxprPtr jaxpr;                     ///< the function with the names in it, and the policy in its checkpoints
    Placement where;                    ///< the checkpoints that it stands in
    std::vector<SaveCandidate> marked;  ///< in the order of the marks; several marks may be one name, as one line of Python is
    std::vector<bool> offloaded;        ///< of `marked`
    PolicyPtr policy;
};

/// Saves (or offloads to pinned_host) exactly the values that the marks name, and recomputes all others. What a mark names must be
/// something that a `checkpoint_name` in Python could: a floating-point value that an expression of the user's ends with. Throws
/// Error{NotFound} for a mark that names nothing, with the places that there are, and where checkpoints can't be had `at`.
ByHand mark_by_hand(const JaxprPtr& function, const std::vector<HandMark>& marks, MarkedAt at = MarkedAt::Anywhere);

/// The values of `function` that can be marked, all of them: what a list to choose from shows.
std::vector<SaveCandidate> markable(const JaxprPtr& function, MarkedAt at = MarkedAt::Anywhere);

}  // namespace jaxscope
