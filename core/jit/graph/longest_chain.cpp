// SPDX-License-Identifier: Apache-2.0
#include "jit/graph/longest_chain.h"

#include <algorithm>

namespace jaxscope::exec {

namespace {

/// Calls fn with each node that makes an operand of node `i`.
template <class Fn>
void for_each_maker(const Graph& g, std::uint32_t i, const Fn& fn) {
    for (const ValueId v : g.nodes[i].in)
        if (g.values[v].kind == GraphValue::Kind::Result) fn(g.values[v].index);
}

}  // namespace

LongestChain::LongestChain(const Graph& g) : behind_(g.nodes.size()), before_(g.nodes.size(), 0) {
    const auto count = static_cast<std::uint32_t>(g.nodes.size());
    constexpr std::uint32_t kNobody = ~0u;
    std::vector<std::uint32_t> length(count, 1), from(count, kNobody), chain;
    for (std::uint32_t i = 0; i < count; ++i)
        for_each_maker(g, i, [&](std::uint32_t p) {
            if (length[p] + 1 > length[i]) length[i] = length[p] + 1, from[i] = p;
        });
    if (count > 0)
        for (auto i = static_cast<std::uint32_t>(std::max_element(length.begin(), length.end()) - length.begin()); i != kNobody;
             i = from[i])
            chain.push_back(i);
    std::reverse(chain.begin(), chain.end());
    std::fill(behind_.begin(), behind_.end(), static_cast<std::uint32_t>(chain.size()));
    for (std::uint32_t k = 0; k < chain.size(); ++k) behind_[chain[k]] = k, before_[chain[k]] = k + 1;
    for (std::uint32_t i = 0; i < count; ++i) for_each_maker(g, i, [&](std::uint32_t p) { before_[i] = std::max(before_[i], before_[p]); });
    for (std::uint32_t i = count; i-- > 0;) for_each_maker(g, i, [&](std::uint32_t p) { behind_[p] = std::min(behind_[p], behind_[i]); });
}

}  // namespace jaxscope::exec
