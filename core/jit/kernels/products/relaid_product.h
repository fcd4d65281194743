// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "jit/kernels/products/dot_shape.h"

// Where dimensions of a contraction don't merge, it would be thousands of small products: operands are copied once into an order in which
// they do.
namespace jaxscope::exec {

/// How operands lie when they are multiplied, and at what cost.
struct DotPlan {
    Layouts layouts;                  ///< complete: of the operands and the result
    bool copied[2] = {false, false};  ///< into scratch memory, dense
    double cost = 0;                  ///< dot_cost and copies
};
DotPlan dot_plan(const Op& op, const DotKernel& spec, const Layouts& layouts);
/// Of a copy of so many elements into another order.
double relay_cost(std::int64_t elements);

/// `product` was made for the plan's layouts, and knows its threads; the call takes operands that lie as `layouts` says.
LibraryCallPtr make_relaid_product(const Op& op, const Layouts& layouts, const DotPlan& plan, LibraryCallPtr product);

/// The layouts with those filled in that are row-major.
Layouts complete_layouts(const Op& op, const Layouts& layouts);

}  // namespace jaxscope::exec
