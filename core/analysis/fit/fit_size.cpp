// SPDX-License-Identifier: Apache-2.0
#include "analysis/fit/fit_size.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/cancel.h"
#include "base/progress.h"

namespace jaxscope {

namespace {

constexpr std::int64_t kFurthest = std::int64_t{1} << 16;  ///< times the size that the program has: what fits there fits at any size
constexpr int kRounds = 64;

/// What one policy is known to need, by size in multiples.
class Bracket {
public:
    Bracket(std::int64_t start, std::int64_t budget) : start_(start), budget_(budget) {}

    bool is_done() const {
        return failed_ || (low() && high_known() && *high() - *low() == 1) || (!low() && high() == 1) || out_of_sight();
    }
    bool out_of_sight() const { return low() && !high_known() && *low() >= start_ * kFurthest; }
    void fail(std::int64_t at, const std::string& why) {
        // A size that the program can't have is one that doesn't fit; where its own size can't be planned, nothing can.
        problem_ = why;
        if (at == start_ || at <= low().value_or(0)) failed_ = true;
        refused_ = std::min(refused_.value_or(at), at);
    }
    void learn(std::int64_t at, std::int64_t peak) { peaks_[at] = peak; }

    /// Sizes worth knowing next: around where the line through two known peaks meets the budget.
    std::vector<std::int64_t> wanted() const {
        if (is_done()) return {};
        if (peaks_.empty()) return {start_};
        if (!low()) return inside(1, *high());
        if (!high_known() && peaks_.size() == 1) return {2 * *low()};
        const std::int64_t from = *low(), to = high().value_or(start_ * kFurthest + 1);
        return inside(from, to);
    }
    std::optional<std::int64_t> low() const {
        return last([&](std::int64_t peak) { return peak <= budget_; });
    }
    /// The first one behind `low` that doesn't: peaks may fall for a step or two, where buffers happen to fit better.
    std::optional<std::int64_t> high() const {
        const std::int64_t fits = low().value_or(0);
        std::optional<std::int64_t> first = refused_;
        for (const auto& [n, peak] : peaks_)
            if (n > fits && peak > budget_ && (!first || n < *first)) first = n;
        return first;
    }
    std::optional<std::int64_t> peak(std::optional<std::int64_t> at) const {
        const auto found = at ? peaks_.find(*at) : peaks_.end();
        return found == peaks_.end() ? std::nullopt : std::optional(found->second);
    }
    bool failed() const { return failed_; }
    const std::string& problem() const { return problem_; }

private:
    template <class Fits>
    std::optional<std::int64_t> last(Fits fits) const {
        std::optional<std::int64_t> out;
        for (const auto& [n, peak] : peaks_)
            if (fits(peak) && (!refused_ || n < *refused_)) out = n;
        return out;
    }
    bool high_known() const { return high().has_value(); }
    std::vector<std::int64_t> inside(std::int64_t from, std::int64_t to) const {
        std::int64_t guess = from + (to - from) / 2;
        if (peaks_.size() >= 2 && ++interpolations_ % 3 != 0) {  // a line may be wrong: now and then the middle
            auto b = low() ? peaks_.find(*low()) : peaks_.begin();
            auto a = b == peaks_.begin() ? std::next(b) : std::prev(b);
            const double slope = static_cast<double>(b->second - a->second) / static_cast<double>(b->first - a->first);
            if (slope > 0) guess = b->first + static_cast<std::int64_t>(static_cast<double>(budget_ - b->second) / slope);
        }
        const std::int64_t least = low() ? from + 1 : from;
        guess = std::clamp(guess, least, std::max(to - 1, least));
        std::vector<std::int64_t> out;
        for (const std::int64_t n : {guess, guess + 1})
            if (n < to && !peaks_.contains(n)) out.push_back(n);
        if (out.empty() && !peaks_.contains(guess)) out.push_back(guess);
        return out;
    }

    std::int64_t start_, budget_;
    std::map<std::int64_t, std::int64_t> peaks_;
    std::optional<std::int64_t> refused_;
    mutable int interpolations_ = 0;
    bool failed_ = false;
    std::string problem_;
};

/// One row: which choice it is, and what is known of it.
struct SizeSearch {
    std::string policy;
    std::size_t choice = 0;  ///< in policy_choices
    std::optional<Placement> around;
    Bracket bracket;
};

class Sizes {
public:
    Sizes(const SizedProgram& program, const Choices& base, const std::vector<Choices>& given)
        : program_(program), base_(base), given_(given) {}

    std::int64_t peak(std::int64_t size, std::size_t choice) {
        const One& one = at(size);
        if (choice >= one.choices.size()) throw Error(ErrorCode::CannotRun, "for this size the program is another one");
        return Inspection(one.as_it_is.program_ptr(), one.choices[choice], &one.as_it_is).plan().planned_peak;
    }
    std::vector<PolicyRow> rows(std::int64_t size) {
        const One& one = at(size);
        return one.as_it_is.policy_rows(one.choices);
    }

private:
    struct One {
        Inspection as_it_is;
        std::vector<Choices> choices;
    };
    const One& at(std::int64_t size) {
        if (const auto found = known_.find(size); found != known_.end()) return found->second;
        Inspection inspection(program_.program(size), base_);
        std::vector<Choices> choices = inspection.policy_choices(given_);
        return known_.emplace(size, One{std::move(inspection), std::move(choices)}).first->second;
    }
    const SizedProgram& program_;
    const Choices& base_;
    const std::vector<Choices>& given_;
    std::map<std::int64_t, One> known_;
};

SizeRow row_of(const SizeSearch& s, const SizedProgram& program) {
    SizeRow row;
    row.policy = s.policy;
    row.around = s.around;
    row.problem = s.bracket.problem();
    if (s.bracket.failed()) return row;
    const auto size = [&](std::optional<std::int64_t> n) { return n ? std::optional(*n * program.multiple) : std::nullopt; };
    row.largest = size(s.bracket.low());
    row.planned_peak = s.bracket.peak(s.bracket.low());
    row.next = size(s.bracket.high());
    row.next_peak = s.bracket.peak(s.bracket.high());
    if (!row.largest && row.problem.empty()) row.problem = fmt::format("not even {} fits", program.multiple);
    if (row.next && !row.next_peak && row.largest)
        row.problem = fmt::format(
            "{} is not a size that the program can have, and counts as too large ({}): --multiple-of N tries only those that it can have",
            *row.next, row.problem);
    if (!row.next) row.problem = fmt::format("fits at every size that was tried, up to {}", row.largest.value_or(0));
    return row;
}

}  // namespace

SizeFit fit_sizes(const SizedProgram& program, const Choices& base, const std::vector<Choices>& given, std::int64_t budget) {
    SizeFit out{budget, program.captured, program.multiple, {}, 0};
    Sizes sizes(program, base, given);
    const std::int64_t start = std::max<std::int64_t>(program.captured / program.multiple, 1);
    std::vector<SizeSearch> rows;
    const std::vector<PolicyRow> names = sizes.rows(start * program.multiple);
    for (std::size_t k = 0; k < names.size(); ++k) rows.push_back({names[k].policy, k, names[k].around, Bracket(start, budget)});
    for (int round = 0; round < kRounds; ++round) {
        std::vector<std::pair<std::size_t, std::int64_t>> wanted;
        std::vector<std::int64_t> missing;
        for (std::size_t k = 0; k < rows.size(); ++k)
            for (const std::int64_t n : rows[k].bracket.wanted()) {
                wanted.emplace_back(k, n);
                missing.push_back(n * program.multiple);
            }
        if (wanted.empty()) break;
        program.prepare(missing);
        Progress progress(fmt::format("round {}", round + 1), static_cast<std::int64_t>(wanted.size()));
        for (const auto& [k, n] : wanted) {
            check_cancelled();
            progress.begin(fmt::format("{} under {}", n * program.multiple, rows[k].policy));
            ++out.tried;
            try {
                rows[k].bracket.learn(n, sizes.peak(n * program.multiple, rows[k].choice));
            } catch (const Error& e) {
                if (e.code == ErrorCode::Cancelled) throw;
                rows[k].bracket.fail(n, e.fact());
            }
        }
    }
    for (const SizeSearch& s : rows) out.rows.push_back(row_of(s, program));
    return out;
}

}  // namespace jaxscope
