// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

namespace jaxscope::exec {

/// A dimension of what is copied: strides in elements.
struct RelayLoop {
    std::int64_t size, from, to;
};

/// Copies an array into another order of its dimensions, by blocks that lie in few cache lines on both sides.
class Relay {
public:
    Relay() = default;
    /// `width`: bytes of an element. No two elements go to the same place.
    Relay(std::vector<RelayLoop> loops, std::int64_t width);
    void run(const void* from, void* to, int threads) const;

private:
    template <class Word>
    void run_as(const void* from, void* to, int threads) const;

    std::vector<RelayLoop> outer_;  ///< around a block of the two dimensions that lie closest, there and here
    RelayLoop there_{1, 1, 1}, here_{1, 1, 1};
    std::int64_t width_ = 1;
};

}  // namespace jaxscope::exec
