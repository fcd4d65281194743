// SPDX-License-Identifier: Apache-2.0
#include "jit/plan/loops.h"

#include <algorithm>

#include "base/checked.h"

namespace jaxscope::exec {

namespace {

std::int64_t int_param(const Node& n, Sym name) {
    const Attr* a = n.op().params->find(name);
    const auto* v = a ? a->get<std::int64_t>() : nullptr;
    if (!v) throw Error(ErrorCode::BadInput, "expected an integer in parameter " + name.str());
    return *v;
}
bool flag_param(const Node& n, Sym name) {
    const Attr* a = n.op().params->find(name);
    return a && a->get<bool>() && *a->get<bool>();
}

}  // namespace

LoopShape loop_shape(const Node& n) {
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

namespace {

void check_body(const Node& n, const Graph& body, std::size_t inputs, std::size_t outputs) {
    if (body.inputs.size() != inputs || body.outputs.size() != outputs)
        throw Error(ErrorCode::BadInput,
                    std::string("expected a body of ") + n.op().prim->name + " whose inputs and outputs fit the equation's");
}

}  // namespace

std::int64_t prepare_loop(Thunk& t, const Node& n, const PlanBody& plan_body, std::int64_t alignment) {
    t.kind = n.kind == NodeKind::Scan ? Thunk::Kind::Scan : n.kind == NodeKind::While ? Thunk::Kind::While : Thunk::Kind::Cond;
    std::int64_t scratch = 0;
    const auto reserve = [&](std::int64_t bytes) {
        const std::int64_t at = scratch;
        scratch = checked_add(scratch, checked_align(bytes, alignment));
        return at;
    };
    if (n.kind == NodeKind::Cond) {
        std::int64_t arena = 0;
        for (const GraphPtr& b : n.bodies) {
            check_body(n, *b, n.in.size() - 1, n.out.size());
            t.bodies.push_back(plan_body(b, {}));
            arena = std::max(arena, t.bodies.back()->arena_bytes);
        }
        t.body_arena = reserve(arena);
        return scratch;
    }
    const LoopShape s = loop_shape(n);
    if (n.kind == NodeKind::While) {
        check_body(n, *n.bodies[0], s.cond_consts + s.carries, 1);
        check_body(n, *n.bodies[1], s.consts + s.carries, s.carries);
        t.bodies.push_back(plan_body(n.bodies[0], {}));
    } else {
        check_body(n, *n.bodies[0], n.in.size(), n.out.size());
    }
    std::vector<std::optional<int>> alias(n.bodies.back()->outputs.size());
    for (std::size_t c = 0; c < s.carries; ++c) alias[c] = static_cast<int>(s.consts + c);
    t.bodies.push_back(plan_body(n.bodies.back(), alias));
    const Computation& body = *t.bodies.back();
    for (std::size_t c = 0; c < s.carries; ++c) {
        const bool in_place = body.granted[c] == static_cast<int>(s.consts + c);
        t.carry_offsets.push_back(in_place ? -1 : reserve(n.op().out[c]->bytes()));
    }
    std::int64_t arena = body.arena_bytes;
    if (n.kind == NodeKind::While) arena = std::max(arena, t.bodies[0]->arena_bytes);
    t.body_arena = reserve(arena);
    reserve(64);  // the condition's result
    return scratch;
}

bool loop_in_place(const Thunk& t, const Node& n, std::size_t read, std::size_t write) {
    if (n.kind == NodeKind::Cond) return false;
    const LoopShape s = loop_shape(n);
    return write < s.carries && read == s.first_carry() + write && t.carry_offsets[write] < 0;
}

}  // namespace jaxscope::exec
