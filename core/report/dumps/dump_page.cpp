// SPDX-License-Identifier: Apache-2.0
#include "report/dumps/dump_page.h"

#include <fmt/format.h>

#include "analysis/dumps/equation_index.h"
#include "base/units.h"

namespace jaxscope {

namespace {

/// JAX's name of what made it, and in which pass; else XLA's.
std::string operation(const DumpedBuffer& b) {
    if (b.op_name.empty()) return b.opcode.empty() ? b.name : b.opcode;
    const std::string_view pass = says_rematted(b.op_name) ? ", recomputed" : says_transposed(b.op_name) ? ", backward" : "";
    return fmt::format("{}{}", primitive_in(b.op_name), pass);
}

/// "f32[4,256]" of "f32[4,256]{1,0:T(8,128)}".
std::string without_layout(std::string_view shape) {
    std::string out;
    int depth = 0;
    for (const char c : shape) {
        depth += c == '{';
        if (depth == 0) out += c;
        depth -= c == '}';
    }
    return out;
}

/// "36.0 MiB of dot_general at model.py:14".
std::string holder(const DumpedBuffer& b) {
    std::string out = bytes_text(b.bytes);
    if (b.role == "parameter") out += " is an argument";
    const std::string what = operation(b);
    if (!what.empty()) out += (b.role == "parameter" ? ", " : " of ") + what;
    if (b.line > 0) out += " at " + place(b.file, b.line);
    if (b.unpadded && b.bytes - *b.unpadded > b.bytes / 10)
        out += fmt::format(", of which {} is padding of the device's tiles", bytes_text(b.bytes - *b.unpadded));
    return out;
}

std::string origin(const DumpedBuffer& b) {
    if (b.equation.empty()) return "";
    return b.equations > 1 ? fmt::format("{} (one of {})", b.equation, b.equations) : b.equation;
}

void memory_table(Page& page, const DumpedMemory& m) {
    Table t({{"what", Table::Kind::Text}, {"bytes", Table::Kind::Number}});
    const auto row = [&](const char* what, const std::optional<std::int64_t>& bytes) {
        if (bytes) t.add({what, size_cell(bytes)});
    };
    row("needed", m.needed);
    row("available", m.available);
    row("alive together at the peak", m.peak);
    row("arguments", m.arguments);
    row("outputs", m.outputs);
    row("of these in arguments' memory", m.aliased);
    row("constants", m.constants);
    row("temporaries", m.temporaries);
    row("all allocations", m.total);
    row("in other memory spaces", m.other_spaces);
    if (t.rows().empty()) return;
    page.heading("Memory");
    page.table(t);
}

void line_table(Page& page, const DumpReport& report) {
    if (report.lines.empty()) return;
    page.heading(report.alive_together ? "By line of Python" : "By line of Python (not all alive together)");
    Table t({{"line", Table::Kind::Code},
             {report.alive_together ? "bytes" : "all", Table::Kind::Number, true},
             {"largest", Table::Kind::Number},
             {"buffers", Table::Kind::Number}});
    for (const DumpedLine& l : report.lines)
        t.add({place(l.file, l.line), size_cell(l.bytes), size_cell(l.largest),
               Table::Cell(count_text(l.buffers), static_cast<double>(l.buffers))});
    page.table(t, 15);
}

void buffer_table(Page& page, const DumpReport& report) {
    if (report.buffers.empty()) return;
    page.heading("Largest buffers");
    page.paragraph(report.listed);
    Table t({{"bytes", Table::Kind::Number, true},
             {"without padding", Table::Kind::Number},
             {"shape", Table::Kind::Code},
             {"role", Table::Kind::Text},
             {"operation", Table::Kind::Code},
             {"line", Table::Kind::Code},
             {"equation", Table::Kind::Code}});
    for (const DumpedBuffer& b : report.buffers) {
        t.add({size_cell(b.bytes), b.unpadded && *b.unpadded != b.bytes ? size_cell(b.unpadded) : Table::Cell(""), without_layout(b.shape),
               b.role, operation(b), b.line > 0 ? place(b.file, b.line) : "", origin(b)});
    }
    t.drop_empty_columns();
    page.table(t, 15);
    if (report.buffers_left_out > 0) page.line(fmt::format("{} smaller ones are left out", count_text(report.buffers_left_out)));
}

void donation_table(Page& page, const DumpReport& report) {
    if (report.aliases.empty() && report.unused_donations.empty()) return;
    page.heading("Donations that XLA used");
    Table t({{"output", Table::Kind::Code}, {"takes the memory of", Table::Kind::Code}, {"must", Table::Kind::Text}});
    const auto named = [](const std::string& path, const char* what, int number) {
        return path.empty() ? fmt::format("{} {}", what, number) : path;
    };
    for (const DumpedAlias& a : report.aliases)
        t.add({named(a.output_path, "output", a.output), named(a.input_path, "argument", a.input), a.must ? "must" : "may"});
    page.table(t, 15);
    for (const std::string& path : report.unused_donations) page.line("donated, and given to no output: " + path);
}

void operation_table(Page& page, const DumpReport& report) {
    if (report.operations.empty()) return;
    page.heading("Operations");
    Table t({{"opcode", Table::Kind::Code}, {"count", Table::Kind::Number}, {"bytes of results", Table::Kind::Number}});
    for (const DumpedOpcode& o : report.operations)
        t.add({o.opcode, Table::Cell(count_text(o.count), static_cast<double>(o.count)), size_cell(o.bytes)});
    page.table(t, 10);
    if (report.joinable > 0)
        page.line(fmt::format("{} of {} operations that name a line of the capture's files belong to an equation of it",
                              count_text(report.joined), count_text(report.joinable)));
}

void recomputed_table(Page& page, const DumpReport& report) {
    if (report.recomputed.empty()) return;
    page.heading("Recomputation that XLA kept");
    Table t({{"line", Table::Kind::Code},
             {"primitive", Table::Kind::Code},
             {"asked for", Table::Kind::Number},
             {"kept", Table::Kind::Number},
             {"", Table::Kind::Text}});
    for (const DumpedRecomputation& r : report.recomputed)
        t.add({place(r.file, r.line), r.primitive, count_text(r.asked), count_text(r.kept),
               r.kept == 0        ? "merged with the first computation, or dropped"
               : r.kept < r.asked ? "in part"
                                  : ""});
    page.table(t, 15);
}

}  // namespace

std::vector<std::string> dump_verdict(const DumpReport& report) {
    const DumpedMemory& m = report.memory;
    std::string first;
    if (m.needed && m.available)
        first = fmt::format("XLA needs {} and has {}", bytes_text(*m.needed), bytes_text(*m.available));
    else if (m.needed)
        first = fmt::format("XLA asked for {}, which wasn't there", bytes_text(*m.needed));
    else if (m.peak)
        first = fmt::format("{} are alive at the peak", bytes_text(*m.peak));
    else if (m.total)
        first = fmt::format("XLA's allocations take {}", bytes_text(*m.total));
    std::vector<std::string> out;
    if (!report.buffers.empty()) {
        const std::string most =
            (report.alive_together ? "the largest buffer: " : "the largest single one: ") + holder(report.buffers.front());
        out.push_back(first.empty() ? most : first + "; " + most);
    } else if (!first.empty()) {
        out.push_back(first);
    }
    if (report.alive_together && !report.lines.empty())
        out.push_back(fmt::format("the line with most of what is listed: {} at {}", bytes_text(report.lines.front().bytes),
                                  place(report.lines.front().file, report.lines.front().line)));
    return out;
}

void dump_page(Page& page, const DumpReport& report) {
    page.heading(report.module.empty() ? "What XLA says" : "What XLA says of " + report.module);
    for (const std::string& sentence : dump_verdict(report)) page.paragraph(sentence);
    for (const DumpedFile& f : report.files) page.line(f.kind + ": " + f.file);
    memory_table(page, report.memory);
    line_table(page, report);
    buffer_table(page, report);
    donation_table(page, report);
    recomputed_table(page, report);
    operation_table(page, report);
}

}  // namespace jaxscope
