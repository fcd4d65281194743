// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/escaped.h"
#include "base/units.h"
#include "report/export.h"
#include "report/formats/graph_page.h"
#include "report/formats/svg.h"
#include "report/palette.h"

namespace jaxscope {

namespace {

constexpr std::size_t kMostRows = 5000;
constexpr std::size_t kLongestText = 100000;  ///< bytes of one cell or paragraph

constexpr const char* kStyle = R"(
body{margin:0;background:var(--canvas);color:var(--ink);font:14px/1.5 Inter,system-ui,sans-serif}
main{max-width:1200px;margin:0 auto;padding:24px}
h1{font-size:22px;margin:0 0 4px;overflow-wrap:anywhere}h2{font-size:15px;margin:32px 0 8px;overflow-wrap:anywhere}
p{margin:4px 0;overflow-wrap:anywhere}.muted{color:var(--muted)}
.figures{display:flex;flex-wrap:wrap;gap:16px;margin:16px 0}
.figure{background:var(--panel);border:1px solid var(--rule);border-radius:6px;padding:10px 16px;min-width:140px}
.figure b{display:block;font:600 18px/1.4 "JetBrains Mono",monospace}
.scroll{overflow:auto;max-height:560px;width:fit-content;max-width:100%;border:1px solid var(--rule);border-radius:6px;background:var(--panel)}
table{border-collapse:collapse}
th,td{text-align:left;padding:3px 12px;border-bottom:1px solid var(--rule);white-space:nowrap;max-width:640px;overflow:hidden;text-overflow:ellipsis}
tr:last-child td{border-bottom:none}tbody tr:hover{background:var(--hover)}
th{position:sticky;top:0;background:var(--panel);font-size:12px;cursor:pointer;user-select:none}
th.n{text-align:right}td.n{text-align:right;font-family:"JetBrains Mono",monospace}td.c{font-family:"JetBrains Mono",monospace;font-size:13px}
td.w{white-space:normal;min-width:360px}td.l{white-space:normal;overflow-wrap:anywhere;min-width:360px}
.bar{display:inline-block;height:9px;background:var(--residual);vertical-align:middle;border-radius:2px;min-width:1px}
pre{overflow:auto;max-height:560px;padding:12px;border:1px solid var(--rule);border-radius:6px;background:var(--panel);font:13px/1.5 "JetBrains Mono",monospace}
.picture{overflow:auto}svg{max-width:100%;min-width:900px;height:auto;display:block}
input{font:inherit;padding:3px 8px;border:1px solid var(--rule);border-radius:4px;background:var(--panel);color:var(--ink);margin:0 0 6px}
@media print{.scroll,pre{max-height:none;overflow:visible}input{display:none}}
)";

// Sorting by a column and filtering rows; the graph has a script of its own (formats/graph_page.js).
constexpr const char* kScript = R"(<script>
for(const th of document.querySelectorAll('th'))th.onclick=()=>{const t=th.closest('table'),b=t.tBodies[0],i=th.cellIndex,d=th.dataset.d=th.dataset.d==='-1'?'1':'-1';
const v=r=>{const c=r.cells[i];return c.dataset.v!==undefined?+c.dataset.v:c.textContent};
[...b.rows].sort((x,y)=>{const a=v(x),c=v(y);return (a<c?-1:a>c?1:0)*d}).forEach(r=>b.append(r))};
for(const f of document.querySelectorAll('input.rows'))f.oninput=()=>{for(const r of f.nextElementSibling.querySelectorAll('tbody tr'))r.hidden=!r.textContent.toLowerCase().includes(f.value.toLowerCase())};
</script>
)";

std::string colours(const Palette& p) {
    return fmt::format(
        "--canvas:{};--panel:{};--ink:{};--muted:{};--rule:{};--residual:{};--residual-text:{};--hover:{};--edge:{};--known:{};--unknown:{}"
        ";--recomputed:{}",
        p.canvas, p.panel, p.ink, p.muted, p.rule, p.residual, p.residual_text, p.hover, p.edge, p.known, p.unknown, p.recomputed);
}

void figure(std::ostream& out, const char* what, const std::string& value) {
    out << fmt::format("<div class=figure><b>{}</b><span class=muted>{}</span></div>\n", html_escape(value), what);
}

void head(std::ostream& out, const std::string& title) {
    out << "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
           "content=\"width=device-width\">\n<title>"
        << html_escape(title) << " - jaxscope</title>\n<style>\n:root{color-scheme:light dark;" << colours(light_palette())
        << "}\n@media(prefers-color-scheme:dark){:root{" << colours(dark_palette()) << "}}" << kStyle << "</style></head><body><main>\n";
}

/// The largest value of a column, for its bars.
double largest(const Table& table, std::size_t column) {
    double most = 0;
    for (const Table::Row& row : table.rows())
        if (row[column].value > most) most = row[column].value;
    return most;
}

}  // namespace

std::string html_escape(std::string_view text) {
    std::string out;
    for (const char c : escaped(text, Keep::Newlines, kLongestText)) {  // to browsers a newline is a space
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

void Page::html_table(const Table& table) {
    if (table.rows().size() > 12) out_ << "<input class=rows placeholder=\"filter rows\" aria-label=\"filter rows\">";
    out_ << "<div class=scroll><table><thead><tr>";
    std::vector<double> most;
    for (std::size_t c = 0; c < table.columns().size(); ++c) {
        const Table::Column& column = table.columns()[c];
        out_ << (column.kind == Table::Kind::Number ? "<th class=n>" : "<th>") << html_escape(column.name) << "</th>";
        most.push_back(column.bar ? largest(table, c) : 0);
        if (column.bar) out_ << "<th></th>";
    }
    out_ << "</tr></thead><tbody>\n";
    for (std::size_t r = 0; r < std::min(kMostRows, table.rows().size()); ++r) {
        out_ << "<tr>";
        for (std::size_t c = 0; c < table.columns().size(); ++c) {
            const Table::Column& column = table.columns()[c];
            const Table::Cell& cell = table.rows()[r][c];
            // A path's end tells it apart: a cell of code that is too long for a line is broken, not cut.
            const char* kind = column.kind == Table::Kind::Number ? "n"
                               : column.kind == Table::Kind::Code ? (cell.text.size() > 80 ? "\"c l\"" : "c")
                               : cell.text.size() > 48            ? "w"
                                                                  : "t";
            out_ << "<td class=" << kind;
            if (std::isfinite(cell.value)) out_ << fmt::format(" data-v={}", cell.value);
            if (cell.text.size() > 80) out_ << " title=\"" << html_escape(cell.text) << '"';
            out_ << '>' << html_escape(cell.text) << "</td>";
            if (!column.bar) continue;
            const double share = most[c] > 0 && std::isfinite(cell.value) ? cell.value / most[c] : 0;
            out_ << fmt::format("<td data-v={}>", share);
            if (share > 0) out_ << fmt::format("<span class=bar style=\"width:{:.0f}px\"></span>", 80 * share);
            out_ << "</td>";
        }
        out_ << "</tr>\n";
    }
    out_ << "</tbody></table></div>\n";
    if (table.rows().size() > kMostRows) out_ << "<p class=muted>" << table.rows().size() - kMostRows << " more rows</p>\n";
}

void write_report_html(std::ostream& out, const Inspection& inspection, const FullReport& full, bool all, Depth depth) {
    const ProgramSummary& s = inspection.summary();
    head(out, s.name);
    out << "<h1>" << html_escape(s.name.empty() ? "Program" : s.name) << "</h1>\n<div class=figures>\n";
    if (full.memory.planned_peak > 0) figure(out, "planned peak", bytes_text(full.memory.planned_peak));
    if (full.memory.measured_peak) figure(out, "measured peak", bytes_text(*full.memory.measured_peak));
    std::string picture, problem;
    try {
        figure(out, "residuals", bytes_text(inspection.residuals().total_bytes));
        picture = inspection_svg(inspection, "split", depth);
    } catch (const Error& e) {
        if (e.code == ErrorCode::Cancelled || (depth && e.code == ErrorCode::LimitExceeded)) throw;
        problem = full_text(e);
    }
    figure(out, "aliased by donation", bytes_text(full.memory.aliased));
    if (full.time) figure(out, "run, median", seconds_text(full.time->run_median));
    out << "</div>\n";
    Page page(out, {.format = PageStyle::Format::Html, .all = all});
    write_report_page(page, inspection, full);
    page.heading("Graph");
    write_graph_page(out, inspection, depth);
    if (problem.empty()) {
        page.heading("Picture of the split");
        out << "<div class=picture>" << picture << "</div>\n";
    }
    out << kScript << "</main></body></html>\n";
}

}  // namespace jaxscope
