#pragma once
#include "ir/attr.h"

namespace jaxscope {

/// The literal as a host array of rank 0.
ArrayPtr array_of(LiteralRef literal);

}  // namespace jaxscope
