// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "analysis/inspection.h"
#include "report/memory_report.h"

namespace jaxscope {

/// The answer in two or three sentences: the peak, where and in which phase it stands, what holds it, and the cheapest change that lowers
/// it by a tenth or more, with what it gives and costs, derived and planned; where none of those that were tried does, that, and what is in
/// the way. `rows`: the what-if table. Takes up to some seconds.
std::vector<std::string> verdict(const Inspection& inspection, const MemoryReport& memory, const std::vector<PolicyRow>& rows);

/// The answer about a program that has no plan, because of `problem`: that, and what the backward pass keeps, where that is known.
std::vector<std::string> unplanned_verdict(const Inspection& inspection, const std::string& problem);

}  // namespace jaxscope
