// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "base/error.h"
namespace jaxscope {

class Inspection;
struct RunReport;

/// What debug_print and debug_callback did in one run.
struct DebugPrintRow {
    std::string primitive, equation, source;
    SourceLoc loc;
    std::string format;  ///< of debug_print
    std::int64_t calls = 0;
    std::vector<std::string> texts;
    std::vector<std::int64_t> order;  ///< of each text among those of the run
    std::string problem;              ///< why there is no text, or not that of every call
};
/// Over several devices each counts that looks at its part; of whole values, one.
std::vector<DebugPrintRow> debug_prints(const Inspection& inspection, const RunReport& run);

/// The lines that the program would have written, in the order of the run.
std::vector<std::string> printed_lines(const std::vector<DebugPrintRow>& rows);

}  // namespace jaxscope
