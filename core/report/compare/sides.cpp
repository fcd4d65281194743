// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "report/compare/diff_report.h"
#include "report/json/json_file.h"
#include "report/measure.h"

namespace jaxscope {

using Json = nlohmann::ordered_json;

namespace {

/// One stage of one side; what it refuses is said, and isn't compared.
template <class Stage>
void attempt(ComparedSide& side, const char* what, Stage stage) {
    try {
        stage();
    } catch (const Error& e) {
        if (e.code == ErrorCode::Cancelled) throw;
        side.problems.push_back(std::string(what) + ": " + e.fact());
    }
}

void memory_figures(ComparedSide& side, const MemoryReport& m) {
    side.figures["arguments"] = m.arguments;
    side.figures["outputs"] = m.outputs;
    side.figures["aliased"] = m.aliased;
    side.figures["temporaries"] = m.temporaries;
    side.figures["planned_peak"] = m.planned_peak;
}

std::string text_of(const Json& object, const char* key) {
    const auto it = object.find(key);
    return it != object.end() && it->is_string() ? it->get<std::string>() : "";
}
std::int64_t number_of(const Json& object, const char* key) { return integer_field(object, key).value_or(0); }

/// The rows of an array of objects; nothing where the report has none.
template <class Row, class Read>
std::optional<std::vector<Row>> rows_of(const Json& document, const char* key, Read read) {
    const auto it = document.find(key);
    if (it == document.end() || !it->is_array()) return {};
    std::vector<Row> rows;
    for (const Json& object : *it) {
        if (!object.is_object()) return {};
        rows.push_back(read(object));
    }
    return rows;
}

ResidualRow read_residual(const Json& o) {
    ResidualRow r;
    r.aval = text_of(o, "aval");
    r.source = text_of(o, "source");
    r.bytes = number_of(o, "bytes");
    r.file = text_of(o, "file");
    r.line = static_cast<int>(number_of(o, "line"));
    r.name = text_of(o, "name");
    return r;
}
DonatedLeaf read_leaf(const Json& o) {
    DonatedLeaf l;
    l.path = text_of(o, "path");
    l.aval = text_of(o, "aval");
    l.bytes = number_of(o, "bytes");
    l.used = o.value("used", false);
    l.output_path = text_of(o, "output_path");
    l.reason = text_of(o, "reason");
    return l;
}

void read_program(ComparedSide& side, const Json& program) {
    side.name = text_of(program, "name");
    side.jax_version = text_of(program, "jax_version");
    side.inputs = rows_of<ProgramInput>(program, "inputs", [](const Json& o) {
        return ProgramInput{text_of(o, "path"), text_of(o, "aval"), number_of(o, "bytes"), o.value("donated", false), false};
    });
    side.outputs = rows_of<ProgramOutput>(program, "outputs", [](const Json& o) {
        return ProgramOutput{text_of(o, "path"), text_of(o, "aval"), number_of(o, "bytes")};
    });
}

}  // namespace

ComparedSide compared_side(const Inspection& inspection, const std::string& file) {
    ComparedSide side;
    side.file = file;
    const ProgramSummary& s = inspection.summary();
    side.name = s.name;
    side.jax_version = s.jax_version;
    side.jaxpr = inspection.choices().changes_program() ? inspection.step().jaxpr : inspection.program().jaxpr;
    side.inputs = s.inputs;
    side.outputs = s.outputs;
    attempt(side, "residuals", [&] {
        side.residuals = inspection.residuals().rows;
        side.figures["residuals"] = inspection.residuals().total_bytes;
    });
    attempt(side, "donation", [&] { side.donated = inspection.donation().donated; });
    attempt(side, "plan", [&] { memory_figures(side, memory_report(inspection, nullptr)); });
    return side;
}

std::optional<ReportSide> read_report_side(const std::string& file) {
    {
        std::ifstream in(file, std::ios::binary);
        char first = 0;
        if (!in || std::filesystem::is_directory(file) || !(in >> first) || first != '{' || !file.ends_with(".json")) return {};
    }
    const Json document = read_json_file(file, "a report or a program");
    if (!is_report(document)) return {};
    ReportSide out;
    ComparedSide& side = out.side;
    side.file = file;
    out.text = text_of(document, "text");
    if (const auto it = document.find("program"); it != document.end() && it->is_object()) read_program(side, *it);
    side.residuals = rows_of<ResidualRow>(document, "residuals", read_residual);
    if (const auto total = integer_field(document, "total_bytes")) side.figures["residuals"] = *total;
    side.donated = rows_of<DonatedLeaf>(document, "donated", read_leaf);
    if (const auto it = document.find("memory"); it != document.end() && it->is_object())
        for (const char* figure : {"arguments", "outputs", "aliased", "temporaries", "planned_peak", "measured_peak"})
            if (const auto bytes = integer_field(*it, figure)) side.figures[figure] = *bytes;
    return out;
}

}  // namespace jaxscope
