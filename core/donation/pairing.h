// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which donated input's memory which output takes. Comes in: a Program and what is donated. Goes out: JAX's and XLA's pairs, and why a
// donation is lost. Never here: whether our own plan could reuse the memory (core/jit says that).
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/program.h"

namespace jaxscope {

/// What became of one donated argument leaf.
struct DonatedLeaf {
    int input = 0;  ///< leaf number among the program's inputs
    std::string path, aval;
    std::int64_t bytes = 0;
    bool used = false;          ///< XLA's CPU compiler aliases it with an output
    std::optional<int> output;  ///< that output's number
    std::string output_path;
    bool at_lowering = false;  ///< paired by JAX (same shape and dtype); else by XLA among the remaining donors (same size)
    std::string reason;        ///< why it wasn't used, or how it was
};

/// Per output: the input whose buffer it takes.
using Aliases = std::vector<std::optional<int>>;

struct DonationReport {
    std::vector<DonatedLeaf> donated;    ///< one per donated leaf, pruned ones too
    std::optional<std::string> warning;  ///< JAX's text at lowering, or none
    std::int64_t saved_bytes = 0;        ///< of the leaves that are used
    std::vector<std::string> findings;   ///< what JAX keeps quiet about: silently lost ones, what else could be donated
    Aliases alias_of_output;
    std::vector<DonatedLeaf> kept_back;  ///< of donated arguments, but not donated: whoever asks for the report says so
};

/// Types of what one device has, where a program is spread over several: JAX pairs by them. Of what nobody says where it lies (`*_said`)
/// it sees the whole value's type, and leaves such results to XLA, which knows.
struct ShareTypes {
    Avals in, out;
    std::vector<bool> in_said, out_said;
};

/// Pairs donated inputs with outputs as JAX 0.10.2 and XLA's CPU compiler do: outputs in order, each takes the first free donated
/// input of its shape and dtype; then donors and outputs that are left, when some output has as many elements, by equal size,
/// larger ones first.
///
/// `donated`   per input leaf; empty: the program's own.
/// Source      mlir.py _set_up_aliases of JAX 0.10.2, XLA's OptimizeInputOutputBufferAlias (observed); behaviours B-04 to B-10.
/// `shares`    of one of several devices, whose bytes the report then speaks of; none: one device has everything.
DonationReport pair_donations(const Program& program, std::vector<bool> donated = {}, const std::optional<ShareTypes>& shares = {});

}  // namespace jaxscope
