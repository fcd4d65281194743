// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "analysis/inspection.h"
#include "report/page.h"

namespace jaxscope {

/// One kernel, library call or loop of a run, in the words of the program.
struct ProfileRow {
    std::string what;                    ///< "dot_general", "fusion of mul, add, tanh", "scan"
    std::vector<std::string> equations;  ///< paths of all equations that it computes
    std::string loop;                    ///< the equation of the loop whose body it belongs to, else empty
    std::string source;
    std::string file;  ///< of the user's own line
    int line = 0;
    double calls = 0, seconds = 0;            ///< in one run; a loop's time is that of its body
    double share = 0;                         ///< of the time of all steps
    double flops = 0, bytes = 0;              ///< computed, and read and written, in one run
    std::optional<double> share_of_roofline;  ///< the least time that this machine takes for so much, by the time it took; null of loops
};

/// Memory taken or given back.
struct EventRow {
    std::string kind;      ///< "alloc", "free", "alias"
    double seconds = 0;    ///< since the run began
    int step = 0;          ///< -1: before the first
    std::string equation;  ///< that makes what stands there; empty for arguments
    std::string role;
    std::int64_t bytes = 0, live_bytes = 0;  ///< live: after the event
};

struct ProfileReport {
    double seconds = 0;                                 ///< of all steps, in one run
    bool by_steps = false;                              ///< of a run more, in which small loops went step by step
    double run_seconds = 0;                             ///< of a run as it is, in which they are one function each
    double flops_per_second = 0, bytes_per_second = 0;  ///< this machine's, measured beside the run
    std::vector<ProfileRow> kernels;                    ///< most time first
    std::vector<EventRow> events;
};
ProfileReport profile_report(const MemoryPlan& plan, const RunReport& run);
void profile_section(Page& page, const ProfileReport& profile);

}  // namespace jaxscope
