// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iostream>

#include "app/cli/run_output.h"
#include "io/load_program.h"
#include "report/export.h"
#include "report/sections.h"

namespace jaxscope::cli {

namespace {

class Samples final : public Command {
public:
    explicit Samples(Arguments& a) {
        a.positional("NAME", name_, "the sample to run; nothing: lists them", false);
        a.flag("--json", args_.json, "one JSON object on standard output");
        a.flag("--schema", schema_, "print the JSON Schema of the reports instead");
        args_.add_execution(a);
    }
    ChildLimits limits() const override { return args_.limits(); }
    int run() override {
        if (schema_) {
            write_report_schema(std::cout);
            std::cout << '\n';
        } else if (name_.empty()) {
            list();
        } else {
            execute();
        }
        return 0;
    }

private:
    static void write_samples(JsonWriter& w, const std::vector<BundledSample>& samples) {
        w.key("samples");
        w.begin_array();
        for (const BundledSample& s : samples) {
            w.begin_object();
            for (const auto& [key, value] :
                 {std::pair("name", &s.name), {"title", &s.title}, {"source", &s.source}, {"capture", &s.capture}}) {
                w.key(key);
                w.value(*value);
            }
            w.end_object();
        }
        w.end_array();
    }
    void list() const {
        const std::vector<BundledSample> samples = bundled_samples();
        if (args_.json) {
            JsonWriter w(std::cout);
            begin_json(w, "samples");
            write_samples(w, samples);
            finish_json(w);
            return;
        }
        Page page = args_.page();
        page.heading("Bundled samples");
        for (const BundledSample& s : samples) {
            page.line("sample:" + s.name);
            page.line("    " + s.title);
        }
        page.line("");
        page.line("jaxscope samples NAME runs one; every command opens them, e.g. jaxscope report sample:mlp");
    }
    void execute() {
        args_.file = name_.starts_with("sample:") ? name_ : "sample:" + name_;
        const auto inspection = args_.inspect();
        const RunReport report = inspection->run({.repeat = 3});
        tell_synthesised(*inspection, report);
        std::vector<BundledSample> samples = bundled_samples();
        std::erase_if(samples, [&](const BundledSample& s) { return "sample:" + s.name != args_.file; });
        if (args_.json) {
            JsonWriter w(std::cout);
            begin_json(w, "samples");
            write_samples(w, samples);
            write_run(w, args_, *inspection, report);
            finish_json(w);
            return;
        }
        Page page = args_.page();
        program_section(page, *inspection);
        for (const BundledSample& s : samples) page.line("source: " + s.source);
        show_run(args_, *inspection, report);
    }

    ProgramArguments args_;
    std::string name_;
    bool schema_ = false;
};

}  // namespace

std::unique_ptr<Command> make_samples(Arguments& a) { return std::make_unique<Samples>(a); }

}  // namespace jaxscope::cli
