// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "app/cli/program_arguments.h"
#include "report/caveats.h"
#include "report/fit/fit_report.h"
#include "report/json/report_fields.h"
#include "report/sections.h"

namespace jaxscope::cli {

namespace {

class Residuals final : public Command {
public:
    explicit Residuals(Arguments& a) {
        args_.add_file(a);
        args_.add_region(a);
        a.flag("--expand", args_.expand, "see through jit and scan to the equation in the body");
    }
    int run() override {
        const auto inspection = args_.inspect();
        args_.note(merged_by_xla(*inspection));
        if (args_.json) {
            const ResidualReport& report = inspection->residuals();
            JsonWriter w(std::cout);
            begin_json(w, "residuals", args_.notes);
            write_fields(w, report);
            write_by_hand(w, *inspection);
            finish_json(w);
        } else {
            Page page = args_.page();
            residuals_section(page, *inspection);
            if (const auto by_hand = by_hand_report(*inspection)) by_hand_section(page, *by_hand);
        }
        return 0;
    }

private:
    ProgramArguments args_;
};

}  // namespace

std::unique_ptr<Command> make_residuals(Arguments& a) { return std::make_unique<Residuals>(a); }

}  // namespace jaxscope::cli
