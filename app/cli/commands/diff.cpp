// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iostream>

#include "app/cli/program_arguments.h"
#include "io/text/parser.h"
#include "report/compare/diff_report.h"

namespace jaxscope::cli {

namespace {

/// Two programs, or reports of an earlier day, side by side.
class Diff final : public Command {
public:
    explicit Diff(Arguments& a) {
        a.positional("A", a_, "a program (as FILE elsewhere), or a report that --json wrote (its name ends in .json)");
        a.positional("B", b_, "what it is compared with");
        a.flag("--json", args_.json, "one JSON object on standard output");
        a.flag("--all", args_.all, "every row of every table");
        a.flag("--exit-code", exit_code_, "exit with 1 where they differ");
        args_.add_region(a);
    }
    int run() override {
        const DiffReport diff = diff_sides(side(a_), side(b_));
        if (args_.json) {
            JsonWriter w(std::cout);
            begin_json(w, "diff", args_.notes);
            write_fields(w, diff);
            finish_json(w);
        } else {
            Page page = args_.page();
            diff_page(page, diff);
        }
        return exit_code_ && !diff.same ? 1 : 0;
    }

private:
    ComparedSide side(const std::string& file) {
        if (std::optional<ReportSide> report = read_report_side(file)) {
            if (!report->text.empty()) report->side.jaxpr = read_jaxpr_text(report->text, file)->jaxpr;
            return std::move(report->side);
        }
        ProgramArguments one = args_;
        one.file = file;
        const auto inspection = one.inspect();
        for (const std::string& note : one.notes)
            if (std::find(args_.notes.begin(), args_.notes.end(), note) == args_.notes.end()) args_.notes.push_back(note);
        return compared_side(*inspection, file);
    }

    ProgramArguments args_;
    std::string a_, b_;
    bool exit_code_ = false;
};

}  // namespace

std::unique_ptr<Command> make_diff(Arguments& a) { return std::make_unique<Diff>(a); }

}  // namespace jaxscope::cli
