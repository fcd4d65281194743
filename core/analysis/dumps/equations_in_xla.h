// SPDX-License-Identifier: Apache-2.0
#pragma once
// What XLA's optimized program has of a program's equations, as `capture --compile` recorded it: what became of the recomputation that
// checkpoints ask for, what is computed several times, whose results are in memory.
#include <cstdint>
#include <string>
#include <vector>

#include "ir/program.h"

namespace jaxscope {

/// Equations that checkpoints have computed a second time, and what XLA made of them. Those that only a backward pass computes, under a
/// checkpoint too, aren't counted.
struct RecomputationInXla {
    std::int64_t asked = 0;
    std::int64_t kept = 0;     ///< computed a second time
    std::int64_t merged = 0;   ///< with the first computation: the backward pass reads its result
    std::int64_t removed = 0;  ///< neither computation is there by its name: simplified into something else
    double flops = 0, flops_kept = 0;
    friend bool operator==(const RecomputationInXla&, const RecomputationInXla&) = default;
};
/// Checkpoints' backward passes of one line that XLA treated alike.
struct CheckpointInXla {
    std::vector<std::string> equations;  ///< their paths
    std::vector<std::string> scopes;     ///< "Model/block_3", where a scope names them
    std::string file;
    int line = 0;
    RecomputationInXla recomputed;  ///< of each
};
/// One primitive of one line, in all checkpoints together.
struct LineInXla {
    std::string primitive, equation, file;  ///< the first equation
    int line = 0;
    RecomputationInXla recomputed;
};
/// An equation that XLA computes in several places: in each fusion that reads it, or in a loop that it took apart.
struct RepeatedInXla {
    std::string equation, primitive, file;
    int line = 0;
    std::int64_t times = 0;
};
/// Results of an equation that XLA has in memory; which of them are alive together isn't told.
struct StoredInXla {
    std::string equation, primitive, file, pass;  ///< "forward", "backward", "recomputed"; empty outside of a differentiation
    int line = 0;
    std::int64_t results = 0, bytes = 0;
};
struct EquationsInXla {
    std::string target;   ///< as in XlaFacts
    std::string unknown;  ///< why nothing is said
    std::vector<CheckpointInXla> checkpoints;
    std::vector<LineInXla> lines;         ///< most work first
    std::vector<RepeatedInXla> repeated;  ///< products and transcendental functions
    std::vector<StoredInXla> stored;      ///< the largest
    std::int64_t stored_left_out = 0;
};

/// One for each compiler that was asked when the program was captured and told of its operations.
std::vector<EquationsInXla> equations_in_xla(const Program& program);

}  // namespace jaxscope
