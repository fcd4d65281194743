// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/jaxpr.h"
#include "ir/primitive.h"
#include "ir/types/attr.h"

namespace jaxscope {

/// What a checkpoint policy says of one application.
struct PolicyVerdict {
    enum class Kind : std::uint8_t { Recompute, Save, Offload } kind = Kind::Recompute;
    Sym src, dst;  ///< of Offload: memory kinds, "device", "pinned_host"
    friend bool operator==(const PolicyVerdict&, const PolicyVerdict&) = default;
};

/// A policy ready to be asked. Copyable; keeps the spec alive. The default one recomputes everything (`policy=None`).
struct PolicyQuery {
    PolicyPtr spec;    ///< null: nothing_saveable
    SourceRef source;  ///< of the checkpointed call: what the equations that offload stand for
    /// Asked for applications whose inputs are all known (behaviours D-13). Throws Error{BadInput} where a recorded callable was not
    /// asked or save_from_both_policies meets an answer that is no boolean.
    PolicyVerdict operator()(const Primitive& prim, const Avals& in, const ParamsRef& params) const;
    /// everything_saveable, JAX's default where no policy is in force (partial_eval_jaxpr_custom inside scan and others).
    static PolicyQuery everything();
};

/// A question that a policy of the user's had no answer to when the program was captured (it raised, or gave what JAX refuses, or answers
/// differently each time). Such applications count as not saved.
struct UnknownVerdict {
    Sym policy;  ///< its text
    const Primitive* primitive = nullptr;
    std::int64_t signatures = 0;  ///< applications that differ in avals or parameters
    friend bool operator==(const UnknownVerdict&, const UnknownVerdict&) = default;
};
/// Of the checkpoints in `j` and in the jaxprs that it holds, one for each policy and primitive, in their order.
std::vector<UnknownVerdict> unknown_verdicts(const Jaxpr& j);

struct PolicyInfo {
    const char* name;
    const char* usage;  ///< "save_only_these_names(NAME, ...)"
    const char* what;   ///< one line
};
/// What a policy takes.
struct PolicySignature {
    PolicyInfo info;
    enum class Args { None, Names, SourceTarget, Lists, Policies } args;
};
/// Null: JAX has no policy of that name.
const PolicySignature* policy_signature(Sym name);
/// The policies of jax.checkpoint_policies, in its order.
const std::vector<PolicyInfo>& known_policies();

/// `nothing_saveable`, `save_only_these_names(h, attn)`, `offload_dot_with_no_batch_dims(device, pinned_host)`,
/// `save_and_offload_only_these_names([a], [b], device, pinned_host)`, `save_from_both_policies(P, Q)`; names may be quoted, arguments
/// given by keyword, a module's name stand in front (`jax.checkpoint_policies.dots_saveable`); JAX's own texts are read, too
/// (`DotsSaveable(only_if_no_batch_dims=True)`). `none` and the empty text give null. Throws
/// Error{BadUsage} that says what was expected, with the nearest known name as advice.
PolicyPtr parse_policy(std::string_view text);
/// A spec of one of JAX's policies, checked as JAX checks it. Throws Error{BadUsage}.
PolicyPtr make_policy(Sym name, Attrs args = {});

using PolicyAnswer = std::function<PolicyVerdict(const Primitive& prim, const Avals& in, const ParamsRef& params)>;
/// A callable of a C++ program. What it answers is kept in the spec's verdicts, so that a capture of the program has it as one of a Python
/// program has. `name`: the function's, for texts.
PolicyPtr make_callable_policy(const std::string& name, PolicyAnswer answer);

}  // namespace jaxscope
