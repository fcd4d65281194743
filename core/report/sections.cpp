// SPDX-License-Identifier: Apache-2.0
#include "report/sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "base/units.h"
#include "report/dumps/equations_page.h"
#include "report/row_groups.h"

namespace jaxscope {

namespace {

using Kind = Table::Kind;

std::string join(const std::vector<std::string>& parts, const char* separator) {
    std::string out;
    for (const std::string& p : parts) out += (out.empty() ? "" : separator) + p;
    return out;
}

std::string counted(std::size_t n, const char* what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); }

/// An output's path beside the argument that it reuses: of what stands in the argument's too, the middle is left out,
/// "[0]['params']...['w']" after "state['params']['blocks'][2]['w']".
std::string beside(const std::string& argument, const std::string& output) {
    const auto key_from = [&](std::size_t at) { return std::min(output.find_first_of("[.", at), output.size()); };
    const auto same = std::mismatch(output.rbegin(), output.rend(), argument.rbegin(), argument.rend()).first - output.rbegin();
    const std::size_t cut = key_from(key_from(output.size() - static_cast<std::size_t>(same)) + 1);
    const std::size_t last = output.rfind(output.ends_with(']') ? '[' : '.');
    constexpr std::string_view kCut = "...";
    return last == std::string::npos || last < cut + 2 * kCut.size() ? output : output.substr(0, cut).append(kCut) + output.substr(last);
}

Table::Cell count_cell(std::int64_t count) { return {count_text(count), static_cast<double>(count)}; }
Table::Cell flops_cell(double flops) { return {flops_text(flops), flops}; }

/// A table of rows with sizes, put together where they differ in indices alone.
void sized_table(Page& page, const std::vector<SizedRow>& rows, std::vector<Table::Column> columns, const std::vector<std::size_t>& indexed,
                 std::size_t limit) {
    columns.insert(columns.begin(), {{"size", Kind::Number, true}, {"", Kind::Number}});
    Table t(std::move(columns));
    for (const SizedRow& row : page.all() ? sorted_by_size(rows) : grouped(rows, indexed)) {
        Table::Row cells{size_cell(row.bytes), {row.count > 1 ? count_text(row.count) + " \u00d7" : "", static_cast<double>(row.count)}};
        cells.insert(cells.end(), row.cells.begin(), row.cells.end());
        t.add(std::move(cells));
    }
    t.drop_empty_columns();
    page.table(t, limit);
}

void input_tables(Page& page, const ProgramSummary& s) {
    page.heading("Inputs");
    Table in({{"path", Kind::Code}, {"aval", Kind::Code}, {"size", Kind::Number}, {""}});
    for (const ProgramInput& i : s.inputs)
        in.add({i.path, i.aval, size_cell(i.bytes), i.donated ? "donated" : i.is_static ? "static" : ""});
    page.table(in);
    page.heading("Outputs");
    Table out({{"path", Kind::Code}, {"aval", Kind::Code}, {"size", Kind::Number}});
    for (const ProgramOutput& o : s.outputs) out.add({o.path, o.aval, size_cell(o.bytes)});
    page.table(out);
}

void regions_table(Page& page, const ProgramSummary& s) {
    if (s.regions.empty()) return;
    page.heading("Regions (what the program differentiates inside)");
    Table t({{"#", Kind::Number},
             {"function", Kind::Code},
             {"by"},
             {"equations", Kind::Number},
             {"policies inside", Kind::Code},
             {"called at"}});
    for (std::size_t i = 0; i < s.regions.size(); ++i) {
        const RegionRow& r = s.regions[i];
        t.add({{std::to_string(i), static_cast<double>(i)},
               r.name,
               r.kind,
               count_cell(r.equations),
               r.policy.empty()     ? "-"
               : r.policy == "none" ? "none: saves nothing"
                                    : r.policy,
               r.loc.file.empty() ? r.source : place(r.loc.file, r.loc.line)});
    }
    page.table(t, 20);
}

void unsupported_table(Page& page, const ProgramSummary& s) {
    if (s.unsupported.empty()) return;
    page.heading("Not supported");
    Table t({{"primitive", Kind::Code}, {"count", Kind::Number}, {"stops"}, {"first at"}});
    for (const UnsupportedRow& u : s.unsupported)
        t.add({u.primitive, count_cell(u.count), join(u.stops, ", "), place(u.loc.file, u.loc.line)});
    page.table(t, 20);
}

void by_line_table(Page& page, const ResidualReport& r) {
    std::map<std::string, SizedRow> by_line;
    for (const ResidualRow& row : r.rows) {
        if (row.file.empty()) continue;
        SizedRow& line = by_line.try_emplace(place(row.file, row.line), SizedRow{0, 0, {place(row.file, row.line)}}).first->second;
        line.bytes += row.bytes;
        ++line.count;
    }
    if (by_line.empty()) return;
    page.heading("By line");
    std::vector<SizedRow> rows;
    for (auto& [key, row] : by_line) rows.push_back(std::move(row));
    sized_table(page, rows, {{"line", Kind::Code}}, {}, 10);
}

}  // namespace

namespace {

void context_lines(Page& page, const ProgramSummary& s) {
    for (const ContextRow& c : s.contexts) {
        std::string what;
        const auto add = [&](const std::string& text) { what += (what.empty() ? "" : ", ") + text; };
        if (!c.compute_type.empty()) add("computed on " + c.compute_type);
        if (!c.mesh.empty()) add("in the mesh " + c.mesh);
        if (!c.metadata.empty()) add("with XLA metadata " + c.metadata);
        if (what.empty() || !c.threefry_partitionable)
            add(fmt::format("threefry_partitionable={}", c.threefry_partitionable ? "True" : "False"));
        page.line(fmt::format("{} {}", counted(static_cast<std::size_t>(c.equations), "equation"), what));
    }
    std::string flags;
    for (const FlagRow& f : s.flags) flags += (flags.empty() ? "flags: " : ", ") + f.name + "=" + f.value;
    if (page.all() && !flags.empty()) page.line(flags);
}

}  // namespace

namespace {

void out_of_memory_lines(Page& page, const XlaFacts& x) {
    const OutOfMemory& o = *x.out_of_memory;
    const auto size = [](const std::optional<std::int64_t>& n) { return n ? bytes_text(*n) : std::string("?"); };
    page.line(fmt::format("{}: doesn't fit: XLA needs {} of {}", x.target, size(o.needed), size(o.available)));
    if (o.buffers.empty()) return;
    Table t({{"size", Kind::Number, true}, {"shape", Kind::Code}, {"operation", Kind::Code}, {"kind"}, {"your line"}});
    for (const OutOfMemory::Buffer& b : o.buffers) t.add({size_cell(b.bytes), b.shape, b.op_name, b.kind, place(b.file, b.line)});
    page.table(t, 20);
}

void compiled_section(Page& page, const ProgramSummary& s) {
    if (s.compiled.empty()) return;
    page.heading("What XLA's compiler said");
    Table t({{"target", Kind::Code},
             {"arguments", Kind::Number},
             {"outputs", Kind::Number},
             {"aliased", Kind::Number},
             {"temporaries", Kind::Number},
             {"peak", Kind::Number},
             {"compiled in", Kind::Number}});
    bool fits = false;
    for (const XlaFacts& x : s.compiled) {
        if (x.out_of_memory) continue;
        fits = true;
        const auto size = [](const std::optional<std::int64_t>& bytes) { return bytes ? size_cell(*bytes) : Table::Cell("-"); };
        t.add({x.target.empty() ? "this backend" : x.target, size(x.arguments), size(x.outputs), size(x.aliased), size(x.temporaries),
               size(x.peak), x.compile_seconds > 0 ? Table::Cell(seconds_text(x.compile_seconds)) : Table::Cell("-")});
    }
    if (fits) page.table(t);
    for (const XlaFacts& x : s.compiled)
        if (x.out_of_memory) out_of_memory_lines(page, x);
    for (const EquationsInXla& in_xla : s.compiled_equations) equations_in_xla_section(page, in_xla);
}

}  // namespace

void program_section(Page& page, const Inspection& inspection) {
    const ProgramSummary& s = inspection.summary();
    page.heading(s.name.empty() ? "Program" : "Program " + s.name);
    std::int64_t in_bytes = 0, out_bytes = 0, donated = 0;
    for (const ProgramInput& i : s.inputs) {
        in_bytes += i.bytes;
        donated += i.donated ? i.bytes : 0;
    }
    for (const ProgramOutput& o : s.outputs) out_bytes += o.bytes;
    page.line(fmt::format("{} equations, {} distinct sub-jaxprs{}", count_text(s.equations), count_text(s.jaxprs),
                          s.jax_version.empty() ? "" : ", captured with JAX " + s.jax_version));
    page.line(fmt::format("{}, {} ({} donated); {}, {}", counted(s.inputs.size(), "input"), bytes_text(in_bytes), bytes_text(donated),
                          counted(s.outputs.size(), "output"), bytes_text(out_bytes)));
    std::vector<std::pair<std::int64_t, std::string>> primitives;
    for (const auto& [name, n] : s.primitives) primitives.emplace_back(n, name);
    std::stable_sort(primitives.begin(), primitives.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    constexpr std::size_t kShown = 6;
    std::string names;
    for (std::size_t i = 0; i < primitives.size() && (page.all() || i < kShown); ++i)
        names += fmt::format("{}{} {}", i ? ", " : "", primitives[i].second, primitives[i].first);
    if (!page.all() && primitives.size() > kShown) names += fmt::format(", {} more kinds", primitives.size() - kShown);
    if (!names.empty()) page.line(names);
    context_lines(page, s);
    if (page.all()) input_tables(page, s);
    regions_table(page, s);
    compiled_section(page, s);
    unsupported_table(page, s);
}

/// Policies that are Python functions were asked when the program was captured; some questions they had no answer to.
void unknown_verdicts_line(Page& page, const std::vector<UnknownVerdictRow>& unknown) {
    if (unknown.empty()) return;
    std::string what;
    for (const UnknownVerdictRow& u : unknown) what += fmt::format("{}{} ({})", what.empty() ? "" : ", ", u.primitive, u.policy);
    page.line("a policy gave no answer about " + what + ": counted as not saved (--strict refuses)");
}

/// The user's line, but where JAX's string names it already.
std::string own_line(const std::string& source, const std::string& file, int number) {
    const std::string line = place(file, number);
    return source.find(line + ":") == std::string::npos ? line : "";
}

void residuals_section(Page& page, const Inspection& inspection) {
    const ResidualReport& r = inspection.residuals();
    page.heading(fmt::format("Residuals of {}: {} in {}{}", r.region_name.empty() ? "the program" : r.region_name,
                             bytes_text(r.total_bytes), counted(r.rows.size(), "value"),
                             r.device_bytes ? fmt::format("; {} on each device", bytes_text(*r.device_bytes)) : ""));
    unknown_verdicts_line(page, r.unknown_verdicts);
    if (r.rows.empty()) return;
    std::vector<SizedRow> rows;
    for (const ResidualRow& row : r.rows) {
        const bool placeless = row.source.ends_with(" from ");  // JAX's own string, for what it wrote itself
        const std::string source = placeless ? row.source.substr(0, row.source.size() - 6) : row.source;
        const std::string share = row.device_bytes ? bytes_text(*row.device_bytes) : "";
        rows.push_back({row.bytes, 1, {row.aval, source, own_line(row.source, row.file, row.line), row.local, share}});
    }
    sized_table(page, rows, {{"aval", Kind::Code}, {"what JAX says"}, {"your line"}, {"on each device", Kind::Code}, {"of"}}, {1}, 20);
    by_line_table(page, r);
}

void split_section(Page& page, const Inspection& inspection) {
    const SplitReport& s = inspection.split();
    page.heading(fmt::format("Split of {}", s.residuals.region_name.empty() ? "the program" : s.residuals.region_name));
    page.line(fmt::format("known (forward): {} equations; unknown (backward, linear): {} equations; {}, {}",
                          count_text(count_equations(*s.known)), count_text(count_equations(*s.unknown)),
                          counted(s.num_residuals, "residual"), bytes_text(s.residuals.total_bytes)));
    unknown_verdicts_line(page, s.residuals.unknown_verdicts);
    if (s.recomputed.empty()) return;
    page.heading(fmt::format("Recomputed in the backward pass: {} of {}", flops_text(s.recomputed_flops), flops_text(s.total_flops)));
    Table t({{"primitive", Kind::Code}, {"count", Kind::Number}, {"work", Kind::Number}});
    for (const RecomputedRow& r : s.recomputed) t.add({r.primitive, count_cell(r.count), flops_cell(r.flops)});
    page.table(t, 10);
}

/// Leaves of one argument that were lost for one reason, told as one row.
std::vector<SizedRow> by_reason(const std::vector<DonatedLeaf>& leaves) {
    struct Group {
        std::int64_t bytes = 0;
        std::vector<const DonatedLeaf*> leaves;
    };
    std::map<std::pair<std::string, std::string>, Group> groups;
    for (const DonatedLeaf& l : leaves)
        if (!l.used) {
            Group& g = groups[{l.path.substr(0, l.path.find_first_of("[.")), l.reason}];
            g.bytes += l.bytes;
            g.leaves.push_back(&l);
        }
    std::vector<SizedRow> out;
    for (const auto& [key, group] : groups) {
        const std::vector<const DonatedLeaf*>& all = group.leaves;
        const bool alone = all.size() == 1;
        const bool one_type = std::all_of(all.begin(), all.end(), [&](const auto* l) { return l->aval == all[0]->aval; });
        out.push_back({group.bytes,
                       static_cast<std::int64_t>(all.size()),
                       {one_type ? all[0]->aval : "several", alone ? all[0]->path : key.first, key.second}});
    }
    return out;
}

void donation_section(Page& page, const Inspection& inspection) {
    const DonationReport& d = inspection.donation();
    if (d.donated.empty()) {
        page.heading("Donation: nothing is donated");
    } else {
        const auto used = std::count_if(d.donated.begin(), d.donated.end(), [](const DonatedLeaf& l) { return l.used; });
        page.heading(fmt::format("Donation: {} of {} donated leaves reused, {}", used, d.donated.size(), bytes_text(d.saved_bytes)));
    }
    // What was lost comes first: it is what one looks for.
    std::vector<SizedRow> lost, reused;
    for (const DonatedLeaf& l : d.donated) {
        if (!l.used && page.all()) lost.push_back({l.bytes, 1, {l.aval, l.path, l.reason}});
        if (l.used)
            reused.push_back({l.bytes,
                              1,
                              {l.aval, l.path,
                               !l.output                           ? ""
                               : page.is_terminal() && !page.all() ? beside(l.path, l.output_path)
                                                                   : l.output_path,
                               l.at_lowering && l.output ? "" : l.reason}});
    }
    if (!page.all()) lost = by_reason(d.donated);
    if (!lost.empty()) sized_table(page, lost, {{"aval", Kind::Code}, {"not reused", Kind::Code}, {"why"}}, {1}, 12);
    if (!lost.empty() && !reused.empty()) page.line("");
    if (!reused.empty())
        sized_table(page, reused, {{"aval", Kind::Code}, {"reused", Kind::Code}, {"by output", Kind::Code}, {"how"}}, {1, 2}, 12);
    if (d.warning) {
        // Its text is the compiler's. Which of the two a capture has, it doesn't tell.
        const bool filtered = inspection.program().jit == Sym("eqx");
        page.line(filtered ? "JAX warns (filter_jit shows it under 'warn' and 'warn-except-first' alone):" : "JAX warns:");
        std::string text = *d.warning;
        for (std::size_t end = 0; end != std::string::npos; text.erase(0, end == std::string::npos ? 0 : end + 1)) {
            end = text.find('\n');
            page.line("  " + text.substr(0, end));
        }
    }
    for (const std::string& f : d.findings) page.line("note: " + f);
}

void donate_modes_section(Page& page, const std::vector<DonateModeRow>& rows) {
    page.heading("What each `donate` of filter_jit would do");
    Table t({{"donate", Kind::Code},
             {"reused", Kind::Number},
             {"saved", Kind::Number},
             {"lost", Kind::Number},
             {"planned peak", Kind::Number},
             {"gone after the call"},
             {"warns"}});
    for (const DonateModeRow& r : rows)
        t.add({r.mode + (r.chosen ? " *" : ""), fmt::format("{} of {}", r.reused, r.donated), size_cell(r.saved_bytes),
               size_cell(r.lost_bytes), size_cell(r.planned_peak), join(r.consumed_arguments, ", "), r.warning.empty() ? "" : "yes"});
    page.table(t);
    page.line("* what the program was captured with");
}

void memory_section(Page& page, const MemoryReport& m) {
    const std::string of = m.devices > 1 ? fmt::format(", on each of {} devices", m.devices) : "";
    const std::string whose = (m.target.empty() ? "Memory of jaxscope's CPU JIT" : "Memory estimated for " + m.target) + of;
    page.heading(m.of.kind == StepName::Kind::Program ? whose : whose + ", of " + words(m.of));
    Table t({{page.is_terminal() ? "" : "what"}, {page.is_terminal() ? "" : "size", Kind::Number}});
    t.add({"arguments", size_cell(m.arguments)});
    t.add({"outputs", size_cell(m.outputs)});
    t.add({"aliased (donated)", size_cell(m.aliased)});
    t.add({"temporaries", size_cell(m.temporaries)});
    t.add({m.target.empty() ? "planned peak" : "estimated peak", size_cell(m.planned_peak)});
    if (m.scratch > 0) t.add({"  of it for kernels", size_cell(m.scratch)});
    if (m.target.empty())
        t.add({"measured peak", m.measured_peak                 ? size_cell(*m.measured_peak)
                                : m.measurement_problem.empty() ? Table::Cell("not run")
                                                                : Table::Cell("not known")});
    for (const SpaceRow& s : m.spaces) {
        t.add({"peak of " + s.space, size_cell(s.peak)});
        t.add({"moved to " + s.space, size_cell(s.moved_in)});
    }
    page.table(t);
    if (!m.device_peaks.empty()) {
        std::string peaks;
        for (const std::int64_t bytes : m.device_peaks) peaks += (peaks.empty() ? "" : ", ") + bytes_text(bytes);
        page.line("measured, device by device: " + peaks);
        const auto highest = std::max_element(m.per_device.begin(), m.per_device.end(),
                                              [](const DeviceRow& a, const DeviceRow& b) { return a.measured_peak < b.measured_peak; });
        if (highest != m.per_device.end())
            page.line(fmt::format("planned for each: {}; device {} had most, {} of it in the step that ends with {}",
                                  bytes_text(m.planned_peak), highest->device, bytes_text(highest->of_step), highest->source));
    }
    if (m.scratch > 0)
        page.line(fmt::format("planned for {} and {}, which decide what kernels take to work in",
                              m.threads == 1 ? "1 thread" : std::to_string(m.threads) + " threads", m.instructions));
    if (!m.measurement_problem.empty()) page.line("not measured: " + m.measurement_problem);
    if (!m.difference.empty()) page.paragraph(m.difference);
    for (const std::string& n : m.notes) page.line("note: " + n);
    if (m.at_peak.empty()) return;
    std::map<std::string, std::int64_t> by_role;
    std::vector<SizedRow> rows;
    for (const PeakRow& r : m.at_peak) {
        by_role[r.role] += r.bytes;
        rows.push_back({r.bytes, 1, {r.role, r.aval, r.source, own_line(r.source, r.file, r.line)}});
    }
    std::vector<std::pair<std::int64_t, std::string>> roles;
    for (const auto& [role, bytes] : by_role) roles.emplace_back(bytes, role);
    std::sort(roles.rbegin(), roles.rend());
    std::string sums;
    for (const auto& [bytes, role] : roles) sums += fmt::format("{}{} {}", sums.empty() ? "" : ", ", role, bytes_text(bytes));
    page.heading("Alive at the peak: " + sums);
    sized_table(page, rows, {{"role"}, {"aval", Kind::Code}, {"where from"}, {"your line"}}, {2}, 12);
}

void time_section(Page& page, const TimeReport& t) {
    page.heading("Time");
    std::string text = fmt::format("load {}, transform {}, compile {}, first run {}", seconds_text(t.load), seconds_text(t.transform),
                                   seconds_text(t.compile), seconds_text(t.first_run));
    if (t.run_median != t.first_run) text += fmt::format(", median {}, least {}", seconds_text(t.run_median), seconds_text(t.run_min));
    page.line(text);
}

void debug_section(Page& page, const std::vector<DebugPrintRow>& rows) {
    if (rows.empty()) return;
    page.heading("Debug prints (Python isn't run)");
    Table t({{"calls", Kind::Number}, {"equation", Kind::Code}, {"source", Kind::Code}, {"format", Kind::Code}, {"", Kind::Text}});
    for (const DebugPrintRow& r : rows)
        t.add({Table::Cell(std::to_string(r.calls), static_cast<double>(r.calls)), r.equation + ": " + r.primitive, r.source,
               printable(r.format, 60), printable(r.problem, 120)});
    page.table(t, 20);
    std::string text;
    for (const std::string& line : printed_lines(rows)) text += printable(line) + "\n";
    if (!text.empty()) page.code(text);
}

namespace {

/// Targets that were asked, in order: of the first row, as all rows have the same.
std::vector<std::string> asked_targets(const std::vector<PolicyRow>& rows) {
    std::vector<std::string> out;
    for (const PolicyRow& r : rows)
        for (const CompiledFigure& c : r.compiled)
            if (std::find(out.begin(), out.end(), c.target) == out.end()) out.push_back(c.target);
    return out;
}

const CompiledFigure* compiled_for(const PolicyRow& row, const std::string& target) {
    for (const CompiledFigure& c : row.compiled)
        if (c.target == target) return &c;
    return nullptr;
}

/// What each compiler took, and why rows have no figure of it.
void compiled_lines(Page& page, const std::vector<PolicyRow>& rows, const std::string& target) {
    double seconds = 0;
    std::size_t compiled = 0, kept = 0;
    std::string device;
    std::map<std::string, std::vector<std::string>> rows_of;  // by problem
    for (const PolicyRow& r : rows)
        if (const CompiledFigure* c = compiled_for(r, target)) {
            if (c->peak) ++(c->kept ? kept : compiled);
            if (!c->kept) seconds += c->compile_seconds;
            if (!c->device.empty()) device = c->device + (c->version.empty() ? "" : ", compiler " + c->version);
            if (!c->problem.empty()) rows_of[c->problem].push_back(r.policy);
        }
    for (const auto& [problem, policies] : rows_of)
        page.line(fmt::format("{}: {}: {}",
                              policies.size() == rows.size() && rows.size() > 1 ? "all" : fmt::format("{}", fmt::join(policies, ", ")),
                              target, problem));
    if (compiled + kept == 0) return;
    page.line(fmt::format("XLA {}: the peak by XLA's own memory analysis ({}); {} compiled in {}{}", target, device, compiled,
                          seconds_text(seconds), kept > 0 ? fmt::format(", {} read from the disk", kept) : ""));
}

}  // namespace

void policies_section(Page& page, const std::vector<PolicyRow>& rows) {
    const auto told = std::find_if(rows.begin(), rows.end(), [](const PolicyRow& r) { return r.of.kind != StepName::Kind::None; });
    page.heading(told == rows.end() ? "Checkpoint policies on this program"
                                    : "Checkpoint policies on this program: peaks and times of " + words(told->of));
    const bool shared = std::any_of(rows.begin(), rows.end(), [](const PolicyRow& r) { return r.sent_bytes.has_value(); });
    const std::vector<std::string> targets = asked_targets(rows);
    std::vector<Table::Column> columns = {{"policy", Kind::Code},
                                          {shared ? "residuals on each device" : "residuals", Kind::Number, true},
                                          {"plan's peak", Kind::Number, true}};
    for (const std::string& target : targets) columns.push_back({"XLA " + target, Kind::Number, true});
    for (const char* name : {"measured", "sent", "recomputed", "run"}) columns.push_back({name, Kind::Number});
    Table t(std::move(columns));
    for (const PolicyRow& r : rows) {
        const double share = r.total_flops > 0 ? 100 * r.recomputed_flops / r.total_flops : 0;
        Table::Row row = {r.policy, size_cell(shared ? r.residual_device_bytes : r.residual_bytes), size_cell(r.planned_peak)};
        for (const std::string& target : targets) {
            const CompiledFigure* c = compiled_for(r, target);
            row.push_back(c != nullptr ? size_cell(c->peak) : Table::Cell(""));
        }
        row.push_back(size_cell(r.measured_peak));
        row.push_back(shared ? size_cell(r.sent_bytes) : Table::Cell(""));
        row.push_back({fmt::format("{} {:4.1f} %", flops_text(r.recomputed_flops), share), r.recomputed_flops});
        row.push_back(r.run_median ? Table::Cell(seconds_text(*r.run_median), *r.run_median) : Table::Cell("-"));
        t.add(std::move(row));
    }
    t.drop_empty_columns();
    page.table(t);
    for (const PolicyRow& r : rows)
        if (!r.problem.empty()) page.line(r.policy + ": " + r.problem);
    blocks_line(page, rows);
    for (const std::string& target : targets) compiled_lines(page, rows, target);
}

}  // namespace jaxscope
