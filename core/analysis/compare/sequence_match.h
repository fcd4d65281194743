// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace jaxscope {

/// Pairs of equal items, both sides ascending: a common subsequence of two sequences, the longest where they differ in at most
/// `kMostDifferences` places (Myers' algorithm), else the longest run of "the n-th of its kind here is the n-th of its kind there".
std::vector<std::pair<std::uint32_t, std::uint32_t>> match_sequences(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b);
constexpr std::size_t kMostDifferences = 3000;

}  // namespace jaxscope
