// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <iostream>

#include "app/cli/program_arguments.h"
#include "report/export.h"
#include "report/json/report_fields.h"
#include "report/sections.h"
#include "report/sharding/sharding_report.h"

namespace jaxscope::cli {

namespace {

class Inspect final : public Command {
public:
    explicit Inspect(Arguments& a) { args_.add_file(a); }
    int run() override {
        const auto inspection = args_.inspect();
        if (args_.json) {
            JsonWriter w(std::cout);
            begin_json(w, "inspect", args_.notes);
            w.key("program");
            write_json(w, inspection->summary());
            write_sharding(w, *inspection);
            finish_json(w);
        } else {
            Page page = args_.page();
            program_section(page, *inspection);
            if (const auto sharding = sharding_report(*inspection)) sharding_section(page, *sharding);
        }
        return 0;
    }

private:
    ProgramArguments args_;
};

}  // namespace

std::unique_ptr<Command> make_inspect(Arguments& a) { return std::make_unique<Inspect>(a); }

}  // namespace jaxscope::cli
