// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "base/supervised.h"
#include "ir/program.h"
#include "jit/jit.h"

namespace jaxscope {

/// A run in a process of its own, by the command line's program: for a process that a run may not take down, nor fill the memory of.
struct ChildRun {
    Program program;  ///< what to run (analysis/stages/step.h: program_to_run); inputs without values are made up
    int repeat = 1;
    JitOptions jit;
    ChildLimits limits;
    bool profile = false;
    bool outputs = true;            ///< false: what the program returns stays there
    std::int64_t planned_peak = 0;  ///< bytes, for the word on a run that was killed; 0: not known
    std::string command;            ///< the command line's program; empty: `jaxscope` beside this one's executable, else on PATH
};
/// The time that kernels took in one run, by the user's own line that names them; of loops that of their bodies' kernels.
struct LineTime {
    std::string file;
    int line = 0;
    double seconds = 0;
};
struct ChildRunResult {
    RunResult result;                        ///< without profile and events: these stand in `json`, as rows
    std::vector<int> synthesised;            ///< inputs
    std::vector<std::int64_t> device_peaks;  ///< of a program over several devices
    std::vector<LineTime> line_times;        ///< of a profile, by file and line
    double transform_seconds = 0;
    std::string json;  ///< what `run --json` says
};

/// Throws what the child says stops it, with its exit code's ErrorCode; Error{CannotRun} where it died; Error{Cancelled}.
ChildRunResult run_in_child(const ChildRun& run);

}  // namespace jaxscope
