// SPDX-License-Identifier: Apache-2.0
#include "calls/remat/remat_lowering.h"

#include "base/suggest.h"
#include "base/text.h"
#include "calls/control_flow.h"
#include "ir/interpret.h"
#include "lax/ops.h"
#include "lax/primitives.h"
#include "transforms/jaxpr_util.h"

namespace jaxscope {

namespace {

Value drawn(Builder& b, Value low, Value high) { return b.bind1(kRngUniform, {low, high}, Params::make({{"shape", Attr::tuple({})}})); }
Value number(DType d, std::int64_t v) {
    return is_float(d) ? make_literal(AvalRef(d, {}), static_cast<double>(v)) : make_literal(AvalRef(d, {}), v);
}

Values inputs_like(JaxprBuilder& b, const Avals& types) {
    Values in;
    for (const AvalRef a : types) in.push_back(b.add_input(a));
    return in;
}

/// `if (draw(0, 1) < 2) body else anything`.
JaxprPtr in_branch(const JaxprPtr& body) {
    JaxprBuilder otherwise;
    inputs_like(otherwise, body->in_avals());
    Values nothing;
    for (const AvalRef a : body->out_avals()) nothing.push_back(empty_like(otherwise, a));
    CondParams p;
    p.branches = {otherwise.finish(nothing), body};

    JaxprBuilder b;
    Values in = inputs_like(b, body->in_avals());
    const Value taken = lax::lt(b, drawn(b, number(DType::F32, 0), number(DType::F32, 1)), number(DType::F32, 2));
    in.insert(in.begin(), lax::convert_element_type(b, taken, DType::S32));
    return b.finish(b.emit(kCond, in, make_params(p), body->out_avals(), body->effects));
}

/// `for (i = 0; i < draw(1, 2); ++i) results = body(inputs)`; the inputs are carried, as the body would be moved before the loop else.
JaxprPtr in_loop(const JaxprPtr& body) {
    const Avals in_types = body->in_avals(), out_types = body->out_avals();
    const Avals carried = joined(Avals{AvalRef(DType::S32, {})}, out_types, in_types);
    const std::size_t num_out = out_types.size();

    JaxprBuilder condition;
    const Values at_test = inputs_like(condition, carried);
    const Value end = drawn(condition, number(DType::S32, 1), number(DType::S32, 2));
    JaxprBuilder step;
    const Values at_step = inputs_like(step, carried);
    Values next{lax::add(step, at_step[0], number(DType::S32, 1))};
    const Values given = rest(at_step, 1 + num_out);
    next = joined(next, inline_evaluated(step, *body, {}, given), given);
    WhileParams p;
    p.cond_jaxpr = {condition.finish({lax::lt(condition, at_test[0], end)}), true};
    p.body_jaxpr = {step.finish(next), true};

    JaxprBuilder b;
    const Values in = inputs_like(b, in_types);
    Values init{number(DType::S32, 0)};
    for (const AvalRef a : out_types) init.push_back(empty_like(b, a));
    const Values out = b.emit(kWhile, joined(init, in), make_params(p), carried, joined_effects({p.cond_jaxpr.jaxpr, p.body_jaxpr.jaxpr}));
    return b.finish(part(out, 1, num_out));
}

constexpr const char* kNames[] = {"barrier", "while", "cond"};

}  // namespace

const char* remat_lowering_name(RematLowering form) { return kNames[static_cast<std::size_t>(form)]; }

RematLowering parse_remat_lowering(std::string_view name) {
    for (std::size_t i = 0; i < std::size(kNames); ++i)
        if (name == kNames[i]) return static_cast<RematLowering>(i);
    throw unknown_name(ErrorCode::BadUsage, "expected barrier, while or cond as the lowering of checkpoints", name, views_of(kNames));
}

JaxprPtr lowered_remat(const JaxprPtr& body, RematLowering form) {
    if (form == RematLowering::Barrier) return body;
    const JaxprPtr open = convert_constvars(body);
    if (open->num_invars != body->num_invars)
        throw Error(ErrorCode::BadInput, "expected a checkpointed function without constants of its own");
    return form == RematLowering::While ? in_loop(open) : in_branch(open);
}

}  // namespace jaxscope
