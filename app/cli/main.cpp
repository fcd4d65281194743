#include <csignal>
#include <cstdio>
#include <iostream>

#include <CLI/CLI.hpp>

#include "app/cli/command.h"
#include "app/cli/interrupt.h"
#include "base/error.h"
#include "base/limits.h"
#include "ir/registry.h"

namespace {

using namespace jaxscope;
using namespace jaxscope::cli;

constexpr CommandEntry kCommands[] = {
    {"open", "show a program in the window", make_open},
    {"capture", "run a Python file and record its JAX program", make_capture},
    {"inspect", "what is in a program: inputs, outputs, equations, regions", make_inspect},
    {"print", "the jaxpr as JAX prints it", make_print},
    {"transform", "rewrite the program: grad, jvp, vmap, checkpoint, dce, ...", make_transform},
    {"residuals", "what autodiff saves for the backward pass, and which line of Python holds it", make_residuals},
    {"split", "the known (forward) and unknown (backward) parts of the partial evaluation", make_split},
    {"donation", "which donated arguments are really reused, and why the others are not", make_donation},
    {"run", "compile and execute; measured memory and time", make_run},
    {"plan", "the memory plan without executing; shapes may exceed this machine", make_plan},
    {"policies", "the what-if table: every checkpoint policy on this program", make_policies},
    {"export", "a picture or report: .json .html .svg .dot .jaxpr", make_export},
    {"report", "all of the above for one program, at once", make_report},
    {"samples", "list the bundled samples", make_samples},
};

int run_command(Command& command) {
    try {
        return command.run();
    } catch (const Error& e) {
        std::cout.flush();
        std::cerr << full_text(e) << '\n';
        return exit_code(e.code);
    } catch (const std::bad_alloc&) {
        std::cerr << "jaxscope: expected enough memory, found none left [cannot-run]\n";
        return exit_code(ErrorCode::CannotRun);
    } catch (const std::exception& e) {
        std::cerr << "jaxscope: a bug in jaxscope: " << e.what()
                  << "\n  please report it with the command that you ran and the file that it read\n";
        return 4;
    }
}

}  // namespace

int main(int argc, char** argv) {
    std::ios::sync_with_stdio(false);
    CLI::App app{"jaxscope: see where a JAX program's memory goes, and change it", "jaxscope"};
    app.set_version_flag("--version", std::string("jaxscope ") + JAXSCOPE_VERSION);
    bool print_limits = false;
    app.add_flag("--limits", print_limits, "print the limits that jaxscope holds files to");
    app.require_subcommand(0, 1);
    std::vector<std::pair<CLI::App*, std::unique_ptr<Command>>> made;
    for (const CommandEntry& entry : kCommands) {
        CLI::App* sub = app.add_subcommand(entry.name, entry.help);
        Arguments arguments(*sub);
        made.emplace_back(sub, entry.make(arguments));
    }
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp& e) {
        return app.exit(e);
    } catch (const CLI::CallForAllHelp& e) {
        return app.exit(e);
    } catch (const CLI::CallForVersion& e) {
        return app.exit(e);
    } catch (const CLI::ParseError& e) {
        std::cerr << "jaxscope: " << printable(e.what(), 800) << " [bad-usage]\n  try: jaxscope --help\n";
        return exit_code(ErrorCode::BadUsage);
    }
    if (print_limits) {
        std::cout << limits_text();
        return 0;
    }
    watch_for_interrupt();
    register_all_primitives();
    for (auto& [sub, command] : made)
        if (sub->parsed()) return run_command(*command);
    std::cout << app.help();
    return 0;
}
