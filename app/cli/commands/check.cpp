// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <iostream>
#include <thread>

#include "app/cli/program_arguments.h"
#include "base/progress.h"
#include "base/text.h"
#include "io/load_program.h"
#include "jit/targets.h"
#include "report/caveats.h"
#include "report/check/findings.h"
#include "report/check/sources.h"

namespace jaxscope::cli {

namespace {

/// The gate of a CI: programs held to budgets, side by side; one that fails doesn't stop the others.
class Check final : public Command {
public:
    explicit Check(Arguments& a) {
        a.positional("FILE", files_, "captures, jaxpr texts, sample:NAME; none: the programs of --budgets");
        a.flag("--json", args_.json, "the same as --format json");
        a.option("--format", format_, "text, json, sarif, junit, markdown or github");
        a.option("--budgets", budgets_, "budgets.json: limits by program");
        a.option("--max-peak", max_peak_, "the planned peak may be this size, e.g. 1.5G");
        a.option("--max-residuals", max_residuals_, "the backward pass may keep this much");
        a.option("--max-recomputed", max_recomputed_, 0.0, "percent of the work may be recomputed", "PERCENT");
        a.option("--max-peak-growth", max_peak_growth_, 0.0, "percent that the planned peak may be above the baseline's", "PERCENT");
        a.option("--max-residual-growth", max_residual_growth_, 0.0, "percent that the residuals may be above the baseline's", "PERCENT");
        a.option("--baseline", baseline_, "a report of an earlier day (check --json, report, residuals, plan)");
        a.flag("--no-unused-donations", no_unused_donations_, "every donated leaf's memory is to be taken by an output");
        a.flag("--no-unsupported", no_unsupported_, "nothing in it may stop grad, vmap or a run");
        a.option("--must-save", must_save_, "a name (checkpoint_name) that has to be among the residuals (may be repeated)");
        a.option("--must-not-save", must_not_save_, "a name that must not be among them (may be repeated)");
        a.option("--jobs", jobs_, 0, "programs looked at side by side (0: one a core)");
        args_.add_region(a);
        args_.add_threads(a);
        args_.add_target(a);
    }
    int run() override {
        if (args_.json) format_ = "json";
        const CheckWriter write = check_writer(format_);
        if (!args_.target.empty()) target_device(args_.target);  // a wrong name is a wrong command, not a failed check
        read_limits();
        const CheckReport report = look();
        Page page = args_.page();
        write(std::cout, report, page);
        return report.passed ? 0 : 1;
    }

private:
    void read_limits() {
        Budget given;
        if (!max_peak_.empty()) given.max_peak = parse_size(max_peak_);
        if (!max_residuals_.empty()) given.max_residuals = parse_size(max_residuals_);
        if (max_recomputed_ >= 0) given.max_recomputed = max_recomputed_;
        if (max_peak_growth_ >= 0) given.max_peak_growth = max_peak_growth_;
        if (max_residual_growth_ >= 0) given.max_residual_growth = max_residual_growth_;
        if (no_unused_donations_) given.max_unused_donations = 0;
        given.no_unsupported = no_unsupported_;
        given.must_save = must_save_;
        given.must_not_save = must_not_save_;
        limits_.defaults = given;
        if (!budgets_.empty()) limits_ = read_budgets(budgets_, given);
        if (!baseline_.empty()) before_ = read_baseline(baseline_);
        if (baseline_.empty() && (given.max_peak_growth || given.max_residual_growth))
            throw Error(ErrorCode::BadUsage, "expected --baseline REPORT.json beside a limit on growth, found none");
        if (files_.empty())
            for (const auto& [file, budget] : limits_.programs) files_.push_back(file);
        if (files_.empty())
            throw Error(ErrorCode::BadUsage, "expected programs to check, found none")
                .advise("jaxscope check FILE... or --budgets budgets.json");
    }

    struct Looked {
        ProgramFigures figures;
        std::vector<Finding> findings;
    };
    Looked look_at(const std::string& file, const BudgetMatch& match) const {
        const Budget& budget = match.entry ? limits_.programs[*match.entry].second : limits_.defaults;
        Looked out;
        out.figures.file = file;
        try {
            const ProgramPtr program = load_program(file);
            out.figures.name = program->name.str();
            const Inspection inspection(program, args_.choices());
            args_.refuse_unknown(inspection);
            std::vector<std::string> texts = caveats(inspection);
            if (!args_.target.empty()) texts.push_back(args_.estimated());
            for (const std::string& text : texts) {
                Finding note = unreadable(file, text, {});
                note.rule = "caveat";
                note.level = "note";
                out.findings.push_back(std::move(note));
            }
            auto found = check_program(inspection, budget, baseline_of(before_, file, out.figures.name), out.figures);
            out.findings.insert(out.findings.end(), found.begin(), found.end());
            put_at_sources(out.findings, *program, args_.project);
        } catch (const Error& e) {
            if (e.code == ErrorCode::Cancelled) throw;
            out.figures.problem = e.fact();
            out.findings.push_back(unreadable(file, e.fact(), e.loc));
        } catch (const std::exception& e) {
            out.figures.problem = e.what();
            out.findings.push_back(unreadable(file, std::string("a bug in jaxscope: ") + e.what(), {}));
        }
        return out;
    }
    /// Files are looked at side by side and told in the order given.
    CheckReport look() const {
        std::vector<Looked> looked(files_.size());
        const std::vector<BudgetMatch> matches = match_budgets(limits_, files_);
        std::atomic<std::size_t> next{0};
        std::atomic<bool> cancelled{false};
        Progress progress("programs", static_cast<std::int64_t>(files_.size()));
        const auto work = [&] {
            try {
                for (std::size_t i = next++; i < files_.size(); i = next++) {
                    progress.begin(files_[i]);
                    looked[i] = look_at(files_[i], matches[i]);
                }
            } catch (const Error&) {  // Cancelled: for all
                cancelled = true;
                next = files_.size();
            }
        };
        const auto help = [&, of_starter = CancelScope::current()] {
            const CancelScope scope(of_starter);
            work();
        };
        const unsigned wanted = jobs_ > 0 ? static_cast<unsigned>(jobs_) : std::max(1U, std::thread::hardware_concurrency());
        {
            std::vector<std::jthread> helpers;
            for (unsigned t = 1; t < wanted && t < files_.size(); ++t) helpers.emplace_back(help);
            work();
        }
        if (cancelled) throw_cancelled();
        CheckReport report;
        report.findings = match_findings(limits_, files_, matches);
        for (Looked& l : looked) {
            if (!baseline_.empty()) {
                const ProgramFigures* was = baseline_of(before_, l.figures.file, l.figures.name);
                report.before.push_back(was ? std::optional(*was) : std::nullopt);
            }
            report.programs.push_back(std::move(l.figures));
            std::move(l.findings.begin(), l.findings.end(), std::back_inserter(report.findings));
        }
        const auto weight = [](const Finding& f) { return f.level == "error" ? 0 : f.level == "warning" ? 1 : 2; };
        std::stable_sort(report.findings.begin(), report.findings.end(),
                         [&](const Finding& a, const Finding& b) { return weight(a) < weight(b); });
        report.passed = report.findings.empty() || weight(report.findings.front()) > 0;
        return report;
    }

    ProgramArguments args_;
    std::vector<std::string> files_, must_save_, must_not_save_;
    std::string format_ = "text", budgets_, baseline_, max_peak_, max_residuals_;
    double max_recomputed_ = -1, max_peak_growth_ = -1, max_residual_growth_ = -1;
    bool no_unused_donations_ = false, no_unsupported_ = false;
    int jobs_ = 0;
    BudgetFile limits_;
    std::vector<ProgramFigures> before_;
};

}  // namespace

std::unique_ptr<Command> make_check(Arguments& a) { return std::make_unique<Check>(a); }

}  // namespace jaxscope::cli
