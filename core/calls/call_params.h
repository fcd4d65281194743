// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "ir/primitive.h"

namespace jaxscope {

/// The jaxpr that a call holds under `param` ("jaxpr", "call_jaxpr").
Attr::JaxprRef body_of(const Op& op, const char* param);

/// Which inputs or outputs of a call its new version has, in order: positions of the original's, or `kNew`.
constexpr int kNew = -1;
using Picks = std::vector<int>;
Picks pick_all(std::size_t n);
Picks pick_where(const std::vector<bool>& which, bool wanted = true);
Picks operator+(Picks a, const Picks& b);
Picks new_ones(std::size_t n);

/// Which inputs of a call of jit are donated; empty: none.
std::vector<bool> donated_inputs(const Params& params);

/// jit's parameters with another body: per-input and per-output tuples (shardings, layouts, donation) follow `in` and `out`; new ones are
/// unspecified and not donated. `keep_donation`: otherwise nothing is donated (JAX's transposition).
ParamsRef jit_params(const ParamsRef& params, const JaxprPtr& body, const Picks& in, const Picks& out, bool keep_donation = true);

}  // namespace jaxscope
