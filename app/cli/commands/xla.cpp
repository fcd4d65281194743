// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "app/cli/program_arguments.h"
#include "asking/xla_texts.h"
#include "base/error.h"
#include "report/dumps/dump_page.h"

namespace jaxscope::cli {

namespace {

/// What XLA itself wrote: its texts, together and by the equations of a capture.
class Xla final : public Command {
public:
    explicit Xla(Arguments& a) {
        a.positional("TEXT", texts_,
                     "texts of one compilation (HLO, StableHLO, buffer assignment, live ranges, memory usage, an out-of-memory message; - "
                     "for standard input), a file of jax.export, or the folder of --xla_dump_to");
        a.option("--capture", args_.file, "the capture of the same function: names its equations");
        a.option("--module", module_, "which compilation of the folder, as module_0012 or jit_train_step");
        a.option("--python", python_, "the Python that reads files of jax.export (default: JAXSCOPE_PYTHON, else python3)");
        a.flag("--json", args_.json, "one JSON object on standard output");
        a.flag("--all", args_.all, "every row of every table");
    }
    int run() override {
        if (texts_.empty()) throw Error(ErrorCode::BadUsage, "expected at least one text of XLA, found none");
        const std::vector<CompilerDump> dumps = read_xla_texts(texts_, module_, python_);
        const ProgramPtr program = args_.file.empty() ? nullptr : args_.load();
        const DumpReport report = dump_report(dumps, program.get());
        args_.note(report.notes);
        if (args_.json) {
            JsonWriter w(std::cout);
            begin_json(w, "xla", args_.notes);
            w.key("dump");
            write_json(w, report);
            finish_json(w);
        } else {
            Page page = args_.page();
            dump_page(page, report);
        }
        return 0;
    }

private:
    ProgramArguments args_;
    std::vector<std::string> texts_;
    std::string module_, python_;
};

}  // namespace

std::unique_ptr<Command> make_xla(Arguments& a) { return std::make_unique<Xla>(a); }

}  // namespace jaxscope::cli
