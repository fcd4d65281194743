// SPDX-License-Identifier: Apache-2.0
#include "report/check/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "analysis/sharding/per_device.h"
#include "base/suggest.h"
#include "base/text.h"
#include "base/units.h"
#include "report/explain_text.h"
#include "report/measure.h"

namespace jaxscope {

namespace {

constexpr CheckRule kRules[] = {
    {"peak", "The planned peak of memory is above its limit"},
    {"residuals", "The backward pass keeps more than its limit"},
    {"peak-growth", "The planned peak has grown more than it may"},
    {"residual-growth", "What the backward pass keeps has grown more than it may"},
    {"recomputed", "More of the work is recomputed than may be"},
    {"unused-donation", "A donated argument's memory is taken by no output"},
    {"donation-note", "A donation that JAX keeps quiet about"},
    {"unsupported", "A primitive stops differentiation, mapping or a run"},
    {"must-save", "A named value that has to be saved isn't"},
    {"must-not-save", "A named value is saved that must not be"},
    {"caveat", "What holds for every figure of a program"},
    {"no-baseline", "Growth was asked for, and the baseline doesn't know the program"},
    {"cannot-check", "What was asked can't be said of this program"},
};

std::string percent(double share) { return fmt::format("{:.3g} %", share); }

/// One program being checked: its stages are asked for once, and what can't be had is said once.
class Check {
public:
    Check(const Inspection& inspection, const Budget& budget, const ProgramFigures* baseline, ProgramFigures& figures)
        : inspection_(inspection), budget_(budget), baseline_(baseline), figures_(figures) {}

    std::vector<Finding> run() {
        attempt(
            [&] {
                const ResidualReport& r = inspection_.residuals();
                figures_.residual_bytes = r.device_bytes.value_or(r.total_bytes);
            },
            residuals_asked());
        attempt([&] { recomputed(); }, budget_.max_recomputed.has_value());
        attempt([&] { figures_.planned_peak = inspection_.plan().planned_peak; }, budget_.max_peak || budget_.max_peak_growth);
        attempt([&] { donations(); }, budget_.max_unused_donations.has_value());
        if (figures_.planned_peak && inspection_.plan().threads > 0) figures_.threads = inspection_.plan().threads;
        if (figures_.planned_peak) peak();
        if (figures_.residual_bytes) residuals();
        if (budget_.no_unsupported) attempt([&] { unsupported(); }, true);
        return std::move(findings_);
    }

private:
    bool residuals_asked() const {
        return budget_.max_residuals || budget_.max_residual_growth || !budget_.must_save.empty() || !budget_.must_not_save.empty();
    }
    /// A stage that was `asked` about must be had; another's failure leaves its figure out.
    template <class Stage>
    void attempt(Stage stage, bool asked) {
        try {
            stage();
        } catch (const Error& e) {
            if (e.code == ErrorCode::Cancelled) throw;
            if (figures_.problem.empty()) figures_.problem = e.fact();
            if (asked) add("cannot-check", "error", e.fact(), e.loc.file, e.loc.line);
        }
    }
    Finding& add(const char* rule, const char* level, std::string message, const std::string& file = "", int line = 0) {
        const bool placed = !file.empty();
        findings_.push_back({figures_.file, rule, level, std::move(message), placed ? file : figures_.file, placed ? line : 0, {}, {}, {}});
        return findings_.back();
    }

    /// The user's line that holds most among these rows.
    struct Line {
        std::string file;
        int number = 0;
        std::int64_t bytes = 0;
    };
    /// Of several devices, one's.
    static std::int64_t own_bytes(const PeakRow& r) { return r.bytes; }
    static std::int64_t own_bytes(const ResidualRow& r) { return r.device_bytes.value_or(r.bytes); }
    template <class Row>
    static Line heaviest(const std::vector<Row>& rows) {
        std::map<std::pair<std::string, int>, std::int64_t> held;
        Line most;
        for (const Row& r : rows) {
            if (r.file.empty()) continue;
            const std::int64_t sum = held[{r.file, r.line}] += own_bytes(r);
            if (sum > most.bytes) most = {r.file, r.line, sum};
        }
        return most;
    }
    /// An error at the line that holds most.
    Finding& too_much(const char* rule, std::string message, const Line& by, double measured, double limit) {
        if (by.bytes > 0)
            message += fmt::format("; the line that holds most, {}, is {}", bytes_text(by.bytes), short_place(by.file, by.number));
        Finding& f = add(rule, "error", std::move(message), by.file, by.number);
        f.measured = measured;
        f.limit = limit;
        return f;
    }
    void peak() {
        const std::int64_t now = *figures_.planned_peak;
        const auto by = [&] { return heaviest(memory_report(inspection_, nullptr).at_peak); };
        if (budget_.max_peak && now > *budget_.max_peak)
            too_much("peak", above("the planned peak is", now, *budget_.max_peak, on_each_device()), by(), static_cast<double>(now),
                     static_cast<double>(*budget_.max_peak))
                .remedy = remedy("peak", &PolicyRow::planned_peak, *budget_.max_peak);
        growth("peak-growth", budget_.max_peak_growth, now, baseline_ ? baseline_->planned_peak : std::nullopt, "the planned peak", by);
    }
    void residuals() {
        const ResidualReport& report = inspection_.residuals();
        const std::int64_t now = *figures_.residual_bytes;
        const auto by = [&] { return heaviest(report.rows); };
        if (budget_.max_residuals && now > *budget_.max_residuals)
            too_much("residuals",
                     above("the backward pass keeps", now, *budget_.max_residuals, report.device_bytes ? on_each_device() : ""), by(),
                     static_cast<double>(now), static_cast<double>(*budget_.max_residuals))
                .remedy = remedy("residuals", report.device_bytes ? &PolicyRow::residual_device_bytes : &PolicyRow::residual_bytes,
                                 *budget_.max_residuals);
        growth("residual-growth", budget_.max_residual_growth, now, baseline_ ? baseline_->residual_bytes : std::nullopt,
               "what the backward pass keeps", by);
        names(report);
    }
    /// Whose figures are those of a program over several devices.
    std::string on_each_device() const {
        const PerDevice& cut = inspection_.per_device();
        return cut && cut.program->mesh.devices() > 1 ? fmt::format(" on each of {} devices", cut.program->mesh.devices()) : "";
    }
    static std::string above(const char* what, std::int64_t now, std::int64_t limit, const std::string& where) {
        return fmt::format("{} {}{}, {} above the limit of {}", what, bytes_text(now), where, bytes_text(now - limit), bytes_text(limit));
    }
    template <class By>
    void growth(const char* rule, const std::optional<double>& most, std::int64_t now, const std::optional<std::int64_t>& before,
                const char* what, By by) {
        if (!most) return;
        if (!before) {
            add("no-baseline", "warning", fmt::format("expected {} in the baseline, found none for this program", what));
            return;
        }
        const double grown = *before > 0 ? 100.0 * static_cast<double>(now - *before) / static_cast<double>(*before)
                             : now > 0   ? std::numeric_limits<double>::infinity()
                                         : 0;
        if (grown > *most)
            too_much(rule,
                     fmt::format("{} has grown from {} to {}, by {} where {} is allowed", what, bytes_text(*before), bytes_text(now),
                                 percent(grown), percent(*most)),
                     by(), grown, *most);
    }
    void names(const ResidualReport& report) {
        std::set<std::string> saved;
        for (const ResidualRow& r : report.rows)
            if (!r.name.empty()) saved.insert(r.name);
        for (const std::string& name : budget_.must_save)
            if (!saved.contains(name)) {
                std::string others;
                for (const std::string& s : saved) others += (others.empty() ? "" : ", ") + s;
                Finding& f = add("must-save", "error",
                                 fmt::format("expected a value named '{}' to be saved, found {}", name,
                                             others.empty() ? "no named value saved" : "these names saved: " + others));
                if (const std::string_view near = nearest_name(name, views_of(saved)); !near.empty())
                    f.remedy = fmt::format("did you mean {}?", printable(near));
            }
        for (const std::string& name : budget_.must_not_save)
            for (const ResidualRow& r : report.rows)
                if (r.name == name)
                    add("must-not-save", "error", fmt::format("{} {} is saved ({})", r.aval, r.source, bytes_text(r.bytes)), r.file, r.line)
                        .measured = static_cast<double>(r.bytes);
    }
    void recomputed() {
        const SplitReport& split = inspection_.split();
        if (split.total_flops <= 0) return;
        figures_.recomputed_share = 100 * split.recomputed_flops / split.total_flops;
        if (!budget_.max_recomputed || *figures_.recomputed_share <= *budget_.max_recomputed) return;
        Finding& f = add("recomputed", "error",
                         fmt::format("{} of the work is recomputed, where {} is allowed", percent(*figures_.recomputed_share),
                                     percent(*budget_.max_recomputed)));
        f.measured = figures_.recomputed_share;
        f.limit = budget_.max_recomputed;
    }
    /// One finding for each reason: twelve leaves that lack the same thing are one.
    void donations() {
        const DonationReport& d = inspection_.donation();
        std::vector<std::pair<std::string, std::vector<const DonatedLeaf*>>> by_reason;
        std::int64_t unused = 0;
        for (const DonatedLeaf& leaf : d.donated) {
            if (leaf.used) continue;
            unused += leaf.bytes;
            const auto at = std::find_if(by_reason.begin(), by_reason.end(), [&](const auto& r) { return r.first == leaf.reason; });
            (at == by_reason.end() ? by_reason.emplace_back(leaf.reason, 0) : *at).second.push_back(&leaf);
        }
        figures_.unused_donations = unused;
        if (!budget_.max_unused_donations) return;
        if (unused > *budget_.max_unused_donations)
            for (const auto& [reason, leaves] : by_reason) {
                std::int64_t bytes = 0;
                for (const DonatedLeaf* leaf : leaves) bytes += leaf->bytes;
                const std::string more = leaves.size() > 1 ? fmt::format(" and {} more", leaves.size() - 1) : "";
                Finding& f = add("unused-donation", "error",
                                 fmt::format("donated {} {}{} ({}) is not reused: {}", leaves[0]->aval, leaves[0]->path, more,
                                             bytes_text(bytes), reason));
                f.measured = static_cast<double>(unused);
                f.limit = static_cast<double>(*budget_.max_unused_donations);
            }
        for (const std::string& text : d.findings) add("donation-note", "note", text);
    }
    void unsupported() {
        for (const UnsupportedRow& r : inspection_.summary().unsupported) {
            std::string stops;
            for (const std::string& s : r.stops) stops += (stops.empty() ? "" : ", ") + s;
            Finding& f = add("unsupported", "error", fmt::format("{} (x{}) stops {}", r.primitive, r.count, stops), r.loc.file, r.loc.line);
            f.measured = static_cast<double>(r.count);
            f.limit = 0;
        }
    }
    /// The standard policy that recomputes least of those within the limit: each was derived and planned.
    std::string remedy(const char* of, std::optional<std::int64_t> PolicyRow::*figure, std::int64_t limit) {
        if (rows_.empty()) rows_ = inspection_.policies({}, false);
        const PolicyRow *best = nullptr, *least = nullptr;
        for (const PolicyRow& r : rows_) {
            if (!(r.*figure) || r.as_it_is) continue;
            if (!least || *(r.*figure) < *(least->*figure)) least = &r;
            if (*(r.*figure) <= limit && (!best || r.recomputed_flops < best->recomputed_flops)) best = &r;
        }
        if (best)
            return fmt::format("a jax.checkpoint with {} is within the limit: {} {}", policy_in_words(*best), of,
                               bytes_text(*(best->*figure)));
        if (least)
            return fmt::format("no standard policy is within the limit; the least is {} under {}", bytes_text(*(least->*figure)),
                               policy_in_words(*least));
        return "";
    }

    const Inspection& inspection_;
    const Budget& budget_;
    const ProgramFigures* baseline_;
    ProgramFigures& figures_;
    std::vector<Finding> findings_;
    std::vector<PolicyRow> rows_;
};

}  // namespace

std::span<const CheckRule> check_rules() { return kRules; }

std::vector<Finding> check_program(const Inspection& inspection, const Budget& budget, const ProgramFigures* baseline,
                                   ProgramFigures& figures) {
    return Check(inspection, budget, baseline, figures).run();
}

Finding unreadable(const std::string& program, const std::string& message, const SourceLoc& loc) {
    return {program, "cannot-check", "error", message, loc.file.empty() ? program : loc.file, loc.line, {}, {}, {}};
}

}  // namespace jaxscope
