// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <filesystem>
#include <iostream>

#include "app/cli/interrupt.h"
#include "app/cli/program_arguments.h"
#include "asking/capture_package.h"
#include "base/subprocess.h"
#include "base/suggest.h"
#include "base/text.h"
#include "base/units.h"
#include "io/load_program.h"
#include "ir/jaxpr.h"

namespace jaxscope::cli {

namespace {

class Capture final : public Command {
public:
    explicit Capture(Arguments& a) {
        a.positional("TARGET", target_,
                     "FILE.py:NAME (a function that returns a mapping with `fn` and `args`, or with --args the function itself)", false);
        a.option("-o,--output", output_, "the capture to write (default: FILE.jaxscope, with --call NAME.jaxscope, in the working folder)");
        a.option("--python", python_,
                 "the Python to run; it needs JAX only (default: the one behind --, else JAXSCOPE_PYTHON, else python3)");
        a.option("--args", call_args_, "a Python expression, e.g. \"(jnp.ones((8,4)),)\": NAME is then the function itself");
        a.option("--kwargs", call_kwargs_, "with --args: a mapping of its keyword arguments");
        a.option("--values", values_, "all, small (arrays up to 1 MiB, the default) or none");
        a.flag("--compile", compile_, "record what XLA says of memory, aliasing and cost");
        a.option("--target", targets_,
                 "with --compile: ask XLA's compiler for tpu:KIND[:TOPOLOGY] instead, e.g. tpu:v5p (may be repeated)");
        a.option("--target-python", target_python_, "a Python with that compiler (jax[tpu]), where the program's own has none");
        a.flag("--memory-only", memory_only_,
               "with --target: end its compiler once it has assigned its buffers (seconds where code takes minutes; no cost analysis)");
        a.option("--timeout", timeout_, 0, "give up after this many seconds (0: never)");
        a.option("--rule-depth", rule_depth_, 0, "how deep custom rules inside custom rules are traced");
        a.option("--axis-size", axis_sizes_,
                 "trace the rules of custom_vmap functions for axes of these sizes, e.g. 8,32 (default: 8, as vmap)");
        a.flag("--no-source", no_source_, "leave the text of your files out");
        a.flag("--absolute", absolute_, "keep absolute paths");
        a.option("--call", call_,
                 "run a script as it is and capture the first call of a jitted function of this name: capture --call NAME -o OUT -- python "
                 "train.py");
        a.option("--nth", nth_, 1, "with --call: which call");
        a.flag("--continue", continue_, "with --call: let the script go on afterwards");
        a.flag("--json", json_, "one JSON object on standard output");
        a.behind_dashes(command_, "with --call: the script's command line as you would type it, e.g. -- python train.py --steps 10");
    }

    int run() override {
        if (target_.empty() == call_.empty())
            throw Error(ErrorCode::BadUsage, "expected FILE.py:NAME, or --call NAME with a command behind --, found " +
                                                 std::string(call_.empty() ? "neither" : "both"));
        if (call_.empty() != command_.empty())
            throw Error(ErrorCode::BadUsage, call_.empty() ? "expected --call NAME with the command behind --, found no --call"
                                                           : "expected a command behind --, found none")
                .advise("jaxscope capture --call train_step -o OUT -- python train.py ARGS");
        if (output_.empty()) output_ = default_output();
        if (values_ != "all" && values_ != "small" && values_ != "none")
            throw unknown_name(ErrorCode::BadUsage, "expected all, small or none after --values", values_, {"all", "small", "none"});
        if (!compile_ && !(targets_.empty() && target_python_.empty()))
            throw Error(ErrorCode::BadUsage, "expected --compile with --target, found none");
        if (memory_only_ && targets_.empty()) throw Error(ErrorCode::BadUsage, "expected --target beside --memory-only, found none");
        const WaitForChildren wait;
        const ProcessResult result = run_process(process());
        if (result.truncated) std::cerr << "\n(... more output, left out)\n" << last_line(result) << '\n';
        if (result.cancelled) throw Error(ErrorCode::Cancelled, "cancelled");
        if (result.timed_out)
            throw Error(ErrorCode::CannotRun, "expected the capture to end within " + seconds_text(timeout_) + ", found it still running");
        // What the package prints in the end says that the file was written: an exit code of 0 may be the script's own.
        if (result.exit_code == 0 && result.output.find("\"jaxscope.report/1\"") != std::string::npos) return tell();
        // The package has said what is wrong, under the user's own traceback, in a line like ours. Two of its exit codes are ours.
        if (last_line(result).starts_with("jaxscope: ")) {
            const bool kept = result.exit_code == exit_code(ErrorCode::CannotRun) || result.exit_code == exit_code(ErrorCode::Cancelled);
            return kept ? result.exit_code : exit_code(ErrorCode::BadInput);
        }
        throw Error(ErrorCode::BadInput,
                    "expected Python to capture " + (target_.empty() ? call_ : target_) + ", found that it " + ending(result.exit_code));
    }

private:
    static constexpr double kGrace = 3;  ///< seconds that Python gets to say where it stood when the time was out

    /// train.jaxscope for train.py:program, train_step.jaxscope for a call of train_step; in the working folder.
    std::string default_output() const {
        if (!call_.empty()) return call_ + ".jaxscope";
        return std::filesystem::path(target_.substr(0, target_.rfind(".py"))).filename().string() + ".jaxscope";
    }
    static std::string ending(int exit_code) {
        if (exit_code > 128) return std::string("was ended by a signal: ") + strsignal(exit_code - 128);
        return "ended with exit code " + std::to_string(exit_code) + (exit_code == 0 ? " before anything was captured" : "");
    }

    /// `python -m jaxscope ...`. With --call the interpreter and its own options are those behind `--`.
    ProcessRequest process() const {
        ProcessRequest r;
        std::vector<std::string> script = command_;
        r.command = {python_of(python_)};
        if (!script.empty() && std::filesystem::path(script[0]).filename().string().starts_with("python")) {
            if (python_.empty()) r.command = {script[0]};
            script.erase(script.begin());
            while (!script.empty() && script[0].starts_with("-") && script[0] != "-m" && script[0] != "-c") {
                const std::size_t words = script[0] == "-X" || script[0] == "-W" ? 2 : 1;
                for (std::size_t k = 0; k < words && !script.empty(); ++k) {
                    r.command.push_back(script[0]);
                    script.erase(script.begin());
                }
            }
        }
        // With --json what the user's code prints goes to standard error: standard output is ours.
        r.command.insert(r.command.end(),
                         {"-m", "jaxscope", "--json", "-o", output_, "--values", values_, "--rule-depth", std::to_string(rule_depth_)});
        for (const int n : axis_sizes_.empty() ? std::vector<int>() : parse_numbers(axis_sizes_, "--axis-size"))
            r.command.insert(r.command.end(), {"--axis-size", std::to_string(n)});
        if (timeout_ > 0) r.command.push_back("--timeout=" + std::to_string(timeout_));
        if (!call_args_.empty()) r.command.push_back("--args=" + call_args_);
        if (!call_kwargs_.empty()) r.command.push_back("--kwargs=" + call_kwargs_);
        if (compile_) r.command.emplace_back("--compile");
        for (const std::string& t : targets_) r.command.push_back("--target=" + t);
        if (!target_python_.empty()) r.command.push_back("--target-python=" + target_python_);
        if (memory_only_) r.command.emplace_back("--memory-only");
        if (no_source_) r.command.emplace_back("--no-source");
        if (absolute_) r.command.emplace_back("--absolute");
        if (call_.empty()) {
            r.command.push_back(target_);
        } else {
            r.command.insert(r.command.end(), {"--call", call_, "--nth", std::to_string(nth_)});
            if (continue_) r.command.emplace_back("--continue");
            r.command.emplace_back("--");
            r.command.insert(r.command.end(), script.begin(), script.end());
        }
        add_capture_package(r);
        r.timeout_seconds = timeout_ > 0 ? timeout_ + kGrace : 0;
        r.max_output = 8u << 20;
        r.forward_stderr = true;
        r.inherit_input = true;
        return r;
    }

    int tell() const {
        const ProgramPtr program = load_program(output_);
        const std::int64_t equations = count_equations(*program->jaxpr);
        if (json_) {
            JsonWriter w(std::cout);
            begin_json(w, "capture");
            w.key("output");
            w.value(output_);
            w.key("equations");
            w.value(equations);
            w.key("jax_version");
            w.value(program->jax_version);
            finish_json(w);
        } else {
            std::cout << printable(output_) << ": " << printable(program->name.str()) << ", " << equations << " equations, "
                      << program->regions.size() << (program->regions.size() == 1 ? " autodiff region, JAX " : " autodiff regions, JAX ")
                      << program->jax_version << '\n';
        }
        return 0;
    }

    std::string target_, output_, python_, call_args_, call_kwargs_, values_ = "small", call_, axis_sizes_, target_python_;
    std::vector<std::string> command_, targets_;
    bool compile_ = false, continue_ = false, json_ = false, no_source_ = false, absolute_ = false, memory_only_ = false;
    double timeout_ = 600;
    int nth_ = 1, rule_depth_ = 4;
};

}  // namespace

std::unique_ptr<Command> make_capture(Arguments& a) { return std::make_unique<Capture>(a); }

}  // namespace jaxscope::cli
