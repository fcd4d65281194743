// SPDX-License-Identifier: Apache-2.0
#include "report/dumps/equations_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "base/units.h"

namespace jaxscope {

namespace {

/// Of the recomputed work: what is left out beside it is small change, such as the mask that a product is multiplied by.
constexpr double kMostlyKept = 0.95;

std::string compiler(const EquationsInXla& in_xla) { return in_xla.target.empty() ? "XLA" : "XLA for " + in_xla.target; }

/// "block_3 (0/jaxpr/33)", "6 checkpoints at train.py:9 (0/jaxpr/32 and 5 more)".
std::string names(const CheckpointInXla& c) {
    constexpr std::size_t kNamed = 3;
    const bool scopes = c.scopes.size() == c.equations.size() && c.scopes.size() <= kNamed;
    std::string what = scopes                    ? fmt::format("{}", fmt::join(c.scopes, ", "))
                       : c.equations.size() == 1 ? "the checkpoint"
                                                 : fmt::format("{} checkpoints", c.equations.size());
    if (!scopes && c.line > 0) what += " at " + place(c.file, c.line);
    return fmt::format("{} ({}{})", what, c.equations.front(),
                       c.equations.size() > 1 ? fmt::format(" and {} more", c.equations.size() - 1) : "");
}

int percent(const RecomputationInXla& r) { return r.flops > 0 ? static_cast<int>(std::lround(100 * r.flops_kept / r.flops)) : 0; }

std::string sentence(const EquationsInXla& in_xla, const CheckpointInXla& c) {
    const RecomputationInXla& r = c.recomputed;
    const std::string each = c.equations.size() > 1 ? " in each" : "";
    if (r.kept == r.asked)
        return fmt::format("{} kept the recomputation of {}: all {} equations{} are computed a second time", compiler(in_xla), names(c),
                           r.asked, each);
    const std::string gone = r.removed > 0 ? fmt::format(", {} simplified away", r.removed) : "";
    if (r.kept == 0 && r.merged > 0)
        return fmt::format(
            "{} merged the recomputation of {} back: of {} equations{} {} are computed once{}, and what they make stays from the forward "
            "pass on",
            compiler(in_xla), names(c), r.asked, each, r.merged, gone);
    return fmt::format(
        "{} kept {} % of the recomputed work of {}: of {} equations{} {} are computed a second time, {} merged with the forward pass's{}",
        compiler(in_xla), percent(r), names(c), r.asked, each, r.kept, r.merged, gone);
}

void line_table(Page& page, const EquationsInXla& in_xla) {
    if (in_xla.lines.empty()) return;
    Table t({{"recomputed line", Table::Kind::Code},
             {"primitive", Table::Kind::Code},
             {"asked for", Table::Kind::Number},
             {"kept", Table::Kind::Number},
             {"merged", Table::Kind::Number},
             {"removed", Table::Kind::Number}});
    const auto cell = [](std::int64_t n) { return Table::Cell(count_text(n), static_cast<double>(n)); };
    for (const LineInXla& l : in_xla.lines)
        t.add({place(l.file, l.line), l.primitive, cell(l.recomputed.asked), cell(l.recomputed.kept), cell(l.recomputed.merged),
               cell(l.recomputed.removed)});
    page.table(t, 8);
}

void repeated_line(Page& page, const EquationsInXla& in_xla) {
    if (in_xla.repeated.empty()) return;
    constexpr std::size_t kNamed = 3;
    std::string which;
    for (std::size_t i = 0; i < in_xla.repeated.size() && (page.all() || i < kNamed); ++i) {
        const RepeatedInXla& r = in_xla.repeated[i];
        which += fmt::format("{}{} at {} ({} times)", i ? ", " : "", r.primitive, place(r.file, r.line), r.times);
    }
    if (!page.all() && in_xla.repeated.size() > kNamed) which += fmt::format(" and {} more", in_xla.repeated.size() - kNamed);
    page.paragraph("computed in several places, for each reader anew: " + which);
}

void stored_table(Page& page, const EquationsInXla& in_xla) {
    if (in_xla.stored.empty()) return;
    Table t({{"results in memory", Table::Kind::Number, true},
             {"results", Table::Kind::Number},
             {"pass"},
             {"primitive", Table::Kind::Code},
             {"line", Table::Kind::Code},
             {"equation", Table::Kind::Code}});
    for (const StoredInXla& s : in_xla.stored)
        t.add({size_cell(s.bytes), Table::Cell(count_text(s.results), static_cast<double>(s.results)), s.pass, s.primitive,
               place(s.file, s.line), s.equation});
    page.table(t, 8);
}

}  // namespace

std::vector<std::string> recomputation_in_xla(const EquationsInXla& in_xla) {
    std::vector<std::string> out;
    for (const CheckpointInXla& c : in_xla.checkpoints) out.push_back(sentence(in_xla, c));
    return out;
}

std::vector<std::string> recomputation_undone(const EquationsInXla& in_xla) {
    std::vector<std::string> out;
    for (const CheckpointInXla& c : in_xla.checkpoints)
        if (c.recomputed.flops_kept < kMostlyKept * c.recomputed.flops) out.push_back(sentence(in_xla, c));
    return out;
}

void equations_in_xla_section(Page& page, const EquationsInXla& in_xla) {
    page.heading("What " + compiler(in_xla) + " made of the equations");
    if (!in_xla.unknown.empty()) return page.line("not known: " + in_xla.unknown);
    for (const std::string& s : recomputation_in_xla(in_xla)) page.paragraph(s);
    line_table(page, in_xla);
    repeated_line(page, in_xla);
    stored_table(page, in_xla);
}

}  // namespace jaxscope
