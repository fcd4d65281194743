// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ir/jaxpr.h"

namespace jaxscope {

/// Finds again which jaxprs of a text are one object in JAX.
///
/// JAX prints the jaxprs of a custom_linear_solve twice: each in full, as a program of its own, inside the equation, and in front as a
/// `let` that no name refers to when it is printed more than once or is long. Those `let`s stand in the order in which a walk by
/// levels meets them, so the walk that meets their jaxprs written out tells which is which.
///
/// `root`   read from a text, not yet shared with anybody; its equations' parameters are replaced
/// `lets`   the jaxprs of the `let`s in front, in order
/// Source   JAX core.py, pp_toplevel_jaxpr.
void restore_sharing(const std::shared_ptr<Jaxpr>& root, const std::vector<std::shared_ptr<Jaxpr>>& lets);

/// `root` and everything below it; or the equation by which a jaxpr calls itself, directly or through others.
struct Called {
    std::unordered_set<const Jaxpr*> jaxprs;
    std::optional<std::pair<const Jaxpr*, std::size_t>> cycle;
};
Called called_from(const Jaxpr& root);

}  // namespace jaxscope
