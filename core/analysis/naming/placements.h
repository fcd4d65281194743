// SPDX-License-Identifier: Apache-2.0
#pragma once
// Floor `analysis/naming`: what Python could write into a function so that a policy finds it. Comes in: a function. Goes out: the same with
// names at lines and checkpoints around parts of it, and what these are. Never here: which choice is good.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/program.h"

namespace jaxscope {

/// Equations that stand several times in a row, with the same places in the user's source: blocks of a model in an unrolled loop.
struct RepeatedBlocks {
    std::uint32_t begin = 0, period = 0, count = 0;
};
/// The repetition that covers most equations of `j`; nothing where none covers a quarter of them.
std::optional<RepeatedBlocks> repeated_blocks(const Jaxpr& j);

/// Where a `jax.checkpoint` stands, or is put.
struct Placement {
    enum class Kind : std::uint8_t { Existing, Blocks, ScanBody, Function };
    Kind kind = Kind::Function;
    std::string function;  ///< what it wraps: "block", "loss"; empty where no name is known
    SourceLoc loc;         ///< of the call that is to be wrapped, or of the checkpoint that is there
    std::int64_t count = 1;
    JaxprPtr jaxpr;  ///< the function with the checkpoints in it
};
/// The ways in which checkpoints can be laid in a function: those that are there already and no others; where there are none, one around
/// each of its repeated blocks, one around the body of its largest scan, one around all of it.
std::vector<Placement> placements(const JaxprPtr& function);

/// Does a `jax.checkpoint` stand in it?
bool holds_checkpoint(const Jaxpr& function);

/// The one of these around repeated blocks, or around the body of a scan; nothing where there is none, or where checkpoints stand already.
std::optional<Placement> block_placement(const JaxprPtr& function);
/// The function with a checkpoint of that policy around each of them. Throws Error{NotFound} where there are none.
JaxprPtr with_policy_on_blocks(const JaxprPtr& function, const PolicyPtr& policy);

}  // namespace jaxscope
