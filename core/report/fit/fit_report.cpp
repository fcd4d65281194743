// SPDX-License-Identifier: Apache-2.0
#include "report/fit/fit_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/naming/by_hand.h"
#include "analysis/stages/subject.h"
#include "base/escaped.h"
#include "base/text.h"
#include "base/units.h"
#include "report/explain_text.h"
#include "transforms/policies.h"

namespace jaxscope {

namespace {

std::string source_line(const Program& program, const SourceLoc& loc) {
    for (const SourceFile& f : program.files)
        if (f.text && f.path == loc.file) {
            const std::vector<std::string> lines = split(*f.text, '\n');
            if (loc.line > 0 && static_cast<std::size_t>(loc.line) <= lines.size())
                return std::string(trim(lines[static_cast<std::size_t>(loc.line) - 1]));
        }
    return "";
}

/// The policy in Python.
std::string policy_python(const std::vector<SavedRow>& saved) {
    const auto listed = [&](bool offloaded) {
        std::string out;
        for (const SavedRow& r : saved)
            if (r.offloaded == offloaded) out += (out.empty() ? "" : ", ") + quoted_name(r.name);
        return out;
    };
    const std::string names = listed(false), moved = listed(true);
    if (saved.empty()) return "policy = jax.checkpoint_policies.nothing_saveable\n";
    if (moved.empty()) return fmt::format("policy = jax.checkpoint_policies.save_only_these_names({})\n", names);
    return fmt::format(
        "policy = jax.checkpoint_policies.save_and_offload_only_these_names(\n    names_which_can_be_saved=[{}], "
        "names_which_can_be_offloaded=[{}],\n    offload_src=\"device\", offload_dst=\"pinned_host\")\n",
        names, moved);
}

/// Where the region, or the only one there is, is differentiated.
SourceLoc differentiated_at(const Program& program, std::optional<int> region) {
    if (!region && program.regions.size() != 1) return {};
    const auto k = static_cast<std::size_t>(region.value_or(0));
    return k < program.regions.size() ? program.regions[k].source.loc() : SourceLoc();
}

/// What stands where in the user's files. The lines to change are shown as they are: which variable holds the value, they say.
std::string python_text(const Placement& p, const std::vector<SavedRow>& saved, const Program& program, std::optional<int> region) {
    std::string out;
    const bool names = std::any_of(saved.begin(), saved.end(), [](const SavedRow& r) { return !r.has_name; });
    if (names) out += "from jax.ad_checkpoint import checkpoint_name\n";
    for (const SavedRow& r : saved) {
        if (r.has_name) continue;
        const std::string line = source_line(program, {r.file, r.line, 0});
        out += fmt::format("# {}: give the result of {} ({}) a name{}\n", short_place(r.file, r.line), r.primitive, r.aval,
                           line.empty() ? "" : fmt::format(", in `{}`", line));
        out += fmt::format("#     checkpoint_name(..., {})\n", quoted_name(r.name));
    }
    out += policy_python(saved);
    const bool lambda = p.function == "<lambda>";
    const std::string function = p.function.empty() ? "function" : lambda ? "lambda ...: ..." : printable(p.function);
    switch (p.kind) {
        case Placement::Kind::Existing:
            return out + "# in each jax.checkpoint that is there: policy=policy\n";
        case Placement::Kind::ScanBody:
            return out + fmt::format("# {}: jax.lax.scan(jax.checkpoint({}, policy=policy), ...)\n", short_place(p.loc.file, p.loc.line),
                                     function);
        case Placement::Kind::Blocks:
            return out + fmt::format("# {}: call jax.checkpoint({}, policy=policy) in its place\n",
                                     p.loc.file.empty() ? std::string("where it is called") : short_place(p.loc.file, p.loc.line),
                                     function);
        case Placement::Kind::Function:
            break;
    }
    if (lambda) {  // it has no name to assign to
        const SourceLoc at = differentiated_at(program, region);
        return out + fmt::format("# {}in place of the lambda that is differentiated: jax.checkpoint({}, policy=policy)\n",
                                 at.file.empty() ? "" : short_place(at.file, at.line) + ": ", function);
    }
    return out + fmt::format("{0} = jax.checkpoint({0}, policy=policy)\n", function);
}

SavedRow saved_row(const SaveCandidate& c, bool offloaded = false) {
    return {c.name, c.has_name, c.primitive, c.aval, c.source, c.loc.file, c.loc.line, c.bytes, c.count, offloaded};
}

void saved_table(Page& page, const std::vector<SavedRow>& saved) {
    if (saved.empty()) return;
    Table t({{"save", Table::Kind::Code},
             {"size", Table::Kind::Number},
             {"", Table::Kind::Number},
             {"to"},
             {"aval", Table::Kind::Code},
             {"made by"},
             {"your line"}});
    for (const SavedRow& r : saved)
        t.add({r.name,
               {bytes_text(r.bytes), static_cast<double>(r.bytes)},
               r.count > 1 ? count_text(r.count) + " \u00d7" : "",
               r.offloaded ? "pinned_host" : "",
               r.aval,
               r.primitive,
               r.file.empty() ? r.source : short_place(r.file, r.line)});
    t.drop_empty_columns();
    page.table(t);
}

std::string recomputed_text(const FitFigures& f) {
    return fmt::format("{} of {} recomputed", flops_text(f.recomputed_flops), flops_text(f.total_flops));
}

void proof_section(Page& page, const FitProof& proof, std::int64_t budget) {
    page.heading("Proof");
    if (!proof.problem.empty()) return page.paragraph("not proven: " + proof.problem);
    std::string text =
        fmt::format("captured from a copy of the sources with this change: planned peak {}", bytes_text(*proof.planned_peak));
    text += proof.holds ? ": it fits" : fmt::format(": it doesn't fit {}", bytes_text(budget));
    if (proof.measured_peak)
        text += fmt::format("; measured here {}{}", bytes_text(*proof.measured_peak),
                            proof.unplanned > 0 ? fmt::format(", {} of it the libraries' own", bytes_text(proof.unplanned)) : "");
    else if (!proof.not_measured.empty())
        text += "; not measured: " + proof.not_measured;
    page.paragraph(text);
}

void notes(Page& page, const FitReport& fit) {
    for (const std::string& p : fit.problems) page.paragraph("note: " + p);
}

}  // namespace

FitReport fit_report(const BudgetFit& fit, const Program& program) {
    FitReport out;
    out.budget = fit.budget;
    out.fits = fit.fits;
    out.as_it_is = fit.as_it_is;
    out.before = fit.before;
    out.found = fit.found;
    out.of = words(fit.of);
    out.region = fit.region;
    if (fit.placement) out.where = words(*fit.placement) + region_words(program, fit.region);
    out.policy = fit.policy;
    for (const SaveCandidate& c : fit.saved) out.saved.push_back(saved_row(c));
    if (fit.placement) out.python = python_text(*fit.placement, out.saved, program, fit.region);
    out.tried = fit.tried;
    out.exhaustive = fit.exhaustive;
    out.problems = fit.problems;
    if (fit.out_of_time)
        out.problems.emplace_back(
            "the search was ended by its time: with more (--budget-seconds) there may be a choice that recomputes less");
    return out;
}

void fit_section(Page& page, const FitReport& fit) {
    page.heading(fmt::format("Budget of {} for {}{}", bytes_text(fit.budget), fit.of,
                             fit.devices > 1 ? fmt::format(" on each of {} devices", fit.devices) : ""));
    if (fit.as_it_is && fit.where.empty()) {
        page.paragraph(fmt::format("fits as it is: the planned peak is {}", bytes_text(fit.before.planned_peak)));
        return notes(page, fit);
    }
    page.paragraph(fmt::format("{}as it is: planned peak {}, {}", fit.as_it_is ? "fits " : "", bytes_text(fit.before.planned_peak),
                               recomputed_text(fit.before)));
    if (fit.as_it_is) {
        page.paragraph(fmt::format("recomputes less, and fits: planned peak {}, {}, with a checkpoint {}",
                                   bytes_text(fit.found.planned_peak), recomputed_text(fit.found), fit.where));
    } else if (!fit.fits) {
        page.paragraph(fmt::format("nothing that was tried fits; the least is {}{}", bytes_text(fit.found.planned_peak),
                                   !fit.where.empty() ? fmt::format(", with {} {}", fit.policy, fit.where) : ", the program as it is"));
    } else {
        page.paragraph(fmt::format("fits: planned peak {}, {}, with a checkpoint {}", bytes_text(fit.found.planned_peak),
                                   recomputed_text(fit.found), fit.where));
    }
    page.paragraph(fmt::format("{} choices were derived and planned{}", fit.tried, fit.exhaustive ? ", all that there are" : ""));
    notes(page, fit);
    saved_table(page, fit.saved);
    if (fit.python.empty()) return;
    page.heading("What to write");
    page.code(fit.proof && !fit.proof->patch.empty() ? fit.proof->patch : fit.python);
    if (fit.proof) proof_section(page, *fit.proof, fit.budget);
}

std::optional<ByHandReport> by_hand_report(const Inspection& inspection) {
    const Choices& choices = inspection.choices();
    if (!choices.by_hand) return std::nullopt;
    Choices plain = choices;
    plain.clear_policies();
    const ByHand found = mark_by_hand(make_subject(inspection.program(), plain).jaxpr, *choices.by_hand, choices.marked_at);
    ByHandReport out;
    out.where = words(found.where);
    out.policy = policy_text(*found.policy);
    for (std::size_t k = 0; k < found.marked.size(); ++k) out.saved.push_back(saved_row(found.marked[k], found.offloaded[k]));
    out.python = python_text(found.where, out.saved, inspection.program(), inspection.region());
    return out;
}

void write_by_hand(JsonWriter& w, const Inspection& inspection) {
    const std::optional<ByHandReport> report = by_hand_report(inspection);
    if (!report) return;
    w.key("by_hand");
    write_json(w, *report);
}

void by_hand_section(Page& page, const ByHandReport& report) {
    page.heading("Chosen by hand: a checkpoint " + report.where);
    saved_table(page, report.saved);
    page.heading("What to write");
    page.code(report.python);
}

}  // namespace jaxscope
