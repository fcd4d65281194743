// SPDX-License-Identifier: Apache-2.0
#include "trace/numpy/einsum_path.h"

#include <fmt/core.h>

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <limits>
#include <map>
#include <tuple>

#include "base/cancel.h"
#include "base/error.h"

namespace jaxscope::jax::detail {

namespace {

using Names = std::bitset<128>;
constexpr std::size_t kMostOperands = 14;
using Pair = std::pair<std::size_t, std::size_t>;

Names names_of(const std::string& text) {
    Names out;
    for (const char c : text) out.set(static_cast<unsigned char>(c) & 127U);
    return out;
}

/// Small numbers in the order in which CPython's set gives them: which of several orders that cost the same is found first hangs on it.
class NumberSet {
public:
    static NumberSet up_to(std::size_t n) {
        NumberSet s;
        for (std::size_t k = 0; k < n; ++k) s.add(k);
        return s;
    }
    std::vector<std::size_t> in_order() const {
        std::vector<std::size_t> out;
        for (const std::size_t k : table_)
            if (k != kFree) out.push_back(k);
        return out;
    }
    /// `self - {a, b} | {with}`
    NumberSet replaced(std::size_t a, std::size_t b, std::size_t with) const {
        NumberSet rest;
        for (const std::size_t k : in_order())
            if (k != a && k != b) rest.add(k);
        NumberSet copy;
        copy.make_room(rest.used_);
        if (copy.table_.size() == rest.table_.size())
            copy = rest;
        else
            for (const std::size_t k : rest.in_order()) copy.put(k);
        copy.make_room(1);
        copy.add(with);
        return copy;
    }

private:
    static constexpr std::size_t kFree = SIZE_MAX, kNeighbours = 9;
    bool crowded(std::size_t more) const { return (used_ + more) * 5 >= (table_.size() - 1) * 3; }
    void make_room(std::size_t more) {
        if (crowded(more)) resize((used_ + more) * 2);
    }
    void resize(std::size_t above) {
        const std::vector<std::size_t> all = in_order();
        std::size_t size = 8;
        while (size <= above) size *= 2;
        table_.assign(size, kFree);
        used_ = 0;
        for (const std::size_t k : all) put(k);
    }
    void add(std::size_t k) {
        put(k);
        if (crowded(0)) resize(used_ * 4);
    }
    void put(std::size_t k) {
        const std::size_t mask = table_.size() - 1;
        std::size_t hash = k, at = k & mask;
        while (true) {
            const std::size_t last = at + kNeighbours <= mask ? at + kNeighbours : at;
            for (std::size_t i = at; i <= last; ++i) {
                if (table_[i] != kFree) continue;
                table_[i] = k;
                ++used_;
                return;
            }
            hash >>= 5U;
            at = (at * 5 + 1 + hash) & mask;
        }
    }
    std::vector<std::size_t> table_ = std::vector<std::size_t>(8, kFree);
    std::size_t used_ = 0;
};

using Flops = long double;  ///< whole numbers, which it holds up to 2^64
constexpr Flops kNone = std::numeric_limits<Flops>::infinity();

/// Goes through orders depth first, leaving those that are no better than the best one so far. Results are numbered on behind the operands.
class Search {
public:
    Search(const std::vector<std::string>& in, const std::string& out, const SizesOfNames& sizes) : out_(names_of(out)), sizes_(sizes) {
        for (const std::string& n : in) terms_.push_back(names_of(n));
        const NumberSet all = NumberSet::up_to(in.size());
        if (in.size() < 5) {
            all_orders(all, 0);
            return;
        }
        branches_ = in.size() < 7 ? SIZE_MAX : in.size() < 9 ? 2 : 1;
        progress_.assign(2 * in.size(), kNone);
        likely_orders(all, 0, 0);
    }
    const std::vector<Pair>& best() const { return best_; }

private:
    struct Cost {
        Names result;
        Flops flops = 0;
    };
    /// A pair that may come next, in the order in which they are tried: those that free most memory first.
    struct Candidate {
        Flops grown, step, flops, size;
        Pair pair;
        Names result;
        bool operator<(const Candidate& o) const {
            return std::tie(grown, step, flops, size, pair) < std::tie(o.grown, o.step, o.flops, o.size, o.pair);
        }
    };
    Flops size_of(const Names& names) const {
        Flops size = 1;
        for (std::size_t c = 0; c < names.size(); ++c)
            if (names[c]) size *= static_cast<Flops>(sizes_[c]);
        return size;
    }
    /// The first one that a pair of terms had is kept for all pairs of these names, as there.
    Cost cost(const std::vector<std::size_t>& left, const Pair& p) {
        const Names &x = terms_[p.first], &y = terms_[p.second];
        const auto [at, fresh] = known_.try_emplace(x.to_string() + y.to_string());
        if (!fresh) return at->second;
        Names kept = out_;
        for (const std::size_t k : left)
            if (k != p.first && k != p.second) kept |= terms_[k];
        return at->second = {(x | y) & kept, size_of(x | y) * ((x & y & ~kept).any() ? 2 : 1)};
    }
    template <class F>
    void each_pair(const std::vector<std::size_t>& left, F f) {
        for (std::size_t a = 0; a < left.size(); ++a)
            for (std::size_t b = a + 1; b < left.size(); ++b) f(Pair(std::min(left[a], left[b]), std::max(left[a], left[b])));
    }
    template <class F>
    void step(const Pair& p, const Names& result, F deeper) {
        terms_.push_back(result);
        path_.push_back(p);
        deeper(terms_.size() - 1);
        path_.pop_back();
        terms_.pop_back();
    }
    void all_orders(const NumberSet& remaining, Flops flops) {
        const std::vector<std::size_t> left = remaining.in_order();
        if (left.size() == 1) return found(flops, 0);
        each_pair(left, [&](const Pair& p) {
            const Cost c = cost(left, p);
            if (flops + c.flops >= least_) return;
            step(p, c.result, [&](std::size_t number) { all_orders(remaining.replaced(p.first, p.second, number), flops + c.flops); });
        });
    }
    void found(Flops flops, Flops size) {
        least_ = flops, least_size_ = size;
        best_ = path_;
    }
    void consider(const std::vector<std::size_t>& left, const Pair& p, Flops flops, Flops size, std::vector<Candidate>& out) {
        const Cost c = cost(left, p);
        const Flops result = size_of(c.result), all = flops + c.flops, largest = std::max(size, result);
        if (std::tie(all, largest) >= std::tie(least_, least_size_)) return;
        Flops& progress = progress_[terms_.size()];
        if (all > 4 * progress) return;
        progress = std::min(progress, all);
        out.push_back({result - size_of(terms_[p.first]) - size_of(terms_[p.second]), c.flops, all, largest, p, c.result});
    }
    void likely_orders(const NumberSet& remaining, Flops flops, Flops size) {
        check_cancelled();
        const std::vector<std::size_t> left = remaining.in_order();
        if (left.size() == 1) return found(flops, size);
        std::vector<Candidate> next;
        each_pair(left, [&](const Pair& p) {
            if ((terms_[p.first] & terms_[p.second]).any()) consider(left, p, flops, size, next);
        });
        if (next.empty()) each_pair(left, [&](const Pair& p) { consider(left, p, flops, size, next); });
        std::sort(next.begin(), next.end());
        for (std::size_t k = 0; k < std::min(branches_, next.size()); ++k) {
            const Candidate& c = next[k];
            step(c.pair, c.result,
                 [&](std::size_t number) { likely_orders(remaining.replaced(c.pair.first, c.pair.second, number), c.flops, c.size); });
        }
    }

    Names out_;
    const SizesOfNames& sizes_;
    std::size_t branches_ = 0;
    std::vector<Names> terms_;
    std::vector<Pair> path_, best_;
    Flops least_ = kNone, least_size_ = kNone;
    std::vector<Flops> progress_;  ///< the least that any order took until there are as many terms
    std::map<std::string, Cost> known_;
};

/// Names that the result of a step keeps, in the order of its operands: the later one, then the other.
std::string kept_names(const std::vector<std::string>& terms, const EinsumStep& s, const std::string& out) {
    std::string wanted = out, kept;
    for (std::size_t k = 0; k < terms.size(); ++k)
        if (k != s.x && k != s.y) wanted += terms[k];
    for (const char c : terms[s.y] + terms[s.x])
        if (wanted.find(c) != std::string::npos && kept.find(c) == std::string::npos) kept += c;
    return kept;
}

}  // namespace

std::vector<EinsumStep> einsum_path(std::vector<std::string> in, const std::string& out, const SizesOfNames& sizes) {
    if (in.size() > kMostOperands)
        throw Error(ErrorCode::NoRule,
                    fmt::format("einsum contracts at most {} operands, found {}: contract them in parts", kMostOperands, in.size()));
    const Search search(in, out, sizes);
    std::vector<std::size_t> numbers;
    for (std::size_t k = 0; k < in.size(); ++k) numbers.push_back(k);
    std::size_t next = in.size();
    std::vector<EinsumStep> steps;
    for (const auto& [i, j] : search.best()) {
        const auto at = [&](std::size_t n) {
            return static_cast<std::size_t>(std::find(numbers.begin(), numbers.end(), n) - numbers.begin());
        };
        EinsumStep s{std::min(at(i), at(j)), std::max(at(i), at(j)), {}};
        s.out = in.size() == 2 ? out : kept_names(in, s, out);
        for (const std::size_t gone : {s.y, s.x}) {
            in.erase(in.begin() + static_cast<std::ptrdiff_t>(gone));
            numbers.erase(numbers.begin() + static_cast<std::ptrdiff_t>(gone));
        }
        in.push_back(s.out);
        numbers.push_back(next++);
        steps.push_back(std::move(s));
    }
    return steps;
}

}  // namespace jaxscope::jax::detail
