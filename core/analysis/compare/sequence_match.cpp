// SPDX-License-Identifier: Apache-2.0
#include "analysis/compare/sequence_match.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "base/cancel.h"

namespace jaxscope {

namespace {

using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
using Items = std::span<const std::uint64_t>;

/// Myers, "An O(ND) difference algorithm" (1986): for each number of differences how far each diagonal (x - y) gets.
class ShortestEdit {
public:
    ShortestEdit(Items a, Items b, std::int64_t most) : a_(a), b_(b), most_(most), far_(static_cast<std::size_t>(2 * most + 3), 0) {}
    std::optional<Pairs> find() {
        for (std::int64_t d = 0; d <= most_; ++d) {
            check_cancelled();
            const bool arrived = reach(d);
            rows_.emplace_back(&at(-d), &at(d) + 1);
            if (arrived) return walk_back(d);
        }
        return {};
    }

private:
    std::int32_t& at(std::int64_t diagonal) { return far_[static_cast<std::size_t>(diagonal + most_ + 1)]; }
    bool reach(std::int64_t d) {
        const auto n = static_cast<std::int64_t>(a_.size()), m = static_cast<std::int64_t>(b_.size());
        for (std::int64_t k = -d; k <= d; k += 2) {
            std::int64_t x = k == -d || (k != d && at(k - 1) < at(k + 1)) ? at(k + 1) : at(k - 1) + 1;
            std::int64_t y = x - k;
            while (x < n && y < m && a_[static_cast<std::size_t>(x)] == b_[static_cast<std::size_t>(y)]) ++x, ++y;
            at(k) = static_cast<std::int32_t>(x);
            if (x >= n && y >= m) return true;
        }
        return false;
    }
    Pairs walk_back(std::int64_t d) const {
        Pairs pairs;
        auto x = static_cast<std::int64_t>(a_.size()), y = static_cast<std::int64_t>(b_.size());
        const auto equal_run = [&](std::int64_t to_x) {
            for (; x > to_x; --x, --y) pairs.emplace_back(static_cast<std::uint32_t>(x - 1), static_cast<std::uint32_t>(y - 1));
        };
        for (; d > 0; --d) {
            const auto& before = rows_[static_cast<std::size_t>(d - 1)];
            const auto far = [&](std::int64_t k) { return std::int64_t{before[static_cast<std::size_t>(k + d - 1)]}; };
            const std::int64_t k = x - y;
            // The row of d-1 knows the diagonals -(d-1), -(d-3), ...; those between are what d-2 left there.
            const bool down = k == -d || (k != d && k + 1 <= d - 1 && (k - 1 < -(d - 1) || far(k - 1) < far(k + 1)));
            const std::int64_t from = down ? k + 1 : k - 1;
            const std::int64_t from_x = far(from);
            equal_run(down ? from_x : from_x + 1);
            x = from_x;
            y = from_x - from;
        }
        equal_run(0);
        std::reverse(pairs.begin(), pairs.end());
        return pairs;
    }

    Items a_, b_;
    std::int64_t most_;
    std::vector<std::int32_t> far_;
    std::vector<std::vector<std::int32_t>> rows_;
};

/// The n-th of its kind with the n-th of its kind, as far as these keep their order: a longest increasing subsequence.
Pairs nth_of_its_kind(Items a, Items b) {
    std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> places;
    for (std::size_t j = b.size(); j-- > 0;) places[b[j]].push_back(static_cast<std::uint32_t>(j));
    Pairs candidates;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const auto it = places.find(a[i]);
        if (it == places.end() || it->second.empty()) continue;
        candidates.emplace_back(static_cast<std::uint32_t>(i), it->second.back());
        it->second.pop_back();
    }
    std::vector<std::size_t> tails, before(candidates.size(), SIZE_MAX);  // of the runs of each length the one that ends lowest
    for (std::size_t c = 0; c < candidates.size(); ++c) {
        const auto it = std::lower_bound(tails.begin(), tails.end(), candidates[c].second,
                                         [&](std::size_t t, std::uint32_t value) { return candidates[t].second < value; });
        if (it != tails.begin()) before[c] = *(it - 1);
        if (it == tails.end())
            tails.push_back(c);
        else
            *it = c;
    }
    Pairs pairs;
    for (std::size_t c = tails.empty() ? SIZE_MAX : tails.back(); c != SIZE_MAX; c = before[c]) pairs.push_back(candidates[c]);
    std::reverse(pairs.begin(), pairs.end());
    return pairs;
}

}  // namespace

Pairs match_sequences(Items a, Items b) {
    std::size_t front = 0, back = 0;
    while (front < a.size() && front < b.size() && a[front] == b[front]) ++front;
    while (front + back < a.size() && front + back < b.size() && a[a.size() - 1 - back] == b[b.size() - 1 - back]) ++back;
    Pairs pairs;
    for (std::size_t i = 0; i < front; ++i) pairs.emplace_back(static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i));
    const Items mid_a = a.subspan(front, a.size() - front - back), mid_b = b.subspan(front, b.size() - front - back);
    std::optional<Pairs> middle;
    if (!mid_a.empty() && !mid_b.empty())
        middle = ShortestEdit(mid_a, mid_b, static_cast<std::int64_t>(std::min(kMostDifferences, mid_a.size() + mid_b.size()))).find();
    if (!middle) middle = nth_of_its_kind(mid_a, mid_b);
    for (const auto& [i, j] : *middle) pairs.emplace_back(static_cast<std::uint32_t>(i + front), static_cast<std::uint32_t>(j + front));
    for (std::size_t i = back; i-- > 0;)
        pairs.emplace_back(static_cast<std::uint32_t>(a.size() - 1 - i), static_cast<std::uint32_t>(b.size() - 1 - i));
    return pairs;
}

}  // namespace jaxscope
