#include <fmt/format.h>

#include <algorithm>

#include "analysis/measure.h"
#include "base/units.h"
#include "report/export.h"
#include "report/svg.h"

namespace jaxscope {

namespace {

constexpr const char* kHead = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<style>
:root{--canvas:#f7f8fa;--panel:#fff;--ink:#1f2933;--muted:#66727f;--rule:#d5dbe1;--known:#0072b2;--unknown:#d55e00;--residual:#cc79a7;--donated:#009e73}
@media(prefers-color-scheme:dark){:root{--canvas:#14181d;--panel:#1b2027;--ink:#e6eaee;--muted:#93a0ad;--rule:#2c333c;--known:#56b4e9;--unknown:#ff8f4d;--residual:#e29bc4;--donated:#2fc79b}}
body{margin:0;background:var(--canvas);color:var(--ink);font:14px/1.5 Inter,system-ui,sans-serif}
main{max-width:1200px;margin:0 auto;padding:24px}
h1{font-size:22px;margin:0 0 4px}h2{font-size:15px;margin:32px 0 8px}
p{margin:4px 0}.muted{color:var(--muted)}
.figures{display:flex;flex-wrap:wrap;gap:16px;margin:16px 0}
.figure{background:var(--panel);border:1px solid var(--rule);border-radius:6px;padding:10px 16px;min-width:140px}
.figure b{display:block;font:600 18px/1.4 "JetBrains Mono",monospace}
.scroll{overflow:auto;max-height:560px;border:1px solid var(--rule);border-radius:6px;background:var(--panel)}
table{border-collapse:collapse;width:100%}
th,td{text-align:left;padding:3px 10px;border-bottom:1px solid var(--rule);white-space:nowrap}
th{position:sticky;top:0;background:var(--panel);font-size:12px;cursor:pointer;user-select:none}
td.n,th.n{text-align:right;font-family:"JetBrains Mono",monospace}td.c{font-family:"JetBrains Mono",monospace}
tr.lost td{color:var(--unknown)}tr.as td{font-weight:600}
.bar{display:inline-block;height:9px;background:var(--residual);vertical-align:middle;border-radius:2px}
svg{max-width:100%;height:auto;display:block}
input{font:inherit;padding:3px 8px;border:1px solid var(--rule);border-radius:4px;background:var(--panel);color:var(--ink);margin:0 0 6px}
</style>
)";

// Sorting by a column and filtering rows: all the script there is.
constexpr const char* kScript = R"(<script>
for(const th of document.querySelectorAll('th'))th.onclick=()=>{const t=th.closest('table'),b=t.tBodies[0],i=th.cellIndex,d=th.dataset.d=th.dataset.d==='1'?'-1':'1';
const v=r=>{const c=r.cells[i];return c.dataset.v!==undefined?+c.dataset.v:c.textContent};
[...b.rows].sort((x,y)=>{const a=v(x),c=v(y);return (a<c?-1:a>c?1:0)*d}).forEach(r=>b.append(r))};
for(const f of document.querySelectorAll('input'))f.oninput=()=>{for(const r of f.nextElementSibling.querySelectorAll('tbody tr'))r.hidden=!r.textContent.toLowerCase().includes(f.value.toLowerCase())};
</script>
)";

std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : printable(text, 100000)) {
        if (c == '<')
            out += "&lt;";
        else if (c == '>')
            out += "&gt;";
        else if (c == '&')
            out += "&amp;";
        else if (c == '"')
            out += "&quot;";
        else
            out += c;
    }
    return out;
}

std::string number_cell(std::int64_t bytes) { return fmt::format("<td class=n data-v={}>{}</td>", bytes, bytes_text(bytes)); }
std::string cell(std::string_view text, bool code = false) { return fmt::format("<td{}>{}</td>", code ? " class=c" : "", escaped(text)); }
void figure(std::ostream& out, const char* what, const std::string& value) {
    out << fmt::format("<div class=figure><b>{}</b><span class=muted>{}</span></div>\n", escaped(value), what);
}

void table_head(std::ostream& out, std::initializer_list<std::pair<const char*, bool>> columns, bool filter) {
    if (filter) out << "<input placeholder=\"filter rows\" aria-label=\"filter rows\">";
    out << "<div class=scroll><table><thead><tr>";
    for (const auto& [name, number] : columns) out << fmt::format("<th{}>{}</th>", number ? " class=n" : "", name);
    out << "</tr></thead><tbody>\n";
}
constexpr const char* kTableEnd = "</tbody></table></div>\n";

void residuals(std::ostream& out, const Inspection& inspection) {
    const ResidualReport& r = inspection.residuals();
    out << fmt::format("<h2>Residuals of {}</h2><p class=muted>{} values, {}: what the backward pass keeps of the forward pass.</p>\n",
                       escaped(r.region_name.empty() ? "the program" : r.region_name), r.rows.size(), bytes_text(r.total_bytes));
    std::vector<const ResidualRow*> rows;
    std::int64_t largest = 1;
    for (const ResidualRow& row : r.rows) {
        rows.push_back(&row);
        largest = std::max(largest, row.bytes);
    }
    std::stable_sort(rows.begin(), rows.end(), [](const auto* a, const auto* b) { return a->bytes > b->bytes; });
    table_head(out, {{"size", true}, {"", false}, {"aval", false}, {"what JAX says", false}, {"your line", false}}, true);
    for (const ResidualRow* row : rows)
        out << "<tr>" << number_cell(row->bytes)
            << fmt::format("<td><span class=bar style=\"width:{}px\"></span></td>", 80 * row->bytes / largest) << cell(row->aval, true)
            << cell(row->source) << cell(row->file.empty() ? "" : fmt::format("{}:{}", row->file, row->line), true) << "</tr>\n";
    out << kTableEnd;
}

void donation(std::ostream& out, const Inspection& inspection) {
    const DonationReport& d = inspection.donation();
    out << fmt::format("<h2>Donation</h2><p class=muted>{} donated leaves, {} reused.</p>\n", d.donated.size(), bytes_text(d.saved_bytes));
    if (d.warning) out << "<p>JAX warns: " << escaped(*d.warning) << "</p>\n";
    for (const std::string& f : d.findings) out << "<p>" << escaped(f) << "</p>\n";
    if (d.donated.empty()) return;
    table_head(out, {{"size", true}, {"aval", false}, {"argument", false}, {"reused by", false}, {"why", false}}, true);
    for (const DonatedLeaf& l : d.donated)
        out << (l.used ? "<tr>" : "<tr class=lost>") << number_cell(l.bytes) << cell(l.aval, true) << cell(l.path, true)
            << cell(l.used ? l.output_path : "not reused", true) << cell(l.reason) << "</tr>\n";
    out << kTableEnd;
}

void policies(std::ostream& out, const std::vector<PolicyRow>& rows) {
    if (rows.empty()) return;
    out << "<h2>Checkpoint policies on this program</h2>\n";
    table_head(out,
               {{"policy", false},
                {"residuals", true},
                {"planned peak", true},
                {"measured peak", true},
                {"recomputed", true},
                {"run", true},
                {"", false}},
               false);
    for (const PolicyRow& r : rows) {
        out << (r.as_it_is ? "<tr class=as>" : "<tr>") << cell(r.policy, true) << number_cell(r.residual_bytes)
            << number_cell(r.planned_peak);
        out << (r.measured_peak ? number_cell(*r.measured_peak) : "<td class=n>-</td>");
        out << fmt::format("<td class=n data-v={}>{}</td>", r.recomputed_flops, flops_text(r.recomputed_flops));
        out << (r.run_median ? fmt::format("<td class=n data-v={}>{}</td>", *r.run_median, seconds_text(*r.run_median))
                             : "<td class=n>-</td>");
        out << cell(r.problem) << "</tr>\n";
    }
    out << kTableEnd;
}

void memory(std::ostream& out, const MemoryReport& m) {
    out << "<h2>Alive at the peak</h2><p class=muted>Of the plan of jaxscope's CPU JIT. " << escaped(m.difference) << "</p>\n";
    table_head(out, {{"size", true}, {"aval", false}, {"role", false}, {"where from", false}}, true);
    for (const PeakRow& r : m.at_peak)
        out << "<tr>" << number_cell(r.bytes) << cell(r.aval, true) << cell(r.role) << cell(r.source) << "</tr>\n";
    out << kTableEnd;
}

/// Stages that could not be had leave a line instead of a table.
template <class Section>
void section(std::ostream& out, Section write) {
    try {
        write();
    } catch (const Error& e) {
        if (e.code == ErrorCode::Cancelled) throw;
        out << "<p class=muted>" << escaped(full_text(e)) << "</p>\n";
    }
}

}  // namespace

void write_report_html(std::ostream& out, const Inspection& inspection, const FullReport& full) {
    const ProgramSummary& s = inspection.summary();
    out << kHead << "<title>" << escaped(s.name) << " - jaxscope</title></head><body><main>\n";
    out << "<h1>" << escaped(s.name) << "</h1><p class=muted>" << count_text(s.equations) << " equations, captured with JAX "
        << escaped(s.jax_version) << "</p>\n<div class=figures>\n";
    figure(out, "planned peak", bytes_text(full.memory.planned_peak));
    if (full.memory.measured_peak) figure(out, "measured peak", bytes_text(*full.memory.measured_peak));
    section(out, [&] { figure(out, "residuals", bytes_text(inspection.residuals().total_bytes)); });
    figure(out, "aliased by donation", bytes_text(full.memory.aliased));
    if (full.time) figure(out, "run, median", seconds_text(full.time->run_median));
    out << "</div>\n";
    for (const std::string& p : full.problems) out << "<p class=muted>" << escaped(p) << "</p>\n";
    section(out, [&] { residuals(out, inspection); });
    policies(out, full.policies);
    section(out, [&] { donation(out, inspection); });
    memory(out, full.memory);
    section(out, [&] { out << "<h2>Split</h2>\n" << inspection_svg(inspection, "split"); });
    out << kScript << "</main></body></html>\n";
}

}  // namespace jaxscope
