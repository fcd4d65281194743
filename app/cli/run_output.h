// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "app/cli/program_arguments.h"

namespace jaxscope::cli {

/// What `run` and `samples NAME` tell of an executed program: the fields of `run` (into an object that is begun already), or a page.
void write_run(JsonWriter& w, const ProgramArguments& args, const Inspection& inspection, const RunReport& report);
void show_run(const ProgramArguments& args, const Inspection& inspection, const RunReport& report);
/// On standard error: that inputs were made up.
void tell_synthesised(const Inspection& inspection, const RunReport& report);

}  // namespace jaxscope::cli
