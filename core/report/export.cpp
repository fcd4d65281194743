#include "report/export.h"

#include "analysis/graph_model.h"
#include "analysis/measure.h"
#include "base/units.h"
#include "ir/printer.h"
#include "report/report_fields.h"
#include "report/svg.h"

namespace jaxscope {

namespace {

/// Runs one stage; what it refuses becomes a line of `problems` instead of losing the other stages.
template <class Stage>
void attempt(std::vector<std::string>& problems, const char* what, Stage stage) {
    try {
        stage();
    } catch (const Error& e) {
        if (e.code == ErrorCode::Cancelled) throw;
        problems.push_back(std::string(what) + ": " + full_text(e));
    }
}

}  // namespace

FullReport make_full_report(const Inspection& inspection, bool run, int repeat) {
    FullReport full;
    attempt(full.problems, "plan", [&] { full.memory = memory_report(inspection, nullptr); });
    if (run && full.problems.empty())
        attempt(full.problems, "run", [&] {
            RunRequest request;
            request.repeat = repeat;
            const RunReport result = inspection.run(request);
            full.memory = memory_report(inspection, &result);
            full.time = time_report(result, 0);
        });
    attempt(full.problems, "policies", [&] { full.policies = inspection.policies({}, run); });
    return full;
}

std::string inspection_svg(const Inspection& inspection, const std::string& what) {
    SvgOptions options;
    options.title = inspection.program().name.str();
    if (what == "split") {
        const SplitReport& split = inspection.split();
        if (!split.residuals.region_name.empty()) options.title += ": " + split.residuals.region_name;
        options.subtitle = std::to_string(split.num_residuals) + " residuals, " + bytes_text(split.residuals.total_bytes);
        return split_svg(split, options);
    }
    if (what != "program") throw Error(ErrorCode::BadUsage, "expected --what program or split, found '" + printable(what) + "'");
    options.subtitle = count_text(inspection.summary().equations) + " equations";
    const GraphModel model(inspection.program().jaxpr, Grouping::Auto, inspection.program().in_paths);
    return program_svg(model, model.first_look(), options);
}

void write_report_json(std::ostream& out, const Inspection& inspection, const FullReport& full) {
    JsonWriter w(out);
    std::vector<std::string> problems = full.problems;
    w.begin_object();
    w.key("schema");
    w.value("jaxscope.report/1");
    w.key("command");
    w.value("report");
    w.key("program");
    write_json(w, inspection.summary());
    attempt(problems, "residuals", [&] { write_fields(w, inspection.residuals()); });
    attempt(problems, "split", [&] {
        const SplitReport& split = inspection.split();
        w.key("known");
        w.value(to_text(*split.known, {}));
        w.key("unknown");
        w.value(to_text(*split.unknown, {}));
        w.key("recomputed");
        write_json(w, split.recomputed);
    });
    attempt(problems, "donation", [&] { write_fields(w, inspection.donation()); });
    w.key("memory");
    write_json(w, full.memory);
    w.key("time");
    write_json(w, full.time);
    w.key("policies");
    write_json(w, full.policies);
    w.key("problems");
    write_json(w, problems);
    w.end_object();
}

namespace {

template <class... Ts>
struct SchemaParts {};

void schema_head(JsonWriter& w) {
    w.key("$schema");
    w.value("https://json-schema.org/draft/2020-12/schema");
    w.key("title");
    w.value("jaxscope.report/1");
    w.key("description");
    w.value(
        "What `jaxscope COMMAND --json` prints and report.json holds. Sizes are bytes, times seconds; non-finite numbers are the "
        "strings \"nan\", \"inf\", \"-inf\". Every object has `schema` and `command`; the other fields are those of the command.");
    w.key("type");
    w.value("object");
    w.key("required");
    w.begin_array();
    w.value("schema");
    w.value("command");
    w.end_array();
}

template <class T>
void schema_of_fields(JsonWriter& w) {
    std::apply([&](const auto&... f) { (write_schema_property(w, f), ...); }, ReportFields<T>::fields);
}

template <class T>
void schema_property(JsonWriter& w, const char* name) {
    w.key(name);
    write_schema<T>(w);
}

}  // namespace

void write_report_schema(std::ostream& out) {
    JsonWriter w(out);
    w.begin_object();
    schema_head(w);
    w.key("properties");
    w.begin_object();
    w.key("schema");
    w.begin_object();
    w.key("const");
    w.value("jaxscope.report/1");
    w.end_object();
    schema_property<std::string>(w, "command");
    schema_property<ProgramSummary>(w, "program");
    schema_of_fields<ResidualReport>(w);
    schema_of_fields<DonationReport>(w);
    schema_property<std::string>(w, "text");
    schema_property<std::string>(w, "known");
    schema_property<std::string>(w, "unknown");
    schema_property<std::vector<RecomputedRow>>(w, "recomputed");
    schema_property<MemoryReport>(w, "memory");
    schema_property<std::optional<TimeReport>>(w, "time");
    schema_property<std::vector<PolicyRow>>(w, "policies");
    schema_property<std::vector<std::string>>(w, "problems");
    schema_property<std::string>(w, "output");
    schema_property<std::int64_t>(w, "equations");
    schema_property<std::string>(w, "jax_version");
    w.end_object();
    w.end_object();
}

void export_inspection(std::ostream& out, const Inspection& inspection, const std::string& format, const ExportOptions& options) {
    if (format == "svg") {
        out << inspection_svg(inspection, options.what);
    } else if (format == "jaxpr") {
        out << to_text(*inspection.program().jaxpr, {}) << '\n';
    } else if (format == "json" || format == "html") {
        const FullReport full = make_full_report(inspection, options.run, 3);
        if (format == "json")
            write_report_json(out, inspection, full);
        else
            write_report_html(out, inspection, full);
    } else {
        throw Error(ErrorCode::BadUsage, "expected one of the formats json, html, svg, jaxpr, found '" + printable(format) + "'");
    }
}

}  // namespace jaxscope
