// SPDX-License-Identifier: Apache-2.0
#include "jit/run/frame.h"

#include <cmath>
#include <cstring>
#include <optional>

#include "base/cancel.h"
#include "ir/types/element.h"
#include "jit/kernels/threads/parallel.h"
#include "jit/run/guarded_arena.h"
#include "jit/run/step_watch.h"

namespace jaxscope::exec {

namespace {

bool holds_nonfinite(const char* data, const Aval& aval) {
    if (!is_inexact(aval.dtype)) return false;
    const std::int64_t n = aval.size(), width = byte_size(aval.dtype);
    for (std::int64_t i = 0; i < n; ++i) {
        const Element e = load_element(aval.dtype, reinterpret_cast<const std::byte*>(data + i * width));
        if (!std::isfinite(e.number.real()) || !std::isfinite(e.number.imag())) return true;
    }
    return false;
}

/// Do threads share the kernels of `c` that are worth it? What a second thread writes, the kernels that the first runs alone get from its
/// cache, at two to three times the time: a few shared kernels cost more than they bring where the others are a third of the work.
bool shares_kernels(const Computation& c) {
    constexpr double kLittle = 4 * kParallelWork;
    if (c.threads <= 1) return false;
    double shared = 0, alone = 0;
    for (const Thunk& t : c.thunks)
        if (t.kernel) (t.kernel->work() >= kParallelWork ? shared : alone) += t.kernel->work();
    return shared >= kLittle || shared >= 2 * alone;
}

}  // namespace

bool runs_alone(const Computation& c) {
    return !any_step(c, [](const Thunk& t, const Computation& in) {
        return t.kind == Thunk::Kind::Library || (t.kernel && t.kernel->work() >= kParallelWork && shares_kernels(in));
    });
}

RunFrame::RunFrame(const Computation& c, char* arena, const RunState& state)
    : c_(c), arena_(arena), state_(state), shares_(shares_kernels(c)) {
    inputs_.resize(c.input_buffer.size()), outputs_.resize(c.output_buffer.size());
    std::size_t arguments = 0;
    for (const Thunk& t : c.thunks) {
        arguments += t.reads.size() + t.writes.size();
        if (t.is_whole_loop()) arguments += constants_of_bodies(t).size();
    }
    args_.reserve(arguments);  // they stay where they are: loops set them there
    for (const Thunk& t : c.thunks) calls_.push_back(make_call(t));
}
RunFrame::~RunFrame() = default;

char* RunFrame::place(int buffer) const {
    const Buffer& b = c_.buffers[static_cast<std::size_t>(buffer)];
    if (b.place == Buffer::Place::Arena) return arena_ + std::max<std::int64_t>(b.offset, 0);
    if (b.place == Buffer::Place::Constant) return reinterpret_cast<char*>(const_cast<std::byte*>(c_.pool[b.index].data.data()));
    return nullptr;  // set by the caller
}

void RunFrame::add_argument(int buffer) {
    const Buffer& b = c_.buffers[static_cast<std::size_t>(buffer)];
    void** const at = &args_.emplace_back(place(buffer));
    if (b.place == Buffer::Place::Input) inputs_[b.index].push_back(at);
    if (b.place == Buffer::Place::Output) outputs_[b.index].push_back(at);
}

RunFrame::Call RunFrame::make_call(const Thunk& t) {
    Call call;
    call.first = args_.size();
    for (const int b : t.reads) add_argument(b);
    for (const int b : t.writes) add_argument(b);
    if (t.scratch >= 0) call.scratch = place(t.scratch);
    if (t.kind == Thunk::Kind::Kernel) {
        call.tasks = t.kernel->tasks();
        call.unit = t.kernel->form == Kernel::Form::Flat ? 64 : 1;  // whole cache lines
        const bool quick = t.kernel->work() < kParallelWork;
        call.shared = shares_ && call.tasks > 1 && !quick;
        call.quick = quick && call.tasks > 0;
        if (!call.shared && call.tasks > 0) call.alone = t.function;
    } else if (t.kind == Thunk::Kind::Copy) {
        call.tasks = c_.buffers[static_cast<std::size_t>(t.reads[0])].aval->bytes();
    } else if (t.kind == Thunk::Kind::Scan || t.kind == Thunk::Kind::While || t.kind == Thunk::Kind::Cond) {
        if (t.is_whole_loop())
            for (const Computation::PoolEntry* e : constants_of_bodies(t)) args_.push_back(const_cast<std::byte*>(e->data.data()));
    }
    return call;
}

void RunFrame::run_loop(const Thunk& t, Call& call) {
    void** args = args_.data() + call.first;
    if (t.is_whole_loop() && !state_.inside) {
        t.function(args, 0, 1, call.scratch);
        return check_cancelled();
    }
    if (!call.loop) {
        const auto make_body = [this](const Computation& body, char* arena) -> std::unique_ptr<Body> {
            return std::make_unique<RunFrame>(body, arena, state_);
        };
        call.loop = make_loop(t, c_.graph->nodes[t.nodes[0]], call.scratch, make_body);
    }
    call.loop->run(args);
}

void RunFrame::run_thunk(const Thunk& t, Call& call) {
    void** args = args_.data() + call.first;
    switch (t.kind) {
        case Thunk::Kind::Kernel:
            if (call.tasks <= 0) break;
            if (!call.shared) {
                t.function(args, 0, call.tasks, call.scratch);
                break;
            }
            parallel_shares(c_.threads, call.tasks, call.unit, [&](int thread, std::int64_t begin, std::int64_t end) {
                t.function(args, begin, end, call.scratch + thread * t.scratch_each);
            });
            break;
        case Thunk::Kind::Library:
            t.library->run(args, args + t.reads.size(), call.scratch);
            break;
        case Thunk::Kind::Copy:
            if (call.tasks > 0 && args[0] != args[1]) std::memmove(args[1], args[0], static_cast<std::size_t>(call.tasks));
            break;
        default:
            run_loop(t, call);
    }
}

void RunFrame::run_pieces(std::size_t s, bool behind) {
    const Thunk &product = c_.thunks[s], &kernel = c_.thunks[s + 1];
    void** args = args_.data() + calls_[s].first;
    struct Context {
        KernelFunction function;
        void** args;
        char* scratch;
        std::int64_t scratch_each, granule;
    } context{kernel.function, args_.data() + calls_[s + 1].first, calls_[s + 1].scratch, kernel.scratch_each, product.granule};
    BehindPieces after;
    if (behind) {
        after.context = &context;
        after.work = kernel.kernel->work();
        after.done = [](void* p, int thread, std::int64_t begin, std::int64_t end) {
            const Context& k = *static_cast<const Context*>(p);
            k.function(k.args, begin / k.granule, end / k.granule, k.scratch + thread * k.scratch_each);
        };
    }
    product.library->run_in_pieces(args, args + product.reads.size(), calls_[s].scratch, product.granule, after);
}

void RunFrame::check_finite(const Thunk& t, const Call& call) const {
    for (std::size_t w = 0; w < t.writes.size(); ++w) {
        const Buffer& b = c_.buffers[static_cast<std::size_t>(t.writes[w])];
        if (!holds_nonfinite(static_cast<const char*>(args_[call.first + t.reads.size() + w]), *b.aval)) continue;
        const Node& n = c_.graph->nodes[b.node != ~0u ? b.node : t.nodes.back()];
        throw Error(ErrorCode::CannotRun,
                    std::string("expected finite numbers, found a NaN or infinity in the result of ") + n.op().prim->name)
            .at(n.source.loc())
            .in("running eqn " + path_of(n));
    }
}

void RunFrame::run() {
    // Also where all is quick: it may be the body of an endless loop. Each time would take as long as a small kernel.
    constexpr unsigned kRunsBetween = 16;
    if (runs_++ % kRunsBetween == 0) check_cancelled();
    if (state_.watch || state_.check_nan || c_.guarded) return run_watched();
    void** const args = args_.data();
    for (std::size_t s = 0; s < calls_.size(); ++s) {
        Call& call = calls_[s];
        if (!call.quick) check_cancelled();
        if (call.alone)
            call.alone(args + call.first, 0, call.tasks, call.scratch);
        else if (c_.thunks[s].granule > 0)
            run_pieces(s++, true);
        else
            run_thunk(c_.thunks[s], call);
    }
}

void RunFrame::run_watched() {
    std::optional<GuardedArena> guarded;
    if (c_.guarded) guarded.emplace(c_, arena_);
    for (std::size_t s = 0; s < calls_.size(); ++s) {
        check_cancelled();
        if (state_.watch) state_.watch->before(c_, s);
        if (guarded) guarded->before(s);
        c_.thunks[s].granule > 0 ? run_pieces(s, false) : run_thunk(c_.thunks[s], calls_[s]);
        if (guarded) guarded->after(s);
        if (state_.watch) state_.watch->after(c_, s);
        if (state_.check_nan) check_finite(c_.thunks[s], calls_[s]);
    }
}

}  // namespace jaxscope::exec
