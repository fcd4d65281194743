// SPDX-License-Identifier: Apache-2.0
#include "asking/prove_fit.h"

#include <nlohmann/json.hpp>

#include "analysis/stages/step.h"
#include "asking/child_run.h"
#include "base/error.h"

namespace jaxscope {

namespace {

using Json = nlohmann::json;

const char* kind_text(Placement::Kind kind) {
    switch (kind) {
        case Placement::Kind::Existing:
            return "existing";
        case Placement::Kind::Blocks:
            return "blocks";
        case Placement::Kind::ScanBody:
            return "scan body";
        case Placement::Kind::Function:
            break;
    }
    return "function";
}

/// What `capture --rewrite` takes: which expressions get a name, and where the checkpoint stands.
std::string edits_of(const BudgetFit& fit, const Program& program) {
    Json names = Json::array(), saved = Json::array(), files = Json::array();
    for (const SaveCandidate& c : fit.saved) {
        names.push_back(c.name);
        if (c.has_name) continue;
        if (c.frame.line == 0) throw Error(ErrorCode::CannotRun, "expected the line of '" + c.name + "', found none in the capture");
        saved.push_back({{"name", c.name},
                         {"primitive", c.primitive},
                         {"file", c.frame.file.str()},
                         {"line", c.frame.line},
                         {"column", c.frame.column},
                         {"end_line", c.frame.end_line},
                         {"end_column", c.frame.end_column}});
    }
    for (const SourceFile& f : program.files)
        if (f.text) files.push_back(f.path);
    const Placement& p = *fit.placement;
    return Json{{"names", names},
                {"saved", saved},
                {"files", files},
                {"placement", {{"kind", kind_text(p.kind)}, {"function", p.function}, {"file", p.loc.file}, {"line", p.loc.line}}}}
        .dump();
}

void measure(const Inspection& again, FitProof& out) {
    ChildRun run;
    run.program = program_to_run(again.program(), again.step(), again.donation());
    run.jit = again.choices().jit;
    run.outputs = false;
    run.planned_peak = again.plan().planned_peak;
    const ChildRunResult ran = run_in_child(run);
    out.measured_peak = ran.result.measured_peak;
    for (const auto& row : ran.result.unplanned) out.unplanned += row.bytes;
    out.not_measured = ran.result.measurement_problem;
}

}  // namespace

FitProof prove_fit(const BudgetFit& fit, const Inspection& inspection, const RecaptureRequest& request, const std::string& why_not_run) {
    FitProof out;
    try {
        const Rewritten written = recapture_rewritten(request, edits_of(fit, inspection.program()));
        out.patch = written.patch;
        const Inspection again(written.program, inspection.choices());
        out.planned_peak = again.plan().planned_peak;
        out.residual_bytes = again.residuals().total_bytes;
        out.not_measured = why_not_run;
        if (why_not_run.empty()) measure(again, out);
    } catch (const Error& e) {
        if (e.code == ErrorCode::Cancelled) throw;
        (out.planned_peak ? out.not_measured : out.problem) = e.fact();
    }
    out.holds = out.planned_peak && *out.planned_peak <= fit.budget;
    return out;
}

}  // namespace jaxscope
