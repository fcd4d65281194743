// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "app/cli/program_arguments.h"
#include "app/cli/steps.h"
#include "io/capture/writer.h"
#include "ir/print/printer.h"
#include "report/caveats.h"
#include "report/json/report_fields.h"
#include "report/sections.h"

namespace jaxscope::cli {

namespace {

class Transform final : public Command {
public:
    explicit Transform(Arguments& a) {
        args_.add_file(a);
        a.option("--apply", steps_, step_help());
        a.option("-o,--output", output_, "write the result as a capture");
        a.flag("--print", print_, "print the result's jaxpr");
        a.flag("--uncompressed", uncompressed_, "with -o: write the text as it is, not packed by zstd");
        args_.add_strict(a);
    }
    int run() override {
        if (steps_.empty() && output_.empty())
            throw Error(ErrorCode::BadUsage, "expected --apply STEP, or -o OUT to write the program anew, found neither");
        const ProgramPtr before = args_.load();
        Choices whole_program;
        whole_program.region = Choices::kProgram;
        args_.refuse_unknown(Inspection(before, whole_program));
        args_.note(derivation_caveats(*before, true));
        const ProgramPtr program = apply_steps(*before, steps_);
        const Inspection inspection(program, {});
        if (args_.json) {
            JsonWriter w(std::cout);
            begin_json(w, "transform", args_.notes);
            w.key("program");
            write_json(w, inspection.summary());
            if (print_) {
                w.key("text");
                w.value(to_text(*program->jaxpr, {}));
            }
            finish_json(w);
        } else if (print_) {
            std::cout << to_text(*program->jaxpr, {}) << '\n';
        } else {
            Page page = args_.page();
            program_section(page, inspection);
        }
        if (!output_.empty())
            write_capture(*program, output_, {.compress = !uncompressed_});  // last: from then on nothing stops the command
        return 0;
    }

private:
    ProgramArguments args_;
    std::vector<std::string> steps_;
    std::string output_;
    bool print_ = false, uncompressed_ = false;
};

}  // namespace

std::unique_ptr<Command> make_transform(Arguments& a) { return std::make_unique<Transform>(a); }

}  // namespace jaxscope::cli
