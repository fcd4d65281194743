// SPDX-License-Identifier: Apache-2.0
#include "app/cli/run_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>

#include "base/notes.h"
#include "base/text.h"
#include "report/debug/debug_prints.h"
#include "report/export.h"
#include "report/json/report_fields.h"
#include "report/measure.h"
#include "report/sections.h"
#include "report/sharding/sharding_report.h"

namespace jaxscope::cli {

namespace {

constexpr std::size_t kNamedConstants = 4;

}  // namespace

void write_run(JsonWriter& w, const ProgramArguments& args, const Inspection& inspection, const RunReport& report) {
    write_outputs(w, inspection.step(), report);
    w.key("memory");
    write_json(w, memory_report(inspection, &report));
    write_sharding(w, inspection);
    w.key("time");
    write_json(w, time_report(report, args.load_seconds));
    w.key("synthesised");
    write_json(w, report.synthesised);
    w.key("made_up_constants");
    write_json(w, report.made_up_constants);
    w.key("debug_prints");
    write_json(w, debug_prints(inspection, report));
    if (report.result.profile.empty()) return;
    w.key("profile");
    write_json(w, profile_report(inspection.plan(), report));
}

void show_run(const ProgramArguments& args, const Inspection& inspection, const RunReport& report) {
    Page page = args.page();
    memory_section(page, memory_report(inspection, &report));
    if (const auto sharding = sharding_report(inspection)) sharding_section(page, *sharding);
    time_section(page, time_report(report, args.load_seconds));
    debug_section(page, debug_prints(inspection, report));
    if (!report.result.profile.empty()) profile_section(page, profile_report(inspection.plan(), report));
}

void tell_synthesised(const Inspection& inspection, const RunReport& report) {
    if (!report.synthesised.empty())
        tell_note(fmt::format("{} of {} inputs have no captured values; they were made up", report.synthesised.size(),
                              inspection.step().in_paths.size()));
    const std::vector<MadeUpConstant>& constants = report.made_up_constants;
    if (constants.empty()) return;
    std::string names;
    for (std::size_t i = 0; i < std::min(constants.size(), kNamedConstants); ++i)
        names += fmt::format("{}{} read by {}", i ? ", " : "", constants[i].aval, printable(constants[i].source, 120));
    if (constants.size() > kNamedConstants) names += fmt::format(", and {} more", constants.size() - kNamedConstants);
    std::cerr << fmt::format("jaxscope: {} no values; zeros stand there, so the results are not the program's: {}\n",
                             constants.size() == 1 ? "1 constant has" : fmt::format("{} constants have", constants.size()), names);
}

}  // namespace jaxscope::cli
