#pragma once
#include <string>
#include <vector>

#include "analysis/donate_modes.h"
#include "analysis/inspection.h"
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
void policies_section(Page& page, const std::vector<PolicyRow>& rows);

}  // namespace jaxscope
