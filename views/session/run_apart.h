// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs of what is looked at. Comes in: an inspection. Goes out: what its run took. Never here: the run itself, which may die without the
// window.
#include <QString>

#include "analysis/inspection.h"

namespace jaxscope::views {

/// The command line's program, which runs what is looked at in processes of its own; by default `jaxscope` beside this program, else on
/// PATH.
void set_runner(const QString& program);
QString runner();

/// Runs the inspection's step `repeat` times, in another process; without what it returns. Throws as run_in_child does (io/child_run.h).
RunReport run_apart(const Inspection& inspection, int repeat);

}  // namespace jaxscope::views
