#include "app/cli/run_output.h"

#include <fmt/format.h>

#include <iostream>

#include "report/export.h"
#include "report/measure.h"
#include "report/report_fields.h"
#include "report/sections.h"

namespace jaxscope::cli {

void write_run(JsonWriter& w, const ProgramArguments& args, const Inspection& inspection, const RunReport& report) {
    write_outputs(w, inspection.step(), report);
    w.key("memory");
    write_json(w, memory_report(inspection, &report));
    w.key("time");
    write_json(w, time_report(report, args.load_seconds));
    w.key("synthesised");
    write_json(w, report.synthesised);
}

void show_run(const ProgramArguments& args, const Inspection& inspection, const RunReport& report) {
    Page page = args.page();
    memory_section(page, memory_report(inspection, &report));
    time_section(page, time_report(report, args.load_seconds));
}

void tell_synthesised(const Inspection& inspection, const RunReport& report) {
    if (!report.synthesised.empty())
        std::cerr << fmt::format("jaxscope: {} of {} inputs have no captured values; they were made up\n", report.synthesised.size(),
                                 inspection.step().in_paths.size());
}

}  // namespace jaxscope::cli
