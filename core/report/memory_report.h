#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/source.h"

namespace jaxscope {

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

/// The memory of one program: the plan's figures, divided as in XLA's memory analysis, and what was measured beside them.
struct MemoryReport {
    std::string of;      ///< what was planned and run: Step::of
    std::string target;  ///< the device whose needs were estimated; empty: planned for this machine
    std::int64_t arguments = 0, outputs = 0, aliased = 0, temporaries = 0;
    std::int64_t planned_peak = 0;              ///< arguments + outputs - aliased + temporaries
    std::optional<std::int64_t> measured_peak;  ///< null when nothing was run
    std::vector<PeakRow> at_peak;               ///< largest first
    std::string difference;                     ///< measured against planned where they differ by more than 1 % and 1 MiB
    std::vector<std::string> notes;             ///< donations that cost a copy
};

struct TimeReport {
    double load = 0, transform = 0, compile = 0, first_run = 0, run_median = 0, run_min = 0;  ///< seconds
};

}  // namespace jaxscope
