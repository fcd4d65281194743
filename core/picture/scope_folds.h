// SPDX-License-Identifier: Apache-2.0
#pragma once
// What is made of the groups that names give: repeated blocks are one, so are small equations in a row; names that tell groups apart.
#include "picture/scope_tree.h"

namespace jaxscope {

/// A library's function that does nothing but call others of it (optax.chain) is no group: these stand in its place.
void dissolve_wrappers(std::vector<Scope>& scopes);
/// Equations in a row that make next to nothing beside the jaxpr's largest value: one group, where there are large ones.
void fold_small(std::vector<Scope>& scopes, const Jaxpr& jaxpr);
/// Blocks of a model in a row: one group.
void fold_repeats(std::vector<Scope>& scopes, const Jaxpr& jaxpr);
/// Groups of one name on one level are called by the name scope that each is alone in, as Flax names its modules ("block_0"); else they
/// get numbers: "block 1", "block 2".
void tell_repeats_apart(std::vector<Scope>& scopes, const Jaxpr& jaxpr);
/// Puts the children of a crowded scope into at most `limit` runs, and goes on with the runs. `by_names`: where modules are called one
/// after the other in one function, into groups by name scope first.
void split_crowded(std::vector<Scope>& scopes, const Jaxpr& jaxpr, std::uint32_t limit, bool by_names);

}  // namespace jaxscope
