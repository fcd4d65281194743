#include <iostream>

#include "app/cli/program_arguments.h"
#include "app/cli/table.h"
#include "io/load_program.h"
#include "report/export.h"

namespace jaxscope::cli {

namespace {

class Samples final : public Command {
public:
    explicit Samples(Arguments& a) {
        a.flag("--json", json_, "one JSON object on standard output");
        a.flag("--schema", schema_, "print the JSON Schema of the reports instead");
    }
    int run() override {
        if (schema_) {
            write_report_schema(std::cout);
            std::cout << '\n';
            return 0;
        }
        const std::vector<BundledSample> samples = bundled_samples();
        if (json_) {
            JsonWriter w(std::cout);
            begin_json(w, "samples");
            w.key("samples");
            w.begin_array();
            for (const BundledSample& s : samples) {
                w.begin_object();
                w.key("name");
                w.value(s.name);
                w.key("title");
                w.value(s.title);
                w.end_object();
            }
            w.end_array();
            finish_json(w);
            return 0;
        }
        Table t({{"open with", Table::Align::Left}, {"what it is", Table::Align::Left}});
        for (const BundledSample& s : samples) t.add({"sample:" + s.name, s.title});
        t.print(std::cout);
        return 0;
    }

private:
    bool json_ = false, schema_ = false;
};

}  // namespace

std::unique_ptr<Command> make_samples(Arguments& a) { return std::make_unique<Samples>(a); }

}  // namespace jaxscope::cli
