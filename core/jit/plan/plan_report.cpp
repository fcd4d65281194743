#include "jit/plan/plan_report.h"

#include <algorithm>
#include <string_view>

#include "base/cancel.h"

namespace jaxscope {

const char* role_name(BufferRole role) {
    static const char* const names[] = {"argument", "output", "temporary", "residual", "constant", "scratch"};
    return names[static_cast<std::size_t>(role)];
}

}  // namespace jaxscope

namespace jaxscope::exec {

namespace {

/// A value made forward and read backward: what people call a residual.
void mark_residuals(const Computation& c, std::vector<PlannedBuffer>& buffers) {
    std::vector<bool> read_backward(buffers.size(), false);
    for (const Thunk& t : c.thunks) {
        const bool any = std::any_of(t.nodes.begin(), t.nodes.end(), [&](std::uint32_t n) { return c.graph->nodes[n].backward; });
        if (any)
            for (const int b : t.reads) read_backward[static_cast<std::size_t>(b)] = true;
    }
    for (std::size_t b = 0; b < buffers.size(); ++b) {
        const Buffer& buffer = c.buffers[b];
        if (buffers[b].role == BufferRole::Temporary && buffer.node != ~0u && read_backward[b] && !c.graph->nodes[buffer.node].backward)
            buffers[b].role = BufferRole::Residual;
    }
}

PlannedBuffer describe(const Computation& c, const Buffer& b) {
    PlannedBuffer out;
    out.aval = b.aval;
    out.bytes = b.bytes;
    out.offset = b.offset;
    out.first_step = b.first;
    out.last_step = b.last;
    out.role = b.role;
    if (b.place != Buffer::Place::Arena) out.number = static_cast<int>(b.index);
    if (b.node != ~0u) {
        const Node& n = c.graph->nodes[b.node];
        out.eqn = path_of(n);
        out.primitive = n.op.prim->name.c_str();
        out.maker = n.op.prim;
        out.source = n.op.source;
    }
    return out;
}

PlannedStep describe(const Computation& c, const Thunk& t) {
    PlannedStep out;
    for (const std::uint32_t n : t.nodes) out.eqns.push_back(path_of(c.graph->nodes[n]));
    out.eqns.erase(std::unique(out.eqns.begin(), out.eqns.end()), out.eqns.end());
    if (!t.nodes.empty()) {
        const Node& n = c.graph->nodes[t.nodes.back()];
        out.eqn = path_of(n);
        out.source = n.op.source;
        out.kind = t.kind == Thunk::Kind::Copy ? Sym("copy") : t.nodes.size() > 1 ? Sym("fusion") : Sym(n.op.prim->name.c_str());
    } else {
        out.kind = "copy";
    }
    out.reads = t.reads;
    out.writes = t.writes;
    if (t.scratch >= 0) out.writes.push_back(t.scratch);
    return out;
}

void count_live(MemoryPlan& plan) {
    const std::size_t n = plan.steps.size();
    std::vector<std::int64_t> change(n + 3, 0);  // step s at s + 1
    for (const PlannedBuffer& b : plan.buffers) {
        if (b.offset < 0 || b.last_step < b.first_step || b.bytes == 0) continue;
        change[static_cast<std::size_t>(b.first_step) + 1] += b.bytes;
        change[static_cast<std::size_t>(b.last_step) + 2] -= b.bytes;
    }
    std::int64_t live = change[0];
    plan.live_peak = live;
    for (std::size_t s = 0; s < n; ++s) {
        live += change[s + 1];
        plan.steps[s].live_bytes = live;
        if (live > plan.live_peak) plan.live_peak = live, plan.peak_step = static_cast<int>(s);
    }
    for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
        const PlannedBuffer& p = plan.buffers[b];
        if (p.offset >= 0 && p.bytes > 0 && p.first_step <= plan.peak_step && p.last_step >= plan.peak_step)
            plan.at_peak.push_back(static_cast<int>(b));
    }
    std::stable_sort(plan.at_peak.begin(), plan.at_peak.end(), [&](int a, int b) {
        return plan.buffers[static_cast<std::size_t>(a)].bytes > plan.buffers[static_cast<std::size_t>(b)].bytes;
    });
}

}  // namespace

MemoryPlan report_plan(const Computation& c, const std::vector<std::optional<int>>& pairs) {
    MemoryPlan plan;
    for (const Buffer& b : c.buffers) plan.buffers.push_back(describe(c, b));
    for (const Thunk& t : c.thunks) {
        check_cancelled();
        plan.steps.push_back(describe(c, t));
        if (t.scratch < 0) continue;
        const PlannedStep& step = plan.steps.back();
        PlannedBuffer& scratch = plan.buffers[static_cast<std::size_t>(t.scratch)];
        scratch.eqn = step.eqn;
        scratch.primitive = step.kind;
        if (t.nodes.size() == 1) scratch.maker = c.graph->nodes[t.nodes.back()].op.prim;
        scratch.source = step.source;
    }
    mark_residuals(c, plan.buffers);
    plan.copied = c.copied;
    plan.alias_of_output.resize(c.output_buffer.size());
    std::vector<bool> used(c.input_buffer.size(), false);
    for (const auto& g : c.granted)
        if (g) used[static_cast<std::size_t>(*g)] = true;
    for (std::size_t k = 0; k < c.output_buffer.size(); ++k) {
        const auto b = static_cast<std::size_t>(c.output_buffer[k]);
        plan.outputs += b < plan.buffers.size() ? plan.buffers[b].aval->bytes() : 0;
        if (!c.granted[k]) continue;
        const int input = c.input_buffer[static_cast<std::size_t>(*c.granted[k])];
        plan.aliased += plan.buffers[b].aval->bytes();
        plan.buffers[b].alias_of = input;
        plan.buffers[static_cast<std::size_t>(input)].donated = true;
        // Pairs that would cross are swapped in memory; reported is the pair as JAX makes it, as long as both stand aliased.
        const bool both = pairs[k] && used[static_cast<std::size_t>(*pairs[k])];
        plan.alias_of_output[k] = both ? *pairs[k] : *c.granted[k];
    }
    for (const int b : c.input_buffer) plan.arguments += plan.buffers[static_cast<std::size_t>(b)].bytes;
    for (const PlannedBuffer& b : plan.buffers)
        if (b.role == BufferRole::Constant) plan.constants += b.bytes;
    plan.planned_peak = c.arena_bytes;
    plan.temporaries = plan.planned_peak - plan.arguments - plan.outputs + plan.aliased;
    count_live(plan);
    return plan;
}

std::vector<MemoryEvent> timeline(const MemoryPlan& plan, const std::vector<double>& step_seconds) {
    std::vector<MemoryEvent> out;
    std::vector<double> start(step_seconds.size() + 2, 0);
    for (std::size_t s = 0; s < step_seconds.size(); ++s) start[s + 1] = start[s] + step_seconds[s];
    start.back() = start[step_seconds.size()];
    using Kind = MemoryEvent::Kind;
    for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
        const PlannedBuffer& p = plan.buffers[b];
        if (p.alias_of) {
            const int step = p.first_step < 0 ? 0 : p.first_step;
            out.push_back({Kind::Alias, start[static_cast<std::size_t>(step)], step, static_cast<int>(b), 0});
        }
        if (p.offset < 0 || p.bytes == 0 || p.last_step < p.first_step) continue;
        out.push_back({Kind::Alloc, start[static_cast<std::size_t>(std::max(0, p.first_step))], p.first_step, static_cast<int>(b), 0});
        const auto end = static_cast<std::size_t>(std::min<std::int64_t>(p.last_step + 1, static_cast<std::int64_t>(start.size()) - 1));
        out.push_back({Kind::Free, start[end], p.last_step, static_cast<int>(b), 0});
    }
    std::stable_sort(out.begin(), out.end(), [](const MemoryEvent& x, const MemoryEvent& y) {
        return x.step != y.step ? x.step < y.step : (x.kind == Kind::Free) < (y.kind == Kind::Free);
    });
    std::int64_t live = 0;
    for (MemoryEvent& e : out) {
        if (e.kind == Kind::Alloc) live += plan.buffers[static_cast<std::size_t>(e.buffer)].bytes;
        if (e.kind == Kind::Free) live -= plan.buffers[static_cast<std::size_t>(e.buffer)].bytes;
        e.live_bytes = live;
    }
    return out;
}

}  // namespace jaxscope::exec
