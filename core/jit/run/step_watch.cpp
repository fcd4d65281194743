// SPDX-License-Identifier: Apache-2.0
#include "jit/run/step_watch.h"

#include <algorithm>

namespace jaxscope::exec {

namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

constexpr std::int64_t kWorthNaming = 64 << 10;  ///< bytes: stacks and tables of a thread stay below
constexpr int kWatchedIterations = 2;

const Node* node_of(const Computation& c, const Thunk& t) { return t.nodes.empty() ? nullptr : &c.graph->nodes[t.nodes.back()]; }

}  // namespace

void StepWatches::before(const Computation& c, std::size_t step) {
    for (StepWatch* w : all_) w->before(c, step);
}
void StepWatches::after(const Computation& c, std::size_t step) {
    for (std::size_t i = all_.size(); i-- > 0;) all_[i]->after(c, step);
}

void MemoryWatch::before(const Computation& c, std::size_t step) {
    const Clock::time_point begin = Clock::now();
    if (arena_known_ < 0) arena_known_ = arena_();
    Level level;
    level.watched = (levels_.empty() || levels_.back().watched) && visits_[&c.thunks[step]]++ < kWatchedIterations;
    level.arena = arena_known_;
    if (level.watched) meter.open();
    levels_.push_back(level);
    own_seconds_ += seconds_since(begin);
}

/// What came beyond the arena in a step in which memory rose by `rise`. Small rises are taken for the arena's: asking costs time by its
/// size.
std::int64_t MemoryWatch::beyond_arena(const Level& level, std::int64_t rise) {
    if (rise < kWorthNaming) {
        arena_known_ = std::max(arena_known_, level.arena + rise);
        return 0;
    }
    arena_known_ = arena_();
    return rise - (arena_known_ - level.arena);
}

void MemoryWatch::after(const Computation& c, std::size_t step) {
    const Clock::time_point begin = Clock::now();
    const Level level = levels_.back();
    levels_.pop_back();
    if (level.watched) {
        const std::int64_t beyond = beyond_arena(level, meter.close());
        const Thunk& t = c.thunks[step];
        const Node* n = node_of(c, t);
        if (const std::int64_t own = beyond - level.inside; own >= kWorthNaming && n) {
            UnplannedMemory u{own, path_of(*n), n->op().prim->name.c_str(), n->source};
            if (auto& known = taken_[&t]; known.first < own) known = {own, std::move(u)};
        }
        if (!levels_.empty()) levels_.back().inside = std::max(levels_.back().inside, beyond);
    }
    own_seconds_ += seconds_since(begin);
}

std::vector<UnplannedMemory> MemoryWatch::unplanned() const {
    std::vector<UnplannedMemory> out;
    for (const auto& [thunk, taken] : taken_) out.push_back(taken.second);
    std::sort(out.begin(), out.end(),
              [](const UnplannedMemory& a, const UnplannedMemory& b) { return a.bytes != b.bytes ? a.bytes > b.bytes : a.eqn < b.eqn; });
    return out;
}

EventWatch::EventWatch(const Computation& c, std::function<double()> own)
    : c_(c), own_(std::move(own)), taken_at_(c.thunks.size() + 2), given_back_at_(c.thunks.size() + 2) {
    for (std::size_t b = 0; b < c.buffers.size(); ++b) {
        const Buffer& buffer = c.buffers[b];
        if (buffer.offset < 0 || buffer.bytes == 0 || buffer.last < buffer.first) continue;
        taken_at_[static_cast<std::size_t>(std::int64_t{buffer.first} + 1)].push_back(static_cast<int>(b));
        given_back_at_[std::min(static_cast<std::size_t>(std::int64_t{buffer.last} + 1), c.thunks.size() + 1)].push_back(
            static_cast<int>(b));
    }
    for (const int b : taken_at_[0]) note(MemoryEvent::Kind::Alloc, -1, b);
}

void EventWatch::note(MemoryEvent::Kind kind, int step, int buffer) {
    const std::int64_t bytes = c_.buffers[static_cast<std::size_t>(buffer)].bytes;
    live_ += kind == MemoryEvent::Kind::Alloc ? bytes : kind == MemoryEvent::Kind::Free ? -bytes : 0;
    events_.push_back({kind, seconds_since(start_) - own_(), step, buffer, live_});
}

void EventWatch::before(const Computation& c, std::size_t step) {
    if (&c != &c_) return;
    for (const int b : taken_at_[step + 1]) note(MemoryEvent::Kind::Alloc, static_cast<int>(step), b);
}

void EventWatch::after(const Computation& c, std::size_t step) {
    if (&c != &c_) return;
    const int s = static_cast<int>(step);
    for (const int w : c.thunks[step].writes) {  // an output that is made in an argument's memory
        const Buffer& b = c.buffers[static_cast<std::size_t>(w)];
        if (b.place != Buffer::Place::Input) continue;
        for (std::size_t k = 0; k < c.granted.size(); ++k)
            if (c.granted[k] && c.input_buffer[static_cast<std::size_t>(*c.granted[k])] == w)
                note(MemoryEvent::Kind::Alias, s, c.output_buffer[k]);
    }
    for (const int b : given_back_at_[step + 1]) note(MemoryEvent::Kind::Free, s, b);
    if (step + 1 == c.thunks.size())
        for (const int b : given_back_at_[step + 2]) note(MemoryEvent::Kind::Free, s + 1, b);
}

void ProfileWatch::before(const Computation&, std::size_t) { begun_.push_back(Clock::now()); }

void ProfileWatch::after(const Computation& c, std::size_t step) {
    Total& t = totals_[&c.thunks[step]];
    t.seconds += seconds_since(begun_.back());
    ++t.calls;
    begun_.pop_back();
}

std::vector<StepProfile> ProfileWatch::profile(const Computation& c, int runs) const {
    std::vector<StepProfile> out;
    add(c, "", std::max(1, runs), out);
    return out;
}

void ProfileWatch::add(const Computation& c, const std::string& loop, int runs, std::vector<StepProfile>& out) const {
    for (const Thunk& t : c.thunks) {
        const auto found = totals_.find(&t);
        const Total total = found == totals_.end() ? Total{} : found->second;
        StepProfile row;
        row.loop = loop;
        row.seconds = total.seconds / runs;
        row.calls = static_cast<double>(total.calls) / runs;
        for (const std::uint32_t n : t.nodes) {
            const Node& node = c.graph->nodes[n];
            row.eqns.push_back(path_of(node));
            row.primitives.push_back(node.op().prim->name.c_str());
            if (node.op().prim->cost) row.flops += node.op().prim->cost.fn(node.op()).flops * row.calls;
        }
        row.eqns.erase(std::unique(row.eqns.begin(), row.eqns.end()), row.eqns.end());
        if (const Node* n = node_of(c, t)) row.source = n->source;
        row.is_loop = !t.bodies.empty();
        row.copy = t.kind == Thunk::Kind::Copy;
        for (const int b : t.reads) row.bytes += static_cast<double>(c.buffers[static_cast<std::size_t>(b)].aval->bytes()) * row.calls;
        for (const int b : t.writes) row.bytes += static_cast<double>(c.buffers[static_cast<std::size_t>(b)].aval->bytes()) * row.calls;
        out.push_back(row);
        const auto met = [&](const ComputationPtr& b) {
            return std::ranges::any_of(b->thunks, [&](const Thunk& s) { return totals_.contains(&s); });
        };
        if (t.is_whole_loop() && std::ranges::none_of(t.bodies, met)) continue;  // it ran as one function
        for (const ComputationPtr& body : t.bodies) add(*body, row.eqns.empty() ? loop : row.eqns.back(), runs, out);
    }
}

}  // namespace jaxscope::exec
