// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <iostream>
#include <optional>

#include "app/cli/program_arguments.h"
#include "base/atomic_file.h"
#include "base/notes.h"
#include "jit/jit.h"
#include "report/export.h"

namespace jaxscope::cli {

namespace {

/// The main job at once: what a newcomer wants to see of a program, on the terminal and as files.
class Report final : public Command {
public:
    explicit Report(Arguments& a) {
        args_.add_file(a);
        args_.add_region(a);
        args_.add_execution(a);
        a.option("-d,--directory", directory_, "where report.json, report.html and split.svg go");
        a.option("--repeat", repeat_, 1, "how often to run");
        a.flag("--debug-prints", args_.debug_prints, "the texts of debug_print, in the order of the run");
        a.flag("--policies", policies_, "the what-if table: every report has it");
        a.flag("--no-run", no_run_, "plan only, don't execute");
        a.flag("--run", run_, "execute even what takes minutes or most of this machine's memory");
    }
    ChildLimits limits() const override { return args_.limits(); }
    int run() override {
        if (run_ && no_run_) throw Error(ErrorCode::BadUsage, "expected --run or --no-run, found both");
        std::optional<Preparation> meanwhile;
        if (!no_run_) meanwhile.emplace();
        const auto inspection = args_.inspect();
        std::optional<Files> files;  // before all else: that nothing can be written there is said at once, not after minutes of work
        if (!directory_.empty()) files.emplace(directory_);
        const FullReport report = make_full_report(*inspection, {!no_run_, run_, repeat_, args_.load_seconds});
        if (args_.json) {
            write_report_json(std::cout, *inspection, report);
            std::cout << '\n';
        } else {
            Page page = args_.page();
            write_report_page(page, *inspection, report);
        }
        if (files) write_files(*files, *inspection, report);
        return 0;
    }

private:
    struct Files {
        explicit Files(const std::string& folder)
            : json(made(folder) + "/report.json"), html(folder + "/report.html"), svg(folder + "/split.svg") {}
        static const std::string& made(const std::string& folder) {
            std::error_code unsaid;  // whether files can be written there is what counts
            std::filesystem::create_directories(folder, unsaid);
            return folder;
        }
        AtomicFile json, html, svg;
    };

    void write_files(Files& files, const Inspection& inspection, const FullReport& report) const {
        auto& [json, html, svg] = files;
        write_report_json(json.stream(), inspection, report);
        write_report_html(html.stream(), inspection, report);
        try {
            export_inspection(svg.stream(), inspection, "svg", {.what = "split"});
        } catch (const Error& e) {
            // What can't be differentiated has no split, and other things may stop it: there is a report all the same, and the note says
            // why.
            if (e.code == ErrorCode::Cancelled) throw;
            AtomicFile::commit({&json, &html});
            return tell_note("wrote report.json and report.html into " + directory_ + "; no split.svg: " + e.what());
        }
        AtomicFile::commit({&json, &html, &svg});
        tell_note("wrote report.json, report.html and split.svg into " + directory_);
    }

    ProgramArguments args_;
    std::string directory_;
    int repeat_ = 3;
    bool no_run_ = false, run_ = false, policies_ = false;
};

}  // namespace

std::unique_ptr<Command> make_report(Arguments& a) { return std::make_unique<Report>(a); }

}  // namespace jaxscope::cli
