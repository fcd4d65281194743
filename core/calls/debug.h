// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where several devices run a program: which of them look at values (debug_print, debug_callback), and at what of them.
#include "ir/jaxpr.h"

namespace jaxscope {

/// JAX's `partitioned`: each device looks at its part of the values. Else one device looks, at whole values.
bool each_device_looks(const ParamsRef& params);

/// The program of one device, where each device looks at what it has whatever the parameters say (in shard_map). Bodies of loops too.
JaxprPtr with_each_device_looking(const Jaxpr& j);

}  // namespace jaxscope
