// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "ir/jaxpr.h"

namespace jaxscope {

/// A literal without its type, as JAX before 0.5 prints them: `mul a 2.0`.
struct UntypedLiteral {
    std::size_t eqn = 0;   ///< index of the equation
    std::size_t atom = 0;  ///< index into Jaxpr::atoms
    std::string token;
};
bool is_untyped_literal(std::string_view token);

/// A literal of the first of `likely` that `token` can be one of; else what Python would make of it. Throws Error{BadInput}, without place,
/// when it is none.
LiteralRef guessed_literal(std::string_view token, const std::vector<DType>& likely);

/// Types the literals of one jaxpr, now that all jaxprs are read: by the input of the called jaxpr that they go to, else so that the
/// primitive gives the recorded results, else by the equation's other inputs and results.
void settle_literals(Jaxpr& j, const std::vector<UntypedLiteral>& literals);

}  // namespace jaxscope
