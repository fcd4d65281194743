// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/products/relay.h"

#include <algorithm>

#include "jit/kernels/threads/parallel.h"

namespace jaxscope::exec {

namespace {

constexpr std::int64_t kThere = 16, kHere = 8;  ///< of a block: powers of two as strides would fill one set of the cache

/// Elements are moved, never looked at.
struct TwoWords {
    std::uint64_t low, high;
};

template <class Word>
void copy_block(const Word* from, Word* to, const RelayLoop& there, const RelayLoop& here) {
    if (here.from == 1 && here.to == 1) {
        for (std::int64_t i = 0; i < there.size; ++i) std::copy_n(from + i * there.from, here.size, to + i * there.to);
        return;
    }
    for (std::int64_t j = 0; j < here.size; j += kHere) {
        const std::int64_t end = std::min(here.size, j + kHere);
        for (std::int64_t i = 0; i < there.size; ++i)
            for (std::int64_t k = j; k < end; ++k) to[i * there.to + k * here.to] = from[i * there.from + k * here.from];
    }
}

}  // namespace

Relay::Relay(std::vector<RelayLoop> loops, std::int64_t width) : width_(width) {
    std::erase_if(loops, [](const RelayLoop& l) { return l.size == 1; });
    std::sort(loops.begin(), loops.end(), [](const RelayLoop& a, const RelayLoop& b) { return a.to > b.to; });
    for (const RelayLoop& l : loops)
        if (!outer_.empty() && outer_.back().from == l.size * l.from && outer_.back().to == l.size * l.to)
            outer_.back() = {outer_.back().size * l.size, l.from, l.to};
        else
            outer_.push_back(l);
    if (outer_.empty()) return;
    here_ = outer_.back();
    outer_.pop_back();
    if (outer_.empty()) return;
    const auto nearest = here_.from == 1
                             ? outer_.end() - 1
                             : std::min_element(outer_.begin(), outer_.end(), [](const auto& a, const auto& b) { return a.from < b.from; });
    there_ = *nearest;
    outer_.erase(nearest);
}

template <class Word>
void Relay::run_as(const void* from, void* to, int threads) const {
    const std::int64_t blocks = (there_.size + kThere - 1) / kThere;
    std::int64_t tasks = blocks;
    for (const RelayLoop& l : outer_) tasks *= l.size;
    const std::int64_t elements = tasks * std::min(kThere, there_.size) * here_.size;
    parallel_for(threads, tasks, 2.0 * static_cast<double>(elements), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t task = begin; task < end; ++task) {
            const std::int64_t first = task % blocks * kThere;
            std::int64_t rest = task / blocks, at = first * there_.from, place = first * there_.to;
            for (std::size_t l = outer_.size(); l-- > 0; rest /= outer_[l].size) {
                const std::int64_t i = rest % outer_[l].size;
                at += i * outer_[l].from, place += i * outer_[l].to;
            }
            const RelayLoop rows{std::min(kThere, there_.size - first), there_.from, there_.to};
            copy_block(static_cast<const Word*>(from) + at, static_cast<Word*>(to) + place, rows, here_);
        }
    });
}

void Relay::run(const void* from, void* to, int threads) const {
    switch (width_) {
        case 1:
            return run_as<std::uint8_t>(from, to, threads);
        case 2:
            return run_as<std::uint16_t>(from, to, threads);
        case 4:
            return run_as<std::uint32_t>(from, to, threads);
        case 8:
            return run_as<std::uint64_t>(from, to, threads);
        default:
            return run_as<TwoWords>(from, to, threads);
    }
}

}  // namespace jaxscope::exec
