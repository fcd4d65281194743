#include <iostream>

#include "app/cli/program_arguments.h"
#include "app/cli/sections.h"
#include "ir/printer.h"
#include "report/report_fields.h"

namespace jaxscope::cli {

namespace {

class Split final : public Command {
public:
    explicit Split(Arguments& a) {
        args_.add_file(a);
        args_.add_region(a);
    }
    int run() override {
        const auto inspection = args_.inspect();
        const CancelOnInterrupt watch(*inspection);
        const SplitReport& split = inspection->split();
        if (!args_.json) {
            print_split(std::cout, *inspection, args_.all);
            return 0;
        }
        JsonWriter w(std::cout);
        begin_json(w, "split");
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
    ProgramArguments args_;
};

}  // namespace

std::unique_ptr<Command> make_split(Arguments& a) { return std::make_unique<Split>(a); }

}  // namespace jaxscope::cli
