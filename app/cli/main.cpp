// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <iostream>
#include <iterator>
#include <optional>
#include <string_view>

#include <CLI/CLI.hpp>

#include "app/cli/command.h"
#include "app/cli/help_files.h"
#include "app/cli/interrupt.h"
#include "app/cli/progress_bar.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/loaded_pages.h"
#include "base/notes.h"
#include "base/progress.h"
#include "base/signals.h"
#include "base/suggest.h"
#include "base/supervised.h"
#include "base/text.h"
#include "base/units.h"
#include "ir/registry.h"
#include "jit/code_cache.h"

namespace {

using namespace jaxscope;
using namespace jaxscope::cli;

constexpr CommandEntry kCommands[] = {
    {"open", "show a program in the window", make_open, "open sample:transformer_lm\nopen step.jaxscope"},
    {"capture", "run a Python file and record its JAX program", make_capture,
     "capture train.py:program -o step.jaxscope\ncapture model.py:loss --args \"(params, jnp.ones((8, 4)))\" -o loss.jaxscope\ncapture "
     "--call train_step -o step.jaxscope -- python train.py --steps 10"},
    {"inspect", "what is in a program: inputs, outputs, equations, regions", make_inspect,
     "inspect step.jaxscope\ninspect step.jaxscope --json"},
    {"print", "the jaxpr as JAX prints it", make_print, "print step.jaxscope --source"},
    {"transform", "rewrite the program: grad, jvp, vmap, checkpoint, dce, ...", make_transform,
     "transform loss.jaxscope --apply grad:0 --apply vmap:0 -o grads.jaxscope"},
    {"residuals", "what autodiff saves for the backward pass, and which line of Python holds it", make_residuals,
     "residuals step.jaxscope\nresiduals step.jaxscope --policy dots_saveable\nresiduals step.jaxscope --expand --all"},
    {"split", "the known (forward) and unknown (backward) parts of the partial evaluation", make_split, "split step.jaxscope --print"},
    {"donation", "which donated arguments are really reused, and why the others are not", make_donation,
     "donation step.jaxscope\ndonation step.jaxscope --donate 0,1"},
    {"run", "compile and execute; measured memory and time", make_run,
     "run step.jaxscope --repeat 10\nrun step.jaxscope --inputs in.npz --outputs out.npz"},
    {"plan", "the memory plan without executing; shapes may exceed this machine", make_plan,
     "plan step.jaxscope\nplan step.jaxscope --device-memory 16G\nplan step.jaxscope --budget 12G"},
    {"policies", "the what-if table: every checkpoint policy on this program", make_policies,
     "policies step.jaxscope --no-run\npolicies step.jaxscope --policy \"save_only_these_names(attn_out)\""},
    {"check", "hold programs to budgets: the gate of a CI", make_check,
     "check *.jaxscope --max-peak 16G --no-unused-donations\ncheck --budgets budgets.json --format sarif > findings.sarif"},
    {"diff", "two programs or reports side by side: equations, residuals, donations, memory", make_diff,
     "diff before.jaxscope after.jaxscope\ndiff report.json step.jaxscope --exit-code"},
    {"export", "a picture, a report or another tool's file: html, svg, csv, perfetto.json, ...", make_export,
     "export step.jaxscope -o report.html\nexport step.jaxscope -o plan.perfetto.json\nexport step.jaxscope -o split.svg"},
    {"report", "all of the above for one program, at once", make_report,
     "report sample:transformer_lm\nreport step.jaxscope -d report --no-run"},
    {"xla", "what XLA's own dumps and out-of-memory messages say, by line and equation", make_xla,
     "xla oom.txt --capture step.jaxscope\nxla dump/ --module jit_train_step --capture step.jaxscope\nxla step.hlo.txt --json"},
    {"samples", "list the bundled samples, or run one", make_samples, "samples\nsamples mlp"},
};

struct Made {
    CLI::App* app;
    std::vector<std::string>* behind_dashes;
    std::unique_ptr<Command> command;
};

std::vector<Made> add_commands(CLI::App& app) {
    std::vector<Made> made;
    for (const CommandEntry& entry : kCommands) {
        CLI::App* sub = app.add_subcommand(entry.name, entry.help);
        std::string examples = "Examples:";
        for (const std::string& line : split(entry.examples, '\n')) examples.append("\n  jaxscope ").append(line);
        sub->fallthrough();
        Arguments arguments(*sub);
        auto command = entry.make(arguments);
        const std::string own = sub->get_footer();
        sub->footer(own.empty() ? examples : fmt::format("{}\n\n{}", own, examples));
        made.push_back({sub, arguments.behind_dashes(), std::move(command)});
    }
    return made;
}

/// The first word says the command; CLI11 only says that it didn't expect it.
void check_command(const std::vector<std::string>& words) {
    if (words.empty() || words[0].starts_with("-")) return;
    std::vector<std::string_view> names;
    std::string list;
    for (const CommandEntry& entry : kCommands) {
        if (words[0] == entry.name) return;
        names.emplace_back(entry.name);
        list += (list.empty() ? "" : ", ") + std::string(entry.name);
    }
    Error error = unknown_name(ErrorCode::BadUsage, "expected a command", words[0], names);
    if (error.advices.empty()) error.advise("the commands are " + list);
    throw error;
}

/// The options of `app` and of the program as a whole, as --help lists them, but without dashes: all have those, whatever was meant.
std::vector<std::string> option_names(const CLI::App* app) {
    std::vector<std::string> names;
    for (; app; app = app->get_parent())
        for (const CLI::Option* option : app->get_options())
            for (const std::string& name : option->get_lnames()) names.push_back(name);
    return names;
}

/// Which of `made` have the option, "" for none: whoever gives it to another one didn't mistype it.
std::string takers(const std::string& option, const std::vector<Made>& made) {
    std::vector<std::string> names;
    for (const Made& m : made)
        if (m.app->get_option_no_throw("--" + option)) names.push_back(m.app->get_name());
    if (names.size() < 2) return names.empty() ? "" : names[0];
    const std::string last = names.back();
    names.pop_back();
    return fmt::format("{} and {}", fmt::join(names, ", "), last);
}

/// Of CLI11's list of what it didn't expect, last ones first: the option among them, else all.
std::string unexpected(const std::string& list) {
    for (const std::string& word : split(list, ' '))
        if (word.starts_with("--")) return word;
    return list;
}

/// What CLI11 refuses, in the words of all other errors.
Error usage_error(const CLI::ParseError& e, const CLI::App* sub, const std::vector<Made>& made) {
    std::string fact = printable(e.what(), 400);
    if (const std::size_t at = fact.find(" is required"); at != std::string::npos)
        fact = "expected " + fact.substr(0, at) + ", found nothing";
    else if (fact.find("not expected: ") != std::string::npos)
        fact = "expected the arguments that --help lists, found '" + unexpected(fact.substr(fact.find(": ") + 2)) + "'";
    else if (const std::size_t missing = fact.find(": 1 required "); missing != std::string::npos)
        fact = "expected a value after " + fact.substr(0, missing) + ", found none";
    else if (const std::size_t many = fact.find(": At Most 1 required but received "); many != std::string::npos)
        fact = "expected " + fact.substr(0, many) + " once, found it " + fact.substr(fact.rfind(' ') + 1) + " times";
    else
        fact = "expected arguments as --help says, found: " + fact;
    Error error(ErrorCode::BadUsage, fact);
    if (const std::size_t found = fact.find("found '--"); found != std::string::npos) {
        const std::string given = fact.substr(found + 9);
        const std::string option = given.substr(0, given.find_first_of("= '"));
        const std::vector<std::string> known = option_names(sub);
        if (const std::string others = takers(option, made); !others.empty())
            error.advise("--" + option + " is an option of " + others);
        else if (const std::string_view near = nearest_name(option, views_of(known)); !near.empty())
            error.advise("did you mean --" + std::string(near) + "?");
    }
    return error.advise(std::string("jaxscope ") + (sub ? sub->get_name() + " " : "") + "--help");
}

/// Splits off what stands behind `--` where the command wants it, and has CLI11 read the rest. Returns an exit code when all is done.
std::optional<int> parse(CLI::App& app, const std::vector<Made>& made, std::vector<std::string> words) {
    if (!words.empty() && words[0] == "help") {  // `jaxscope help run`, as other programs have it
        words.erase(words.begin());
        words.insert(words.begin() + (words.empty() ? 0 : 1), "--help");
    }
    check_command(words);
    const auto command = std::find_if(words.begin(), words.end(), [](const std::string& w) { return !w.starts_with("-"); });
    const auto named =
        std::find_if(made.begin(), made.end(), [&](const Made& m) { return command != words.end() && m.app->get_name() == *command; });
    if (named != made.end() && named->behind_dashes) {
        const auto dashes = std::find(words.begin(), words.end(), "--");
        if (dashes != words.end()) named->behind_dashes->assign(dashes + 1, words.end());
        words.erase(dashes, words.end());
    }
    std::reverse(words.begin(), words.end());  // CLI11 takes them from the end
    try {
        app.parse(words);
    } catch (const CLI::Success& e) {  // --help, --version
        return app.exit(e);
    } catch (const CLI::ParseError& e) {
        throw usage_error(e, named == made.end() ? nullptr : named->app, made);
    }
    return {};
}

std::string bug_text(const std::string& what) {
    return "a bug in jaxscope: " + what + "\n  please report it with the command that you ran and the file that it read";
}

/// Does `work`, tells of what stops it, and returns the exit code.
int told(const std::function<int()>& work) {
    try {
        const int code = work();
        std::cout.flush();
        if (!std::cout) throw Error(ErrorCode::CannotRun, "expected to write to standard output, found it closed or its disk full");
        // The work was over before anybody asked; or a child did it and has told.
        if (interrupted().cancelled() && code != exit_code(ErrorCode::Cancelled)) throw_cancelled();
        return code;
    } catch (const Error& e) {
        hide_progress();
        std::cout.flush();
        // Where it was stopped is nobody's question; why a child was, its parent says.
        if (!ended_by_supervisor()) std::cerr << full_text(e.code == ErrorCode::Cancelled ? Error(e.code, "cancelled") : e) << '\n';
        return exit_code(e.code);
    } catch (const std::bad_alloc&) {
        std::cerr << "jaxscope: expected enough memory, found none left [cannot-run]\n";
        return exit_code(ErrorCode::CannotRun);
    } catch (const std::exception& e) {
        std::cerr << "jaxscope: " << bug_text(e.what()) << '\n';
        return 4;
    }
}

/// Says in the end how long this process and its children worked, and what they took of memory.
class TellUse {
public:
    TellUse() = default;
    TellUse(const TellUse&) = delete;
    TellUse& operator=(const TellUse&) = delete;
    ~TellUse() {
        rusage own{}, children{};
        if (loudness() != Loudness::Verbose || getrusage(RUSAGE_SELF, &own) != 0 || getrusage(RUSAGE_CHILDREN, &children) != 0) return;
        const auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec); };
        const double worked = seconds(own.ru_utime) + seconds(own.ru_stime) + seconds(children.ru_utime) + seconds(children.ru_stime);
        const std::int64_t resident = std::max(own.ru_maxrss, children.ru_maxrss) * std::int64_t{1024};
        tell_detail(fmt::format("done after {}, {} of processor time; at most {} resident",
                                seconds_text(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count()),
                                seconds_text(worked), bytes_text(resident)));
    }

private:
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

int run(int argc, char** argv) {
    CLI::App app{"jaxscope: see where a JAX program's memory goes, and change it", "jaxscope"};
    app.set_version_flag("--version", std::string("jaxscope ") + JAXSCOPE_VERSION);
    bool print_limits = false;
    app.add_flag("--limits", print_limits, "print the limits that jaxscope holds files to");
    bool no_code_cache = false;
    app.add_flag("--no-code-cache", no_code_cache, "compile everything anew: neither read compiled code from disk nor keep it there");
    bool quiet = false, verbose = false;
    app.add_flag("--quiet", quiet, "no notes and no progress on standard error, only errors (before or behind the command)");
    app.add_flag("--verbose", verbose, "on standard error: what was read, how long it all took and what it took of memory")
        ->excludes("--quiet");
    std::string shell;
    app.add_option("--completions", shell, "print completions for bash, zsh or fish");
    bool print_man = false;
    app.add_flag("--man", print_man, "print the man page");
    app.require_subcommand(0, 1);
    app.footer("jaxscope help COMMAND, or COMMAND --help, says more. To begin with: jaxscope report sample:transformer_lm");
    const std::vector<Made> made = add_commands(app);
    if (const auto code = parse(app, made, {argv + 1, argv + argc})) return *code;
    if (print_limits) {
        std::cout << limits_text();
        return 0;
    }
    if (print_man || !shell.empty()) {
        std::cout << (print_man ? man_page(app, JAXSCOPE_VERSION) : completions(app, shell));
        return 0;
    }
    register_all_primitives();
    set_loudness(quiet ? Loudness::Quiet : verbose ? Loudness::Verbose : Loudness::Usual);
    if (!quiet) show_progress_on_terminal();
    const TellUse use;
    if (!no_code_cache) use_code_cache(usual_code_cache());
    for (const Made& m : made) {
        if (!m.app->parsed()) continue;
        const ChildLimits limits = m.command->limits();
        if (!limits.any()) return m.command->run();
        const WaitForChildren child;
        return run_supervised(limits, [&m] {
            watch_for_interrupt();  // fork leaves the thread behind
            return told([&m] { return m.command->run(); });
        });
    }
    std::cout << app.help();
    return 0;
}

/// Where an exception can't be passed on (a thread of OpenMP's, a destructor): the same words and exit code as in `main`.
[[noreturn]] void end_of_a_bug() {
    std::string what = "an exception that nothing caught";
    try {
        if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
    } catch (const std::exception& e) {
        what = e.what();
    } catch (...) {  // no exception of ours, nor of a library's
    }
    std::fprintf(stderr, "jaxscope: %s\n", bug_text(what).c_str());
    std::_Exit(4);
}

}  // namespace

int main(int argc, char** argv) {
    block_signals();                // before any other thread is there, which inherits it
    give_back_pages_of("libLLVM");  // 40 MB, and most commands compile nothing
    std::set_terminate(end_of_a_bug);
    watch_for_interrupt();
    const CancelScope whole(interrupted());
    std::ios::sync_with_stdio(false);
    return told([&] { return run(argc, argv); });
}
