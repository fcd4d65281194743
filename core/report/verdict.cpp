// SPDX-License-Identifier: Apache-2.0
#include "report/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "analysis/fit/fit_budget.h"
#include "base/units.h"
#include "report/explain_text.h"
#include "report/fit/fit_report.h"
#include "report/phase.h"

namespace jaxscope {

namespace {

constexpr double kWorthwhile = 0.1;  // of the peak
// Of each differentiation, and of all of them; what isn't looked at then is said. Counted, so that a report says the same on every
// machine: two and twenty seconds of one that derives and plans an equation in 8 us.
constexpr double kSearchEquations = 2.5e5;
constexpr double kAllEquations = 10 * kSearchEquations;
constexpr double kPatience = 60;  // seconds: ends what is hopeless

double share(std::int64_t part, std::int64_t whole) { return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0; }
int percent(double x) { return static_cast<int>(std::lround(100 * x)); }

std::string peak_sentence(const Inspection& inspection, const MemoryReport& memory) {
    std::string text = "Peak: " + bytes_text(memory.planned_peak) + " planned";
    if (memory.measured_peak) text += ", " + bytes_text(*memory.measured_peak) + " measured";
    const MemoryPlan& plan = inspection.plan();
    if (plan.peak_step < 0 || static_cast<std::size_t>(plan.peak_step) >= plan.steps.size()) return text + ".";
    if (const std::string phase = words(phase_at_peak(inspection)); !phase.empty()) text += ", " + phase;
    const PlannedStep& step = plan.steps[static_cast<std::size_t>(plan.peak_step)];
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

std::optional<Change> best_fit(const Inspection& inspection, std::int64_t limit, double& equations, bool& out_of_time) {
    const BudgetFit fit = fit_budget(inspection, limit, {.seconds = kPatience, .equations = kSearchEquations});
    equations += fit.equations;
    out_of_time = out_of_time || fit.out_of_time;
    if (!fit.fits || fit.as_it_is) return {};
    const FitReport words = fit_report(fit, inspection.program());
    return Change{fmt::format("{} {}", fit.policy, words.where), fit.found.planned_peak,
                  more_work(fit.found.recomputed_flops, fit.before.recomputed_flops, fit.before.total_flops)};
}

/// What was looked for: in each differentiation of the step, one at a time.
struct Looked {
    std::optional<Change> best;
    std::vector<std::string> left_out;  ///< differentiations that there was no time for
    std::vector<PolicyRow> rows;        ///< of the one that keeps most: why nothing helps is said of it
    std::string rows_of;                ///< which one that is
    std::int64_t kept = -1;
    double equations = 0;      ///< of what was derived for it
    bool out_of_time = false;  ///< a search was ended by the clock
};

void look_at(Looked& out, const Inspection& inspection, std::vector<PolicyRow> rows, std::int64_t limit, const std::string& of) {
    std::optional<Change> best = best_row(rows, limit);
    out.equations += static_cast<double>(rows.size()) * static_cast<double>(count_equations(*inspection.step().jaxpr));
    try {
        if (std::optional<Change> other = best_fit(inspection, limit, out.equations, out.out_of_time);
            other && (!best || other->more_work < best->more_work))
            best = other;
    } catch (const Error& e) {
        if (e.code == ErrorCode::Cancelled) throw;  // else the table's rows are what is known
    }
    if (best) best->what += of;
    if (best && (!out.best || best->more_work < out.best->more_work)) out.best = best;
    if (const std::int64_t kept = rows.front().residual_bytes.value_or(0); kept > out.kept) {
        out.kept = kept;
        out.rows = std::move(rows);
        out.rows_of = of;
    }
}

Looked look(const Inspection& inspection, const std::vector<PolicyRow>& rows, std::int64_t limit) {
    const Program& program = inspection.program();
    const std::vector<Choices> places = places_for_policies(program, inspection.choices());
    const bool several = places.size() > 1;
    Looked out;
    look_at(out, inspection, rows, limit, several ? region_words(program, inspection.region()) : "");
    for (std::size_t k = 1; k < places.size(); ++k) {
        const std::string of = region_words(program, places[k].region);
        if (out.equations > kAllEquations) {
            out.left_out.push_back(of);
            continue;
        }
        const Inspection other(inspection.program_ptr(), places[k], &inspection);
        look_at(out, other, other.policies({}, false), limit, of);
    }
    return out;
}

/// Of checkpoints that don't help: what holds the peak in their place.
std::string why_not(const std::vector<PolicyRow>& rows, const std::string& of, const MemoryReport& memory) {
    const std::int64_t now = *rows.front().planned_peak;
    const std::int64_t fixed = memory.arguments + memory.outputs - memory.aliased;
    if (share(fixed, now) >= 1 - 2 * kWorthwhile)
        return fmt::format(" {} of it are arguments and outputs, which no checkpoint changes.", bytes_text(fixed));
    const std::int64_t kept = rows.front().residual_bytes.value_or(0);
    const PolicyRow *around = nullptr, *block = nullptr;  // those that keep least
    for (const PolicyRow& r : rows) {
        if (r.as_it_is || !r.planned_peak || !r.residual_bytes) continue;
        const PolicyRow*& least = r.around ? block : around;
        if (!least || *r.residual_bytes < *least->residual_bytes) least = &r;
    }
    if (around && share(kept - *around->residual_bytes, now) >= kWorthwhile)
        return fmt::format(
            " {} keeps {} of residuals instead of {}, but recomputes the forward pass at once when the backward pass begins, so "
            "the peak stays ({}){}.",
            policy_in_words(*around) + of, bytes_text(*around->residual_bytes), bytes_text(kept), bytes_text(*around->planned_peak),
            block ? fmt::format("; with one around each block it is {}", bytes_text(*block->planned_peak))
                  : ": checkpoint parts of the function instead, such as each of its blocks");
    return fmt::format(
        " The least that a policy leaves of {} of residuals is {}: the peak is held by what isn't saved for the backward pass.",
        bytes_text(kept), bytes_text(std::min(around ? *around->residual_bytes : kept, block ? *block->residual_bytes : kept)));
}

/// Where no checkpoint could be planned: why not; else "".
std::string why_none_was_tried(const std::vector<PolicyRow>& rows) {
    std::string problem;
    for (const PolicyRow& r : rows) {
        if (r.as_it_is) continue;
        if (r.planned_peak) return "";
        if (problem.empty()) problem = r.problem.substr(0, r.problem.find('\n'));
    }
    return problem;
}

std::string change_sentence(const Inspection& inspection, const MemoryReport& memory, const std::vector<PolicyRow>& rows) {
    if (rows.empty() || !rows.front().as_it_is || !rows.front().planned_peak || rows.front().of.kind == StepName::Kind::None) return "";
    const std::int64_t now = *rows.front().planned_peak;
    const auto limit = static_cast<std::int64_t>(static_cast<double>(now) * (1 - kWorthwhile));
    const Looked looked = look(inspection, rows, limit);
    std::string text;
    if (looked.best)
        text = fmt::format("Cheapest change that was tried: {}: {} instead of {} ({} % less) for {} % more work.", looked.best->what,
                           bytes_text(looked.best->peak), bytes_text(now), percent(share(now - looked.best->peak, now)),
                           percent(looked.best->more_work));
    else if (const std::string problem = why_none_was_tried(looked.rows); !problem.empty())
        text = fmt::format("What a checkpoint{} would do to the peak isn't known: {}.", looked.rows_of, problem);
    else
        text = fmt::format("No checkpoint that was tried lowers the peak of {} by {} % or more.{}", words(rows.front().of),
                           percent(kWorthwhile), why_not(looked.rows, looked.rows_of, memory));
    if (!looked.left_out.empty()) text += fmt::format(" Not looked at, as there are many: checkpoints{}.", fmt::join(looked.left_out, ","));
    if (looked.out_of_time) text += fmt::format(" The search was ended after {:.0f} s: a faster machine may find more.", kPatience);
    return text;
}

/// Arguments that aren't donated, all of whose leaves some output would take.
std::vector<int> worth_donating(const Inspection& inspection) {
    const Program& p = inspection.program();
    std::vector<int> all = p.arg_of_input;
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    Choices donating = inspection.choices();
    donating.donate = all;
    const Inspection other(inspection.program_ptr(), donating, &inspection);
    std::set<int> lost;
    for (const DonatedLeaf& l : other.donation().donated)
        if (!l.used) lost.insert(p.arg_of_input[static_cast<std::size_t>(l.input)]);
    std::erase_if(all, [&](int a) { return lost.contains(a); });
    return all;
}

std::string donation_sentence(const Inspection& inspection, const MemoryReport& memory) {
    const Program& p = inspection.program();
    // filter_jit donates by a word of its own (see `donation`); what is chosen here was chosen on purpose.
    if (p.jit == Sym("eqx") || inspection.choices().donate || p.arg_of_input.size() != p.donated.size()) return "";
    std::set<int> donated;
    for (std::size_t i = 0; i < p.donated.size(); ++i)
        if (p.donated[i]) donated.insert(p.arg_of_input[i]);
    std::set<int> more;
    for (const int a : worth_donating(inspection))
        if (!donated.contains(a)) more.insert(a);
    if (more.empty()) return "";
    std::set<int> together = donated;
    together.insert(more.begin(), more.end());
    Choices choices = inspection.choices();
    choices.donate = std::vector<int>(together.begin(), together.end());
    const std::int64_t peak = Inspection(inspection.program_ptr(), choices, &inspection).plan().planned_peak;
    if (share(memory.planned_peak - peak, memory.planned_peak) < kWorthwhile) return "";
    std::vector<std::string> names;
    for (const int a : more)
        names.push_back(static_cast<std::size_t>(a) < p.arg_names.size() ? p.arg_names[static_cast<std::size_t>(a)].str()
                                                                         : fmt::format("argument {}", a));
    return fmt::format("Donating {} (donate_argnums=({}{})) lowers the peak: {} instead of {}, if the caller needs {} no more.",
                       fmt::join(names, ", "), fmt::join(together, ", "), together.size() == 1 ? "," : "", bytes_text(peak),
                       bytes_text(memory.planned_peak), more.size() == 1 ? "it" : "them");
}

}  // namespace

std::vector<std::string> unplanned_verdict(const Inspection& inspection, const std::string& problem) {
    std::vector<std::string> out{"No peak is known: " + problem.substr(0, problem.find('\n'))};
    try {
        const ResidualReport& kept = inspection.residuals();
        out.push_back(fmt::format("The backward pass of {} keeps {} in {} {}.", kept.region_name.empty() ? "the program" : kept.region_name,
                                  bytes_text(kept.total_bytes), kept.rows.size(), kept.rows.size() == 1 ? "value" : "values"));
    } catch (const Error& e) {
        if (e.code == ErrorCode::Cancelled) throw;  // else a section of its own says why there are none
    }
    return out;
}

std::vector<std::string> verdict(const Inspection& inspection, const MemoryReport& memory, const std::vector<PolicyRow>& rows) {
    std::vector<std::string> out{peak_sentence(inspection, memory)};
    if (std::string held = holders_sentence(memory); !held.empty()) out.push_back(std::move(held));
    std::int64_t lost = 0;
    for (const DonatedLeaf& l : inspection.donation().donated) lost += l.used ? 0 : l.bytes;
    if (share(lost, memory.planned_peak) >= 0.02)
        out.push_back(fmt::format("{} of donated arguments aren't reused: see 'Donation'.", bytes_text(lost)));
    if (std::string donate = donation_sentence(inspection, memory); !donate.empty()) out.push_back(std::move(donate));
    if (std::string change = change_sentence(inspection, memory, rows); !change.empty()) out.push_back(std::move(change));
    return out;
}

}  // namespace jaxscope
