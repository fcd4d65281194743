#include "app/cli/sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "app/cli/table.h"
#include "base/units.h"

namespace jaxscope::cli {

namespace {

using Align = Table::Align;

std::string place(const std::string& file, int line) { return file.empty() ? "" : fmt::format("{}:{}", file, line); }

std::string join(const std::vector<std::string>& parts, const char* separator) {
    std::string out;
    for (const std::string& p : parts) out += (out.empty() ? "" : separator) + p;
    return out;
}

void print_regions(std::ostream& out, const ProgramSummary& s) {
    if (s.regions.empty()) return;
    heading(out, "Regions (what the program differentiates inside)");
    Table t({{"#", Align::Right},
             {"function", Align::Left},
             {"by", Align::Left},
             {"equations", Align::Right},
             {"policies inside", Align::Left},
             {"called at", Align::Left}});
    for (std::size_t i = 0; i < s.regions.size(); ++i) {
        const RegionRow& r = s.regions[i];
        t.add({std::to_string(i), r.name, r.kind, count_text(r.equations), r.policy.empty() ? "-" : r.policy, r.source});
    }
    t.print(out);
}

void print_unsupported(std::ostream& out, const ProgramSummary& s) {
    if (s.unsupported.empty()) return;
    heading(out, "Not supported");
    Table t({{"primitive", Align::Left}, {"count", Align::Right}, {"stops", Align::Left}, {"first at", Align::Left}});
    for (const UnsupportedRow& u : s.unsupported)
        t.add({u.primitive, count_text(u.count), join(u.stops, ", "), place(u.loc.file, u.loc.line)});
    t.print(out);
}

}  // namespace

void print_program(std::ostream& out, const Inspection& inspection, bool all) {
    const ProgramSummary& s = inspection.summary();
    heading(out, fmt::format("Program {}", s.name.empty() ? "(unnamed)" : s.name));
    std::int64_t in_bytes = 0, out_bytes = 0, donated = 0;
    for (const ProgramInput& i : s.inputs) {
        in_bytes += i.bytes;
        donated += i.donated ? i.bytes : 0;
    }
    for (const ProgramOutput& o : s.outputs) out_bytes += o.bytes;
    out << fmt::format("  {} equations, {} distinct sub-jaxprs", count_text(s.equations), count_text(s.jaxprs));
    if (!s.jax_version.empty()) out << ", captured with JAX " << s.jax_version;
    out << fmt::format("\n  {} inputs, {} ({} donated); {} outputs, {}\n", s.inputs.size(), bytes_text(in_bytes), bytes_text(donated),
                       s.outputs.size(), bytes_text(out_bytes));
    std::vector<std::pair<std::int64_t, std::string>> primitives;
    for (const auto& [name, n] : s.primitives) primitives.emplace_back(n, name);
    std::stable_sort(primitives.begin(), primitives.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    out << "  ";
    for (std::size_t i = 0; i < primitives.size() && (all || i < 12); ++i)
        out << fmt::format("{}{} {}", i ? ", " : "", primitives[i].second, primitives[i].first);
    if (!all && primitives.size() > 12) out << fmt::format(", {} more kinds", primitives.size() - 12);
    out << '\n';
    if (all) {
        heading(out, "Inputs");
        Table t({{"path", Align::Left}, {"aval", Align::Left}, {"size", Align::Right}, {"", Align::Left}});
        for (const ProgramInput& i : s.inputs)
            t.add({i.path, i.aval, bytes_text(i.bytes), i.donated ? "donated" : i.is_static ? "static" : ""});
        t.print(out);
    }
    print_regions(out, s);
    print_unsupported(out, s);
}

void print_residuals(std::ostream& out, const Inspection& inspection, bool all) {
    const ResidualReport& r = inspection.residuals();
    heading(out, fmt::format("Residuals of {}: {} in {} values", r.region_name.empty() ? "the program" : r.region_name,
                             bytes_text(r.total_bytes), r.rows.size()));
    std::vector<const ResidualRow*> rows;
    for (const ResidualRow& row : r.rows) rows.push_back(&row);
    std::stable_sort(rows.begin(), rows.end(), [](const ResidualRow* a, const ResidualRow* b) { return a->bytes > b->bytes; });
    Table t({{"size", Align::Right}, {"aval", Align::Left}, {"what JAX says", Align::Left}, {"your line", Align::Left}});
    for (const ResidualRow* row : rows) t.add({bytes_text(row->bytes), row->aval, row->source, place(row->file, row->line)});
    t.print(out, all ? 0 : 20);
    std::map<std::string, std::int64_t> by_line;
    for (const ResidualRow& row : r.rows)
        if (!row.file.empty()) by_line[place(row.file, row.line)] += row.bytes;
    if (by_line.empty()) return;
    heading(out, "By line");
    std::vector<std::pair<std::int64_t, std::string>> lines;
    for (const auto& [line, bytes] : by_line) lines.emplace_back(bytes, line);
    std::stable_sort(lines.begin(), lines.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    Table l({{"size", Align::Right}, {"line", Align::Left}});
    for (const auto& [bytes, line] : lines) l.add({bytes_text(bytes), line});
    l.print(out, all ? 0 : 10);
}

void print_split(std::ostream& out, const Inspection& inspection, bool all) {
    const SplitReport& s = inspection.split();
    heading(out, fmt::format("Split of {}", s.residuals.region_name.empty() ? "the program" : s.residuals.region_name));
    out << fmt::format("  known (forward): {} equations; unknown (backward, linear): {} equations; {} residuals, {}\n",
                       count_text(count_equations(*s.known)), count_text(count_equations(*s.unknown)), s.num_residuals,
                       bytes_text(s.residuals.total_bytes));
    if (!s.recomputed.empty()) {
        heading(out, fmt::format("Recomputed in the backward pass: {} of {}", flops_text(s.recomputed_flops), flops_text(s.total_flops)));
        Table t({{"primitive", Align::Left}, {"count", Align::Right}, {"work", Align::Right}});
        for (const RecomputedRow& r : s.recomputed) t.add({r.primitive, count_text(r.count), flops_text(r.flops)});
        t.print(out, all ? 0 : 15);
    }
}

void print_donation(std::ostream& out, const Inspection& inspection, bool all) {
    const DonationReport& d = inspection.donation();
    const auto used = std::count_if(d.donated.begin(), d.donated.end(), [](const DonatedLeaf& l) { return l.used; });
    heading(out, d.donated.empty()
                     ? std::string("Donation: nothing is donated")
                     : fmt::format("Donation: {} of {} donated leaves reused, {}", used, d.donated.size(), bytes_text(d.saved_bytes)));
    std::vector<const DonatedLeaf*> rows;
    for (const DonatedLeaf& l : d.donated) rows.push_back(&l);
    // What was lost comes first: it is what one looks for.
    std::stable_sort(rows.begin(), rows.end(),
                     [](const DonatedLeaf* a, const DonatedLeaf* b) { return a->used != b->used ? b->used : a->bytes > b->bytes; });
    if (!rows.empty()) {
        Table t(
            {{"size", Align::Right}, {"aval", Align::Left}, {"argument", Align::Left}, {"reused by", Align::Left}, {"why", Align::Left}});
        for (const DonatedLeaf* l : rows)
            t.add({bytes_text(l->bytes), l->aval, l->path,
                   l->used ? (l->output ? "output " + l->output_path : "filter_jit's own") : "not reused", l->reason});
        t.print(out, all ? 0 : 12);
    }
    if (d.warning) out << "  JAX warns: " << *d.warning << '\n';
    for (const std::string& f : d.findings) out << "  note: " << f << '\n';
}

void print_memory(std::ostream& out, const MemoryReport& m, bool all) {
    heading(out, "Memory of jaxscope's CPU JIT");
    Table t({{"", Align::Left}, {"", Align::Right}});
    t.add({"arguments", bytes_text(m.arguments)});
    t.add({"outputs", bytes_text(m.outputs)});
    t.add({"aliased (donated)", bytes_text(m.aliased)});
    t.add({"temporaries", bytes_text(m.temporaries)});
    t.add({"planned peak", bytes_text(m.planned_peak)});
    t.add({"measured peak", m.measured_peak ? bytes_text(*m.measured_peak) : "not run"});
    t.print(out);
    if (!m.difference.empty()) out << "  " << m.difference << '\n';
    if (m.at_peak.empty()) return;
    heading(out, "Alive at the peak");
    Table p({{"size", Align::Right}, {"aval", Align::Left}, {"role", Align::Left}, {"where from", Align::Left}});
    for (const PeakRow& r : m.at_peak) p.add({bytes_text(r.bytes), r.aval, r.role, r.source});
    p.print(out, all ? 0 : 12);
}

void print_time(std::ostream& out, const TimeReport& t) {
    heading(out, "Time");
    out << fmt::format("  load {}, transform {}, compile {}, first run {}, then median {} (least {})\n", seconds_text(t.load),
                       seconds_text(t.transform), seconds_text(t.compile), seconds_text(t.first_run), seconds_text(t.run_median),
                       seconds_text(t.run_min));
}

void print_policies(std::ostream& out, const std::vector<PolicyRow>& rows) {
    heading(out, "Checkpoint policies on this program");
    Table t({{"policy", Align::Left},
             {"residuals", Align::Right},
             {"planned peak", Align::Right},
             {"measured peak", Align::Right},
             {"recomputed", Align::Right},
             {"of", Align::Right},
             {"run", Align::Right},
             {"", Align::Left}});
    for (const PolicyRow& r : rows)
        t.add({r.as_it_is ? bold(r.policy) : r.policy, bytes_text(r.residual_bytes), bytes_text(r.planned_peak),
               r.measured_peak ? bytes_text(*r.measured_peak) : "-", flops_text(r.recomputed_flops), flops_text(r.total_flops),
               r.run_median ? seconds_text(*r.run_median) : "-", r.problem});
    t.print(out);
}

}  // namespace jaxscope::cli
