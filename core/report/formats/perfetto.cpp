// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "analysis/memory_timeline.h"
#include "base/json_writer.h"
#include "report/explain_text.h"
#include "report/formats/formats.h"

namespace jaxscope {

namespace {

// Tracks are threads of processes in this format.
constexpr int kSteps = 1, kBuffers = 2;

class TraceWriter {
public:
    TraceWriter(std::ostream& out, const MemoryPlan& plan, const std::string& title) : w_(out, false), plan_(plan) {
        w_.begin_object();
        w_.key("displayTimeUnit");
        w_.value("ns");
        w_.key("otherData");
        w_.begin_object();
        w_.entry("program", title);
        w_.entry("time", "a microsecond is a step of the plan");
        w_.end_object();
        w_.key("traceEvents");
        w_.begin_array();
        name(kSteps, title + ": steps of the plan");
        name(kBuffers, title + ": buffers");
    }
    void finish() {
        w_.end_array();
        w_.end_object();
    }
    void counter() {
        const MemoryTimeline timeline = memory_timeline(plan_);
        for (std::size_t s = 0; s < timeline.by_role.size(); ++s) {
            event("C", "live bytes", static_cast<std::int64_t>(s), kSteps, 0);
            w_.key("args");
            w_.begin_object();
            for (std::size_t r = 0; r < MemoryTimeline::kRoles; ++r)
                if (const auto role = static_cast<BufferRole>(r); role != BufferRole::Constant)
                    w_.entry(role_name(role), timeline.by_role[s][r]);
            w_.end_object();
            w_.end_object();
        }
    }
    void steps() {
        for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
            const PlannedStep& step = plan_.steps[s];
            event("X", step.kind.str(), static_cast<std::int64_t>(s), kSteps, 1);
            w_.entry("dur", 1);
            w_.key("args");
            w_.begin_object();
            w_.entry("equation", step.eqn);
            w_.entry("equations", static_cast<std::int64_t>(step.eqns.size()));
            w_.entry("live bytes", step.live_bytes);
            place(step.source);
            w_.end_object();
            w_.end_object();
        }
    }
    /// Lifetimes overlap without nesting: each buffer has the first row that is free, the largest buffers first.
    void buffers() {
        std::vector<const PlannedBuffer*> order;
        for (const PlannedBuffer& b : plan_.buffers)
            if (!b.alias_of && b.role != BufferRole::Constant && b.bytes > 0) order.push_back(&b);
        std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) { return a->first_step < b->first_step; });
        if (plan_.steps.empty()) return;
        std::vector<int> free_from;  // per row
        for (const PlannedBuffer* b : order) {
            const auto row = std::find_if(free_from.begin(), free_from.end(), [&](int until) { return until < b->first_step; });
            const int number_of_row = static_cast<int>(row - free_from.begin());
            if (row == free_from.end())
                free_from.push_back(b->last_step);
            else
                *row = b->last_step;
            lifetime(*b, number_of_row + 1);
        }
    }

private:
    /// Leaves the object open.
    void event(const char* phase, const std::string& name, std::int64_t time, int process, int thread) {
        w_.begin_object();
        w_.entry("ph", phase);
        w_.entry("name", name);
        w_.entry("ts", time);
        w_.entry("pid", process);
        w_.entry("tid", thread);
    }
    void name(int process, const std::string& title) {
        event("M", "process_name", 0, process, 0);
        w_.key("args");
        w_.begin_object();
        w_.entry("name", title);
        w_.end_object();
        w_.end_object();
    }
    void place(SourceRef source) {
        const Frame* frame = source.user_frame();
        if (!frame) return;
        w_.entry("file", frame->file.str());
        w_.entry("line", frame->line);
    }
    void lifetime(const PlannedBuffer& b, int row) {
        const std::string made_by = b.role == BufferRole::Argument ? "argument" : b.primitive.str();
        const int last = static_cast<int>(plan_.steps.size()) - 1;  // as in the timeline: what outlives the last step ends with it
        const int from = std::clamp(b.first_step, 0, last);
        event("X", fmt::format("{} {}", to_text(b.aval), made_by), from, kBuffers, row);
        w_.entry("dur", std::clamp(b.last_step, from, last) - from + 1);
        w_.key("args");
        w_.begin_object();
        w_.entry("bytes", b.bytes);
        w_.entry("role", role_name(b.role));
        w_.entry("equation", b.eqn);
        w_.entry("offset", b.offset);
        place(b.source);
        w_.end_object();
        w_.end_object();
    }

    JsonWriter w_;
    const MemoryPlan& plan_;
};

}  // namespace

void write_perfetto(std::ostream& out, const Inspection& inspection) {
    TraceWriter trace(out, inspection.plan(), program_title(inspection.program()));
    trace.counter();
    trace.steps();
    trace.buffers();
    trace.finish();
    out << '\n';
}

}  // namespace jaxscope
