// SPDX-License-Identifier: Apache-2.0
#include "session/run_apart.h"

#include <QCoreApplication>
#include <QFileInfo>

#include "analysis/sharding/per_device.h"
#include "analysis/stages/step.h"
#include "analysis/summary.h"

namespace jaxscope::views {
namespace {

QString& chosen_runner() {
    static QString program;
    return program;
}

}  // namespace

void set_runner(const QString& program) { chosen_runner() = program; }

QString runner() {
    if (!chosen_runner().isEmpty()) return chosen_runner();
    const QString beside = QCoreApplication::applicationDirPath() + QStringLiteral("/jaxscope");
    return QFileInfo::exists(beside) ? beside : QStringLiteral("jaxscope");
}

ApartRun run_apart(const Inspection& inspection, int repeat) {
    const CancelScope scope(inspection.token());
    ChildRun run;
    run.program = program_to_run(inspection.program(), inspection.step(), inspection.donation());
    run.repeat = repeat;
    run.jit = inspection.choices().jit;
    run.outputs = false;
    run.planned_peak = inspection.plan().planned_peak;
    run.profile = !inspection.per_device();
    run.command = runner().toStdString();
    ChildRunResult there = run_in_child(run);
    ApartRun both;
    both.line_times = std::move(there.line_times);
    RunReport& out = both.report;
    out.result = std::move(there.result);
    out.synthesised = std::move(there.synthesised);
    out.made_up_constants = made_up_constants(*inspection.step().jaxpr);
    out.device_peaks = std::move(there.device_peaks);
    out.transform_seconds = there.transform_seconds;
    out.compile_seconds = out.result.compile_seconds;
    return both;
}

}  // namespace jaxscope::views
