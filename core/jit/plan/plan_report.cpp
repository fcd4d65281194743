// SPDX-License-Identifier: Apache-2.0
#include "jit/plan/plan_report.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "base/cancel.h"
#include "base/checked.h"
#include "jit/plan/loops.h"

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
    out.made = b.aval;
    out.bytes = b.bytes;
    out.offset = b.offset;
    out.first_step = b.first;
    out.last_step = b.last;
    out.role = b.role;
    if (b.place != Buffer::Place::Arena) out.number = static_cast<int>(b.index);
    if (b.node != ~0u) {
        const Node& n = c.graph->nodes[b.node];
        out.eqn = path_of(n);
        out.primitive = n.op().prim->name.c_str();
        out.maker = n.op().prim;
        out.source = n.source;
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
        out.source = n.source;
        out.kind = t.kind == Thunk::Kind::Copy ? Sym("copy") : t.nodes.size() > 1 ? Sym("fusion") : Sym(n.op().prim->name.c_str());
    } else {
        out.kind = "copy";
    }
    out.reads.assign(t.reads.begin(), t.reads.end());
    out.writes.assign(t.writes.begin(), t.writes.end());
    if (t.scratch >= 0) out.writes.push_back(t.scratch);
    return out;
}

const Node& node_of(const Computation& c, const Thunk& t) { return c.graph->nodes[t.nodes[0]]; }

/// `path` of a node in body `k` as seen from this loop: another loop may have been the first to build the body.
std::string path_from(const Node& loop, std::size_t k, const std::string& path) {
    const std::string& built = loop.bodies[k]->path.str();
    return path.starts_with(built) ? loop.body_paths[k].str() + path.substr(built.size()) : path;
}

/// Names `buffer` by the equation that makes output `k` of body `b`; inner loops are asked in turn.
void name_by_maker(PlannedBuffer& buffer, const Node& loop, std::size_t b, std::size_t k) {
    const Graph& body = *loop.bodies[b];
    const ValueId root = body.root(body.outputs[k]);
    const GraphValue& value = body.values[root];
    if (value.kind != GraphValue::Kind::Result || value.index >= body.nodes.size()) return;
    const Node& maker = body.nodes[value.index];
    buffer.eqn = path_from(loop, b, path_of(maker));
    buffer.primitive = maker.op().prim->name.c_str();
    buffer.maker = maker.op().prim;
    buffer.made = value.aval;
    buffer.source = maker.source;
    if (maker.kind != NodeKind::Scan && maker.kind != NodeKind::While) return;
    const auto inner = static_cast<std::size_t>(std::find(maker.out.begin(), maker.out.end(), root) - maker.out.begin());
    const std::size_t last = maker.bodies.size() - 1;
    if (inner >= maker.bodies[last]->outputs.size()) return;
    PlannedBuffer below = buffer;
    below.eqn.clear();
    name_by_maker(below, maker, last, inner);
    if (below.eqn.empty()) return;
    below.eqn = path_from(loop, b, below.eqn);
    buffer = std::move(below);
}

void name_results(const Computation& c, const Thunk& t, MemoryPlan& plan) {
    const Node& loop = node_of(c, t);
    if (loop.kind == NodeKind::Cond) return;  // either branch makes them: the equation is the cond
    for (std::size_t k = 0; k < t.writes.size() && k < loop.bodies.back()->outputs.size(); ++k) {
        const auto b = static_cast<std::size_t>(t.writes[k]);
        if (c.buffers[b].node == t.nodes[0]) name_by_maker(plan.buffers[b], loop, loop.bodies.size() - 1, k);
    }
}

/// The body that needs most: the branches of a cond, a loop's condition and its body take turns in one memory.
std::size_t largest_body(const Thunk& t) {
    std::size_t best = 0;
    for (std::size_t k = 1; k < t.bodies.size(); ++k)
        if (t.bodies[k]->arena_bytes > t.bodies[best]->arena_bytes) best = k;
    return best;
}

/// The same plan with paths as seen from `loop`.
std::shared_ptr<const MemoryPlan> seen_from(const Node& loop, std::size_t k, std::shared_ptr<const MemoryPlan> inside) {
    if (loop.bodies[k]->path == loop.body_paths[k]) return inside;
    auto seen = std::make_shared<MemoryPlan>(*inside);
    for (PlannedBuffer& b : seen->buffers) b.eqn = path_from(loop, k, b.eqn);
    for (PlannedStep& s : seen->steps) {
        s.eqn = path_from(loop, k, s.eqn);
        for (std::string& eqn : s.eqns) eqn = path_from(loop, k, eqn);
        if (s.inside) s.inside = seen_from(loop, k, s.inside);
    }
    return seen;
}

/// Plans of bodies, as each was built: several loops may have one.
using Bodies = std::unordered_map<const Computation*, std::shared_ptr<const MemoryPlan>>;
MemoryPlan report(const Computation& c, const std::vector<std::optional<int>>& pairs, Bodies& bodies);

std::shared_ptr<const MemoryPlan> plan_of_body(const Computation& body, Bodies& bodies) {
    const auto known = bodies.find(&body);
    if (known != bodies.end()) return known->second;
    auto plan = std::make_shared<MemoryPlan>(report(body, std::vector<std::optional<int>>(body.output_buffer.size()), bodies));
    return bodies.emplace(&body, std::move(plan)).first->second;
}

/// A loop is one step of the plan, and all that its body needs one piece of scratch memory. For people the body's values are buffers like
/// any others: what a scan stacks and carries is named by the equation of the body that makes it, and in place of the scratch memory stand
/// the second places of its carries and what is alive in the body at the body's own peak.
void open_loop(const Computation& c, int step, MemoryPlan& plan, Bodies& bodies) {
    const Thunk& t = c.thunks[static_cast<std::size_t>(step)];
    name_results(c, t, plan);
    const Node& loop = node_of(c, t);
    const std::size_t body = largest_body(t);
    const std::shared_ptr<const MemoryPlan> inside = seen_from(loop, body, plan_of_body(*t.bodies[body], bodies));
    plan.steps[static_cast<std::size_t>(step)].inside = inside;
    if (t.kind == Thunk::Kind::Scan) plan.steps[static_cast<std::size_t>(step)].iterations = loop_shape(loop).length;
    if (t.scratch < 0) return;
    const std::int64_t base = plan.buffers[static_cast<std::size_t>(t.scratch)].offset;
    PlannedBuffer& scratch = plan.buffers[static_cast<std::size_t>(t.scratch)];
    PlannedBuffer like = scratch;
    scratch.aval = AvalRef(DType::U8, {0});
    scratch.made = scratch.aval;
    scratch.bytes = 0;
    like.role = BufferRole::Temporary;
    const auto add = [&](PlannedBuffer b) {
        b.first_step = like.first_step;
        b.last_step = like.last_step;
        plan.steps[static_cast<std::size_t>(step)].writes.push_back(static_cast<int>(plan.buffers.size()));
        plan.buffers.push_back(std::move(b));
    };
    for (std::size_t k = 0; k < t.carry_offsets.size(); ++k) {
        if (t.carry_offsets[k] < 0) continue;
        PlannedBuffer carry = like;
        carry.aval = loop.op().out[k];
        carry.made = carry.aval;
        carry.bytes = carry.aval->bytes();
        carry.offset = base + t.carry_offsets[k];
        name_by_maker(carry, loop, loop.bodies.size() - 1, k);
        add(std::move(carry));
    }
    for (const int i : inside->at_peak) {
        PlannedBuffer b = inside->buffers[static_cast<std::size_t>(i)];
        b.offset += base + t.body_arena;
        add(std::move(b));
    }
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
    for (const int b : plan.at_peak)
        if (const PlannedBuffer& p = plan.buffers[static_cast<std::size_t>(b)]; p.role == BufferRole::Scratch) plan.scratch += p.bytes;
    std::stable_sort(plan.at_peak.begin(), plan.at_peak.end(), [&](int a, int b) {
        return plan.buffers[static_cast<std::size_t>(a)].bytes > plan.buffers[static_cast<std::size_t>(b)].bytes;
    });
}

/// Bytes that one run moves into `space`.
std::int64_t moved_into(const Computation& c, MemorySpace space) {
    std::int64_t bytes = 0;
    for (const Thunk& t : c.thunks) {
        const std::int64_t times = t.kind == Thunk::Kind::Scan ? loop_shape(node_of(c, t)).length : 1;
        std::int64_t inside = 0;  // of a cond: the branch that moves most
        for (const ComputationPtr& body : t.bodies) inside = std::max(inside, moved_into(*body, space));
        bytes = checked_add(bytes, checked_mul(inside, times));
        if (t.kind == Thunk::Kind::Library && moves_between_spaces(node_of(c, t).op()))
            for (std::size_t k = 0; k < t.writes.size(); ++k) {
                const Op& op = node_of(c, t).op();
                if (op.out[k]->space == space && op.in[k]->space != space) bytes = checked_add(bytes, op.out[k]->bytes());
            }
    }
    return bytes;
}

/// Peaks by memory space, where a program uses the host's.
void count_spaces(const Computation& c, MemoryPlan& plan) {
    const auto on_host = [](const PlannedBuffer& b) { return b.aval->space == MemorySpace::Host; };
    SpaceUse device{MemorySpace::Device, 0, moved_into(c, MemorySpace::Device)},
        host{MemorySpace::Host, 0, moved_into(c, MemorySpace::Host)};
    if (host.moved_in == 0 && device.moved_in == 0 && std::none_of(plan.buffers.begin(), plan.buffers.end(), on_host)) return;
    std::vector<std::int64_t> change[2];
    for (auto& per_step : change) per_step.assign(plan.steps.size() + 3, 0);
    for (const PlannedBuffer& b : plan.buffers) {
        if (b.offset < 0 || b.last_step < b.first_step || b.bytes == 0) continue;
        change[on_host(b)][static_cast<std::size_t>(b.first_step) + 1] += b.bytes;
        change[on_host(b)][static_cast<std::size_t>(b.last_step) + 2] -= b.bytes;
    }
    for (SpaceUse* use : {&device, &host}) {
        std::int64_t live = 0;
        for (const std::int64_t d : change[use == &host]) live += d, use->peak = std::max(use->peak, live);
        plan.spaces.push_back(*use);
    }
}

MemoryPlan report(const Computation& c, const std::vector<std::optional<int>>& pairs, Bodies& bodies) {
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
        if (t.nodes.size() == 1) scratch.maker = c.graph->nodes[t.nodes.back()].op().prim;
        scratch.source = step.source;
    }
    mark_residuals(c, plan.buffers);
    for (std::size_t s = 0; s < c.thunks.size(); ++s)
        if (!c.thunks[s].bodies.empty()) open_loop(c, static_cast<int>(s), plan, bodies);
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
    count_spaces(c, plan);
    return plan;
}

}  // namespace

MemoryPlan report_plan(const Computation& c, const std::vector<std::optional<int>>& pairs) {
    Bodies bodies;
    return report(c, pairs, bodies);
}

}  // namespace jaxscope::exec
