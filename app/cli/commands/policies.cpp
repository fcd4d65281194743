// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iostream>

#include "app/cli/interrupt.h"
#include "app/cli/program_arguments.h"
#include "asking/xla_policies.h"
#include "report/json/report_fields.h"
#include "report/sections.h"

namespace jaxscope::cli {

namespace {

class Policies final : public Command {
public:
    explicit Policies(Arguments& a) {
        args_.add_file(a);
        a.option("--region", args_.region, "which differentiation: its index in `inspect`, or `program`");
        a.option("--wrt", args_.wrt, "numbers of the arguments to differentiate by, or `all`");
        a.option("--policy", given_, "a further policy to try around the function, or 'each block: POLICY' (may be repeated)");
        a.option("--replace-policy", args_.replace_policy, "[SITE=]POLICY to try in the checkpoints inside (may be repeated)");
        args_.add_strict(a);
        args_.add_execution(a);
        args_.add_target(a);
        a.flag("--no-run", no_run_, "plan only, don't execute");
        a.option("--xla", xla_.targets,
                 "ask XLA's own compiler, too, for each row: tpu:KIND[:TOPOLOGY], which needs no TPU, or cpu (may be repeated)");
        a.option("--python", xla_.python, "with --xla: a Python that has JAX (default: JAXSCOPE_PYTHON, else python3)");
        a.option("--target-python", xla_.target_python, "with --xla: a Python with that compiler (jax[tpu]), where the other has none");
        a.option("--xla-timeout", xla_.seconds, 0, "with --xla: seconds for each compilation (0: as long as it takes)");
    }
    ChildLimits limits() const override { return args_.limits(); }
    int run() override {
        std::vector<Choices> tries;
        for (const std::string& policy : given_) {
            ProgramArguments one = args_;
            one.policy = policy;
            one.replace_policy.clear();
            tries.push_back(one.choices());
        }
        for (const std::string& replace : args_.replace_policy) {
            ProgramArguments one = args_;
            one.replace_policy = {replace};
            tries.push_back(one.choices());
        }
        ProgramArguments base = args_;
        base.replace_policy.clear();
        const auto inspection = base.inspect();
        std::vector<PolicyRow> rows = inspection->policies(tries, !no_run_ && args_.target.empty());
        if (!xla_.targets.empty()) {
            const WaitForChildren wait;
            ask_xla_of_policies(*inspection, tries, xla_, rows);
        }
        if (args_.json) {
            JsonWriter w(std::cout);
            begin_json(w, "policies", base.notes);
            w.key("policies");
            write_json(w, rows);
            finish_json(w);
        } else {
            Page page = args_.page();
            policies_section(page, rows);
        }
        if (!base.within_limit(rows.front().planned_peak.value_or(0), " for the program as it is")) return 1;
        return xla_.targets.empty() || answered(rows) ? 0 : exit_code(ErrorCode::CannotRun);
    }

private:
    /// Did a compiler say anything of any row, and be it that it doesn't fit?
    static bool answered(const std::vector<PolicyRow>& rows) {
        return std::any_of(rows.begin(), rows.end(), [](const PolicyRow& r) {
            return std::any_of(r.compiled.begin(), r.compiled.end(), [](const CompiledFigure& w) { return w.peak || !w.device.empty(); });
        });
    }

    ProgramArguments args_;
    std::vector<std::string> given_;
    XlaQuestion xla_;
    bool no_run_ = false;
};

}  // namespace

std::unique_ptr<Command> make_policies(Arguments& a) { return std::make_unique<Policies>(a); }

}  // namespace jaxscope::cli
