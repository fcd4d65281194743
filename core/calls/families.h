// SPDX-License-Identifier: Apache-2.0
#pragma once
// core/calls: the primitives that hold jaxprs (jit, checkpoint, custom rules, scan, while, cond, solves and reductions with functions of
// the user's own), and registry.cpp, which knows all families of core/lax and of this folder. In come applications whose parameters hold
// jaxprs, out go applications with transformed jaxprs: each rule asks core/transforms for the body's jvp, batch, transpose or split and
// puts it back as JAX does. Never here: a transformation itself, what a primitive without a jaxpr does, anything that runs or shows a
// program.
//
// This header lists the families.
#include <memory>
#include <span>

namespace jaxscope {
class Jaxpr;
struct Op;
struct Primitive;

/// Those that rules of other families and, through the registry, transformations emit.
extern const Primitive kJit, kClosedCall, kRemat, kCustomJvpCall, kCustomVjpCall;
/// What a scatter with a function of the user's own computes (`x.at[i].apply(f)`, JAX's scatter_apply): rules of lax can't map a jaxpr, so
/// the scatter finds this through the registry.
std::shared_ptr<const Jaxpr> expand_scatter_apply(const Op& op);

std::span<const Primitive* const> call_primitives();                   ///< jit, closed_call, core_call, composite
std::span<const Primitive* const> remat_primitives();                  ///< remat2
std::span<const Primitive* const> custom_rule_primitives();            ///< custom_jvp_call, custom_vjp_call, custom_lin
std::span<const Primitive* const> custom_transformation_primitives();  ///< custom_vmap_call, custom_transpose_call, linear_call
std::span<const Primitive* const> debug_primitives();                  ///< debug_print, debug_callback
std::span<const Primitive* const> shard_map_primitives();              ///< shard_map
std::span<const Primitive* const> sharded_call_primitives();           ///< sharded_call
std::span<const Primitive* const> scan_primitives();
std::span<const Primitive* const> while_primitives();
std::span<const Primitive* const> cond_primitives();
std::span<const Primitive* const> linear_solve_primitives();    ///< custom_linear_solve
std::span<const Primitive* const> general_reduce_primitives();  ///< reduce: with a function of the user's own
std::span<const Primitive* const> general_window_primitives();  ///< reduce_window: likewise

}  // namespace jaxscope
