// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ir/program.h"

namespace jaxscope::jax::detail {

/// Tables of rules that the equations of a traced program keep, one for each call of a custom_jvp or custom_vjp function, become the
/// program's one table, as captures have it.
void gather_rules(::jaxscope::Program& program);

}  // namespace jaxscope::jax::detail
