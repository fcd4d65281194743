// SPDX-License-Identifier: Apache-2.0
#include "pytree/line_difference.h"

#include <algorithm>
#include <map>
#include <vector>

namespace jaxscope::jax::detail {

namespace {

/// A stretch that both lines have: where it begins in each, how long it is.
struct Match {
    std::size_t a, b, size;
};
bool is_blank(char c) { return c == ' ' || c == '\t'; }

/// Matching stretches by Ratcliff and Obershelp: the longest one first, then to its left and right. Blanks begin none.
class Matcher {
public:
    Matcher(const std::string& a, const std::string& b) : a_(a), b_(b) {
        for (std::size_t j = 0; j < b.size(); ++j)
            if (!is_blank(b[j])) places_[b[j]].push_back(j);
        find(0, a.size(), 0, b.size());
    }
    const std::vector<Match>& matches() const { return found_; }
    double ratio() const {
        std::size_t same = 0;
        for (const Match& m : found_) same += m.size;
        return 2.0 * static_cast<double>(same) / static_cast<double>(std::max<std::size_t>(1, a_.size() + b_.size()));
    }

private:
    Match longest(std::size_t a0, std::size_t a1, std::size_t b0, std::size_t b1) const {
        Match best{a0, b0, 0};
        std::map<std::size_t, std::size_t> length;  // of the stretch that ends at each place of b
        for (std::size_t i = a0; i < a1; ++i) {
            std::map<std::size_t, std::size_t> next;
            if (const auto p = places_.find(a_[i]); p != places_.end())
                for (const std::size_t j : p->second) {
                    if (j < b0 || j >= b1) continue;
                    const auto before = j > 0 ? length.find(j - 1) : length.end();
                    const std::size_t k = next[j] = (before == length.end() ? 0 : before->second) + 1;
                    if (k > best.size) best = {i + 1 - k, j + 1 - k, k};
                }
            length = std::move(next);
        }
        for (const bool blanks : {false, true}) {
            while (best.a > a0 && best.b > b0 && is_blank(b_[best.b - 1]) == blanks && a_[best.a - 1] == b_[best.b - 1])
                --best.a, --best.b, ++best.size;
            while (best.a + best.size < a1 && best.b + best.size < b1 && is_blank(b_[best.b + best.size]) == blanks &&
                   a_[best.a + best.size] == b_[best.b + best.size])
                ++best.size;
        }
        return best;
    }
    void find(std::size_t a0, std::size_t a1, std::size_t b0, std::size_t b1) {
        const Match m = longest(a0, a1, b0, b1);
        if (m.size == 0) return;
        find(a0, m.a, b0, m.b);
        found_.push_back(m);
        find(m.a + m.size, a1, m.b + m.size, b1);
    }
    const std::string &a_, &b_;
    std::map<char, std::vector<std::size_t>> places_;
    std::vector<Match> found_;
};

std::string marks(const std::string& line, std::string tags) {
    for (std::size_t i = 0; i < tags.size() && i < line.size(); ++i)
        if (tags[i] == ' ' && is_blank(line[i])) tags[i] = line[i];
    while (!tags.empty() && is_blank(tags.back())) tags.pop_back();
    return tags.empty() ? "" : "\n? " + tags + "\n";
}

}  // namespace

std::string line_difference(const std::string& a, const std::string& b) {
    const Matcher m(a, b);
    if (m.ratio() < 0.75) return "- " + a + "\n+ " + b;
    std::string in_a, in_b;
    std::size_t i = 0, j = 0;
    const auto between = [&](std::size_t to_a, std::size_t to_b) {
        const bool replaced = to_a > i && to_b > j;
        in_a += std::string(to_a - i, replaced ? '^' : '-');
        in_b += std::string(to_b - j, replaced ? '^' : '+');
    };
    for (const Match& s : m.matches()) {
        between(s.a, s.b);
        in_a += std::string(s.size, ' ');
        in_b += std::string(s.size, ' ');
        i = s.a + s.size, j = s.b + s.size;
    }
    between(a.size(), b.size());
    return "- " + a + marks(a, in_a) + "\n+ " + b + marks(b, in_b);
}

}  // namespace jaxscope::jax::detail
