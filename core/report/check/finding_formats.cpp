// SPDX-License-Identifier: Apache-2.0
// The formats of `check`. Names and texts come from files: each format escapes what it would take for its own.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/escaped.h"
#include "base/suggest.h"
#include "base/units.h"
#include "report/check/findings.h"

namespace jaxscope {

namespace {

/// What would move a cursor, or is no UTF-8, is spelt \xNN in all of them.
std::string replaced(std::string_view text, std::initializer_list<std::pair<char, const char*>> by) {
    std::string out;
    for (const char c : escaped(text, Keep::Newlines)) {
        const auto* const found = std::find_if(by.begin(), by.end(), [&](const auto& r) { return r.first == c; });
        if (found == by.end())
            out += c;
        else
            out += found->second;
    }
    return out;
}

std::string with_remedy(const Finding& f) { return f.remedy.empty() ? f.message : f.message + ". " + f.remedy; }

std::string place(const Finding& f) { return f.line > 0 ? fmt::format("{}:{}", f.file, f.line) : f.file; }

bool passed(const CheckReport& r, const ProgramFigures& p) {
    return std::none_of(r.findings.begin(), r.findings.end(), [&](const Finding& f) { return f.program == p.file && f.level == "error"; });
}
std::string figure(const std::optional<std::int64_t>& bytes) { return bytes ? bytes_text(*bytes) : "-"; }
/// In a word; a program that nothing was asked of hasn't passed anything.
const char* verdict_on(const CheckReport& r, const ProgramFigures& p) {
    if (!passed(r, p)) return "failed";
    return p.rules.empty() && p.problem.empty() ? "no limit" : "passed";
}
bool is_unlimited(const CheckReport& r) {
    return r.passed && std::all_of(r.programs.begin(), r.programs.end(), [](const ProgramFigures& p) { return p.rules.empty(); });
}

void write_text(Page& page, const CheckReport& r) {
    const auto good = std::count_if(r.programs.begin(), r.programs.end(),
                                    [&](const ProgramFigures& p) { return std::string_view(verdict_on(r, p)) == "passed"; });
    page.heading(is_unlimited(r) ? std::string("check: no limit was given, nothing is held to anything")
                                 : fmt::format("check {}: {} of {} {} within budget", r.passed ? "passed" : "failed", good,
                                               r.programs.size(), r.programs.size() == 1 ? "program" : "programs"));
    for (const Finding& f : r.findings) {
        page.line(fmt::format("{}: {}: {} [{}]", place(f), f.level, f.message, f.rule));
        if (place(f) != f.program && f.file != f.program) page.line("    in " + f.program);
        if (!f.remedy.empty()) page.line("    " + f.remedy);
    }
    if (!r.findings.empty()) page.line("");
    Table t({{"program"},
             {"peak", Table::Kind::Number},
             {"of"},
             {"residuals", Table::Kind::Number},
             {"recomputed", Table::Kind::Number},
             {""}});
    for (const ProgramFigures& p : r.programs)
        t.add({p.file, figure(p.planned_peak), p.peak_of, figure(p.residual_bytes),
               p.recomputed_share ? fmt::format("{:.3g} %", *p.recomputed_share) : "-", verdict_on(r, p)});
    page.table(t);
}

/// "96.0 MiB → 64.0 MiB (-33.3 %)", where there is a baseline.
std::string with_before(const CheckReport& r, std::size_t program, std::optional<std::int64_t> ProgramFigures::*figure_of) {
    const std::optional<std::int64_t>& now = r.programs[program].*figure_of;
    if (r.before.empty() || !now) return figure(now);
    if (!r.before[program] || !(*r.before[program].*figure_of)) return figure(now) + " (new)";
    const std::int64_t was = *(*r.before[program].*figure_of);
    if (was == *now) return figure(now) + " (as before)";
    const std::string share =
        was > 0 ? fmt::format(" ({:+.3g} %)", 100.0 * static_cast<double>(*now - was) / static_cast<double>(was)) : "";
    return fmt::format("{} → {}{}", figure(was), figure(now), share);
}

void write_markdown(std::ostream& out, const CheckReport& r) {
    const auto cell = [](std::string_view text) {
        return replaced(text,
                        {{'|', "\\|"}, {'<', "&lt;"}, {'&', "&amp;"}, {'`', "\\`"}, {'*', "\\*"}, {'_', "\\_"}, {'[', "\\["}, {'\n', " "}});
    };
    out << "### jaxscope check "
        << (is_unlimited(r) ? "without a limit"
            : r.passed      ? "passed"
                            : "failed")
        << "\n\n| program | peak | of | residuals | recomputed | |\n|---|--:|---|--:|--:|---|\n";
    for (std::size_t i = 0; i < r.programs.size(); ++i) {
        const ProgramFigures& p = r.programs[i];
        out << "| " << cell(p.file) << " | " << with_before(r, i, &ProgramFigures::planned_peak) << " | " << p.peak_of << " | "
            << with_before(r, i, &ProgramFigures::residual_bytes) << " | "
            << (p.recomputed_share ? fmt::format("{:.3g} %", *p.recomputed_share) : "-") << " | "
            << (passed(r, p) ? verdict_on(r, p) : "**failed**") << " |\n";
    }
    if (r.findings.empty()) return;
    out << "\n| where | | what | rule |\n|---|---|---|---|\n";
    for (const Finding& f : r.findings)
        out << "| " << cell(place(f)) << " | " << f.level << " | " << cell(with_remedy(f)) << " | " << f.rule << " |\n";
}

void write_github(std::ostream& out, const CheckReport& r) {
    const auto text = [](std::string_view s) { return replaced(s, {{'%', "%25"}, {'\n', "%0A"}}); };
    const auto property = [](std::string_view s) { return replaced(s, {{'%', "%25"}, {'\n', "%0A"}, {':', "%3A"}, {',', "%2C"}}); };
    for (const Finding& f : r.findings) {
        out << "::" << (f.level == "note" ? "notice" : f.level) << " file=" << property(f.file);
        if (f.line > 0) out << ",line=" << f.line;
        out << ",title=" << property("jaxscope " + f.rule) << "::" << text(with_remedy(f)) << '\n';
    }
}

/// XML 1.0 has no place for control characters.
std::string xml(std::string_view text) {
    return replaced(text, {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\n', "&#10;"}, {'\t', "&#9;"}});
}

/// The cases of a suite: the rules that a program was held to, and those that it broke unasked.
std::vector<std::string> cases_of(const CheckReport& r, const std::string& program, std::vector<std::string> asked) {
    for (const Finding& f : r.findings)
        if (f.program == program && f.level == "error" && std::find(asked.begin(), asked.end(), f.rule) == asked.end())
            asked.push_back(f.rule);
    return asked;
}

/// One case: all that was found against the rule is one failure, as readers count them.
void write_case(std::ostream& out, const CheckReport& r, const std::string& program, const std::string& rule) {
    std::string first, text;
    for (const Finding& f : r.findings) {
        if (f.program != program || f.rule != rule || f.level != "error") continue;
        if (first.empty()) first = f.message;
        text += (text.empty() ? "" : "\n") + place(f) + ": " + with_remedy(f);
    }
    out << "    <testcase classname=\"" << xml(program) << "\" name=\"" << xml(rule) << "\">";
    if (!text.empty()) out << "\n      <failure message=\"" << xml(first) << "\">" << xml(text) << "</failure>";
    out << "</testcase>\n";
}

/// A suite for each program, and for whatever else was found about; a case for each rule that was asked for. Warnings and notes are output.
void write_junit(std::ostream& out, const CheckReport& r) {
    std::vector<std::pair<std::string, std::vector<std::string>>> suites;
    for (const ProgramFigures& p : r.programs) suites.emplace_back(p.file, cases_of(r, p.file, p.rules));
    for (const Finding& f : r.findings)
        if (std::none_of(suites.begin(), suites.end(), [&](const auto& s) { return s.first == f.program; }))
            suites.emplace_back(f.program, cases_of(r, f.program, {}));
    const auto failed = [&](const auto& suite) {
        return std::count_if(suite.second.begin(), suite.second.end(), [&](const std::string& rule) {
            return std::any_of(r.findings.begin(), r.findings.end(),
                               [&](const Finding& f) { return f.program == suite.first && f.rule == rule && f.level == "error"; });
        });
    };
    std::size_t tests = 0;
    std::ptrdiff_t failures = 0;
    for (const auto& suite : suites) tests += suite.second.size(), failures += failed(suite);
    out << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"jaxscope check\" tests=\"" << tests << "\" failures=\""
        << failures << "\">\n";
    for (const auto& suite : suites) {
        const auto& [program, rules] = suite;
        out << "  <testsuite name=\"" << xml(program) << "\" tests=\"" << rules.size() << "\" failures=\"" << failed(suite) << "\">\n";
        for (const std::string& rule : rules) write_case(out, r, program, rule);
        std::string said;
        for (const Finding& f : r.findings)
            if (f.program == program && f.level != "error")
                said += fmt::format("{}: {}: {} [{}]\n", place(f), f.level, with_remedy(f), f.rule);
        if (!said.empty()) out << "    <system-out>" << xml(said) << "</system-out>\n";
        out << "  </testsuite>\n";
    }
    out << "</testsuites>\n";
}

/// A path as a relative reference: what URIs give a meaning, and bytes beyond ASCII, percent-encoded.
std::string uri(std::string_view path) {
    std::string out = path.starts_with('/') ? "file://" : "";
    for (const char c : path) {
        const auto byte = static_cast<unsigned char>(c);
        if (std::isalnum(byte) != 0 || std::string_view("/-._~").find(c) != std::string_view::npos)
            out += c;
        else
            out += fmt::format("%{:02X}", byte);
    }
    return out;
}

/// Objects of SARIF 2.1.0: a key and what stands under it.
class Sarif {
public:
    explicit Sarif(std::ostream& out) : w_(out) {}
    void write(const CheckReport& r) {
        object([&] {
            text("$schema", "https://json.schemastore.org/sarif-2.1.0.json");
            text("version", "2.1.0");
            array("runs", [&] {
                object([&] {
                    key("tool", [&] { tool(); });
                    array("results", [&] {
                        for (const Finding& f : r.findings) result(f);
                    });
                });
            });
        });
    }

private:
    template <class Body>
    void object(Body body) {
        w_.begin_object();
        body();
        w_.end_object();
    }
    template <class Body>
    void key(const char* name, Body body) {
        w_.key(name);
        object(body);
    }
    template <class Body>
    void array(const char* name, Body body) {
        w_.key(name);
        w_.begin_array();
        body();
        w_.end_array();
    }
    void text(const char* name, std::string_view value) {
        w_.key(name);
        w_.value(value);
    }
    void tool() {
        key("driver", [&] {
            text("name", "jaxscope");
            array("rules", [&] {
                for (const CheckRule& rule : check_rules())
                    object([&] {
                        text("id", rule.id);
                        key("shortDescription", [&] { text("text", rule.title); });
                    });
            });
        });
    }
    void result(const Finding& f) {
        object([&] {
            text("ruleId", f.rule);
            text("level", f.level);
            key("message", [&] { text("text", with_remedy(f)); });
            array("locations", [&] {
                object([&] {
                    key("physicalLocation", [&] {
                        key("artifactLocation", [&] { text("uri", uri(f.file)); });
                        if (f.line > 0)
                            key("region", [&] {
                                w_.key("startLine");
                                w_.value(f.line);
                            });
                    });
                });
            });
            key("properties", [&] {
                text("program", f.program);
                for (const auto& [name, number] : {std::pair("measured", f.measured), {"limit", f.limit}}) {
                    if (!number) continue;
                    w_.key(name);
                    w_.value(*number);
                }
            });
        });
    }
    JsonWriter w_;
};

void write_check_json(std::ostream& out, const CheckReport& report) {
    JsonWriter w(out);
    w.begin_object();
    w.key("schema");
    w.value("jaxscope.report/1");
    w.key("command");
    w.value("check");
    write_fields(w, report);
    w.end_object();
    out << '\n';
}

struct Format {
    const char* name;
    void (*write)(std::ostream&, const CheckReport&, Page&);
};
constexpr Format kFormats[] = {
    {"text", [](std::ostream&, const CheckReport& r, Page& page) { write_text(page, r); }},
    {"json", [](std::ostream& out, const CheckReport& r, Page&) { write_check_json(out, r); }},
    {"sarif",
     [](std::ostream& out, const CheckReport& r, Page&) {
         Sarif(out).write(r);
         out << '\n';
     }},
    {"junit", [](std::ostream& out, const CheckReport& r, Page&) { write_junit(out, r); }},
    {"markdown", [](std::ostream& out, const CheckReport& r, Page&) { write_markdown(out, r); }},
    {"github", [](std::ostream& out, const CheckReport& r, Page&) { write_github(out, r); }},
};

}  // namespace

CheckWriter check_writer(const std::string& format) {
    std::vector<std::string_view> names;
    std::string known;
    for (const Format& f : kFormats) {
        if (format == f.name) return f.write;
        known += (known.empty() ? "" : &f == std::end(kFormats) - 1 ? " or " : ", ") + std::string(f.name);
        names.emplace_back(f.name);
    }
    throw unknown_name(ErrorCode::BadUsage, "expected " + known + " after --format", format, names);
}

}  // namespace jaxscope
