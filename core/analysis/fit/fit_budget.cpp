// SPDX-License-Identifier: Apache-2.0
#include "analysis/fit/fit_budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "analysis/stages/subject.h"
#include "base/cancel.h"
#include "base/progress.h"
#include "transforms/policies.h"

namespace jaxscope {

namespace {

using Clock = std::chrono::steady_clock;
using Subset = std::vector<bool>;

constexpr std::size_t kMostCandidates = 20;

FitFigures figures_of(const Inspection& i) {
    const SplitReport& split = i.split();
    return {i.plan().planned_peak, i.residuals().total_bytes, split.recomputed_flops, split.total_flops};
}

/// Less recomputed is better, then less memory; what doesn't fit is worse than all that does.
constexpr double kTrifle = 0.002;  // of all work, or of the peak

bool is_better(const FitFigures& a, const FitFigures& b, std::int64_t budget) {
    if (a.fits(budget) != b.fits(budget)) return a.fits(budget);
    if (!a.fits(budget)) return a.planned_peak < b.planned_peak;
    return std::pair(a.recomputed_flops, a.planned_peak) < std::pair(b.recomputed_flops, b.planned_peak);
}

/// The program with another function in the place of the one that is differentiated, wherever it is the same jaxpr.
ProgramPtr with_function(const Program& program, const std::optional<int>& region, const JaxprPtr& before, const JaxprPtr& function) {
    auto p = std::make_shared<Program>(program);
    if (!region) {
        p->jaxpr = function;
        return p;
    }
    for (Region& r : p->regions)
        if (r.jaxpr == before) r.jaxpr = function;
    return p;
}

PolicyPtr policy_of(const std::vector<SaveCandidate>& candidates, const Subset& saved) {
    Attrs names;
    for (std::size_t k = 0; k < saved.size(); ++k)
        if (saved[k]) names.emplace_back(Sym(candidates[k].name));
    return names.empty() ? make_policy("nothing_saveable") : make_policy(Sym("save_only_these_names"), std::move(names));
}

/// One way to lay checkpoints, and what its subsets cost.
class Search {
public:
    Search(const Inspection& inspection, const Subject& subject, const Placement& placement, std::int64_t budget)
        : named_(name_candidates(placement.jaxpr, kMostCandidates)),
          choices_(inspection.choices()),
          base_(with_function(inspection.program(), subject.region, subject.jaxpr, named_.jaxpr), choices_),
          budget_(budget) {}
    std::size_t size() const { return named_.candidates.size(); }
    const std::vector<SaveCandidate>& candidates() const { return named_.candidates; }
    std::int64_t tried() const { return static_cast<std::int64_t>(known_.size()); }
    double equations() const { return equations_; }

    const FitFigures& evaluate(const Subset& saved) {
        check_cancelled();
        if (const auto it = known_.find(saved); it != known_.end()) return it->second;
        progress_.begin(fmt::format("{} sets of values tried", known_.size()));
        Choices c = choices_;
        c.replace_policy = {{"", policy_of(named_.candidates, saved)}};
        const Inspection one(base_.program_ptr(), std::move(c), &base_);
        equations_ += static_cast<double>(count_equations(*one.step().jaxpr));
        return known_.emplace(saved, figures_of(one)).first->second;
    }

    /// True: every subset was tried.
    bool run(const SearchLimit& limit) {
        const auto begin = Clock::now();
        // The share that is spent of whatever is left less of.
        const auto spent = [&] {
            const double time = std::chrono::duration<double>(Clock::now() - begin).count() / limit.seconds;
            out_of_time_ = time >= 1 && time > equations_ / limit.equations;
            return std::max(time, equations_ / limit.equations);
        };
        best_ = Subset(size(), false);
        evaluate(best_);
        const double each = std::max(spent(), 1e-4 / limit.seconds);
        const bool all = size() <= 12 && each * static_cast<double>(1U << size()) < 1;
        const auto go = [&] { return spent() < 1; };
        if (all) {
            everything();
        } else {
            consider(Subset(size(), true));
            most_for_a_byte(go);
            greedy(go);
            exchange(go);
        }
        drop_trifles();
        return all;
    }
    const Subset& best() const { return best_; }
    bool out_of_time() const { return out_of_time_; }

private:
    void consider(const Subset& saved) {
        if (is_better(evaluate(saved), evaluate(best_), budget_)) best_ = saved;
    }
    void everything() {
        for (std::uint32_t bits = 1; bits < (1U << size()); ++bits) {
            Subset s(size());
            for (std::size_t k = 0; k < size(); ++k) s[k] = (bits >> k & 1U) != 0;
            consider(s);
        }
    }
    /// As many as fit of those that spare most work for a byte, which stand first: what policies for products come to, too.
    template <class Go>
    void most_for_a_byte(Go go) {
        std::size_t fits = 0, too_many = size();
        while (too_many - fits > 1 && go()) {
            const std::size_t n = fits + (too_many - fits) / 2;
            Subset first(size(), false);
            std::fill_n(first.begin(), n, true);
            consider(first);
            (evaluate(first).fits(budget_) ? fits : too_many) = n;
        }
    }
    /// From the best so far: each time what spares most work for the memory that it costs.
    template <class Go>
    void greedy(Go go) {
        Subset now = best_;
        while (go()) {
            std::optional<Subset> next;
            double most = 0;
            for (std::size_t k = 0; k < size() && go(); ++k) {
                if (now[k]) continue;
                Subset s = now;
                s[k] = true;
                const FitFigures &a = evaluate(now), &b = evaluate(s);
                if (!b.fits(budget_) && a.fits(budget_)) continue;
                const double spared = a.recomputed_flops - b.recomputed_flops;
                const double gain = spared / static_cast<double>(std::max<std::int64_t>(b.planned_peak - a.planned_peak, 1));
                if (spared > 0 && (!next || gain > most)) {
                    next = s;
                    most = gain;
                }
            }
            if (!next) break;
            now = *next;
            consider(now);
        }
    }
    /// One more, one less, or one for another, as long as that is better.
    template <class Go>
    void exchange(Go go) {
        for (bool changed = true; changed && go();) {
            const Subset before = best_;
            for (std::size_t k = 0; k < size() && go(); ++k) {
                Subset s = before;
                s[k] = !s[k];
                consider(s);
                for (std::size_t m = 0; m < size() && go(); ++m) {
                    if (before[m] == before[k] || m < k) continue;
                    Subset t = s;
                    t[m] = !t[m];
                    consider(t);
                }
            }
            changed = best_ != before;
        }
    }

    /// Is the choice `without` a name next to as good? Where nothing fits, by memory.
    bool is_trifle(const FitFigures& without, const FitFigures& now) const {
        if (!now.fits(budget_))
            return static_cast<double>(without.planned_peak - now.planned_peak) <= kTrifle * static_cast<double>(now.planned_peak);
        return without.fits(budget_) && without.recomputed_flops - now.recomputed_flops <= kTrifle * without.total_flops;
    }
    /// A name is a line to write: those that spare next to nothing are left out, the smallest gain first.
    void drop_trifles() {
        for (;;) {
            std::optional<Subset> without;
            for (std::size_t k = 0; k < size(); ++k) {
                if (!best_[k]) continue;
                Subset s = best_;
                s[k] = false;
                const FitFigures& f = evaluate(s);
                if (!is_trifle(f, evaluate(best_))) continue;
                if (!without || is_better(f, evaluate(*without), budget_)) without = s;
            }
            if (!without) return;
            best_ = *without;
        }
    }

    NamedFunction named_;
    Choices choices_;
    Progress progress_{"budget"};
    Inspection base_;
    std::int64_t budget_;
    std::map<Subset, FitFigures> known_;
    double equations_ = 0;  ///< of the programs that were derived
    bool out_of_time_ = false;
    Subset best_;
};

}  // namespace

BudgetFit fit_budget(const Inspection& inspection, std::int64_t budget, const SearchLimit& limit) {
    BudgetFit out;
    out.budget = budget;
    Choices plain = inspection.choices();
    plain.as_step = true;
    plain.clear_policies();
    const Inspection as_it_is(inspection.program_ptr(), plain, &inspection);
    out.before = out.found = figures_of(as_it_is);
    out.of = as_it_is.step().of;
    out.tried = 1;
    const double trifle = kTrifle * out.before.total_flops;
    out.fits = out.as_it_is = out.before.fits(budget);
    if (out.as_it_is && out.before.recomputed_flops <= trifle) return out;  // else there may be a choice that recomputes less and fits, too
    const Subject subject = make_subject(inspection.program(), plain);
    const std::vector<Placement> ways = placements(subject.jaxpr);
    for (const Placement& way : ways) {
        try {
            Search search(as_it_is, subject, way, budget);
            const bool all = search.run(limit.over(ways.size()));
            const FitFigures found = search.evaluate(search.best());
            out.tried += search.tried();
            out.equations += search.equations();
            out.out_of_time = out.out_of_time || search.out_of_time();
            if (!is_better(found, out.found, budget)) continue;
            if (out.as_it_is && out.before.recomputed_flops - found.recomputed_flops <= trifle) continue;
            out.found = found;
            out.exhaustive = all;
            out.placement = way;
            out.placement->jaxpr = nullptr;
            out.policy = policy_text(*policy_of(search.candidates(), search.best()));
            out.saved.clear();
            for (std::size_t k = 0; k < search.size(); ++k)
                if (search.best()[k]) out.saved.push_back(search.candidates()[k]);
        } catch (const Error& e) {
            if (e.code == ErrorCode::Cancelled) throw;
            out.problems.emplace_back(e.fact());
        }
    }
    out.fits = out.found.fits(budget);
    return out;
}

std::vector<Choices> places_for_policies(const Program& program, const Choices& choices) {
    std::vector<Choices> out;
    std::set<std::pair<std::string, std::string>> seen;  // one line's differentiations get a policy together
    for (Choices& c : each_region(program, choices)) {
        const std::optional<int> number = chosen_region(program, c);
        if (number) {
            const Region& r = program.regions[static_cast<std::size_t>(*number)];
            const std::string place = r.source->summary().str();
            if (!place.empty() && !seen.emplace(r.name.str(), place).second) continue;
        }
        out.push_back(std::move(c));
    }
    return out;
}

BudgetFit fit_budget_anywhere(const Inspection& inspection, std::int64_t budget, const SearchLimit& limit) {
    const std::vector<Choices> places = places_for_policies(inspection.program(), inspection.choices());
    const SearchLimit each = limit.over(places.size());
    BudgetFit best = fit_budget(inspection, budget, each);
    if (places.size() == 1) return best;
    if (best.placement) best.region = inspection.region();
    if (best.as_it_is) return best;
    for (std::size_t k = 1; k < places.size(); ++k) {
        const std::int64_t tried = best.tried;
        const bool out_of_time = best.out_of_time;
        std::vector<std::string> problems = std::move(best.problems);
        try {
            BudgetFit other = fit_budget(Inspection(inspection.program_ptr(), places[k], &inspection), budget, each);
            problems.insert(problems.end(), other.problems.begin(), other.problems.end());
            const bool late = out_of_time || other.out_of_time;
            if (other.placement && (!best.placement || is_better(other.found, best.found, budget))) {
                const std::int64_t others = other.tried;
                best = std::move(other);
                best.region = places[k].region;
                best.tried = tried + others;
            } else {
                best.tried = tried + other.tried;
            }
            best.out_of_time = late;
        } catch (const Error& e) {
            if (e.code == ErrorCode::Cancelled) throw;
            problems.emplace_back(e.fact());
        }
        best.problems = std::move(problems);
    }
    best.exhaustive = false;  // checkpoints in several differentiations at once aren't tried
    return best;
}

}  // namespace jaxscope
