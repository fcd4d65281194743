#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace jaxscope::cli {

/// The arguments of one subcommand: a thin front of CLI11, whose header is too heavy for every file.
class Arguments {
public:
    explicit Arguments(CLI::App& app) : app_(app) {}
    void positional(const char* name, std::string& value, const char* help, bool required = true);
    void rest(std::vector<std::string>& values, const char* help);  ///< all that stands behind `--`
    void flag(const char* name, bool& value, const char* help);
    void option(const char* name, std::string& value, const char* help);
    void option(const char* name, std::vector<std::string>& values, const char* help);  ///< may be given several times
    void option(const char* name, int& value, const char* help);
    void option(const char* name, double& value, const char* help);

private:
    CLI::App& app_;
};

/// One subcommand: holds its options, then runs.
class Command {
public:
    virtual ~Command() = default;
    virtual int run() = 0;  ///< returns the exit code; Errors are turned into messages by main
};

struct CommandEntry {
    const char* name;
    const char* help;
    std::unique_ptr<Command> (*make)(Arguments&);
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
std::unique_ptr<Command> make_export(Arguments&);
std::unique_ptr<Command> make_report(Arguments&);
std::unique_ptr<Command> make_samples(Arguments&);
std::unique_ptr<Command> make_open(Arguments&);

}  // namespace jaxscope::cli
