#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "app/cli/interrupt.h"
#include "app/cli/program_arguments.h"
#include "base/subprocess.h"
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
        a.option("--python", python_, "the Python to run; it needs JAX only");
        a.option("--args", call_args_, "a Python expression, e.g. \"(jnp.ones((8,4)),)\": NAME is then the function itself");
        a.option("--values", values_, "all, small (arrays up to 1 MiB, the default) or none");
        a.flag("--compile", compile_, "record what XLA says of memory, aliasing and cost");
        a.option("--timeout", timeout_, "seconds");
        a.option("--call", call_,
                 "run a script as it is and capture the first call of a jitted function of this name: capture --call NAME -o OUT -- python "
                 "train.py");
        a.option("--nth", nth_, "with --call: which call");
        a.flag("--continue", continue_, "with --call: let the script go on afterwards");
        a.flag("--json", json_, "one JSON object on standard output");
        a.rest(command_, "with --call: the script's command line, behind --");
    }

    int run() override {
        if (output_.empty()) throw Error(ErrorCode::BadUsage, "expected -o OUT, found no place to write the capture");
        if (target_.empty() == call_.empty())
            throw Error(ErrorCode::BadUsage, "expected FILE.py:NAME, or --call NAME with a command behind --");
        ProcessRequest request = process();
        const ProcessResult result = run_process(request);
        std::cerr << result.error;
        if (result.cancelled) throw Error(ErrorCode::Cancelled, "cancelled");
        if (result.timed_out)
            throw Error(ErrorCode::CannotRun,
                        "expected the capture to end within " + std::to_string(timeout_) + " s, found it still running");
        if (result.exit_code != 0)
            throw Error(ErrorCode::BadInput, "expected Python to capture " + (target_.empty() ? call_ : target_) + ", found exit code " +
                                                 std::to_string(result.exit_code) +
                                                 (result.error.empty() ? "" : ": its message stands above"));
        return tell();
    }

private:
    ProcessRequest process() const {
        ProcessRequest r;
        r.command = {python_, "-m", "jaxscope", "-o", output_, "--values", values_};
        const auto add = [&](const char* flag, const std::string& value) {
            if (!value.empty()) r.command.insert(r.command.end(), {flag, value});
        };
        add("--args", call_args_);
        add("--call", call_);
        if (call_.empty()) {
            r.command.push_back(target_);
        } else {
            r.command.insert(r.command.end(), {"--nth", std::to_string(nth_)});
            if (continue_) r.command.push_back("--continue");
        }
        if (compile_) r.command.push_back("--compile");
        if (!command_.empty()) r.command.push_back("--");
        r.command.insert(r.command.end(), command_.begin(), command_.end());
        const char* path = std::getenv("PYTHONPATH");
        r.environment["PYTHONPATH"] = data_folder() + "/app/capture" + (path && *path ? ":" + std::string(path) : "");
        r.timeout_seconds = timeout_;
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

    std::string target_, output_, python_ = "python3", call_args_, values_ = "small", call_;
    std::vector<std::string> command_;
    bool compile_ = false, continue_ = false, json_ = false;
    double timeout_ = 600;
    int nth_ = 1;
};

}  // namespace

std::unique_ptr<Command> make_capture(Arguments& a) { return std::make_unique<Capture>(a); }

}  // namespace jaxscope::cli
