// SPDX-License-Identifier: Apache-2.0
#include "report/export.h"

#include <algorithm>

#include "analysis/sharding/per_device.h"
#include "base/progress.h"
#include "base/subprocess.h"
#include "base/suggest.h"
#include "base/text.h"
#include "base/units.h"
#include "ir/print/printer.h"
#include "picture/graph_model.h"
#include "picture/split_graph.h"
#include "report/caveats.h"
#include "report/formats/dot.h"
#include "report/formats/formats.h"
#include "report/formats/graph_text.h"
#include "report/formats/svg.h"
#include "report/json/array_json.h"
#include "report/json/report_fields.h"
#include "report/measure.h"
#include "report/run_size.h"
#include "report/sections.h"
#include "report/sharding/sharding_report.h"
#include "report/verdict.h"

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
    } catch (const std::bad_alloc&) {
        problems.push_back(std::string(what) + ": expected enough memory, found none left");
    } catch (const std::exception& e) {
        problems.push_back(std::string(what) + ": a bug in jaxscope: " + e.what());
    }
}

}  // namespace

FullReport make_full_report(const Inspection& inspection, const ReportRequest& request) {
    FullReport full;
    Progress progress("report", 4);
    progress.begin("plan");
    attempt(full.problems, "plan", [&] { full.memory = memory_report(inspection, nullptr); });
    bool may_run = request.run && full.problems.empty();
    if (may_run && !request.large)
        attempt(full.problems, "run", [&] {
            const std::string why = why_not_run(inspection, request.repeat);
            may_run = why.empty();
            if (!may_run) full.problems.push_back("run: " + why);
        });
    progress.begin("run");
    if (may_run)
        attempt(full.problems, "run", [&] {
            RunRequest run;
            run.repeat = request.repeat;
            run.profile = !inspection.per_device();  // devices have no profile yet
            full.run = inspection.run(run);
            full.memory = memory_report(inspection, &*full.run);
            full.time = time_report(*full.run, request.load_seconds);
            if (run.profile) full.profile = profile_report(inspection.plan(), *full.run);
        });
    progress.begin("policies");
    attempt(full.problems, "policies", [&] { full.policies = inspection.policies({}, may_run); });
    progress.begin("verdict");
    if (full.memory.planned_peak > 0)
        attempt(full.problems, "verdict", [&] { full.verdict = verdict(inspection, full.memory, full.policies); });
    else if (!full.problems.empty())
        full.verdict = unplanned_verdict(inspection, full.problems.front());
    return full;
}

std::string inspection_svg(const Inspection& inspection, const std::string& what, Depth depth) {
    SvgOptions options;
    options.title = inspection.program().name.str();
    if (is_split(what)) {
        const SplitReport& split = inspection.split();
        if (!split.residuals.region_name.empty()) options.title += ": " + split.residuals.region_name;
        options.subtitle = std::to_string(split.num_residuals) + " residuals, " + bytes_text(split.residuals.total_bytes);
        const SplitGraph graph(split);
        return split_svg(graph.picture(opened_groups(graph.known(), depth, 24), opened_groups(graph.unknown(), depth, 24)), split, options);
    }
    options.subtitle = count_text(inspection.summary().equations) + " equations";
    const GraphModel model(inspection.program().jaxpr, Grouping::Auto, inspection.program().in_paths);
    return program_svg(model, opened_groups(model, depth), options);
}

void write_outputs(JsonWriter& w, const Step& step, const RunReport& report) {
    w.key("outputs");
    w.begin_array();
    for (std::size_t i = 0; i < report.outputs.size(); ++i) {
        w.begin_object();
        w.entry("path", step.out_paths[i]);
        w.entry("aval", to_text(report.outputs[i]->aval));
        write_array_fields(w, *report.outputs[i]);
        w.end_object();
    }
    w.end_array();
}

void write_sharding(JsonWriter& w, const Inspection& inspection) {
    const std::optional<ShardingReport> report = sharding_report(inspection);
    if (!report) return;
    w.key("sharding");
    write_json(w, *report);
}

void write_report_json(std::ostream& out, const Inspection& inspection, const FullReport& full) {
    JsonWriter w(out);
    std::vector<std::string> problems = full.problems;
    w.begin_object();
    w.entry("schema", "jaxscope.report/1");
    w.entry("command", "report");
    if (const auto notes = caveats(inspection); !notes.empty()) {
        w.key("notes");
        write_json(w, notes);
    }
    w.key("verdict");
    write_json(w, full.verdict);
    w.key("program");
    write_json(w, inspection.summary());
    w.entry("text", to_text(*inspection.program().jaxpr, {}));
    attempt(problems, "residuals", [&] { write_fields(w, inspection.residuals()); });
    attempt(problems, "split", [&] {
        const SplitReport& split = inspection.split();
        w.entry("known", to_text(*split.known, {}));
        w.entry("unknown", to_text(*split.unknown, {}));
        w.key("recomputed");
        write_json(w, split.recomputed);
    });
    attempt(problems, "donation", [&] { write_fields(w, inspection.donation()); });
    if (full.run) {
        write_outputs(w, inspection.step(), *full.run);
        w.key("synthesised");
        write_json(w, full.run->synthesised);
        w.key("made_up_constants");
        write_json(w, full.run->made_up_constants);
        w.key("debug_prints");
        write_json(w, debug_prints(inspection, *full.run));
    }
    write_sharding(w, inspection);
    w.key("memory");
    write_json(w, full.memory);
    w.key("time");
    write_json(w, full.time);
    if (full.profile) {
        w.key("profile");
        write_json(w, *full.profile);
    }
    w.key("policies");
    write_json(w, full.policies);
    w.key("problems");
    write_json(w, problems);
    w.end_object();
}

void write_report_page(Page& page, const Inspection& inspection, const FullReport& full) {
    std::vector<std::string> problems = full.problems;
    const auto section = [&](const char* what, const auto& write) { attempt(problems, what, [&] { write(page, inspection); }); };
    if (!full.verdict.empty()) page.heading("In short");
    for (const std::string& sentence : full.verdict) page.paragraph(sentence);
    program_section(page, inspection);
    if (!page.is_terminal())  // there they stand on standard error
        for (const std::string& note : caveats(inspection)) page.line("note: " + note);
    attempt(problems, "sharding", [&] {
        if (const auto report = sharding_report(inspection)) sharding_section(page, *report);
    });
    section("residuals", residuals_section);
    section("split", split_section);
    section("donation", donation_section);
    if (full.memory.planned_peak > 0) memory_section(page, full.memory);
    if (full.time) time_section(page, *full.time);
    if (full.run) debug_section(page, debug_prints(inspection, *full.run));
    if (full.profile) profile_section(page, *full.profile);
    policies_section(page, full.policies);
    if (problems.empty()) return;
    page.heading("What could not be had");
    for (const std::string& p : problems)
        for (const std::string& line : split(p, '\n')) page.line(line);  // an error's context stands on lines of its own
}

namespace {

void write_report(std::ostream& out, const Inspection& inspection, const std::string& format, const ExportOptions& options) {
    const FullReport full = make_full_report(inspection, {options.run, options.run, 3, options.load_seconds});
    if (format == "json") return write_report_json(out, inspection, full);
    if (format == "html") return write_report_html(out, inspection, full, options.all, options.depth);
    Page page(out, {.format = PageStyle::Format::Markdown, .all = options.all});
    out << "# jaxscope report\n";
    write_report_page(page, inspection, full);
}

/// Pictures that a converter makes of the SVG.
void write_converted(std::ostream& out, const std::string& svg, const std::string& format) {
    ProcessRequest request;
    request.command = {"rsvg-convert", "--format", format};
    if (format == "png") request.command.insert(request.command.end(), {"--zoom", "2"});
    request.input = svg;
    request.timeout_seconds = 120;
    ProcessResult result;
    try {
        result = run_process(request);
    } catch (Error& e) {
        throw e.code == ErrorCode::NotFound ? e.advise("install the package librsvg2-bin, or export svg") : e;
    }
    if (result.exit_code != 0 || result.truncated)
        throw Error(ErrorCode::CannotRun, "expected rsvg-convert to make a " + format + ", found: " + printable(result.error));
    out << result.output;
}

std::string picture_of(const ExportOptions& options) { return options.what.empty() ? "split" : options.what; }

struct ExportFormat {
    const char* name;  ///< the ending of files
    void (*write)(std::ostream& out, const Inspection& inspection, const ExportOptions& options);
};
constexpr ExportFormat kFormats[] = {
    {"html", [](auto& out, const auto& i, const auto& o) { write_report(out, i, "html", o); }},
    {"json", [](auto& out, const auto& i, const auto& o) { write_report(out, i, "json", o); }},
    {"md", [](auto& out, const auto& i, const auto& o) { write_report(out, i, "md", o); }},
    {"svg", [](auto& out, const auto& i, const auto& o) { out << inspection_svg(i, picture_of(o), o.depth); }},
    {"png", [](auto& out, const auto& i, const auto& o) { write_converted(out, inspection_svg(i, picture_of(o), o.depth), "png"); }},
    {"pdf", [](auto& out, const auto& i, const auto& o) { write_converted(out, inspection_svg(i, picture_of(o), o.depth), "pdf"); }},
    {"dot", [](auto& out, const auto& i, const auto& o) { out << inspection_dot(i, picture_of(o), o.depth); }},
    {"mermaid", [](auto& out, const auto& i, const auto& o) { write_mermaid(out, i, picture_of(o), o.depth); }},
    {"jaxpr", [](auto& out, const auto& i, const auto&) { out << to_text(*i.program().jaxpr, {}) << '\n'; }},
    {"csv", [](auto& out, const auto& i, const auto& o) { write_csv(out, i, o.what.empty() ? "residuals" : o.what); }},
    {"perfetto.json", [](auto& out, const auto& i, const auto&) { write_perfetto(out, i); }},
    {"model-explorer.json", [](auto& out, const auto& i, const auto&) { write_model_explorer(out, i); }},
    {"node-data.json", [](auto& out, const auto& i, const auto&) { write_model_explorer_data(out, i); }},
    {"pprof", [](auto& out, const auto& i, const auto&) { write_pprof(out, i); }},
};

}  // namespace

std::vector<std::string> export_formats() {
    std::vector<std::string> all;
    for (const ExportFormat& f : kFormats) all.emplace_back(f.name);
    return all;
}

Error unknown_format(const std::string& format, const std::string& found) {
    const std::vector<std::string> known = export_formats();
    std::string list;
    for (const std::string& f : known) list += (list.empty() ? "" : ", ") + f;
    Error error(ErrorCode::BadUsage, "expected one of the formats " + list + ", found " + found);
    suggest(error, format, views_of(known));
    return error;
}

std::string format_of_file(std::string_view name) {
    std::string_view found;
    for (const ExportFormat& f : kFormats) {
        const std::string_view ending = f.name;
        if (ending.size() < name.size() && name.ends_with(ending) && name[name.size() - ending.size() - 1] == '.' &&
            ending.size() > found.size())
            found = ending;
    }
    return std::string(found);
}

bool has_picture(std::string_view format) {
    constexpr std::string_view kPictures[] = {"html", "svg", "png", "pdf", "dot", "mermaid"};
    return std::find(std::begin(kPictures), std::end(kPictures), format) != std::end(kPictures);
}

void export_inspection(std::ostream& out, const Inspection& inspection, const std::string& format, const ExportOptions& options) {
    for (const ExportFormat& f : kFormats)
        if (format == f.name) return f.write(out, inspection, options);
    throw unknown_format(format, "'" + printable(format) + "'");
}

}  // namespace jaxscope
