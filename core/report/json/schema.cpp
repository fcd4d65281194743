// SPDX-License-Identifier: Apache-2.0
#include <iterator>

#include "report/check/findings.h"
#include "report/compare/diff_report.h"
#include "report/dumps/dump_page.h"
#include "report/export.h"
#include "report/fit/fit_report.h"
#include "report/fit/size_report.h"
#include "report/json/report_fields.h"
#include "report/sharding/layouts.h"
#include "report/sharding/sharding_report.h"

namespace jaxscope {

namespace {

/// What each command's object always has beside `schema` and `command`.
struct CommandFields {
    const char* command;
    std::vector<const char*> fields;
};
const CommandFields kCommands[] = {
    {"capture", {"output", "equations", "jax_version"}},
    {"inspect", {"program"}},
    {"print", {"text"}},
    {"transform", {"program"}},
    {"residuals", {"wrt", "region", "residuals", "total_bytes"}},
    {"split", {"known", "unknown", "residuals", "recomputed"}},
    {"donation", {"donated", "warning", "saved_bytes"}},
    {"run", {"outputs", "memory", "time", "synthesised", "made_up_constants", "debug_prints"}},
    {"plan", {"memory"}},
    {"policies", {"policies"}},
    {"check", {"passed", "findings", "programs"}},
    {"diff", {"added", "removed", "changed", "memory"}},
    {"export", {"output"}},
    {"report", {"verdict", "program", "text", "memory", "time", "policies", "problems"}},
    {"xla", {"dump"}},
    {"samples", {}},
};

template <class Body>
void object(JsonWriter& w, Body body) {
    w.begin_object();
    body();
    w.end_object();
}
void head(JsonWriter& w) {
    w.entry("$schema", "https://json-schema.org/draft/2020-12/schema");
    w.entry("title", "jaxscope.report/1");
    w.entry("description",
            "What `jaxscope COMMAND --json` prints and report.json holds. Sizes are bytes, times seconds; non-finite numbers are the "
            "strings \"nan\", \"inf\", \"-inf\". Every object has `schema` and `command`; the other fields are those of the command.");
    w.entry("type", "object");
    w.key("required");
    w.begin_array();
    w.value("schema");
    w.value("command");
    w.end_array();
}

/// Per command: if `command` is its name, then its fields are required.
void required_by_command(JsonWriter& w) {
    w.key("allOf");
    w.begin_array();
    for (const CommandFields& c : kCommands)
        object(w, [&] {
            w.key("if");
            object(w, [&] {
                w.key("properties");
                object(w, [&] {
                    w.key("command");
                    object(w, [&] { w.entry("const", c.command); });
                });
            });
            w.key("then");
            object(w, [&] {
                w.key("required");
                w.begin_array();
                for (const char* f : c.fields) w.value(f);
                w.end_array();
            });
        });
    w.end_array();
}

/// All but the one called `without`, which another command's object has too.
template <class T>
void fields_of(JsonWriter& w, std::string_view without = "") {
    const auto one = [&](const auto& f) {
        if (f.name != without) write_schema_property(w, f);
    };
    std::apply([&](const auto&... f) { (one(f), ...); }, ReportFields<T>::fields);
}
template <class T>
void property(JsonWriter& w, const char* name) {
    w.key(name);
    write_schema<T>(w);
}

/// One output of a run: its numbers have as many levels as the array has dimensions, complex ones are pairs.
void outputs(JsonWriter& w) {
    const auto any = [&](const char* name, const char* description) {
        w.key(name);
        object(w, [&] { w.entry("description", description); });
    };
    w.key("outputs");
    object(w, [&] {
        w.entry("type", "array");
        w.key("items");
        object(w, [&] {
            w.entry("type", "object");
            w.key("required");
            w.begin_array();
            w.value("path");
            w.value("aval");
            w.end_array();
            w.key("properties");
            object(w, [&] {
                property<std::string>(w, "path");
                property<std::string>(w, "aval");
                any("values", "up to 128 elements: nested lists; complex numbers are [re, im], PRNG keys their key data");
                any("sum", "of more than 128 elements");
                property<double>(w, "abs_sum");
                any("wsum", "sum of element i (in row-major order) times (7919 i mod 1009) / 1009");
                any("first16", "the first 16 elements");
            });
        });
    });
}

/// A field that two commands have, each of its own type.
template <class T, class U>
void either(JsonWriter& w, const char* name) {
    w.key(name);
    object(w, [&] {
        w.key("anyOf");
        w.begin_array();
        write_schema<T>(w);
        write_schema<U>(w);
        w.end_array();
    });
}

void samples(JsonWriter& w) {
    w.key("samples");
    object(w, [&] {
        w.entry("type", "array");
        w.key("items");
        object(w, [&] {
            w.entry("type", "object");
            w.key("properties");
            object(w, [&] {
                for (const char* name : {"name", "title", "source", "capture"}) property<std::string>(w, name);
            });
        });
    });
}

}  // namespace

void write_report_schema(std::ostream& out) {
    JsonWriter w(out);
    object(w, [&] {
        head(w);
        w.key("properties");
        object(w, [&] {
            w.key("schema");
            object(w, [&] { w.entry("const", "jaxscope.report/1"); });
            property<std::string>(w, "command");
            property<std::vector<std::string>>(w, "notes");
            property<std::vector<std::string>>(w, "verdict");
            property<ProgramSummary>(w, "program");
            fields_of<ResidualReport>(w);
            fields_of<DonationReport>(w, "findings");
            either<std::vector<std::string>, std::vector<Finding>>(w, "findings");  // of `donation`, of `check`
            property<std::string>(w, "text");
            property<std::string>(w, "known");
            property<std::string>(w, "unknown");
            property<std::vector<RecomputedRow>>(w, "recomputed");
            outputs(w);
            property<std::vector<int>>(w, "synthesised");
            property<std::vector<MadeUpConstant>>(w, "made_up_constants");
            property<std::vector<DebugPrintRow>>(w, "debug_prints");
            either<MemoryReport, std::map<std::string, FigureDiff>>(w, "memory");  // of `diff`: by figure
            property<std::optional<TimeReport>>(w, "time");
            property<ProfileReport>(w, "profile");
            property<DeviceFit>(w, "device");
            property<ShardingReport>(w, "sharding");
            property<std::vector<LayoutRow>>(w, "layouts");
            property<FitReport>(w, "fit");
            property<SizeFitReport>(w, "sizes");
            property<ByHandReport>(w, "by_hand");
            property<DumpReport>(w, "dump");
            property<std::vector<PolicyRow>>(w, "policies");
            property<std::vector<DonateModeRow>>(w, "modes");
            property<std::vector<std::string>>(w, "problems");
            property<std::string>(w, "output");
            property<std::int64_t>(w, "equations");
            property<std::string>(w, "jax_version");
            samples(w);
            fields_of<CheckReport>(w, "findings");
            fields_of<DiffReport>(w, "memory");
        });
        required_by_command(w);
    });
}

}  // namespace jaxscope
