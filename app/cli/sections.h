#pragma once
#include <ostream>
#include <vector>

#include "analysis/inspection.h"
#include "analysis/memory_report.h"

namespace jaxscope::cli {

// What a person reads: one section per stage, used by the single commands and by `report`. `all`: every row of long tables.
void print_program(std::ostream& out, const Inspection& inspection, bool all);
void print_residuals(std::ostream& out, const Inspection& inspection, bool all);
void print_split(std::ostream& out, const Inspection& inspection, bool all);
void print_donation(std::ostream& out, const Inspection& inspection, bool all);
void print_memory(std::ostream& out, const MemoryReport& memory, bool all);
void print_time(std::ostream& out, const TimeReport& time);
void print_policies(std::ostream& out, const std::vector<PolicyRow>& rows);

}  // namespace jaxscope::cli
