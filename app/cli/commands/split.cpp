// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "app/cli/program_arguments.h"
#include "ir/print/printer.h"
#include "report/json/report_fields.h"
#include "report/sections.h"

namespace jaxscope::cli {

namespace {

class Split final : public Command {
public:
    explicit Split(Arguments& a) {
        args_.add_file(a);
        args_.add_region(a);
        a.flag("--print", print_, "print both jaxprs, however long");
    }
    int run() override {
        const auto inspection = args_.inspect();
        const SplitReport& split = inspection->split();
        if (!args_.json) {
            print(*inspection);
            return 0;
        }
        JsonWriter w(std::cout);
        begin_json(w, "split", args_.notes);
        w.key("known");
        w.value(to_text(*split.known, {}));
        w.key("unknown");
        w.value(to_text(*split.unknown, {}));
        write_fields(w, split.residuals);
        w.key("recomputed");
        write_json(w, split.recomputed);
        finish_json(w);
        return 0;
    }

private:
    void print(const Inspection& inspection) const {
        Page page = args_.page();
        split_section(page, inspection);
        const SplitReport& split = inspection.split();
        if (!print_ && count_equations(*split.known) + count_equations(*split.unknown) > 60) {
            page.line("--print shows both jaxprs");
            return;
        }
        page.heading("Known");
        page.code(to_text(*split.known, {}));
        page.heading("Unknown");
        page.code(to_text(*split.unknown, {}));
    }
    ProgramArguments args_;
    bool print_ = false;
};

}  // namespace

std::unique_ptr<Command> make_split(Arguments& a) { return std::make_unique<Split>(a); }

}  // namespace jaxscope::cli
