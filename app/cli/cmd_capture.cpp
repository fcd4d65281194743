#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "app/cli/interrupt.h"
#include "app/cli/program_arguments.h"
#include "base/subprocess.h"
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
        a.option("-o,--output", output_, "the capture to write");
        a.option("--python", python_, "the Python to run; it needs JAX only (default: the one behind --, else python3)");
        a.option("--args", call_args_, "a Python expression, e.g. \"(jnp.ones((8,4)),)\": NAME is then the function itself");
        a.option("--values", values_, "all, small (arrays up to 1 MiB, the default) or none");
        a.flag("--compile", compile_, "record what XLA says of memory, aliasing and cost");
        a.option("--timeout", timeout_, 0, "give up after this many seconds (0: never)");
        a.option("--call", call_,
                 "run a script as it is and capture the first call of a jitted function of this name: capture --call NAME -o OUT -- python "
                 "train.py");
        a.option("--nth", nth_, 1, "with --call: which call");
        a.flag("--continue", continue_, "with --call: let the script go on afterwards");
        a.flag("--json", json_, "one JSON object on standard output");
        a.behind_dashes(command_, "with --call: the script's command line as you would type it, e.g. -- python train.py --steps 10");
    }

    int run() override {
        if (output_.empty()) throw Error(ErrorCode::BadUsage, "expected -o OUT, found no place to write the capture");
        if (target_.empty() == call_.empty())
            throw Error(ErrorCode::BadUsage, "expected FILE.py:NAME, or --call NAME with a command behind --, found " +
                                                 std::string(call_.empty() ? "neither" : "both"));
        if (call_.empty() != command_.empty())
            throw Error(ErrorCode::BadUsage, call_.empty() ? "expected --call NAME with the command behind --, found no --call"
                                                           : "expected a command behind --, found none")
                .advise("jaxscope capture --call train_step -o OUT -- python train.py ARGS");
        if (values_ != "all" && values_ != "small" && values_ != "none")
            throw Error(ErrorCode::BadUsage, "expected all, small or none after --values, found '" + printable(values_) + "'");
        const ProcessResult result = run_process(process());
        if (result.cancelled || result.exit_code == exit_code(ErrorCode::Cancelled)) throw Error(ErrorCode::Cancelled, "cancelled");
        if (result.timed_out)
            throw Error(ErrorCode::CannotRun, "expected the capture to end within " + seconds_text(timeout_) + ", found it still running");
        // The package has said what is wrong, in one line as all of ours.
        if (result.exit_code == 2 && result.error.find("jaxscope: ") != std::string::npos) return exit_code(ErrorCode::BadInput);
        if (result.exit_code != 0)
            throw Error(ErrorCode::BadInput, "expected Python to capture " + (target_.empty() ? call_ : target_) +
                                                 ", found that it ended with exit code " + std::to_string(result.exit_code));
        return tell();
    }

private:
    /// `python -m jaxscope ...`. With --call the interpreter and its own options are those behind `--`.
    ProcessRequest process() const {
        ProcessRequest r;
        std::vector<std::string> script = command_;
        r.command = {python_.empty() ? "python3" : python_};
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
        r.command.insert(r.command.end(), {"-m", "jaxscope", "--json", "-o", output_, "--values", values_});
        if (!call_args_.empty()) r.command.push_back("--args=" + call_args_);
        if (compile_) r.command.emplace_back("--compile");
        if (call_.empty()) {
            r.command.push_back(target_);
        } else {
            r.command.insert(r.command.end(), {"--call", call_, "--nth", std::to_string(nth_)});
            if (continue_) r.command.emplace_back("--continue");
            r.command.emplace_back("--");
            r.command.insert(r.command.end(), script.begin(), script.end());
        }
        const char* path = std::getenv("PYTHONPATH");
        r.environment["PYTHONPATH"] = data_folder() + "/app/capture" + (path && *path ? ":" + std::string(path) : "");
        r.timeout_seconds = timeout_;
        r.forward_stderr = true;
        r.cancel = &interrupted();
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
            std::cout << output_ << ": " << program->name.str() << ", " << equations << " equations, " << program->regions.size()
                      << " autodiff regions, JAX " << program->jax_version << '\n';
        }
        return 0;
    }

    std::string target_, output_, python_, call_args_, values_ = "small", call_;
    std::vector<std::string> command_;
    bool compile_ = false, continue_ = false, json_ = false;
    double timeout_ = 600;
    int nth_ = 1;
};

}  // namespace

std::unique_ptr<Command> make_capture(Arguments& a) { return std::make_unique<Capture>(a); }

}  // namespace jaxscope::cli
