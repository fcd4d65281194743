// SPDX-License-Identifier: Apache-2.0
#include "ir/registry.h"

#include "calls/families.h"
#include "calls/foreign.h"
#include "ir/primitive.h"
#include "lax/collectives/collectives.h"
#include "lax/families.h"
#include "lax/params/placement.h"
#include "lax/primitives.h"

namespace jaxscope {

namespace {

bool declare_families() {
    const std::span<const Primitive* const> families[] = {
        unary_primitives(),
        inverse_trig_primitives(),
        special_primitives(),
        gamma_primitives(),
        binary_primitives(),
        compare_primitives(),
        convert_primitives(),
        reduce_primitives(),
        cumulative_primitives(),
        random_primitives(),
        shape_primitives(),
        joining_primitives(),
        slicing_primitives(),
        gather_primitives(),
        scatter_primitives(),
        dot_primitives(),
        conv_primitives(),
        sort_primitives(),
        window_primitives(),
        linalg_primitives(),
        fft_primitives(),
        placement_primitives(),
        call_primitives(),
        remat_primitives(),
        custom_rule_primitives(),
        custom_transformation_primitives(),
        debug_primitives(),
        shard_map_primitives(),
        sharded_call_primitives(),
        scan_primitives(),
        while_primitives(),
        cond_primitives(),
        linear_solve_primitives(),
        general_reduce_primitives(),
        general_window_primitives(),
        approx_top_k_primitives(),
        tridiagonal_primitives(),
        collective_primitives(),
        ragged_dot_primitives(),
        scaled_dot_primitives(),
        shown_primitives(),
    };
    set_primitive_families(families, {.jit = &kJit,
                                      .custom_jvp = &kCustomJvpCall,
                                      .undeclared = &kForeign,
                                      .vary = &kPvary,
                                      .reshard = &kReshard,
                                      .constraint = &kShardingConstraint,
                                      .scatter_apply = expand_scatter_apply,
                                      .collectives = collective_primitives()});
    return true;
}

}  // namespace

/// A second time there is nothing to do: threads may read by then.
void register_all_primitives() { [[maybe_unused]] static const bool done = declare_families(); }

}  // namespace jaxscope
