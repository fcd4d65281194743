// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a loop carries comes out as it went in, and branches return the same: JAX's checks, in its sentences. In: trees and types of both
// sides. Never here: how loops and branches are traced (control_flow.cpp).
#include <string>
#include <vector>

#include <jaxscope/pytree.h>

#include "ir/types/aval.h"

namespace jaxscope::jax::detail {

/// Throws where a body gives back another tree than it takes. `loop`: "scan body".
void check_carry_tree(const char* loop, const PyTreeDef& in, const PyTreeDef& out);
/// Throws where types differ, weak ones aside. `paths`: keystr of each leaf.
void check_carry_types(const char* loop, const Avals& in, const Avals& out, const std::vector<std::string>& paths);
/// Carries go in as they come out, but for weak types, which may change. Weakly typed ones of another dtype are promoted first, as JAX
/// does: true if any was. Other differences throw.
bool promote_carry(Avals& in, const Avals& out, const char* loop, const std::vector<std::string>& paths);

/// A branch of cond or switch as errors speak of it.
struct Branch {
    std::string name;      ///< "true_fun", "branch 0", "branch1"
    std::string function;  ///< with its place
    PyTreeDef tree;        ///< of what it returns
    Avals types;
};
/// Throws where the branches return different trees or types. `api`: "cond", "switch".
void check_branches(const char* api, const Branch& one, const Branch& other);

}  // namespace jaxscope::jax::detail
