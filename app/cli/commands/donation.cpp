// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "analysis/donate_modes.h"
#include "app/cli/program_arguments.h"
#include "report/json/report_fields.h"
#include "report/sections.h"

namespace jaxscope::cli {

namespace {

class Donation final : public Command {
public:
    explicit Donation(Arguments& a) {
        args_.add_file(a);
        a.option("--donate", args_.donate, "donate these arguments (numbers, or `none`) instead of the program's own");
    }
    int run() override {
        const auto inspection = args_.inspect();
        if (args_.json) {
            JsonWriter w(std::cout);
            begin_json(w, "donation", args_.notes);
            write_fields(w, inspection->donation());
            if (inspection->program().jit == Sym("eqx")) {
                w.key("modes");
                write_json(w, donate_modes(inspection->program(), args_.choices().jit));
            }
            finish_json(w);
        } else {
            Page page = args_.page();
            donation_section(page, *inspection);
            if (inspection->program().jit == Sym("eqx"))
                donate_modes_section(page, donate_modes(inspection->program(), args_.choices().jit));
        }
        return 0;
    }

private:
    ProgramArguments args_;
};

}  // namespace

std::unique_ptr<Command> make_donation(Arguments& a) { return std::make_unique<Donation>(a); }

}  // namespace jaxscope::cli
