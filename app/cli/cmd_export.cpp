#include <filesystem>
#include <iostream>

#include "app/cli/program_arguments.h"
#include "base/atomic_file.h"
#include "report/export.h"

namespace jaxscope::cli {

namespace {

class Export final : public Command {
public:
    explicit Export(Arguments& a) {
        args_.add_file(a);
        args_.add_region(a);
        args_.add_execution(a);
        a.option("-o,--output", output_, "the file to write; its ending says the format");
        a.option("--format", format_, "json, html, svg, dot, jaxpr: instead of the file's ending");
        a.option("--what", what_, "svg and dot: program or split");
        a.flag("--run", run_, "json and html: execute the program too, for measured memory and time");
    }
    int run() override {
        if (output_.empty()) throw Error(ErrorCode::BadUsage, "expected -o OUT.{json,html,svg,dot,jaxpr}, found no place to write");
        std::string format = format_;
        if (format.empty()) {
            format = std::filesystem::path(output_).extension().string();
            if (!format.empty()) format.erase(0, 1);
        }
        const auto inspection = args_.inspect();
        const CancelOnInterrupt watch(*inspection);
        AtomicFile file(output_);
        ExportOptions options;
        options.what = what_;
        options.run = run_;
        export_inspection(file.stream(), *inspection, format, options);
        file.commit();
        if (args_.json) {
            JsonWriter w(std::cout);
            begin_json(w, "export");
            w.key("output");
            w.value(output_);
            finish_json(w);
        }
        return 0;
    }

private:
    ProgramArguments args_;
    std::string output_, format_, what_ = "split";
    bool run_ = false;
};

}  // namespace

std::unique_ptr<Command> make_export(Arguments& a) { return std::make_unique<Export>(a); }

}  // namespace jaxscope::cli
