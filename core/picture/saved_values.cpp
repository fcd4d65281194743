// SPDX-License-Identifier: Apache-2.0
#include "picture/saved_values.h"

#include "analysis/inspection.h"
#include "base/cancel.h"
#include "picture/line_costs.h"

namespace jaxscope {

std::vector<SavedValue> saved_values(const Correspondence& correspondence, const ResidualReport& residuals) {
    std::vector<SavedValue> out;
    for (const ResidualRow& row : residuals.rows) {
        check_cancelled();
        Picked picked;
        picked.residual = row.id;
        const Picked whole = correspondence.complete(picked);
        SavedValue value;
        value.bytes = held_bytes(row);
        if (row.input >= 0)
            value.input = whole.input;
        else if (!row.equation.empty())
            value.program = whole.program;
        out.push_back(std::move(value));
    }
    return out;
}

std::vector<SavedValue> saved_values(const Inspection& inspection) {
    const Program& program = inspection.program();
    KnownStages stages;
    stages.residuals = &inspection.residuals();
    stages.split = &inspection.split();
    const std::optional<int> region = inspection.region();
    const Correspondence find(program, region ? &program.regions[static_cast<std::size_t>(*region)] : nullptr, stages);
    return saved_values(find, *stages.residuals);
}

GraphMarks saved_marks(const GraphModel& model, const std::vector<SavedValue>& saved) {
    GraphMarks marks;
    const auto note = [&](const std::string& key, std::int64_t bytes) {
        GraphMark& mark = marks[key];
        mark.saved_bytes += bytes;
        ++mark.saved_values;
    };
    for (const SavedValue& value : saved) {
        check_cancelled();
        if (value.program) {
            for (const std::string& key : model.keys_around(*value.program)) note(key, value.bytes);
        } else if (value.input >= 0) {
            note("in", value.bytes);
            note("in" + std::to_string(model.root().num_constvars + static_cast<std::uint32_t>(value.input)), value.bytes);
        }
    }
    return marks;
}

}  // namespace jaxscope
