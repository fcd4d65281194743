// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "analysis/inspection.h"
#include "app/cli/command.h"
#include "base/json_writer.h"
#include "report/page.h"

namespace jaxscope::cli {

/// The arguments that most subcommands share: FILE, --json, and what to look at.
struct ProgramArguments {
    std::string file;
    bool json = false;
    bool all = false;
    std::string region, wrt, policy, donate, project;
    std::vector<std::string> replace_policy, rules, save, offload;
    bool expand = false;
    bool strict = false;
    bool debug_prints = false;  ///< texts of debug_print, where the program is run
    int threads = 0;
    std::string memory_limit;
    double time_limit = 0;
    bool recompute_cheap = false;
    std::string remat_lowering;
    std::string target;              ///< a device that figures are estimated for
    double load_seconds = 0;         ///< of the last `load`
    std::vector<std::string> notes;  ///< caveats of what was last looked at, which are printed on standard error, too

    void add_file(Arguments& a);    ///< FILE, --json, --all, --rule
    void add_region(Arguments& a);  ///< --region --wrt --policy --replace-policy --project --strict
    void add_strict(Arguments& a);  ///< --strict
    void add_target(Arguments& a);  ///< --target
    /// Is a planned peak within --memory-limit, where one is given? Says on standard error where it isn't, and `of` what.
    bool within_limit(std::int64_t planned_peak, const char* of = "") const;
    void note_target();                ///< what `load` notes of --target
    std::string estimated() const;     ///< with --target: what every figure is, and how far such estimates were off
    void add_threads(Arguments& a);    ///< --threads
    void add_execution(Arguments& a);  ///< --threads --memory-limit --time-limit --recompute-cheap --remat-lowering
    ProgramPtr load();
    Choices choices() const;
    ChildLimits limits() const;  ///< those of add_execution
    /// Standard output as a page: colours where it is a terminal and NO_COLOR isn't set, as wide as that.
    Page page() const;
    /// Throws Error{BadInput} under --strict, where a policy had no answer.
    std::shared_ptr<const Inspection> inspect();
    void refuse_unknown(const Inspection& inspection) const;
    /// That, and notes what holds for all its figures.
    void look_at(const Inspection& inspection);
    void note(const std::vector<std::string>& found);
};

/// Opens `{"schema": ..., "command": ...`; the caller adds its fields and closes with `finish_json`.
void begin_json(JsonWriter& w, const char* command, const std::vector<std::string>& notes = {});
void finish_json(JsonWriter& w);

}  // namespace jaxscope::cli
