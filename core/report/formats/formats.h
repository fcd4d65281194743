// SPDX-License-Identifier: Apache-2.0
#pragma once
// Floor `report/formats`: what other tools read. Comes in: an Inspection. Goes out: one file of theirs. Never here: our own reports and
// pictures (report/export.h).
#include <ostream>
#include <string>

#include "analysis/inspection.h"
#include "picture/opened_groups.h"

namespace jaxscope {

/// A trace for ui.perfetto.dev (Chrome's JSON trace format): the plan's steps as slices, its buffers as slices of their lifetimes, live
/// bytes by role as a counter. The plan knows no times: a microsecond is a step.
void write_perfetto(std::ostream& out, const Inspection& inspection);
/// A flowchart for Markdown pages. `what`: "program" or "split".
void write_mermaid(std::ostream& out, const Inspection& inspection, const std::string& what, Depth depth = {});
/// A graph collection for Model Explorer: every equation, in namespaces by scope and call.
void write_model_explorer(std::ostream& out, const Inspection& inspection);
/// Node data for that graph: bytes of what the backward pass keeps, by the equation that makes it.
void write_model_explorer_data(std::ostream& out, const Inspection& inspection);
/// A profile for `pprof`: by line of Python, bytes that the backward pass keeps and bytes alive at the planned peak. Protocol buffers,
/// not compressed.
void write_pprof(std::ostream& out, const Inspection& inspection);
/// A table with a line of names. `what`: residuals, donation, memory (what is alive at the peak), policies (planned), inputs, outputs.
void write_csv(std::ostream& out, const Inspection& inspection, const std::string& what);

}  // namespace jaxscope
