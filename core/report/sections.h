// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "analysis/donate_modes.h"
#include "analysis/inspection.h"
#include "report/debug/debug_prints.h"
#include "report/memory_report.h"
#include "report/page.h"

namespace jaxscope {

// What a person reads: one section per stage, used by the single commands, by `report` and by the Markdown report.
void program_section(Page& page, const Inspection& inspection);
void residuals_section(Page& page, const Inspection& inspection);
void split_section(Page& page, const Inspection& inspection);
void donation_section(Page& page, const Inspection& inspection);
void donate_modes_section(Page& page, const std::vector<DonateModeRow>& rows);
void memory_section(Page& page, const MemoryReport& memory);
void time_section(Page& page, const TimeReport& time);
/// How often debug_print and debug_callback were met; with texts, what the program would have written.
void debug_section(Page& page, const std::vector<DebugPrintRow>& rows);
void policies_section(Page& page, const std::vector<PolicyRow>& rows);
/// Where the checkpoints of rows `each block: ...` stand, once; `Row` is a PolicyRow or what has its `around`.
template <class Row>
void blocks_line(Page& page, const std::vector<Row>& rows) {
    for (const Row& r : rows)
        if (r.around) return page.line("each block: a checkpoint " + words(*r.around));
}

}  // namespace jaxscope
