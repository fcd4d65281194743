// SPDX-License-Identifier: Apache-2.0
#pragma once
// The command line. Comes in: arguments. Goes out: pages and JSON of core/report, files, an exit code. Never here: facts that an Inspection
// doesn't hold (whoever else shows them couldn't), Qt.
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/supervised.h"

namespace CLI {
class App;
}

namespace jaxscope::cli {

/// The arguments of one subcommand: a thin front of CLI11, whose header is too heavy for every file.
class Arguments {
public:
    explicit Arguments(CLI::App& app) : app_(app) {}
    void positional(const char* name, std::string& value, const char* help, bool required = true);
    void positional(const char* name, std::vector<std::string>& values, const char* help);  ///< any number of them, none too
    /// All that stands behind `--`: another program's command line, which is not looked at.
    void behind_dashes(std::vector<std::string>& values, const char* help);
    void flag(const char* name, bool& value, const char* help);
    void option(const char* name, std::string& value, const char* help);
    /// May be given several times. An empty value is refused, as with the others, but where it means something (`--layout ""`: as it is).
    void option(const char* name, std::vector<std::string>& values, const char* help, bool empty_too = false);
    // Numbers below `least` are refused as numbers that are none are: Error{BadUsage}.
    void option(const char* name, int& value, int least, const char* help);
    void option(const char* name, double& value, double least, const char* help, const char* unit = "SECONDS");
    std::vector<std::string>* behind_dashes() const { return behind_dashes_; }

private:
    CLI::App& app_;
    std::vector<std::string>* behind_dashes_ = nullptr;
};

/// One subcommand: holds its options, then runs.
class Command {
public:
    virtual ~Command() = default;
    virtual int run() = 0;  ///< returns the exit code; Errors are turned into messages by main
    /// Where anything is limited, `run` works in a child of its own, whose death is a message.
    virtual ChildLimits limits() const { return {}; }
};

struct CommandEntry {
    const char* name;
    const char* help;
    std::unique_ptr<Command> (*make)(Arguments&);
    const char* examples;  ///< what stands behind `jaxscope`, one a line
};

// One per file cmd_*.cpp; main.cpp lists them.
std::unique_ptr<Command> make_capture(Arguments&);
std::unique_ptr<Command> make_inspect(Arguments&);
std::unique_ptr<Command> make_print(Arguments&);
std::unique_ptr<Command> make_transform(Arguments&);
std::unique_ptr<Command> make_residuals(Arguments&);
std::unique_ptr<Command> make_split(Arguments&);
std::unique_ptr<Command> make_donation(Arguments&);
std::unique_ptr<Command> make_run(Arguments&);
std::unique_ptr<Command> make_plan(Arguments&);
std::unique_ptr<Command> make_policies(Arguments&);
std::unique_ptr<Command> make_check(Arguments&);
std::unique_ptr<Command> make_diff(Arguments&);
std::unique_ptr<Command> make_export(Arguments&);
std::unique_ptr<Command> make_report(Arguments&);
std::unique_ptr<Command> make_samples(Arguments&);
std::unique_ptr<Command> make_open(Arguments&);
std::unique_ptr<Command> make_xla(Arguments&);

}  // namespace jaxscope::cli
