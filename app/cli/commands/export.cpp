// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
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
        a.option(
            "-o,--output", output_,
            "the file to write; its ending says the format: html, json, md (reports), svg, png, pdf, dot, mermaid (pictures), jaxpr, csv, "
            "perfetto.json, model-explorer.json, node-data.json, pprof (for other tools)");
        a.option("--format", format_, "one of these, whatever the file's ending");
        a.option("--what", what_,
                 "pictures: program or split (the default); csv: residuals (the default), donation, memory, policies, inputs or outputs");
        a.option("--depth", depth_, 0, "pictures: how many levels of groups are open (0: none; else as many as are easy to read)");
        a.flag("--run", run_, "reports: execute the program too, for measured memory and time");
    }
    ChildLimits limits() const override { return args_.limits(); }
    int run() override {
        if (output_.empty()) throw Error(ErrorCode::BadUsage, "expected -o OUT, found no place to write").advise("-o report.html");
        if (output_ == "-") throw Error(ErrorCode::BadUsage, "expected -o FILE, found '-'").advise("-o report.md: export writes files");
        const std::string format = chosen_format();
        if (depth_ >= 0 && !has_picture(format))
            throw Error(ErrorCode::BadUsage,
                        "expected --depth beside a picture (html, svg, png, pdf, dot, mermaid), found it beside " + format);
        const auto inspection = args_.inspect();
        AtomicFile file(output_);
        ExportOptions options;
        options.what = what_;
        options.run = run_;
        if (depth_ >= 0) options.depth = depth_;
        options.all = args_.all;
        options.load_seconds = args_.load_seconds;
        export_inspection(file.stream(), *inspection, format, options);
        file.commit();
        if (args_.json) {
            JsonWriter w(std::cout);
            begin_json(w, "export", args_.notes);
            w.key("output");
            w.value(output_);
            finish_json(w);
        }
        return 0;
    }

private:
    /// Told before anything is computed or a file is begun.
    std::string chosen_format() const {
        const std::string name = std::filesystem::path(output_).filename().string();
        std::string format = format_.empty() ? format_of_file(name) : format_;
        if (format.empty() && name.rfind('.') != std::string::npos) format = name.substr(name.rfind('.') + 1);
        const std::vector<std::string> known = export_formats();
        if (std::find(known.begin(), known.end(), format) != known.end()) return format;
        throw unknown_format(format, format.empty() ? "no ending in '" + printable(name) + "'" : "'" + printable(format) + "'");
    }

    ProgramArguments args_;
    std::string output_, format_, what_;
    bool run_ = false;
    int depth_ = -1;
};

}  // namespace

std::unique_ptr<Command> make_export(Arguments& a) { return std::make_unique<Export>(a); }

}  // namespace jaxscope::cli
