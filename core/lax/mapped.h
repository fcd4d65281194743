// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ir/builder.h"

namespace jaxscope {

/// A program of one example (`body`, of primitives with batch rules) applied to arrays of examples, as vmap traces it into `b`: the inputs
/// and results have the dimensions `batch` in front. One vmap a dimension, the last one innermost.
Values vmapped(Builder& b, const JaxprPtr& body, const Dims& batch, const Values& in);

}  // namespace jaxscope
