// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "jit/graph/graph.h"

namespace jaxscope::exec {

/// Per input: does a square root, logarithm or power read it, through sums, products and copies of it alone? Then numbers that are made up
/// for it are to be positive, as the second moments of Adam are: else the run computes with NaNs, whose time is another.
std::vector<bool> read_as_positive(const Graph& g);

/// What `synthesise` makes (jit.h), or of floats the magnitudes.
ArrayPtr made_up(AvalRef aval, std::uint64_t seed, bool positive);

}  // namespace jaxscope::exec
