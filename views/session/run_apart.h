// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs of what is looked at. Comes in: an inspection. Goes out: what its run took. Never here: the run itself, which may die without the
// window.
#include <QString>

#include "analysis/inspection.h"
#include "asking/child_run.h"

namespace jaxscope::views {

/// The command line's program, which runs what is looked at in processes of its own; by default `jaxscope` beside this program, else on
/// PATH.
void set_runner(const QString& program);
QString runner();

struct ApartRun {
    RunReport report;                  ///< without what the program returns
    std::vector<LineTime> line_times;  ///< none of programs over several devices, which have no profile
};
/// Runs the inspection's step `repeat` times, in another process. Throws as run_in_child does.
ApartRun run_apart(const Inspection& inspection, int repeat);

}  // namespace jaxscope::views
