// SPDX-License-Identifier: Apache-2.0
#include "picture/line_costs.h"

#include <algorithm>
#include <map>

#include "base/error.h"

namespace jaxscope {

namespace {

using Lines = std::map<std::string, std::map<int, LineCost>>;

void add_saved(const ResidualReport& report, Lines& lines) {
    std::map<std::pair<std::string, int>, std::int64_t> largest;
    for (const ResidualRow& row : report.rows) {
        if (row.line <= 0) continue;
        LineCost& cost = lines[row.file][row.line];
        cost.saved += held_bytes(row);
        std::int64_t& most = largest[{row.file, row.line}];
        if (cost.largest && held_bytes(row) <= most) continue;
        most = held_bytes(row);
        cost.largest = row.id;
    }
}

void add_peak(const MemoryPlan& plan, Lines& lines) {
    for (const int b : plan.at_peak) {  // largest first
        const PlannedBuffer& buffer = plan.buffers[static_cast<std::size_t>(b)];
        const Frame* own = buffer.role == BufferRole::Argument ? nullptr : buffer.source.user_frame();
        if (own == nullptr || own->line <= 0) continue;
        LineCost& cost = lines[own->file.str()][own->line];
        cost.at_peak += buffer.bytes;
        if (!cost.most) cost.most = id_of(plan, b);
    }
}

}  // namespace

const LineCost* FileCosts::at(int line) const {
    const auto found = std::lower_bound(lines.begin(), lines.end(), line, [](const LineCost& c, int l) { return c.line < l; });
    return found != lines.end() && found->line == line ? &*found : nullptr;
}

std::vector<FileCosts> line_costs(const Program& program, const KnownStages& stages) {
    Lines lines;
    if (stages.residuals != nullptr) add_saved(*stages.residuals, lines);
    if (stages.plan != nullptr) add_peak(*stages.plan, lines);
    std::vector<FileCosts> out;
    for (const SourceFile& file : program.files) {
        if (!file.project) continue;
        FileCosts costs;
        costs.path = file.path;
        for (auto& [line, cost] : lines[file.path]) {
            cost.line = line;
            costs.saved += cost.saved;
            costs.at_peak += cost.at_peak;
            costs.lines.push_back(cost);
        }
        out.push_back(std::move(costs));
    }
    std::stable_sort(out.begin(), out.end(),
                     [](const FileCosts& a, const FileCosts& b) { return std::pair(a.saved, a.at_peak) > std::pair(b.saved, b.at_peak); });
    return out;
}

std::optional<std::pair<std::string, int>> own_line(const Program& program, const KnownStages& stages, const Picked& picked) {
    if (const ResidualRow* row = stages.find(picked.residual); row != nullptr && row->line > 0) return std::pair(row->file, row->line);
    const Frame* own = nullptr;
    try {
        if (picked.program) own = resolve(*program.jaxpr, *picked.program).source.user_frame();
    } catch (const Error&) {  // picked in a program that is no longer open
        return {};
    }
    if (own == nullptr)
        if (const PlannedBuffer* buffer = stages.find(picked.buffer)) own = buffer->source.user_frame();
    if (own == nullptr || own->line <= 0) return {};
    return std::pair(own->file.str(), own->line);
}

}  // namespace jaxscope
