// SPDX-License-Identifier: Apache-2.0
#include "report/compare/diff_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "report/explain_text.h"

namespace jaxscope {

std::string words(const EqnChange& c) {
    const auto side = [](const std::string& text) { return text.empty() ? std::string("not there") : text; };
    switch (c.kind) {
        case EqnChange::Kind::Param:
            return fmt::format("{}: {} -> {}", c.name, side(c.before), side(c.now));
        case EqnChange::Kind::OperandTypes:
            return fmt::format("operands: {} -> {}", c.before, c.now);
        case EqnChange::Kind::ResultTypes:
            return fmt::format("results: {} -> {}", c.before, c.now);
        case EqnChange::Kind::Literal:
            return fmt::format("operand {}: {} -> {}", c.number, c.before, c.now);
        case EqnChange::Kind::LiteralToValue:
            return fmt::format("operand {}: a literal -> a value", c.number);
        case EqnChange::Kind::ValueToLiteral:
            return fmt::format("operand {}: a value -> a literal", c.number);
        case EqnChange::Kind::OtherOperand:
            return fmt::format("operand {} is another value", c.number);
        case EqnChange::Kind::JaxprsInside:
            return fmt::format("{} -> {} jaxprs inside", c.before, c.now);
        case EqnChange::Kind::OtherResult:
            return fmt::format("result {} is another value", c.number);
    }
    return {};
}

namespace {

/// A residual whatever line it stands on: JAX's string without numbers of lines and columns, so that an edit above it changes nothing.
std::string without_lines(const std::string& source) {
    std::string out;
    for (std::size_t i = 0; i < source.size();) {
        if (source[i] == ':' && i + 1 < source.size() && std::isdigit(static_cast<unsigned char>(source[i + 1]))) {
            for (++i; i < source.size() && (std::isdigit(static_cast<unsigned char>(source[i])) || source[i] == ':'); ++i) {
            }
            continue;
        }
        out += source[i++];
    }
    return out;
}

/// Rows with equal keys are paired off; what is left stays in the two lists.
template <class Row, class Key>
std::int64_t pair_off(std::vector<Row>& a, std::vector<Row>& b, Key key) {
    std::map<std::string, std::vector<std::size_t>> places;
    for (std::size_t k = b.size(); k-- > 0;) places[key(b[k])].push_back(k);
    std::vector<bool> taken_a(a.size()), taken_b(b.size());
    std::int64_t pairs = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::vector<std::size_t>& free = places[key(a[i])];
        if (free.empty()) continue;
        taken_a[i] = taken_b[free.back()] = true;
        free.pop_back();
        ++pairs;
    }
    const auto drop = [](std::vector<Row>& rows, const std::vector<bool>& taken) {
        std::size_t n = 0;
        std::erase_if(rows, [&](const Row&) { return taken[n++]; });
    };
    drop(a, taken_a);
    drop(b, taken_b);
    return pairs;
}

ResidualsDiff diff_residuals(std::vector<ResidualRow> a, std::vector<ResidualRow> b) {
    ResidualsDiff out;
    out.same = pair_off(a, b, [](const ResidualRow& r) { return r.aval + ' ' + r.source; });
    out.same += pair_off(a, b, [](const ResidualRow& r) { return r.aval + ' ' + without_lines(r.source); });
    out.removed = std::move(a);
    out.added = std::move(b);
    const auto larger = [](const ResidualRow& x, const ResidualRow& y) { return x.bytes > y.bytes; };
    std::stable_sort(out.removed.begin(), out.removed.end(), larger);
    std::stable_sort(out.added.begin(), out.added.end(), larger);
    return out;
}

/// By path: whose text isn't the same on both sides.
template <class Row, class Text>
void diff_paths(std::vector<PathDiff>& out, const std::string& prefix, const std::vector<Row>& a, const std::vector<Row>& b, Text text) {
    std::map<std::string, std::string> of_b;
    for (const Row& r : b) of_b.emplace(r.path, text(r));
    for (const Row& r : a) {
        const auto it = of_b.find(r.path);
        const std::string now = it == of_b.end() ? "" : it->second;
        if (now != text(r)) out.push_back({prefix + r.path, text(r), now});
        if (it != of_b.end()) of_b.erase(it);
    }
    for (const Row& r : b)
        if (const auto it = of_b.find(r.path); it != of_b.end()) out.push_back({prefix + r.path, "", it->second});
}

/// Both sides have it, or it is said which doesn't.
template <class T>
bool on_both(DiffReport& out, const char* what, const T& a, const T& b) {
    if (a && b) return true;
    if (static_cast<bool>(a) != static_cast<bool>(b)) out.not_compared.push_back(fmt::format("{}: {} has none", what, a ? out.b : out.a));
    return false;
}

std::string donation_text(const DonatedLeaf& l) {
    return l.used ? (l.output_path.empty() ? "reused" : "reused by " + l.output_path) : "not reused: " + l.reason;
}

}  // namespace

DiffReport diff_sides(const ComparedSide& a, const ComparedSide& b) {
    DiffReport out;
    out.a = a.file;
    out.b = b.file;
    for (const ComparedSide* side : {&a, &b})
        for (const std::string& p : side->problems) out.not_compared.push_back(side->file + ": " + p);
    if (on_both(out, "equations", a.jaxpr, b.jaxpr)) {
        ProgramDiff d = diff_programs(*a.jaxpr, *b.jaxpr);
        out.added = std::move(d.added);
        out.removed = std::move(d.removed);
        out.changed = std::move(d.changed);
        out.same_equations = d.same;
    }
    if (on_both(out, "inputs", a.inputs, b.inputs))
        diff_paths(out.signature, "input ", *a.inputs, *b.inputs,
                   [](const ProgramInput& i) { return i.aval + (i.donated ? ", donated" : ""); });
    if (on_both(out, "outputs", a.outputs, b.outputs))
        diff_paths(out.signature, "output ", *a.outputs, *b.outputs, [](const ProgramOutput& o) { return o.aval; });
    if (on_both(out, "residuals", a.residuals, b.residuals)) out.saved = diff_residuals(*a.residuals, *b.residuals);
    if (on_both(out, "donations", a.donated, b.donated)) diff_paths(out.donations, "", *a.donated, *b.donated, donation_text);
    for (const auto* figures : {&a.figures, &b.figures})
        for (const auto& [name, bytes] : *figures) (figures == &a.figures ? out.memory[name].a : out.memory[name].b) = bytes;
    const bool figures_same = std::all_of(out.memory.begin(), out.memory.end(), [](const auto& m) { return m.second.a == m.second.b; });
    out.same = out.added.empty() && out.removed.empty() && out.changed.empty() && out.signature.empty() && out.donations.empty() &&
               out.saved.added.empty() && out.saved.removed.empty() && figures_same;
    return out;
}

namespace {

using Kind = Table::Kind;

void figures_table(Page& page, const DiffReport& d) {
    if (d.memory.empty()) return;
    page.heading("Memory");
    Table t({{"", Kind::Text}, {"A", Kind::Number}, {"B", Kind::Number}, {"difference", Kind::Number}});
    for (const auto& [name, f] : d.memory) {
        std::string words = name;
        std::replace(words.begin(), words.end(), '_', ' ');
        std::string difference;
        if (f.a && f.b && *f.a != *f.b)
            difference = fmt::format(
                "{}{}{}", *f.b > *f.a ? "+" : "-", bytes_text(std::abs(*f.b - *f.a)),
                *f.a > 0 ? fmt::format(" ({:+.3g} %)", 100.0 * static_cast<double>(*f.b - *f.a) / static_cast<double>(*f.a)) : "");
        t.add({words, size_cell(f.a), size_cell(f.b), difference});
    }
    page.table(t);
}

void equations_table(Page& page, const char* title, const std::vector<EqnDiff>& rows, bool changed) {
    if (rows.empty()) return;
    page.heading(fmt::format("{}: {} equation{}", title, rows.size(), rows.size() == 1 ? "" : "s"));
    std::vector<Table::Column> columns{{"equation", Kind::Code}, {"primitive", Kind::Code}, {"result", Kind::Code}};
    if (changed) columns.push_back({"what"});
    columns.push_back({"your line"});
    Table t(std::move(columns));
    for (const EqnDiff& e : rows) {
        Table::Row row{changed && !e.other.empty() && e.other != e.equation ? e.equation + " / " + e.other : e.equation, e.primitive,
                       e.aval};
        if (changed) {
            std::string what;
            for (const EqnChange& c : e.what) what += (what.empty() ? "" : "; ") + words(c);
            row.emplace_back(what);
        }
        row.emplace_back(e.loc.file.empty() ? e.source : short_place(e.loc.file, e.loc.line));
        t.add(std::move(row));
    }
    page.table(t, 30);
}

void paths_table(Page& page, const char* title, const std::vector<PathDiff>& rows) {
    if (rows.empty()) return;
    page.heading(title);
    Table t({{"path", Kind::Code}, {"A", Kind::Code}, {"B", Kind::Code}});
    for (const PathDiff& r : rows) t.add({r.path, r.a.empty() ? "not there" : r.a, r.b.empty() ? "not there" : r.b});
    page.table(t, 20);
}

void residuals_table(Page& page, const ResidualsDiff& d) {
    if (d.added.empty() && d.removed.empty()) return;
    page.heading(fmt::format("Residuals: {} more, {} fewer, {} in both", d.added.size(), d.removed.size(), d.same));
    Table t({{""}, {"size", Kind::Number}, {"aval", Kind::Code}, {"what JAX says"}});
    for (const ResidualRow& r : d.removed) t.add({"-", size_cell(r.bytes), r.aval, r.source});
    for (const ResidualRow& r : d.added) t.add({"+", size_cell(r.bytes), r.aval, r.source});
    page.table(t, 30);
}

}  // namespace

void diff_page(Page& page, const DiffReport& d) {
    page.heading(fmt::format("A: {} \u00b7 B: {}", d.a, d.b));
    page.line(d.same ? "no difference"
                     : fmt::format("{} equations more, {} fewer, {} changed, {} alike", d.added.size(), d.removed.size(), d.changed.size(),
                                   count_text(d.same_equations)));
    for (const std::string& n : d.not_compared) page.line("not compared: " + n);
    if (d.same) return;
    figures_table(page, d);
    paths_table(page, "Inputs and outputs", d.signature);
    equations_table(page, "Changed", d.changed, true);
    equations_table(page, "In A alone", d.removed, false);
    equations_table(page, "In B alone", d.added, false);
    residuals_table(page, d.saved);
    paths_table(page, "Donations", d.donations);
}

}  // namespace jaxscope
