// SPDX-License-Identifier: Apache-2.0
#pragma once
// debug_print and debug_callback: equations that look at values and give none. What each device looks at where several run a program.
#include "ir/jaxpr.h"

namespace jaxscope {

extern const Primitive kDebugPrint, kDebugCallback;
EffectSet debug_effect(const ParamsRef& params);

/// JAX's `partitioned`: each device looks at its part of the values. Else one device looks, at whole values.
bool each_device_looks(const ParamsRef& params);

/// The program of one device, where each device looks at what it has whatever the parameters say (in shard_map). Bodies of loops too.
JaxprPtr with_each_device_looking(const Jaxpr& j);

}  // namespace jaxscope
