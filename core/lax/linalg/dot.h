#pragma once
#include "ir/primitive.h"
#include "lax/params/products.h"

namespace jaxscope {

/// What a product's elements are (_dot_general_dtype_rule); refuses dtypes that don't combine.
DType product_dtype(const Op& op, const DotGeneralParams& p);

}  // namespace jaxscope
