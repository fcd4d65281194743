// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "ir/jaxpr.h"

namespace jaxscope {

/// How JAX prints what reads and writes a Ref (state/primitives.py): `b:f32[4] <- a[i,:]` (get), `a[i,:] <- c` and
/// `b:f32[4], a[i,:] <- a[i,:], c` (swap), `a[i,:] += c` (addupdate). The indices are inputs behind the Ref (and the value).
struct RefAccess {
    std::string indexer;            ///< `[%0:%0+2,:]`: `%k` stands for the k-th index
    std::uint32_t first_index = 1;  ///< among the equation's inputs
};
/// Nothing for other primitives, and where the parameter `tree` is no indexer: readers make it one (indexer_attr).
std::optional<RefAccess> ref_access(const Eqn& e);

/// The parameter `tree` of an access with that indexer; `text`: how the parameter itself is shown, as Python's tree prints where there is
/// one.
Attr indexer_attr(const std::string& indexer, const std::string& text);

}  // namespace jaxscope
