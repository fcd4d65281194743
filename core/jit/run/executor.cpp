#include "jit/run/executor.h"

#include <chrono>
#include <cmath>
#include <cstring>

#include "base/cancel.h"
#include "ir/element.h"
#include "jit/kernels/parallel.h"

namespace jaxscope::exec {

namespace {

double kernel_work(const Kernel& k) { return static_cast<double>(k.rows) * static_cast<double>(k.cols) * (1.0 + 0.25 * k.cost) * k.phases; }

void run_kernel(const Thunk& t, void** pointers, char* scratch, int threads) {
    const std::int64_t n = t.kernel->tasks();
    if (n <= 0) return;
    if (threads <= 1 || n == 1 || kernel_work(*t.kernel) < kParallelWork) {
        t.function(pointers, 0, n, scratch);
        return;
    }
    const std::int64_t unit = t.kernel->form == Kernel::Form::Flat ? 64 : 1;  // whole cache lines
    parallel_shares(threads, n, unit, [&](int thread, std::int64_t begin, std::int64_t end) {
        t.function(pointers, begin, end, scratch + thread * t.scratch_each);
    });
}

std::vector<char*> buffer_pointers(const Computation& c, void* const* in, void* const* out, char* arena) {
    std::vector<char*> p(c.buffers.size());
    for (std::size_t b = 0; b < p.size(); ++b) {
        const Buffer& buffer = c.buffers[b];
        switch (buffer.place) {
            case Buffer::Place::Input:
                p[b] = static_cast<char*>(in[buffer.index]);
                break;
            case Buffer::Place::Output:
                p[b] = static_cast<char*>(out[buffer.index]);
                break;
            case Buffer::Place::Arena:
                p[b] = arena + std::max<std::int64_t>(buffer.offset, 0);
                break;
            case Buffer::Place::Constant:
                p[b] = reinterpret_cast<char*>(const_cast<std::byte*>(c.pool[buffer.index].data.data()));
                break;
        }
    }
    return p;
}

bool holds_nonfinite(const char* data, const Aval& aval) {
    if (!is_inexact(aval.dtype)) return false;
    const std::int64_t n = aval.size(), width = byte_size(aval.dtype);
    for (std::int64_t i = 0; i < n; ++i) {
        const Element e = load_element(aval.dtype, reinterpret_cast<const std::byte*>(data + i * width));
        if (!std::isfinite(e.number.real()) || !std::isfinite(e.number.imag())) return true;
    }
    return false;
}

void check_finite(const Computation& c, const Thunk& t, const std::vector<char*>& pointers) {
    for (const int w : t.writes) {
        const Buffer& b = c.buffers[static_cast<std::size_t>(w)];
        if (!holds_nonfinite(pointers[static_cast<std::size_t>(w)], *b.aval)) continue;
        const Node& n = c.graph->nodes[b.node != ~0u ? b.node : t.nodes.back()];
        throw Error(ErrorCode::CannotRun,
                    std::string("expected finite numbers, found a NaN or infinity in the result of ") + n.op.prim->name)
            .at(n.op.source.loc())
            .in("running eqn " + path_of(n));
    }
}

void run_thunk(const Computation& c, const Thunk& t, const std::vector<char*>& pointers, std::vector<void*>& args, const RunState& state) {
    char* scratch = t.scratch >= 0 ? pointers[static_cast<std::size_t>(t.scratch)] : nullptr;
    args.clear();
    for (const int b : t.reads) args.push_back(pointers[static_cast<std::size_t>(b)]);
    for (const int b : t.writes) args.push_back(pointers[static_cast<std::size_t>(b)]);
    switch (t.kind) {
        case Thunk::Kind::Kernel:
            run_kernel(t, args.data(), scratch, c.threads);
            break;
        case Thunk::Kind::Library:
            t.library->run(args.data(), args.data() + t.reads.size(), scratch);
            break;
        case Thunk::Kind::Copy: {
            const std::int64_t bytes = c.buffers[static_cast<std::size_t>(t.reads[0])].aval->bytes();
            if (args[0] != args[1]) std::memmove(args[1], args[0], static_cast<std::size_t>(bytes));
            break;
        }
        default:
            run_loop(t, c.graph->nodes[t.nodes[0]], pointers, state, run_computation);
    }
}

}  // namespace

bool runs_alone(const Computation& c) {
    for (const Thunk& t : c.thunks) {
        if (t.kind == Thunk::Kind::Library) return false;
        if (t.kernel && c.threads > 1 && kernel_work(*t.kernel) >= kParallelWork) return false;
        for (const ComputationPtr& body : t.bodies)
            if (!runs_alone(*body)) return false;
    }
    return true;
}

void run_computation(const Computation& c, void* const* in, void* const* out, char* arena, const RunState& state) {
    const std::vector<char*> pointers = buffer_pointers(c, in, out, arena);
    std::vector<void*> args;
    using Clock = std::chrono::steady_clock;
    for (std::size_t s = 0; s < c.thunks.size(); ++s) {
        check_cancelled();
        const Clock::time_point start = state.step_seconds ? Clock::now() : Clock::time_point{};
        run_thunk(c, c.thunks[s], pointers, args, state);
        if (state.step_seconds) (*state.step_seconds)[s] = std::chrono::duration<double>(Clock::now() - start).count();
        if (state.check_nan) check_finite(c, c.thunks[s], pointers);
    }
}

void fill_pool(Computation& c) {
    for (Computation::PoolEntry& e : c.pool) {
        const auto bytes = static_cast<std::size_t>(e.aval->bytes());
        e.data.assign(bytes, std::byte{0});
        if (e.literal) {
            const Literal& l = **e.literal;
            if (bytes) store_element(l.aval->dtype, e.data.data(), Element{l.integer, {l.real, l.imag}});
        } else if (e.array && e.array->known() && e.array->data.size() == bytes) {
            e.data = e.array->data;
        }
    }
    for (Thunk& t : c.thunks)
        for (const ComputationPtr& b : t.bodies) fill_pool(const_cast<Computation&>(*b));
}

}  // namespace jaxscope::exec
