// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "ir/primitive.h"

namespace jaxscope {

/// How JAX would call a rule at one application. A rule that looks at it (symbolic_zeros, custom_vmap) has been traced for each case that
/// the capture met; the others ignore it.
struct RuleUse {
    std::vector<bool> perturbed;        ///< per argument, those that the function closes over left out
    std::vector<bool> zero_cotangents;  ///< per output: custom_vjp's backward rule
    std::vector<bool> in_batched;       ///< per input: custom_vmap
    std::int64_t axis_size = 0;         ///< custom_vmap
};

/// Python's tuple of them: `(True, False)`.
std::string marks(const std::vector<bool>& which);

/// A rule as a jaxpr. Its leading inputs are the inputs `closed_over` of the equation, then come what the rule's kind takes:
/// - custom_jvp: arguments, then tangents (with symbolic_zeros those of perturbed arguments only); out: results, then the tangents that
///   aren't in `out_zeros`;
/// - custom_vjp_fwd: arguments; out: results, then residuals, but for those that are inputs (`input_forwards`);
/// - custom_vjp_bwd: all residuals, then cotangents (with symbolic_zeros the nonzero ones); out: cotangents of the arguments not in
///   `out_zeros`;
/// - custom_vmap: inputs with the batch axis in front where `RuleUse::in_batched`; out: results, the same by `out_batched`;
/// - custom_transpose: residuals, then cotangents of the results; out: cotangents of the linear inputs not in `out_zeros`.
struct TracedRule {
    JaxprPtr jaxpr;
    std::vector<bool> out_zeros;
    std::vector<int> input_forwards;
    std::vector<int> closed_over;
    std::vector<bool> out_batched;
    std::vector<bool> perturbed, zero_cotangents;  ///< with symbolic_zeros: which tangents it takes, and which cotangents it doesn't
};

/// The rule that a parameter of `op` names: an entry of the program's table, or one that a transformation made of such an entry.
/// Throws Error{NoRule}: not captured, or not for this use; the message says how to capture it.
TracedRule find_rule(const Attr& rule, const Op& op, const RuleUse& use);

/// Which inputs of the equation the rule closes over, whatever its use: sorted.
std::vector<int> closed_over(const Attr& rule);

/// What vmap makes of a rule of a custom_jvp or custom_vjp function (JAX's batch_custom_jvp_subtrace, batch_custom_vjp_bwd).
struct BatchedRule {
    Attr rule;
    Attr fwd;  ///< custom_vjp_bwd: its forward rule before this vmap, whose residuals it takes; else None
    std::int64_t size = 0;
    std::int64_t num_consts = 0;
    std::vector<int> in_dims;   ///< per input of the equation, kNotMapped where it has no batch axis
    std::vector<int> out_dims;  ///< per result
};
Attr batched_rule(const BatchedRule& of);

/// What dead code elimination makes of a rule whose call loses results (JAX's dce rules of the custom calls): it computes the `used` ones.
enum class RuleKind : std::uint8_t { Jvp, Forward, Backward };
Attr pruned_rule(const Attr& rule, RuleKind kind, const std::vector<bool>& used, const Avals& results);

/// What jvp makes of a custom_vmap rule (JAX's jvp_of_rule_rule).
Attr jvp_of_vmap_rule(const Attr& rule);

}  // namespace jaxscope
