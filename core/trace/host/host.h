// SPDX-License-Identifier: Apache-2.0
#pragma once
// Floor of core/trace: what programs of the front end do outside of themselves while they run. In: functions, format strings. Out:
// equations where something is traced, elsewhere what they do. Never here: how an executable calls them (jit/kernels/host_calls.cpp).
#include "trace/trace.h"

namespace jaxscope::jax::detail {

/// `PyTreeDef(((*, *), {'k': *}))`, JAX's tree of arguments: those by position, then those by name, which are sorted.
std::string arguments_tree(const std::vector<std::string>& positional, const std::vector<std::string>& names,
                           const std::vector<std::string>& named);
/// The equation where something is traced; results as `types` say.
std::vector<Array> record_effect(const Primitive& prim, std::span<const Operand> in, const ParamsRef& params, const Avals& types,
                                 const Where& where);

}  // namespace jaxscope::jax::detail
