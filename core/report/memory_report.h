// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/stages/stages.h"
#include "ir/program.h"
#include "ir/source.h"

namespace jaxscope {

/// "the program", "the step", "value and gradient", "value and pullback".
std::string words(const StepName& name);
/// "around each of 6 calls of block (model.py:40)"
std::string words(const Placement& where);
/// " in critic (region 1)"; empty where no region is given.
std::string region_words(const Program& program, const std::optional<int>& region);
/// "dots_saveable around the function"
std::string policy_in_words(const PolicyRow& row);

/// The user's own line of an equation, where one is known.
template <class Row>
void set_own_line(Row& row, SourceRef source) {
    if (const Frame* own = source.user_frame()) row.file = own->file.str(), row.line = own->line;
}

/// A buffer that is alive when memory is highest.
struct PeakRow {
    std::string aval;
    std::int64_t bytes = 0;
    std::string equation;  ///< path of the equation that makes it; empty for arguments and constants
    std::string source;    ///< JAX's place string; for arguments their path
    std::string file;      ///< of the user's own line; empty where none is known
    int line = 0;          ///< from 1
    std::string role;      ///< "argument", "output", "residual", "temporary", "constant", "scratch"
};

/// What a step had in memory beyond what was planned.
struct UnplannedRow {
    std::int64_t bytes = 0;
    std::string equation, source;  ///< source: "dot_general from model.py:4:5 (f)"
    std::string file;              ///< of the user's own line
    int line = 0;
};

/// What stands in one memory space. All spaces of a CPU are one memory: it is what a device's and its host's would hold.
struct SpaceRow {
    std::string space;  ///< "device", "pinned_host"
    std::int64_t peak = 0;
    std::int64_t moved_in = 0;  ///< bytes that one run copies into it; of a while loop: in one iteration
};

/// One of several devices: what its plan says, and what it had in a run.
struct DeviceRow {
    std::int64_t device = 0, planned_peak = 0, measured_peak = 0;
    std::int64_t of_step = 0;  ///< of what was measured: results of the step at work, and the arena of what it computes
    std::string source;        ///< that step's last equation
    std::string file;          ///< of the user's own line
    int line = 0;
};

/// The memory of one program: the plan's figures, divided as in XLA's memory analysis, and what was measured beside them.
struct MemoryReport {
    StepName of;         ///< what was planned and run
    std::string target;  ///< the device whose needs were estimated; empty: planned for this machine
    std::int64_t arguments = 0, outputs = 0, aliased = 0, temporaries = 0;
    std::int64_t planned_peak = 0;              ///< arguments + outputs - aliased + temporaries
    std::int64_t threads = 0;                   ///< the plan is for so many, and
    std::string instructions;                   ///< for a processor with these; 0 and empty: for any
    std::int64_t scratch = 0;                   ///< at the peak, what kernels take to work in: both decide it
    std::optional<std::int64_t> measured_peak;  ///< null when nothing was run, or `measurement_problem` says why
    std::string measurement_problem;
    std::optional<std::int64_t> arena_resident;  ///< of the measured peak: pages of the planned arena
    std::vector<UnplannedRow> unplanned;         ///< of the measured peak: what is none of the arena's, by equation; largest first
    std::vector<SpaceRow> spaces;                ///< where the program uses the host's memory
    std::vector<PeakRow> at_peak;                ///< largest first
    std::string difference;                      ///< measured against planned where they differ by more than 1 % and 1 MiB
    std::int64_t devices = 1;                    ///< of several, all figures are one's
    std::vector<std::int64_t> device_peaks;      ///< measured of each of several devices
    std::vector<DeviceRow> per_device;           ///< of a run on several devices
    std::vector<std::string> notes;              ///< donations that cost a copy
};

struct TimeReport {
    double load = 0, transform = 0, compile = 0, first_run = 0, run_median = 0, run_min = 0;  ///< seconds
    int objects_compiled = 0, objects_from_disk = 0;  ///< of this process: pieces of machine code that were made, or found in the cache
};

}  // namespace jaxscope
