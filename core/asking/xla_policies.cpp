// SPDX-License-Identifier: Apache-2.0
#include "asking/xla_policies.h"

#include "analysis/stages/step.h"

namespace jaxscope {

namespace {

CompiledFigure figure(const XlaWord& word) {
    CompiledFigure out{word.target, word.device, word.version, word.peak, word.temporaries, word.compile_seconds, word.kept, word.problem};
    for (const std::string& note : word.notes) out.problem += (out.problem.empty() ? "" : "; ") + note;
    return out;
}

/// The row's step without its inputs' values, which no compiler reads.
Program step_program(const Inspection& inspection, const Choices& choices) {
    const Inspection one(inspection.program_ptr(), choices, &inspection);
    return program_to_run(one.program(), one.step(), one.donation(), std::vector<ArrayPtr>(one.step().jaxpr->num_invars));
}

}  // namespace

void ask_xla_of_policies(const Inspection& inspection, const std::vector<Choices>& given, const XlaQuestion& question,
                         std::vector<PolicyRow>& rows) {
    const std::vector<Choices> choices = inspection.policy_choices(given);
    std::vector<NamedProgram> programs;
    std::vector<std::size_t> row_of;
    for (std::size_t i = 0; i < rows.size(); ++i) try {
            programs.push_back({rows[i].policy, step_program(inspection, choices[i])});
            row_of.push_back(i);
        } catch (const Error& e) {
            if (e.code == ErrorCode::Cancelled) throw;
            for (const std::string& target : question.targets) rows[i].compiled.push_back({target, "", "", {}, {}, 0, false, e.fact()});
        }
    if (programs.empty()) return;
    const std::vector<std::vector<XlaWord>> words = ask_xla(programs, question);
    for (std::size_t k = 0; k < words.size(); ++k)
        for (const XlaWord& word : words[k]) rows[row_of[k]].compiled.push_back(figure(word));
}

}  // namespace jaxscope
