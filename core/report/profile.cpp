// SPDX-License-Identifier: Apache-2.0
#include "report/profile.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "report/memory_report.h"

namespace jaxscope {

namespace {

using Kind = Table::Kind;

constexpr std::size_t kNamedPrimitives = 4;

/// "dot_general", or "fusion of mul, add, tanh" with each name once.
std::string what_it_is(const StepProfile& s) {
    if (s.copy) return "copy";
    std::vector<std::string> names;
    for (const Sym p : s.primitives)
        if (std::find(names.begin(), names.end(), p.str()) == names.end()) names.push_back(p.str());
    if (s.primitives.size() <= 1) return names.empty() ? "copy" : names[0];
    std::string text;
    for (std::size_t i = 0; i < std::min(names.size(), kNamedPrimitives); ++i) text += (i ? ", " : "") + names[i];
    return "fusion of " + text + (names.size() > kNamedPrimitives ? ", ..." : "");
}

ProfileRow to_row(const StepProfile& s, const Roofline& roofline) {
    ProfileRow row;
    row.what = what_it_is(s);
    row.equations = s.eqns;
    row.loop = s.loop;
    row.source = s.source->summary().str();
    set_own_line(row, s.source);
    row.calls = s.calls;
    row.seconds = s.seconds;
    row.flops = s.flops;
    row.bytes = s.bytes;
    if (!s.is_loop && s.seconds > 0 && roofline.flops_per_second > 0)
        row.share_of_roofline = std::max(s.flops / roofline.flops_per_second, s.bytes / roofline.bytes_per_second) / s.seconds;
    return row;
}

const char* kind_name(MemoryEvent::Kind kind) {
    return kind == MemoryEvent::Kind::Alloc ? "alloc" : kind == MemoryEvent::Kind::Free ? "free" : "alias";
}

std::string place_of(const ProfileRow& r) {
    const std::string at = r.file.empty() ? r.source : fmt::format("{}:{}", r.file, r.line);
    return r.loop.empty() ? at : at + " (in the loop " + r.loop + ")";
}

}  // namespace

ProfileReport profile_report(const MemoryPlan& plan, const RunReport& run) {
    ProfileReport p;
    p.flops_per_second = run.result.roofline.flops_per_second;
    p.bytes_per_second = run.result.roofline.bytes_per_second;
    p.by_steps = run.result.profiled_by_steps;
    p.run_seconds = run.result.median_seconds;
    for (const StepProfile& s : run.result.profile) {
        if (s.loop.empty()) p.seconds += s.seconds;
        p.kernels.push_back(to_row(s, run.result.roofline));
    }
    for (ProfileRow& r : p.kernels) r.share = p.seconds > 0 ? r.seconds / p.seconds : 0;
    std::stable_sort(p.kernels.begin(), p.kernels.end(), [](const ProfileRow& a, const ProfileRow& b) { return a.seconds > b.seconds; });
    for (const MemoryEvent& e : run.result.events) {
        const PlannedBuffer& b = plan.buffers[static_cast<std::size_t>(e.buffer)];
        p.events.push_back({kind_name(e.kind), e.seconds, e.step, b.eqn, role_name(b.role), b.bytes, e.live_bytes});
    }
    return p;
}

void profile_section(Page& page, const ProfileReport& p) {
    const std::string as_it_is =
        p.by_steps ? fmt::format(" one by one ({} as it runs, with small loops as one function)", seconds_text(p.run_seconds)) : "";
    page.heading(fmt::format("Profile: {} in steps{}; this machine reaches {}/s and {}/s", seconds_text(p.seconds), as_it_is,
                             flops_text(p.flops_per_second), bytes_text(static_cast<std::int64_t>(p.bytes_per_second))));
    Table t({{"time", Kind::Number, true},
             {"share", Kind::Number},
             {"calls", Kind::Number},
             {"what", Kind::Code},
             {"work", Kind::Number},
             {"traffic", Kind::Number},
             {"of roofline", Kind::Number},
             {"your line"}});
    for (const ProfileRow& r : p.kernels)
        t.add(
            {Table::Cell(seconds_text(r.seconds), r.seconds),
             {fmt::format("{:.1f} %", 100 * r.share), r.share},
             {count_text(std::llround(r.calls)), r.calls},
             r.what,
             {flops_text(r.flops), r.flops},
             {bytes_text(std::llround(r.bytes)), r.bytes},
             r.share_of_roofline ? Table::Cell(fmt::format("{:.0f} %", 100 * *r.share_of_roofline), *r.share_of_roofline) : Table::Cell(""),
             place_of(r)});
    page.table(t, 20);
}

}  // namespace jaxscope
