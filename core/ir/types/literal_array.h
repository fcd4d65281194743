// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ir/types/attr.h"

namespace jaxscope {

/// The literal as a host array of rank 0.
ArrayPtr array_of(LiteralRef literal);

}  // namespace jaxscope
