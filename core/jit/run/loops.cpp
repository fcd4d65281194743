#include "jit/run/loops.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"

namespace jaxscope::exec {

namespace {

std::int64_t int_param(const Node& n, Sym name) {
    const Attr* a = n.op.params->find(name);
    const auto* v = a ? a->get<std::int64_t>() : nullptr;
    if (!v) throw Error(ErrorCode::BadInput, "expected an integer in parameter " + name.str());
    return *v;
}
bool flag_param(const Node& n, Sym name) {
    const Attr* a = n.op.params->find(name);
    return a && a->get<bool>() && *a->get<bool>();
}

/// How operands and results of a loop divide.
struct LoopShape {
    std::size_t consts = 0;       ///< of the body
    std::size_t cond_consts = 0;  ///< of a while's condition, in front
    std::size_t carries = 0;
    std::int64_t length = 0;
    bool reverse = false;
};
LoopShape shape_of(const Node& n) {
    LoopShape s;
    if (n.kind == NodeKind::Scan) {
        s.consts = static_cast<std::size_t>(int_param(n, "num_consts"));
        s.carries = static_cast<std::size_t>(int_param(n, "num_carry"));
        s.length = int_param(n, "length");
        s.reverse = flag_param(n, "reverse");
        if (s.consts + s.carries > n.in.size() || s.carries > n.out.size() || s.length < 0)
            throw Error(ErrorCode::BadInput, "expected a scan whose counts fit its operands");
    } else if (n.kind == NodeKind::While) {
        s.cond_consts = static_cast<std::size_t>(int_param(n, "cond_nconsts"));
        s.consts = static_cast<std::size_t>(int_param(n, "body_nconsts"));
        if (s.cond_consts + s.consts > n.in.size()) throw Error(ErrorCode::BadInput, "expected a while loop whose counts fit its operands");
        s.carries = n.in.size() - s.cond_consts - s.consts;
    }
    return s;
}
std::size_t first_carry(const LoopShape& s) { return s.cond_consts + s.consts; }

void check_body(const Node& n, const Graph& body, std::size_t inputs, std::size_t outputs) {
    if (body.inputs.size() != inputs || body.outputs.size() != outputs)
        throw Error(ErrorCode::BadInput, "expected a body of " + n.op.prim->name + " whose inputs and outputs fit the equation's");
}

/// Bytes from one element of a stacked operand to the next.
std::int64_t slice_bytes(const Aval& stacked, std::int64_t length) { return length ? stacked.bytes() / length : 0; }

}  // namespace

std::int64_t prepare_loop(Thunk& t, const Node& n, const ComputationOptions& outer) {
    ComputationOptions options = outer;
    options.place_io = false;
    options.kept.clear();
    t.kind = n.kind == NodeKind::Scan ? Thunk::Kind::Scan : n.kind == NodeKind::While ? Thunk::Kind::While : Thunk::Kind::Cond;
    std::int64_t scratch = 0;
    const auto reserve = [&](std::int64_t bytes) {
        const std::int64_t at = scratch;
        scratch = checked_add(scratch, checked_align(bytes, 64));
        return at;
    };
    if (n.kind == NodeKind::Cond) {
        std::int64_t arena = 0;
        for (const GraphPtr& b : n.bodies) {
            check_body(n, *b, n.in.size() - 1, n.out.size());
            t.bodies.push_back(Computation::build(b, {}, options));
            arena = std::max(arena, t.bodies.back()->arena_bytes);
        }
        t.body_arena = reserve(arena);
        return scratch;
    }
    const LoopShape s = shape_of(n);
    if (n.kind == NodeKind::While) {
        check_body(n, *n.bodies[0], s.cond_consts + s.carries, 1);
        check_body(n, *n.bodies[1], s.consts + s.carries, s.carries);
        t.bodies.push_back(Computation::build(n.bodies[0], {}, options));
    } else {
        check_body(n, *n.bodies[0], n.in.size(), n.out.size());
    }
    std::vector<std::optional<int>> alias(n.bodies.back()->outputs.size());
    for (std::size_t c = 0; c < s.carries; ++c) alias[c] = static_cast<int>(s.consts + c);
    t.bodies.push_back(Computation::build(n.bodies.back(), alias, options));
    const Computation& body = *t.bodies.back();
    for (std::size_t c = 0; c < s.carries; ++c) {
        const bool in_place = body.granted[c] == static_cast<int>(s.consts + c);
        t.carry_offsets.push_back(in_place ? -1 : reserve(n.op.out[c]->bytes()));
    }
    std::int64_t arena = body.arena_bytes;
    if (n.kind == NodeKind::While) arena = std::max(arena, t.bodies[0]->arena_bytes);
    t.body_arena = reserve(arena);
    reserve(64);  // the condition's result
    return scratch;
}

bool loop_in_place(const Thunk& t, const Node& n, std::size_t read, std::size_t write) {
    if (n.kind == NodeKind::Cond) return false;
    const LoopShape s = shape_of(n);
    return write < s.carries && read == first_carry(s) + write && t.carry_offsets[write] < 0;
}

namespace {

void poll(const RunState& state) {
    if (state.cancel && *state.cancel) throw Error(ErrorCode::Cancelled, "the run was cancelled");
}

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
        char* init = buffers[static_cast<std::size_t>(t.reads[first_carry(s) + c])];
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

void run_scan(const Thunk& t, const Node& n, const std::vector<char*>& buffers, char* scratch, const RunState& state) {
    const LoopShape s = shape_of(n);
    const Computation& body = *t.bodies[0];
    std::vector<Carry> carries = start_carries(t, n, s, buffers, scratch, s.length);
    std::vector<void*> in(n.in.size()), out(n.out.size());
    for (std::size_t i = 0; i < n.in.size(); ++i) in[i] = buffers[static_cast<std::size_t>(t.reads[i])];
    for (std::int64_t i = 0; i < s.length; ++i) {
        poll(state);
        const std::int64_t at = s.reverse ? s.length - 1 - i : i;
        for (std::size_t c = 0; c < s.carries; ++c) in[s.consts + c] = carries[c].now, out[c] = carries[c].next();
        for (std::size_t x = s.consts + s.carries; x < n.in.size(); ++x)
            in[x] = buffers[static_cast<std::size_t>(t.reads[x])] + at * slice_bytes(*n.op.in[x], s.length);
        for (std::size_t y = s.carries; y < n.out.size(); ++y)
            out[y] = buffers[static_cast<std::size_t>(t.writes[y])] + at * slice_bytes(*n.op.out[y], s.length);
        run_computation(body, in.data(), out.data(), scratch + t.body_arena, state);
        for (std::size_t c = 0; c < s.carries; ++c) carries[c].now = static_cast<char*>(out[c]);
    }
    finish_carries(t, carries, buffers);
}

void run_while(const Thunk& t, const Node& n, const std::vector<char*>& buffers, char* scratch, const RunState& state) {
    const LoopShape s = shape_of(n);
    std::vector<Carry> carries = start_carries(t, n, s, buffers, scratch, 0);
    std::vector<void*> cond_in(s.cond_consts + s.carries), body_in(s.consts + s.carries), out(s.carries);
    for (std::size_t i = 0; i < s.cond_consts; ++i) cond_in[i] = buffers[static_cast<std::size_t>(t.reads[i])];
    for (std::size_t i = 0; i < s.consts; ++i) body_in[i] = buffers[static_cast<std::size_t>(t.reads[s.cond_consts + i])];
    alignas(64) std::uint8_t condition[64] = {};
    void* condition_out[] = {condition};
    while (true) {
        poll(state);
        for (std::size_t c = 0; c < s.carries; ++c) cond_in[s.cond_consts + c] = body_in[s.consts + c] = carries[c].now;
        run_computation(*t.bodies[0], cond_in.data(), condition_out, scratch + t.body_arena, state);
        if (!condition[0]) break;
        for (std::size_t c = 0; c < s.carries; ++c) out[c] = carries[c].next();
        run_computation(*t.bodies[1], body_in.data(), out.data(), scratch + t.body_arena, state);
        for (std::size_t c = 0; c < s.carries; ++c) carries[c].now = static_cast<char*>(out[c]);
    }
    finish_carries(t, carries, buffers);
}

void run_cond(const Thunk& t, const Node& n, const std::vector<char*>& buffers, char* scratch, const RunState& state) {
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
    run_computation(*t.bodies[static_cast<std::size_t>(branch)], in.data(), out.data(), scratch + t.body_arena, state);
}

}  // namespace

void run_loop(const Thunk& t, const Node& n, const std::vector<char*>& buffers, const RunState& outer) {
    RunState state = outer;
    state.step_seconds = nullptr;
    char* scratch = t.scratch >= 0 ? buffers[static_cast<std::size_t>(t.scratch)] : nullptr;
    if (n.kind == NodeKind::Scan)
        run_scan(t, n, buffers, scratch, state);
    else if (n.kind == NodeKind::While)
        run_while(t, n, buffers, scratch, state);
    else
        run_cond(t, n, buffers, scratch, state);
}

}  // namespace jaxscope::exec
