// SPDX-License-Identifier: Apache-2.0
#pragma once
// pure_callback and io_callback of programs that are traced here: C++ functions that the program calls while it runs. Captured programs
// have other primitives of these names (calls/foreign.h): their function is Python, which isn't run.
#include "ir/jaxpr.h"

namespace jaxscope {

extern const Primitive kPureCallback, kIoCallback;

/// The parameters that both have: `callback` and the types of the results.
ParamsRef callback_params(Attr callback, const Avals& results, std::vector<Params::Entry> more);
/// What an application of one of the two, or of debug_print and debug_callback, does besides giving results.
EffectSet host_effect(const Primitive& prim, const ParamsRef& params);

/// The function that an equation calls; null: it calls none, or none that could be called here.
const HostFunction* host_function(const ParamsRef& params);
bool calls_host(const Jaxpr& program);  ///< does an equation in it, or in its bodies, call such a function?
/// Has it to run, each time that it is met, and after those before it?
bool must_run(const Primitive& prim);

}  // namespace jaxscope
