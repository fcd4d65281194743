// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ir/primitive.h"

namespace jaxscope {

/// Parameters of custom_jvp_call and custom_vjp_call. The rules are entries of the program's table.
struct CustomJvpParams {
    Attr::JaxprRef call_jaxpr;
    Attr jvp_jaxpr_fun;
    std::int64_t num_consts = 0;  ///< leading inputs that the function closed over; its rule doesn't take them
    bool symbolic_zeros = false;
    bool restaged = false;    ///< traced again since it was captured: JAX counts no closed-over inputs then
    bool from_jaxpr = false;  ///< evaluated from the jaxpr of another call, into the one that it stands in
    bool inlined = false;     ///< came with the body of a jit(inline=True), which JAX differentiates as a jit before it inlines it
    static constexpr auto kFields = std::tuple(
        field("call_jaxpr", &CustomJvpParams::call_jaxpr), field("jvp_jaxpr_fun", &CustomJvpParams::jvp_jaxpr_fun),
        optional_field("num_consts", &CustomJvpParams::num_consts), optional_field("symbolic_zeros", &CustomJvpParams::symbolic_zeros),
        optional_field("restaged", &CustomJvpParams::restaged), optional_field("from_jaxpr", &CustomJvpParams::from_jaxpr),
        optional_field("inlined", &CustomJvpParams::inlined));
};
struct CustomVjpParams {
    Attr::JaxprRef call_jaxpr;
    Attr fwd_jaxpr_thunk, bwd, out_trees;
    std::int64_t num_consts = 0;
    bool symbolic_zeros = false;
    bool restaged = false, from_jaxpr = false, inlined = false;
    bool split = false;  ///< what it closes over are residuals of partial evaluation, which JAX counts
    static constexpr auto kFields = std::tuple(
        field("call_jaxpr", &CustomVjpParams::call_jaxpr), field("fwd_jaxpr_thunk", &CustomVjpParams::fwd_jaxpr_thunk),
        field("bwd", &CustomVjpParams::bwd), optional_field("out_trees", &CustomVjpParams::out_trees),
        optional_field("num_consts", &CustomVjpParams::num_consts), optional_field("symbolic_zeros", &CustomVjpParams::symbolic_zeros),
        optional_field("restaged", &CustomVjpParams::restaged), optional_field("from_jaxpr", &CustomVjpParams::from_jaxpr),
        optional_field("inlined", &CustomVjpParams::inlined), optional_field("split", &CustomVjpParams::split));
};
struct CustomVmapParams {
    Attr::JaxprRef call;
    Attr rule, in_tree, out_tree;
    static constexpr auto kFields =
        std::tuple(field("call", &CustomVmapParams::call), optional_field("rule", &CustomVmapParams::rule),
                   optional_field("in_tree", &CustomVmapParams::in_tree), optional_field("out_tree", &CustomVmapParams::out_tree));
};
/// custom_transpose_call: inputs are what the function closes over, residuals, then the linear ones.
struct CustomTransposeParams {
    Attr::JaxprRef call_jaxpr;
    Attr transpose_jaxpr_thunk, out_types, res_tree, lin_tree, out_tree;
    static constexpr auto kFields = std::tuple(
        field("call_jaxpr", &CustomTransposeParams::call_jaxpr),
        optional_field("transpose_jaxpr_thunk", &CustomTransposeParams::transpose_jaxpr_thunk),
        optional_field("out_types", &CustomTransposeParams::out_types), optional_field("res_tree", &CustomTransposeParams::res_tree),
        optional_field("lin_tree", &CustomTransposeParams::lin_tree), optional_field("out_tree", &CustomTransposeParams::out_tree));
};
/// linear_call: inputs are what the function closes over, residuals, then the linear ones.
struct LinearCallParams {
    Attr::JaxprRef callee;
    Attr transpose_thunk;
    std::int64_t num_callee_consts = 0;
    std::int64_t num_res = 0;
    static constexpr auto kFields =
        std::tuple(field("callee", &LinearCallParams::callee), optional_field("transpose_thunk", &LinearCallParams::transpose_thunk),
                   field("num_callee_consts", &LinearCallParams::num_callee_consts), field("num_res", &LinearCallParams::num_res));
};
/// Parameters of custom_lin, the linear call that a custom_vjp function leaves behind: residuals, then nonzero tangents.
struct CustomLinParams {
    std::int64_t num_res = 0;
    std::int64_t num_consts = 0;
    Attr bwd;
    Attr out_avals;
    bool symbolic_zeros = false;
    std::vector<bool> in_zeros;   ///< per input of the original, closed-over ones first: was its tangent zero?
    std::int64_t num_closed = 0;  ///< leading residuals that the backward rule closes over; JAX's rule has them in a closure
    static constexpr auto kFields =
        std::tuple(field("num_res", &CustomLinParams::num_res), optional_field("num_consts", &CustomLinParams::num_consts),
                   field("bwd", &CustomLinParams::bwd), field("out_avals", &CustomLinParams::out_avals),
                   field("symbolic_zeros", &CustomLinParams::symbolic_zeros), field("in_zeros", &CustomLinParams::in_zeros),
                   optional_field("num_closed", &CustomLinParams::num_closed));
};

}  // namespace jaxscope
