// SPDX-License-Identifier: Apache-2.0
#include "report/fit/fit_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "report/explain_text.h"

namespace jaxscope {

namespace {

std::string where_text(const Placement& p) {
    const std::string function = p.function.empty() ? "" : " of " + p.function;
    const std::string place = p.loc.file.empty() ? "" : fmt::format(" ({})", short_place(p.loc.file, p.loc.line));
    switch (p.kind) {
        case Placement::Kind::Existing:
            return "in the checkpoints that are there";
        case Placement::Kind::Blocks:
            return fmt::format("around each of {} calls{}{}", p.count, function, place);
        case Placement::Kind::ScanBody:
            return fmt::format("around the body of the scan of {} steps{}", p.count, place);
        case Placement::Kind::Function:
            break;
    }
    return "around the whole function" + (p.function.empty() ? "" : " " + p.function);
}

std::string source_line(const Program& program, const SourceLoc& loc) {
    for (const SourceFile& f : program.files)
        if (f.text && f.path == loc.file) {
            const std::vector<std::string> lines = split(*f.text, '\n');
            if (loc.line > 0 && static_cast<std::size_t>(loc.line) <= lines.size())
                return std::string(trim(lines[static_cast<std::size_t>(loc.line) - 1]));
        }
    return "";
}

std::string python_names(const std::vector<SaveCandidate>& saved) {
    std::string out;
    for (const SaveCandidate& c : saved) out += fmt::format("{}\"{}\"", out.empty() ? "" : ", ", c.name);
    return out;
}

/// What stands where in the user's files. The lines to change are shown as they are: which variable holds the value, they say.
std::string python_text(const BudgetFit& fit, const Program& program) {
    if (!fit.placement) return "";
    std::string out;
    const bool names = std::any_of(fit.saved.begin(), fit.saved.end(), [](const SaveCandidate& c) { return !c.has_name; });
    if (names) out += "from jax.ad_checkpoint import checkpoint_name\n";
    for (const SaveCandidate& c : fit.saved) {
        if (c.has_name) continue;
        const std::string line = source_line(program, c.loc);
        out += fmt::format("# {}: give the result of {} ({}) a name{}\n", short_place(c.loc.file, c.loc.line), c.primitive, c.aval,
                           line.empty() ? "" : fmt::format(", in `{}`", line));
        out += fmt::format("#     checkpoint_name(..., \"{}\")\n", c.name);
    }
    out += fit.saved.empty() ? "policy = jax.checkpoint_policies.nothing_saveable\n"
                             : fmt::format("policy = jax.checkpoint_policies.save_only_these_names({})\n", python_names(fit.saved));
    const Placement& p = *fit.placement;
    const std::string function = p.function.empty() ? "function" : p.function;
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
    return out + fmt::format("{0} = jax.checkpoint({0}, policy=policy)\n", function);
}

std::string recomputed_text(const FitFigures& f) {
    return fmt::format("{} of {} recomputed", flops_text(f.recomputed_flops), flops_text(f.total_flops));
}

}  // namespace

FitReport fit_report(const BudgetFit& fit, const Program& program) {
    FitReport out;
    out.budget = fit.budget;
    out.fits = fit.fits;
    out.as_it_is = fit.as_it_is;
    out.before = fit.before;
    out.found = fit.found;
    if (fit.placement) out.where = where_text(*fit.placement);
    out.policy = fit.policy;
    for (const SaveCandidate& c : fit.saved)
        out.saved.push_back({c.name, c.has_name, c.primitive, c.aval, c.source, c.loc.file, c.loc.line, c.bytes, c.count});
    out.python = python_text(fit, program);
    out.tried = fit.tried;
    out.exhaustive = fit.exhaustive;
    out.problems = fit.problems;
    return out;
}

void fit_section(Page& page, const FitReport& fit) {
    page.heading(fmt::format("Budget of {}", bytes_text(fit.budget)));
    if (fit.as_it_is) {
        page.paragraph(fmt::format("fits as it is: the planned peak is {}", bytes_text(fit.before.planned_peak)));
        return;
    }
    page.paragraph(fmt::format("as it is: planned peak {}, {}", bytes_text(fit.before.planned_peak), recomputed_text(fit.before)));
    if (!fit.fits) {
        page.paragraph(fmt::format("nothing that was tried fits; the least is {}{}", bytes_text(fit.found.planned_peak),
                                   !fit.where.empty() ? fmt::format(", with {} {}", fit.policy, fit.where) : ", the program as it is"));
    } else {
        page.paragraph(fmt::format("fits: planned peak {}, {}, with a checkpoint {}", bytes_text(fit.found.planned_peak),
                                   recomputed_text(fit.found), fit.where));
    }
    page.paragraph(fmt::format("{} choices were derived and planned{}", fit.tried, fit.exhaustive ? ", all that there are" : ""));
    for (const std::string& p : fit.problems) page.paragraph("note: " + p);
    if (!fit.saved.empty()) {
        Table t({{"save", Table::Kind::Code},
                 {"size", Table::Kind::Number},
                 {"", Table::Kind::Number},
                 {"aval", Table::Kind::Code},
                 {"made by"},
                 {"your line"}});
        for (const SavedRow& r : fit.saved)
            t.add({r.name,
                   {bytes_text(r.bytes), static_cast<double>(r.bytes)},
                   r.count > 1 ? count_text(r.count) + " \u00d7" : "",
                   r.aval,
                   r.primitive,
                   r.file.empty() ? r.source : short_place(r.file, r.line)});
        page.table(t);
    }
    if (fit.python.empty()) return;
    page.heading("What to write");
    page.code(fit.python);
}

}  // namespace jaxscope
