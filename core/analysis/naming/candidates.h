// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ir/jaxpr.h"

namespace jaxscope {

/// Values that could be saved: those of one primitive and type that one line of the user's makes, in all blocks, steps and calls together,
/// as one `checkpoint_name` at that line would name them.
struct SaveCandidate {
    std::string name;       ///< of checkpoint_name: the user's own where the value has one, else one made of function and line
    bool has_name = false;  ///< the program names it already
    std::string primitive, aval;
    std::string source;  ///< JAX's place string
    SourceLoc loc;
    Frame frame;             ///< the same with the extent of the user's expression; empty where no line is known
    std::int64_t bytes = 0;  ///< of all of them
    std::int64_t count = 0;  ///< how many there are
    double flops = 0;        ///< of making them
};

struct NamedFunction {
    JaxprPtr jaxpr;                         ///< with a `name` behind each candidate
    std::vector<SaveCandidate> candidates;  ///< most work for a byte first
};
/// Names what stands in checkpoints of `function`: values of floating type with at least one dimension, at most `most` kinds of them (those
/// that cost most to make for their size; named values always).
/// `wanted`, where given: names those alone that it takes, asked by the name that each would have.
NamedFunction name_candidates(const JaxprPtr& function, std::size_t most, const std::function<bool(const SaveCandidate&)>& wanted = {});

}  // namespace jaxscope
