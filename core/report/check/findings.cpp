// SPDX-License-Identifier: Apache-2.0
#include "report/check/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <set>

#include "analysis/sharding/per_device.h"
#include "analysis/stages/subject.h"
#include "base/suggest.h"
#include "base/text.h"
#include "base/units.h"
#include "ir/primitive.h"
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
    {"no-budget", "A file that no entry of the budgets names, or an entry that names no file given"},
    {"no-limit", "Nothing is asked of a program"},
    {"caveat", "What holds for every figure of a program"},
    {"no-baseline", "Growth was asked for, and the baseline doesn't know the program"},
    {"cannot-check", "What was asked can't be said of this program"},
};

std::string percent(double share) { return fmt::format("{:.3g} %", share); }

std::string joined(const std::set<std::string>& names) { return fmt::format("{}", fmt::join(names, ", ")); }

/// One differentiation that stands in the program, or the program itself: limits hold for each.
struct Part {
    const Inspection* inspection;
    std::string of;  ///< " in critic (region 1)", where there are several
    std::vector<PolicyRow> rows;

    /// The what-if table: derived and planned when a remedy is first asked for.
    const std::vector<PolicyRow>& policies() {
        if (rows.empty()) rows = inspection->policies({}, false);
        return rows;
    }
    /// Where the differentiation stands.
    SourceLoc loc() const {
        const auto number = inspection->region();
        return number ? inspection->program().regions[static_cast<std::size_t>(*number)].source.loc() : SourceLoc{};
    }
};

/// One program being checked: its stages are asked for once, and what can't be had is said once.
class Check {
public:
    Check(const Inspection& inspection, const Budget& budget, const ProgramFigures* baseline, ProgramFigures& figures)
        : inspection_(inspection), budget_(budget), baseline_(baseline), figures_(figures) {
        const Program& program = inspection.program();
        std::vector<Choices> each = each_region(program, inspection.choices());
        for (std::size_t k = 1; k < each.size(); ++k)
            others_.push_back(std::make_unique<Inspection>(inspection.program_ptr(), std::move(each[k]), &inspection));
        parts_.push_back({&inspection, "", {}});
        for (const auto& other : others_) parts_.push_back({other.get(), "", {}});
        if (others_.empty()) return;
        for (Part& part : parts_) part.of = region_words(program, part.inspection->region());
    }

    std::vector<Finding> run() {
        figures_.rules = asked_rules(budget_);
        if (figures_.rules.empty())
            add("no-limit", "warning", "no limit was given: the program is held to nothing").remedy =
                "jaxscope check --help names the limits, --budgets FILE holds them by program";
        for (const Part& part : parts_)
            attempt([&] { figures_.residual_bytes = std::max(bytes_kept(part), figures_.residual_bytes.value_or(0)); }, residuals_asked());
        for (Part& part : parts_) attempt([&] { recomputed(part); }, budget_.max_recomputed.has_value());
        attempt([&] { figures_.planned_peak = inspection_.plan().planned_peak; }, budget_.max_peak || budget_.max_peak_growth);
        if (figures_.planned_peak) figures_.peak_of = words(inspection_.step().of);
        attempt([&] { donations(); }, budget_.max_unused_donations.has_value());
        if (figures_.planned_peak && inspection_.plan().threads > 0) figures_.threads = inspection_.plan().threads;
        if (figures_.planned_peak) peak();
        if (figures_.residual_bytes) attempt([&] { residuals(); }, false);  // what couldn't be had has been told
        if (budget_.no_unsupported) attempt([&] { unsupported(); }, true);
        return std::move(findings_);
    }

private:
    static std::int64_t bytes_kept(const Part& part) {
        const ResidualReport& r = part.inspection->residuals();
        return r.device_bytes.value_or(r.total_bytes);
    }
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
            too_much("peak", above("the planned peak is", now, *budget_.max_peak, on_each_device() + of_value_alone()), by(),
                     static_cast<double>(now), static_cast<double>(*budget_.max_peak))
                .remedy = least_remedy("peak", &PolicyRow::planned_peak, *budget_.max_peak);
        growth("peak-growth", budget_.max_peak_growth, now, baseline_ ? baseline_->planned_peak : std::nullopt, "the planned peak", by);
    }
    void residuals() {
        const Part* most = &parts_[0];
        for (Part& part : parts_) {
            const std::int64_t now = bytes_kept(part);
            if (now > bytes_kept(*most)) most = &part;
            if (!budget_.max_residuals || now <= *budget_.max_residuals) continue;
            const bool devices = part.inspection->residuals().device_bytes.has_value();
            too_much("residuals",
                     above("the backward pass keeps", now, *budget_.max_residuals, (devices ? on_each_device() : "") + part.of),
                     heaviest(part.inspection->residuals().rows), static_cast<double>(now), static_cast<double>(*budget_.max_residuals))
                .remedy =
                remedy("residuals", part, devices ? &PolicyRow::residual_device_bytes : &PolicyRow::residual_bytes, *budget_.max_residuals);
        }
        growth("residual-growth", budget_.max_residual_growth, *figures_.residual_bytes,
               baseline_ ? baseline_->residual_bytes : std::nullopt, "what the backward pass keeps" + most->of,
               [&] { return heaviest(most->inspection->residuals().rows); });
        must_save();
        for (Part& part : parts_) must_not_save(part);
    }
    /// Whose figures are those of a program over several devices.
    std::string on_each_device() const {
        const PerDevice& cut = inspection_.per_device();
        return cut && cut.program->mesh.devices() > 1 ? fmt::format(" on each of {} devices", cut.program->mesh.devices()) : "";
    }
    /// Of a loss that jaxscope differentiates itself, the program that is planned is the value alone.
    const char* of_value_alone() const {
        const bool alone = inspection_.program().differentiate_given && inspection_.step().of.kind == StepName::Kind::Program;
        return alone ? " (of the program alone, without its gradient)" : "";
    }
    static std::string above(const char* what, std::int64_t now, std::int64_t limit, const std::string& where) {
        return fmt::format("{} {}{}, {} above the limit of {}", what, bytes_text(now), where, bytes_text(now - limit), bytes_text(limit));
    }
    template <class By>
    void growth(const char* rule, const std::optional<double>& most, std::int64_t now, const std::optional<std::int64_t>& before,
                const std::string& what, By by) {
        if (!most) return;
        if (!before) {
            add("no-baseline", "error", fmt::format("expected {} in the baseline, found none for this program", what)).remedy =
                "write one from a program that is as it should be: jaxscope check FILE --json > baseline.json, then --baseline "
                "baseline.json";
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
    static std::set<std::string> saved_names(const Part& part) {
        std::set<std::string> saved;
        for (const ResidualRow& r : part.inspection->residuals().rows)
            if (!r.name.empty()) saved.insert(r.name);
        return saved;
    }
    static bool gives_name(const Part& part, const std::string& name) {
        for (const Jaxpr* j : all_jaxprs(*make_subject(part.inspection->program(), part.inspection->choices()).jaxpr))
            for (const Eqn& e : j->eqns)
                if (const auto given = given_name(*e.prim, e.params); given && given->str() == name) return true;
        return false;
    }
    /// Of several differentiations each that gives the name has to save it; where none gives it, nothing does.
    void must_save() {
        for (const std::string& name : budget_.must_save) {
            std::vector<const Part*> having;
            std::set<std::string> all;
            for (const Part& part : parts_) {
                all.merge(saved_names(part));
                if (gives_name(part, name)) having.push_back(&part);
            }
            if (having.empty()) not_saved(name, all, "", {});
            for (const Part* part : having)
                if (std::set<std::string> saved = saved_names(*part); !saved.contains(name)) not_saved(name, saved, part->of, part->loc());
        }
    }
    void not_saved(const std::string& name, const std::set<std::string>& saved, const std::string& of, const SourceLoc& loc) {
        Finding& f = add("must-save", "error",
                         fmt::format("expected a value named '{}' to be saved{}, found {}", name, of,
                                     saved.empty() ? "no named value saved" : "these names saved: " + joined(saved)),
                         loc.file, loc.line);
        if (const std::string_view near = nearest_name(name, views_of(saved)); !near.empty())
            f.remedy = fmt::format("did you mean {}?", printable(near));
        else
            f.remedy =
                fmt::format("checkpoint_name(value, \"{0}\") where it is made, and \"{0}\" in the policy's save_only_these_names", name);
    }
    /// A finding for each line: the blocks of a model save what one line makes.
    void must_not_save(const Part& part) {
        struct Saved {
            const ResidualRow* first;
            std::int64_t bytes = 0, count = 0;
        };
        for (const std::string& name : budget_.must_not_save) {
            std::map<std::pair<std::string, int>, Saved> by_line;
            for (const ResidualRow& r : part.inspection->residuals().rows) {
                if (r.name != name) continue;
                Saved& s = by_line.try_emplace({r.file, r.line}, Saved{&r}).first->second;
                s.bytes += own_bytes(r);
                ++s.count;
            }
            for (const auto& [place, s] : by_line) {
                const std::string times = s.count > 1 ? fmt::format("{} values such as ", s.count) : "";
                Finding& f = add("must-not-save", "error",
                                 fmt::format("{}{} {} {} saved{} ({})", times, s.first->aval, s.first->source, s.count > 1 ? "are" : "is",
                                             part.of, bytes_text(s.bytes)),
                                 s.first->file, s.first->line);
                f.measured = static_cast<double>(s.bytes);
                f.remedy = fmt::format(
                    "leave \"{}\" out of the names that the policy saves; where no policy saves it by name, put a "
                    "jax.checkpoint around it whose policy doesn't",
                    name);
            }
        }
    }
    void recomputed(Part& part) {
        const SplitReport& split = part.inspection->split();
        if (split.total_flops <= 0) return;
        const double now = 100 * split.recomputed_flops / split.total_flops;
        figures_.recomputed_share = std::max(now, figures_.recomputed_share.value_or(0));
        if (!budget_.max_recomputed || now <= *budget_.max_recomputed) return;
        const SourceLoc loc = part.loc();
        Finding& f =
            add("recomputed", "error",
                fmt::format("{} of the work{} is recomputed, where {} is allowed", percent(now), part.of, percent(*budget_.max_recomputed)),
                loc.file, loc.line);
        f.measured = now;
        f.limit = budget_.max_recomputed;
        f.remedy = less_recomputed(part);
    }
    /// Of the table's rows within the limit the one that keeps least. Policies around the function overrule those inside.
    std::string less_recomputed(Part& part) {
        const PolicyRow* best = nullptr;
        for (const PolicyRow& r : part.policies())
            if (!r.as_it_is && r.residual_bytes && r.total_flops > 0 && 100 * r.recomputed_flops / r.total_flops <= *budget_.max_recomputed)
                if (!best || *r.residual_bytes < *best->residual_bytes) best = &r;
        if (!best) return "no standard policy recomputes so little";
        return fmt::format("a jax.checkpoint with {} is within the limit: {} recomputed, residuals {}", policy_in_words(*best),
                           percent(100 * best->recomputed_flops / best->total_flops), bytes_text(*best->residual_bytes));
    }
    /// Where the program first reads that input.
    SourceLoc first_read(int input) const {
        const Jaxpr& j = *inspection_.program().jaxpr;
        const Var v = j.invar(static_cast<std::uint32_t>(input));
        for (const Eqn& e : j.eqns)
            for (const Atom a : j.inputs(e))
                if (a.is_var() && a.var() == v) return e.source.loc();
        return {};
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
                const SourceLoc read = first_read(leaves[0]->input);
                const std::string more = leaves.size() > 1 ? fmt::format(" and {} more", leaves.size() - 1) : "";
                Finding& f = add("unused-donation", "error",
                                 fmt::format("donated {} {}{} ({}) is not reused: {}", leaves[0]->aval, leaves[0]->path, more,
                                             bytes_text(bytes), reason),
                                 read.file, read.line);
                f.remedy = fmt::format(
                    "don't donate {} (donate_argnums, donate_argnames), or return a value of type {} that can take its "
                    "memory",
                    leaves.size() > 1 ? "these" : leaves[0]->path, leaves[0]->aval);
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
            f.remedy = unsupported_remedy(r);
        }
    }
    static std::string unsupported_remedy(const UnsupportedRow& r) {
        if (r.stopped_by("grad"))
            return "give the function around it a jax.custom_vjp, or keep it out of what is differentiated (jax.lax.stop_gradient of what "
                   "goes in)";
        return r.may_stop_a_run() ? "compute it otherwise, or check this program without --no-unsupported"
                                  : "give the function around it a rule of its own (jax.custom_batching.custom_vmap), or don't map it";
    }
    using FigureOf = std::optional<std::int64_t> PolicyRow::*;
    /// Of all differentiations the one whose policies come first within the limit.
    std::string least_remedy(const char* what, FigureOf figure, std::int64_t limit) {
        for (Part& part : parts_)
            if (best_row(part, figure, limit)) return remedy(what, part, figure, limit);
        Part* least = &parts_[0];
        for (Part& part : parts_) {
            const PolicyRow *a = least_row(part, figure), *b = least_row(*least, figure);
            if (a && (!b || *(a->*figure) < *(b->*figure))) least = &part;
        }
        return remedy(what, *least, figure, limit);
    }
    static const PolicyRow* best_row(Part& part, FigureOf figure, std::int64_t limit) {
        const PolicyRow* best = nullptr;
        for (const PolicyRow& r : part.policies())
            if (!r.as_it_is && r.*figure && *(r.*figure) <= limit && (!best || r.recomputed_flops < best->recomputed_flops)) best = &r;
        return best;
    }
    static const PolicyRow* least_row(Part& part, FigureOf figure) {
        const PolicyRow* least = nullptr;
        for (const PolicyRow& r : part.policies())
            if (!r.as_it_is && r.*figure && (!least || *(r.*figure) < *(least->*figure))) least = &r;
        return least;
    }
    /// The standard policy that recomputes least of those within the limit: each was derived and planned.
    std::string remedy(const char* what, Part& part, FigureOf figure, std::int64_t limit) {
        if (const PolicyRow* best = best_row(part, figure, limit))
            return fmt::format("a jax.checkpoint with {}{} is within the limit: {} {}", policy_in_words(*best), part.of, what,
                               bytes_text(*(best->*figure)));
        if (const PolicyRow* least = least_row(part, figure))
            return fmt::format("no standard policy is within the limit; the least is {} under {}{}", bytes_text(*(least->*figure)),
                               policy_in_words(*least), part.of);
        return "";
    }

    const Inspection& inspection_;
    const Budget& budget_;
    const ProgramFigures* baseline_;
    ProgramFigures& figures_;
    std::vector<std::unique_ptr<Inspection>> others_;
    std::vector<Part> parts_;
    std::vector<Finding> findings_;
};

}  // namespace

std::span<const CheckRule> check_rules() { return kRules; }

std::vector<std::string> asked_rules(const Budget& b) {
    std::vector<std::string> out;
    const auto asked = [&](const char* rule, bool by) {
        if (by) out.emplace_back(rule);
    };
    asked("peak", b.max_peak.has_value());
    asked("residuals", b.max_residuals.has_value());
    asked("peak-growth", b.max_peak_growth.has_value());
    asked("residual-growth", b.max_residual_growth.has_value());
    asked("recomputed", b.max_recomputed.has_value());
    asked("unused-donation", b.max_unused_donations.has_value());
    asked("unsupported", b.no_unsupported);
    asked("must-save", !b.must_save.empty());
    asked("must-not-save", !b.must_not_save.empty());
    return out;
}

std::vector<Finding> check_program(const Inspection& inspection, const Budget& budget, const ProgramFigures* baseline,
                                   ProgramFigures& figures) {
    return Check(inspection, budget, baseline, figures).run();
}

Finding unreadable(const std::string& program, const std::string& message, const SourceLoc& loc) {
    return {program, "cannot-check", "error", message, loc.file.empty() ? program : loc.file, loc.line, {}, {}, {}};
}

}  // namespace jaxscope
