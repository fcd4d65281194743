// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "app/cli/program_arguments.h"
#include "ir/print/printer.h"

namespace jaxscope::cli {

namespace {

class Print final : public Command {
public:
    explicit Print(Arguments& a) {
        args_.add_file(a);
        a.flag("--source", source_, "with the line of Python that each equation came from");
        a.option("--region", args_.region, "print a region's function instead of the program");
    }
    int run() override {
        const auto inspection = args_.inspect();
        PrintOptions options;
        options.source = source_;
        const Program& program = inspection->program();
        const std::optional<int> region = args_.region.empty() ? std::nullopt : inspection->region();
        const Jaxpr& shown = region ? *program.regions[static_cast<std::size_t>(*region)].jaxpr : *program.jaxpr;
        const std::string text = to_text(shown, options);
        if (args_.json) {
            JsonWriter w(std::cout);
            begin_json(w, "print", args_.notes);
            w.key("text");
            w.value(text);
            finish_json(w);
        } else {
            std::cout << text << '\n';
        }
        return 0;
    }

private:
    ProgramArguments args_;
    bool source_ = false;
};

}  // namespace

std::unique_ptr<Command> make_print(Arguments& a) { return std::make_unique<Print>(a); }

}  // namespace jaxscope::cli
