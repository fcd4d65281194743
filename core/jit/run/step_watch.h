// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "jit/plan/computation.h"
#include "jit/run/resident_meter.h"

namespace jaxscope::exec {

/// Told of every step as it runs, those of loops' bodies too: what is to be known of a run is noted here, and a run of which nothing is to
/// be known has none. Steps nest: what a body does lies between `before` and `after` of its loop.
class StepWatch {
public:
    virtual ~StepWatch() = default;
    virtual void before(const Computation& c, std::size_t step) = 0;
    virtual void after(const Computation& c, std::size_t step) = 0;
};

/// Several of them; the first begins first and ends last.
class StepWatches final : public StepWatch {
public:
    void add(StepWatch& w) { all_.push_back(&w); }
    bool empty() const { return all_.empty(); }
    void before(const Computation& c, std::size_t step) override;
    void after(const Computation& c, std::size_t step) override;

private:
    std::vector<StepWatch*> all_;
};

/// Resident memory step by step: which equation took what beyond the pages of the arena, in whatever way. Of a loop's body the first two
/// iterations are watched: the second touches the second place of each carry.
class MemoryWatch final : public StepWatch {
public:
    /// `arena`: bytes of the arena's pages that are resident now.
    explicit MemoryWatch(std::function<std::int64_t()> arena) : arena_(std::move(arena)) {}
    void before(const Computation& c, std::size_t step) override;
    void after(const Computation& c, std::size_t step) override;
    /// Largest first; null of an equation: between the steps.
    std::vector<UnplannedMemory> unplanned() const;
    ResidentMeter meter;
    double own_seconds() const { return own_seconds_; }  ///< spent here, and in no step

private:
    struct Level {
        bool watched = false;
        std::int64_t arena = 0, inside = 0;  ///< resident in the arena before; what a step inside took beyond it
        double own_before = 0;
    };
    std::int64_t beyond_arena(const Level& level, std::int64_t rise);

    std::function<std::int64_t()> arena_;
    std::int64_t arena_known_ = -1;  ///< -1: before the first step, when the arguments are there already
    std::vector<Level> levels_;
    std::unordered_map<const Thunk*, int> visits_;
    std::unordered_map<const Thunk*, std::pair<std::int64_t, UnplannedMemory>> taken_;
    double own_seconds_ = 0;
};

/// When memory is taken and given back, at the moments at which that happens. Of the outermost computation, whose buffers a plan has.
class EventWatch final : public StepWatch {
public:
    /// `own`: seconds that aren't the run's, so far.
    EventWatch(const Computation& c, std::function<double()> own);
    void before(const Computation& c, std::size_t step) override;
    void after(const Computation& c, std::size_t step) override;
    std::vector<MemoryEvent> take() { return std::move(events_); }

private:
    void note(MemoryEvent::Kind kind, int step, int buffer);
    const Computation& c_;
    std::function<double()> own_;
    std::vector<std::vector<int>> taken_at_, given_back_at_;  ///< buffers, by step + 1; what is there from the beginning first
    std::vector<MemoryEvent> events_;
    std::int64_t live_ = 0;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// How long each step takes, in all of its calls.
class ProfileWatch final : public StepWatch {
public:
    void before(const Computation& c, std::size_t step) override;
    void after(const Computation& c, std::size_t step) override;
    /// Of `runs` runs of `c`: its steps and those of its loops' bodies, in their order.
    std::vector<StepProfile> profile(const Computation& c, int runs) const;

private:
    struct Total {
        double seconds = 0;
        std::int64_t calls = 0;
    };
    void add(const Computation& c, const std::string& prefix, int runs, std::vector<StepProfile>& out) const;
    std::unordered_map<const Thunk*, Total> totals_;
    std::vector<std::chrono::steady_clock::time_point> begun_;
};

}  // namespace jaxscope::exec
