// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <thread>

#include <sys/mman.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/checked.h"
#include "base/limits.h"
#include "base/progress.h"
#include "base/supervised.h"
#include "base/units.h"
#include "ir/builder.h"
#include "jit/codegen/kernel_compiler.h"
#include "jit/codegen/whole_loop.h"
#include "jit/graph/build_graph.h"
#include "jit/kernels/library.h"
#include "jit/kernels/threads/parallel.h"
#include "jit/plan/plan_report.h"
#include "jit/plan/planner.h"
#include "jit/run/constants.h"
#include "jit/run/frame.h"
#include "jit/run/look_watch.h"
#include "jit/run/made_up.h"
#include "jit/run/prepare.h"
#include "jit/run/roofline.h"
#include "jit/run/step_watch.h"

namespace jaxscope {

namespace {

using namespace exec;
using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

/// Two values of one piece of memory have as many bytes; no input serves twice.
void check(const Jaxpr& j, const Aliases& aliases) {
    std::vector<bool> taken(j.num_invars, false);
    for (std::size_t k = 0; k < aliases.size(); ++k) {
        if (!aliases[k]) continue;
        const auto i = static_cast<std::uint32_t>(*aliases[k]);
        if (k >= j.outvars.size() || i >= j.num_invars || taken[i] || j.aval(j.outvars[k])->bytes() != j.aval(j.invar(i))->bytes())
            throw Error(ErrorCode::BadInput,
                        "expected output " + std::to_string(k) + " to take the memory of an input of its size, each once");
        taken[i] = true;
    }
}

struct Planned {
    std::shared_ptr<Computation> computation;
    MemoryPlan plan;
};
Planned make_plan(const JaxprPtr& program, const Aliases& aliases, const std::vector<bool>& kept, const JitOptions& options,
                  bool in_place = false) {
    check(*program, aliases);
    const GraphPtr graph =
        build_graph(program, {options.remat_lowering, options.over_devices, options.debug_prints, options.write_prints, options.target});
    ComputationOptions c;
    c.threads = usable_threads(options.threads);
    c.fuse.fuse = options.fuse;
    c.fuse.recompute_cheap = options.recompute_cheap;
    c.target = options.target;
    c.schedule = options.schedule;
    c.guarded = options.debug;
    c.whole = true;
    c.place_io = !in_place;
    c.kept = kept;
    Planned p;
    p.computation = plan_computation(graph, aliases, c);
    if (in_place)
        p.plan.planned_peak = p.computation->arena_bytes;
    else
        p.plan = report_plan(*p.computation, aliases);
    p.plan.target = options.target;
    if (!options.target) p.plan.threads = c.threads, p.plan.instructions = instruction_set();
    return p;
}

void* at(char* arena, std::int64_t offset) { return arena + std::max<std::int64_t>(offset, 0); }

/// Memory of a run: pages straight from the system, so that what was touched can be told (and is zero before).
class Arena {
public:
    explicit Arena(std::int64_t bytes) : bytes_(static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1))) {
        void* p = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED) throw Error(ErrorCode::CannotRun, "the system refused " + std::to_string(bytes) + " bytes for the arena");
        base_ = static_cast<char*>(p);
    }
    ~Arena() { munmap(base_, bytes_); }
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;
    char* base() const { return base_; }
    /// Bytes of pages that somebody has touched. Asked piece by piece: the answer itself is to take no memory.
    std::int64_t resident() const {
        const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        unsigned char in_core[4096];
        std::int64_t pages = 0;
        for (std::size_t at = 0; at < bytes_; at += sizeof in_core * page) {
            const std::size_t length = std::min(bytes_ - at, sizeof in_core * page), n = (length + page - 1) / page;
            if (mincore(base_ + at, length, in_core) != 0) throw Error(ErrorCode::CannotRun, "the system doesn't tell resident pages");
            pages += std::count_if(in_core, in_core + n, [](unsigned char c) { return c & 1; });
        }
        return pages * static_cast<std::int64_t>(page);
    }

private:
    std::size_t bytes_;
    char* base_ = nullptr;
};

class CompiledProgram final : public Executable {
public:
    /// `loops_in_one`: small loops may be one function.
    CompiledProgram(JaxprPtr program, Planned planned, bool loops_in_one)
        : program_(std::move(program)), c_(std::move(planned.computation)), plan_(std::move(planned.plan)), loops_in_one_(loops_in_one) {
        const Clock::time_point start = Clock::now();
        std::jthread library;  // beside the compilation, whose end waits for it
        if (any_step(*c_, [](const Thunk& t, const auto&) { return t.library && t.library->multiplies_by_library(); }))
            library = std::jthread(start_library);
        compile(*c_, false);
        end_of_preparation();
        fill_pool(*c_);
        alone_ = runs_alone(*c_);
        in_.resize(c_->input_buffer.size());
        out_.resize(c_->output_buffer.size());
        compile_seconds_ = seconds_since(start);
    }
    const MemoryPlan& plan() const override { return plan_; }

    RunResult run(std::span<const ArrayPtr> inputs, const RunOptions& options) override {
        if (inputs.size() != c_->input_buffer.size() && !inputs.empty())
            throw Error(ErrorCode::BadInput,
                        "expected " + std::to_string(c_->input_buffer.size()) + " inputs, found " + std::to_string(inputs.size()));
        if (options.check_nan) compile(*c_, true);
        const ComputingThread computing;
        const std::vector<ArrayPtr> values = values_of(inputs);
        arena_.reset();  // what the run before had touched isn't this one's
        std::optional<MemoryWatch> memory;
        if (options.measure) memory.emplace([this] { return arena_->resident(); });
        arena_ = std::make_unique<Arena>(c_->arena_bytes);
        RunResult result = repeat(values, options, memory ? &*memory : nullptr);
        result.compile_seconds = compile_seconds_;
        if (options.profile) result.roofline = measure_roofline(c_->threads);
        return result;
    }

    void run_in_place(std::span<const ArrayConst* const> inputs, std::span<ArrayPtr> given, std::vector<ArrayPtr>& outputs) override {
        JAXSCOPE_ASSERT(inputs.size() == in_.size());
        if (!arena_) arena_ = std::make_unique<Arena>(c_->arena_bytes);
        for (std::size_t i = 0; i < inputs.size(); ++i) in_[i] = memory_of_input(inputs[i], i);
        const std::size_t first = outputs.size();
        for (std::size_t k = 0; k < out_.size(); ++k) {
            const auto& taken = c_->granted[k];
            const auto i = static_cast<std::size_t>(taken.value_or(0));
            auto memory = taken && !given.empty() && given[i] ? own(std::move(given[i])) : nullptr;
            if (!memory && taken)
                memory = std::make_shared<ArrayConst>(*inputs[i]);
            else if (!memory)
                memory = std::make_shared<ArrayConst>();
            memory->aval = program_->aval(program_->outvars[k]);
            memory->data.resize(static_cast<std::size_t>(memory->aval->bytes()));
            out_[k] = memory->data.data();
            if (taken) in_[i] = out_[k];
            outputs.push_back(std::move(memory));
        }
        if (!frame_) frame_ = std::make_unique<RunFrame>(*c_, arena_->base(), in_place_);
        for (std::size_t i = 0; i < in_.size(); ++i) frame_->set_input(i, in_[i]);
        for (std::size_t k = 0; k < out_.size(); ++k) frame_->set_output(k, out_[k]);
        try {
            if (alone_) {
                const FlushedDenormals flushed;
                return frame_->run();
            }
            const ComputingThread computing;
            frame_->run();
        } catch (...) {
            outputs.resize(first);
            throw;
        }
    }
    bool note_onlookers() override {
        if (!has_onlookers(*c_)) return false;
        looks_.emplace();
        in_place_.watch = &*looks_;
        return true;
    }
    std::vector<Onlooker> take_onlookers() override {
        if (!looks_) return {};
        std::vector<Onlooker> out = looks_->take(*c_);
        looks_.emplace();
        return out;
    }
    void release_memory() override { frame_.reset(), arena_.reset(); }

private:
    static void start_library() {
        const ComputingThread computing;
        try {
            start_matrix_library();
        } catch (const Error&) {  // whoever multiplies will say
        }
    }
    /// `inside`: also of the steps in loops that run as one function.
    void compile(Computation& c, bool inside) const {
        std::vector<Thunk*> thunks;
        std::vector<CodeWish> wishes;
        wish(c, inside, thunks, wishes);
        const std::vector<KernelFunction> code = compile_code(wishes, c.threads);
        for (std::size_t i = 0; i < thunks.size(); ++i) thunks[i]->function = code[i];
    }
    void wish(Computation& c, bool inside, std::vector<Thunk*>& thunks, std::vector<CodeWish>& wishes) const {
        for (Thunk& t : c.thunks) {
            const bool loop = !t.bodies.empty();
            const bool wanted = !t.function && (loop ? !inside && loops_in_one_ && is_worth_one_function(c, t) : t.kernel != nullptr);
            if (wanted) thunks.push_back(&t), wishes.push_back({t.kernel, loop ? &t : nullptr, &c});
            if (loop && wanted) continue;
            for (const ComputationPtr& b : t.bodies) wish(const_cast<Computation&>(*b), inside, thunks, wishes);
        }
    }
    std::vector<void*> places(const std::vector<int>& buffers) const {
        std::vector<void*> out;
        for (const int b : buffers) out.push_back(at(arena_->base(), c_->buffers[static_cast<std::size_t>(b)].offset));
        return out;
    }
    /// Runs in the arena. The first repeat is measured, the last one's events are noted, all others (or the only one) are profiled; the
    /// steps of loops that are one function in one run more.
    RunResult repeat(const std::vector<ArrayPtr>& values, const RunOptions& options, MemoryWatch* memory) {
        const std::vector<void*> in = places(c_->input_buffer), out = places(c_->output_buffer);
        RunState state;
        state.check_nan = options.check_nan;
        state.inside = options.check_nan;
        RunFrame frame(*c_, arena_->base(), state);
        for (std::size_t i = 0; i < in.size(); ++i) frame.set_input(i, in[i]);
        for (std::size_t k = 0; k < out.size(); ++k) frame.set_output(k, out[k]);
        const int repeats = std::max(1, options.repeats);
        std::vector<double> times;
        RunResult result;
        ProfileWatch profile;
        LookWatch looks;
        const bool onlookers = has_onlookers(*c_);
        std::optional<CountedRun> counted(std::in_place, anonymous_resident(0), plan_.planned_peak);
        Progress progress("run", repeats);
        for (int r = 0; r < repeats; ++r) {
            progress.begin("run");
            copy_in(values, in, r == 0);
            const auto not_the_runs = [memory, r] { return memory && r == 0 ? memory->own_seconds() : 0.0; };
            std::optional<EventWatch> events;
            StepWatches watches;
            if (memory && r == 0) watches.add(*memory);
            if (options.timeline && r + 1 == repeats) watches.add(events.emplace(*c_, not_the_runs));
            if (options.profile && (r > 0 || repeats == 1)) watches.add(profile);
            if (r == 0 && onlookers) watches.add(looks);
            state.watch = watches.empty() ? nullptr : &watches;
            const Clock::time_point start = Clock::now();
            frame.run();
            times.push_back(seconds_since(start) - not_the_runs());
            if (memory && r == 0) tell_memory(*memory, result);  // before results are copied out
            if (events) result.events = events->take();
        }
        counted.reset();  // what is copied out is the caller's
        if (onlookers) result.onlookers = looks.take(*c_);
        result.first_seconds = times.front();
        if (times.size() > 1) times.erase(times.begin());
        std::sort(times.begin(), times.end());
        result.best_seconds = times.front();
        result.median_seconds = times[times.size() / 2];
        for (std::size_t k = 0; k < out.size(); ++k) result.outputs.push_back(copy_out(k, static_cast<const char*>(out[k])));
        if (!options.profile) return result;
        result.profile = profile.profile(*c_, std::max(1, repeats - 1));
        // Step by step a loop that is one function takes a hundred times as long, with a look at the clock for each step.
        constexpr double kLongest = 0.2;
        const bool whole_loops = any_step(*c_, [](const Thunk& t, const auto&) { return t.is_whole_loop(); });
        if (!state.inside && whole_loops && result.best_seconds < kLongest) {
            compile(*c_, true);
            copy_in(values, in, false);
            ProfileWatch steps;
            state.watch = &steps, state.inside = true;
            frame.run();
            result.profile = steps.profile(*c_, 1);
            result.profiled_by_steps = true;
        }
        return result;
    }
    void tell_memory(MemoryWatch& memory, RunResult& result) const {
        const std::int64_t peak = memory.meter.peak();
        result.measurement_problem = memory.meter.problem();
        if (result.measurement_problem.empty()) result.measured_peak = peak;
        result.arena_resident = arena_->resident();
        result.unplanned = memory.unplanned();
    }

    /// The array itself where nobody else holds it, else a copy: what is written next.
    static std::shared_ptr<ArrayConst> own(ArrayPtr given) {
        if (given.use_count() != 1) return std::make_shared<ArrayConst>(*given);
        return std::const_pointer_cast<ArrayConst>(std::move(given));
    }
    static void check_type(const ArrayConst& array, const Buffer& b, std::size_t i) {
        if (array.aval->dtype != b.aval->dtype || array.aval->shape != b.aval->shape ||
            static_cast<std::int64_t>(array.data.size()) != b.bytes)
            throw Error(ErrorCode::BadInput,
                        "expected input " + std::to_string(i) + " of type " + to_text(b.aval) + ", found " + to_text(array.aval));
    }
    void* memory_of_input(const ArrayConst* array, std::size_t i) const {
        const Buffer& b = c_->buffers[static_cast<std::size_t>(c_->input_buffer[i])];
        if (b.bytes == 0 || !array) return nullptr;
        check_type(*array, b, i);
        return const_cast<std::byte*>(array->data.data());
    }
    /// One array per input that takes memory: the caller's, or one that is made up.
    std::vector<ArrayPtr> values_of(std::span<const ArrayPtr> inputs) const {
        std::vector<ArrayPtr> values(c_->input_buffer.size());
        const std::vector<bool> positive = read_as_positive(*c_->graph);
        for (std::size_t i = 0; i < values.size(); ++i) {
            const Buffer& b = c_->buffers[static_cast<std::size_t>(c_->input_buffer[i])];
            if (b.bytes == 0) continue;
            check_cancelled();
            ArrayPtr array = i < inputs.size() ? inputs[i] : nullptr;
            if (!array || !array->known()) array = made_up(b.aval, i, positive[i]);
            check_type(*array, b, i);
            values[i] = std::move(array);
        }
        return values;
    }
    /// Runs overwrite donated inputs alone: the others are copied once.
    void copy_in(const std::vector<ArrayPtr>& values, const std::vector<void*>& in, bool all) const {
        std::vector<bool> overwritten(in.size(), all);
        for (const std::optional<int>& i : c_->granted)
            if (i) overwritten[static_cast<std::size_t>(*i)] = true;
        for (std::size_t i = 0; i < in.size(); ++i) {
            if (!values[i] || !overwritten[i] || values[i]->data.empty()) continue;
            check_cancelled();
            std::memcpy(in[i], values[i]->data.data(), values[i]->data.size());
        }
    }
    ArrayPtr copy_out(std::size_t k, const char* data) const {
        auto array = std::make_shared<ArrayConst>();
        array->aval = program_->aval(program_->outvars[k]);
        const auto* bytes = reinterpret_cast<const std::byte*>(data);
        array->data.assign(bytes, bytes + array->aval->bytes());
        return array;
    }

    JaxprPtr program_;
    std::shared_ptr<Computation> c_;
    MemoryPlan plan_;
    bool loops_in_one_;
    std::unique_ptr<Arena> arena_;
    RunState in_place_;
    std::optional<LookWatch> looks_;   ///< of runs in place, where somebody asked for it
    std::unique_ptr<RunFrame> frame_;  ///< of run_in_place, in this arena
    bool alone_ = false;               ///< one thread, no library
    std::vector<void*> in_, out_;      ///< of a run in place
    double compile_seconds_ = 0;
};

}  // namespace

std::shared_ptr<Executable> Executable::compile(const JaxprPtr& program, const Aliases& aliases, const std::vector<bool>& kept,
                                                const JitOptions& options) {
    JAXSCOPE_ASSERT(!options.over_devices);
    if (options.target)
        throw Error(ErrorCode::CannotRun, std::string("expected this machine to run on, found an estimate for ") + options.target->name);
    Planned planned = make_plan(program, aliases, kept, options);
    if (options.memory_limit > 0 && planned.plan.planned_peak > options.memory_limit)
        throw Error(ErrorCode::CannotRun, "expected a plan within " + std::to_string(options.memory_limit) + " bytes, found one of " +
                                              std::to_string(planned.plan.planned_peak));
    // Beyond what there is the system would end this process, and perhaps others, after minutes of work.
    if (options.memory_limit <= 0 && planned.plan.planned_peak > machine_memory())
        throw Error(ErrorCode::CannotRun, "expected a plan within this machine's " + bytes_text(machine_memory()) + ", found one of " +
                                              bytes_text(planned.plan.planned_peak))
            .advise("`plan` needs no such memory; --memory-limit SIZE is another limit");
    return std::make_shared<CompiledProgram>(program, std::move(planned), options.fuse);
}

std::shared_ptr<Executable> Executable::compile_in_place(const JaxprPtr& program, const Aliases& aliases, const std::vector<bool>& kept,
                                                         const JitOptions& options) {
    return std::make_shared<CompiledProgram>(program, make_plan(program, aliases, kept, options, true), options.fuse);
}

MemoryPlan plan_only(const JaxprPtr& program, const Aliases& aliases, const std::vector<bool>& kept, const JitOptions& options) {
    return make_plan(program, aliases, kept, options).plan;
}

std::vector<ArrayPtr> with_made_up(const JaxprPtr& program, const Avals& whole, std::vector<ArrayPtr> given) {
    const std::vector<bool> positive = read_as_positive(*build_graph(program, {.over_devices = true}));
    given.resize(whole.size());
    for (std::size_t i = 0; i < whole.size(); ++i)
        if (!given[i] || !given[i]->known()) given[i] = made_up(whole[i], i, positive[i]);
    return given;
}

std::optional<std::string> why_it_cannot_run(const Op& op, const JitOptions& options) {
    JaxprBuilder b;
    Values x;
    for (const AvalRef a : op.in) x.push_back(b.add_input(a));
    const Values out = b.emit(*op.prim, x, op.params, op.out);
    try {
        plan_only(b.finish(out), {}, {}, options);
    } catch (const Error& e) {
        if (e.code != ErrorCode::NoRule && e.code != ErrorCode::UnknownPrimitive && e.code != ErrorCode::BadInput) {
            if (e.code == ErrorCode::Cancelled) throw;
            return std::nullopt;  // of its size, say: not of what it is
        }
        return e.fact();
    }
    return std::nullopt;
}

}  // namespace jaxscope
