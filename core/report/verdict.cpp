// SPDX-License-Identifier: Apache-2.0
#include "report/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "analysis/fit/fit_budget.h"
#include "base/units.h"
#include "picture/scope_tree.h"
#include "report/explain_text.h"
#include "report/fit/fit_report.h"

namespace jaxscope {

namespace {

constexpr double kWorthwhile = 0.1;  // of the peak
constexpr double kSearchSeconds = 2;

double share(std::int64_t part, std::int64_t whole) { return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0; }
int percent(double x) { return static_cast<int>(100 * x + 0.5); }

std::string peak_sentence(const MemoryPlan& plan, const MemoryReport& memory) {
    std::string text = "Peak: " + bytes_text(memory.planned_peak) + " planned";
    if (memory.measured_peak) text += ", " + bytes_text(*memory.measured_peak) + " measured";
    if (plan.peak_step < 0 || static_cast<std::size_t>(plan.peak_step) >= plan.steps.size()) return text + ".";
    const PlannedStep& step = plan.steps[static_cast<std::size_t>(plan.peak_step)];
    switch (role_of(*step.source)) {
        case Role::Forward:
            text += ", in the forward pass";
            break;
        case Role::Backward:
            text += ", in the backward pass";
            break;
        case Role::Recomputed:
            text += ", where the backward pass recomputes";
            break;
        case Role::Plain:
            break;
    }
    if (const SourceLoc loc = step.source.loc(); !loc.file.empty()) text += fmt::format(", at {}", short_place(loc.file, loc.line));
    return text + ".";
}

std::string plural(const std::string& role) {
    if (role == "temporary") return "temporaries";
    return role == "scratch" ? "scratch of libraries" : role + "s";
}

std::string holders_sentence(const MemoryReport& memory) {
    std::map<std::string, std::int64_t> by_role;
    std::map<std::string, std::int64_t> by_line;  // of what isn't an argument
    for (const PeakRow& r : memory.at_peak) {
        by_role[r.role] += r.bytes;
        if (r.role != "argument" && !r.file.empty()) by_line[short_place(r.file, r.line)] += r.bytes;
    }
    std::vector<std::pair<std::int64_t, std::string>> roles;
    for (const auto& [role, bytes] : by_role)
        if (share(bytes, memory.planned_peak) >= 0.02) roles.emplace_back(bytes, role);
    std::sort(roles.rbegin(), roles.rend());
    std::string text;
    for (const auto& [bytes, role] : roles) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", bytes_text(bytes), plural(role));
    if (text.empty()) return "";
    const auto most = std::max_element(by_line.begin(), by_line.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most != by_line.end() && share(most->second, memory.planned_peak) >= 0.02)
        text += fmt::format("; the line that holds most is {}, {}", most->first, bytes_text(most->second));
    return "Held by " + text + ".";
}

struct Change {
    std::string what;
    std::int64_t peak = 0;
    double more_work = 0;  ///< of the work as it is
};

/// Recomputed work that comes on top of what is recomputed as it is.
double more_work(double recomputed, double recomputed_before, double total_before) {
    return total_before > 0 ? std::max(0.0, recomputed - recomputed_before) / total_before : 0;
}

std::optional<Change> best_row(const std::vector<PolicyRow>& rows, std::int64_t limit) {
    const PolicyRow* best = nullptr;
    for (const PolicyRow& r : rows)
        if (!r.as_it_is && r.problem.empty() && r.planned_peak && *r.planned_peak <= limit)
            if (!best || r.recomputed_flops < best->recomputed_flops) best = &r;
    if (!best) return {};
    return Change{policy_in_words(*best), *best->planned_peak,
                  more_work(best->recomputed_flops, rows.front().recomputed_flops, rows.front().total_flops)};
}

std::optional<Change> best_fit(const Inspection& inspection, std::int64_t limit) {
    const BudgetFit fit = fit_budget(inspection, limit, kSearchSeconds);
    if (!fit.fits || fit.as_it_is) return {};
    const FitReport words = fit_report(fit, inspection.program());
    return Change{fmt::format("{} {}", fit.policy, words.where), fit.found.planned_peak,
                  more_work(fit.found.recomputed_flops, fit.before.recomputed_flops, fit.before.total_flops)};
}

std::string change_sentence(const Inspection& inspection, const std::vector<PolicyRow>& rows) {
    if (rows.empty() || !rows.front().as_it_is || !rows.front().planned_peak || rows.front().of.kind == StepName::Kind::None) return "";
    const std::int64_t now = *rows.front().planned_peak;
    const auto limit = static_cast<std::int64_t>(static_cast<double>(now) * (1 - kWorthwhile));
    std::optional<Change> best = best_row(rows, limit);
    try {
        if (std::optional<Change> other = best_fit(inspection, limit); other && (!best || other->more_work < best->more_work)) best = other;
    } catch (const Error& e) {
        if (e.code == ErrorCode::Cancelled) throw;  // else the table's rows are what is known
    }
    if (!best)
        return fmt::format("No checkpoint that was tried lowers the peak of {} by {} % or more.", words(rows.front().of),
                           percent(kWorthwhile));
    return fmt::format("Cheapest change that was tried: {}: {} instead of {} ({} % less) for {} % more work.", best->what,
                       bytes_text(best->peak), bytes_text(now), percent(share(now - best->peak, now)), percent(best->more_work));
}

}  // namespace

std::vector<std::string> verdict(const Inspection& inspection, const MemoryReport& memory, const std::vector<PolicyRow>& rows) {
    std::vector<std::string> out{peak_sentence(inspection.plan(), memory)};
    if (std::string held = holders_sentence(memory); !held.empty()) out.push_back(std::move(held));
    std::int64_t lost = 0;
    for (const DonatedLeaf& l : inspection.donation().donated) lost += l.used ? 0 : l.bytes;
    if (share(lost, memory.planned_peak) >= 0.02)
        out.push_back(fmt::format("{} of donated arguments aren't reused: see 'Donation'.", bytes_text(lost)));
    if (std::string change = change_sentence(inspection, rows); !change.empty()) out.push_back(std::move(change));
    return out;
}

}  // namespace jaxscope
