#include "ir/registry.h"

#include "calls/families.h"
#include "ir/primitive.h"
#include "lax/dot.h"
#include "lax/families.h"
#include "lax/placement.h"
#include "lax/shape_ops.h"
#include "lax/slicing.h"
#include "lax/sort.h"

namespace jaxscope {

void register_all_primitives() {
    const std::span<const Primitive* const> families[] = {
        call_primitives(),    remat_primitives(), custom_rule_primitives(), unary_primitives(),   binary_primitives(),
        compare_primitives(), shape_primitives(), joining_primitives(),     slicing_primitives(), gather_primitives(),
        scatter_primitives(), dot_primitives(),   conv_primitives(),        sort_primitives(),
    };
    set_primitive_families(families);
}

}  // namespace jaxscope
