#include "jit/run/loops.h"

#include <algorithm>
#include <cstring>

#include "base/cancel.h"
#include "jit/plan/loops.h"

namespace jaxscope::exec {

namespace {

/// Bytes from one element of a stacked operand to the next.
std::int64_t slice_bytes(const Aval& stacked, std::int64_t length) { return length ? stacked.bytes() / length : 0; }

/// The two places of a carry: where it is read from now and where it is written next.
struct Carry {
    char *now, *first, *second;
    std::int64_t bytes;
    char* next() const { return second ? (now == first ? second : first) : now; }
};

std::vector<Carry> start_carries(const Thunk& t, const Node& n, const LoopShape& s, const std::vector<char*>& buffers, char* scratch,
                                 std::int64_t iterations) {
    std::vector<Carry> carries;
    for (std::size_t c = 0; c < s.carries; ++c) {
        char* init = buffers[static_cast<std::size_t>(t.reads[s.first_carry() + c])];
        char* out = buffers[static_cast<std::size_t>(t.writes[c])];
        Carry carry{init, out, nullptr, n.op.out[c]->bytes()};
        if (t.carry_offsets[c] < 0) {
            if (init != out) std::memmove(out, init, static_cast<std::size_t>(carry.bytes));
            carry.now = out;
        } else {
            carry.second = scratch + t.carry_offsets[c];
            // The last of an even number of iterations writes what the second one writes: begin so that it is the result's place.
            if (iterations > 0 && iterations % 2 == 0) std::swap(carry.first, carry.second);
        }
        carries.push_back(carry);
    }
    return carries;
}

void finish_carries(const Thunk& t, const std::vector<Carry>& carries, const std::vector<char*>& buffers) {
    for (std::size_t c = 0; c < carries.size(); ++c) {
        char* out = buffers[static_cast<std::size_t>(t.writes[c])];
        if (carries[c].now != out) std::memmove(out, carries[c].now, static_cast<std::size_t>(carries[c].bytes));
    }
}

void run_scan(const Thunk& t, const Node& n, const std::vector<char*>& buffers, char* scratch, const RunState& state, RunBody run_body) {
    const LoopShape s = loop_shape(n);
    const Computation& body = *t.bodies[0];
    std::vector<Carry> carries = start_carries(t, n, s, buffers, scratch, s.length);
    std::vector<void*> in(n.in.size()), out(n.out.size());
    for (std::size_t i = 0; i < n.in.size(); ++i) in[i] = buffers[static_cast<std::size_t>(t.reads[i])];
    for (std::int64_t i = 0; i < s.length; ++i) {
        check_cancelled();
        const std::int64_t at = s.reverse ? s.length - 1 - i : i;
        for (std::size_t c = 0; c < s.carries; ++c) in[s.consts + c] = carries[c].now, out[c] = carries[c].next();
        for (std::size_t x = s.consts + s.carries; x < n.in.size(); ++x)
            in[x] = buffers[static_cast<std::size_t>(t.reads[x])] + at * slice_bytes(*n.op.in[x], s.length);
        for (std::size_t y = s.carries; y < n.out.size(); ++y)
            out[y] = buffers[static_cast<std::size_t>(t.writes[y])] + at * slice_bytes(*n.op.out[y], s.length);
        run_body(body, in.data(), out.data(), scratch + t.body_arena, state);
        for (std::size_t c = 0; c < s.carries; ++c) carries[c].now = static_cast<char*>(out[c]);
    }
    finish_carries(t, carries, buffers);
}

void run_while(const Thunk& t, const Node& n, const std::vector<char*>& buffers, char* scratch, const RunState& state, RunBody run_body) {
    const LoopShape s = loop_shape(n);
    std::vector<Carry> carries = start_carries(t, n, s, buffers, scratch, 0);
    std::vector<void*> cond_in(s.cond_consts + s.carries), body_in(s.consts + s.carries), out(s.carries);
    for (std::size_t i = 0; i < s.cond_consts; ++i) cond_in[i] = buffers[static_cast<std::size_t>(t.reads[i])];
    for (std::size_t i = 0; i < s.consts; ++i) body_in[i] = buffers[static_cast<std::size_t>(t.reads[s.cond_consts + i])];
    alignas(64) std::uint8_t condition[64] = {};
    void* condition_out[] = {condition};
    while (true) {
        check_cancelled();
        for (std::size_t c = 0; c < s.carries; ++c) cond_in[s.cond_consts + c] = body_in[s.consts + c] = carries[c].now;
        run_body(*t.bodies[0], cond_in.data(), condition_out, scratch + t.body_arena, state);
        if (!condition[0]) break;
        for (std::size_t c = 0; c < s.carries; ++c) out[c] = carries[c].next();
        run_body(*t.bodies[1], body_in.data(), out.data(), scratch + t.body_arena, state);
        for (std::size_t c = 0; c < s.carries; ++c) carries[c].now = static_cast<char*>(out[c]);
    }
    finish_carries(t, carries, buffers);
}

void run_cond(const Thunk& t, const Node& n, const std::vector<char*>& buffers, char* scratch, const RunState& state, RunBody run_body) {
    const char* index = buffers[static_cast<std::size_t>(t.reads[0])];
    std::int64_t branch = 0;
    switch (byte_size(n.op.in[0]->dtype)) {
        case 1:
            branch = n.op.in[0]->dtype == DType::S8 ? *reinterpret_cast<const std::int8_t*>(index)
                                                    : *reinterpret_cast<const std::uint8_t*>(index);
            break;
        case 4: {
            std::int32_t v;
            std::memcpy(&v, index, 4);
            branch = n.op.in[0]->dtype == DType::U32 ? static_cast<std::int64_t>(static_cast<std::uint32_t>(v)) : v;
            break;
        }
        case 8:
            std::memcpy(&branch, index, 8);
            break;
        default:
            throw Error(ErrorCode::BadInput, "expected a branch index of 1, 4 or 8 bytes");
    }
    branch = std::clamp<std::int64_t>(branch, 0, static_cast<std::int64_t>(t.bodies.size()) - 1);
    std::vector<void*> in, out;
    for (std::size_t i = 1; i < t.reads.size(); ++i) in.push_back(buffers[static_cast<std::size_t>(t.reads[i])]);
    for (const int b : t.writes) out.push_back(buffers[static_cast<std::size_t>(b)]);
    run_body(*t.bodies[static_cast<std::size_t>(branch)], in.data(), out.data(), scratch + t.body_arena, state);
}

}  // namespace

void run_loop(const Thunk& t, const Node& n, const std::vector<char*>& buffers, const RunState& outer, RunBody run_body) {
    RunState state = outer;
    state.step_seconds = nullptr;
    char* scratch = t.scratch >= 0 ? buffers[static_cast<std::size_t>(t.scratch)] : nullptr;
    if (n.kind == NodeKind::Scan)
        run_scan(t, n, buffers, scratch, state, run_body);
    else if (n.kind == NodeKind::While)
        run_while(t, n, buffers, scratch, state, run_body);
    else
        run_cond(t, n, buffers, scratch, state, run_body);
}

}  // namespace jaxscope::exec
