// SPDX-License-Identifier: Apache-2.0
#include "calls/sharding/sharded_call.h"

#include "calls/call_params.h"
#include "calls/control_flow.h"
#include "calls/families.h"
#include "ir/print/text_form.h"

// A sharded_jit inside of another traced function. Its seed gives it a lowering alone; where everything runs on one device, its body stands
// for it. The specs are as many as the operands, which transformations would change.
namespace jaxscope {

namespace {

Avals eval_sharded_call(const Op& op) {
    op.as<ShardedCallParams>();
    return called_avals(op, *body_of(op, "call_jaxpr").jaxpr);
}
constexpr HiddenParam kHidden[] = {{"out_parts", [](const Attr&, const PrintedEqn&) { return true; }}};
constexpr TextForm kText{.hidden = kHidden};
constexpr const char* kOutside = "sharded_jit has one specification for each operand: transform the function inside of it";

}  // namespace

constinit const Primitive kShardedCall{.name = "sharded_call",
                                       .abstract_eval = eval_sharded_call,
                                       .jvp = NoRule{kOutside},
                                       .transpose = NoRule{kOutside},
                                       .batch = NoRule{kOutside},
                                       .lower = NoRule{"its body stands for it"},
                                       .flow = Flow::Call,
                                       .body = "call_jaxpr",
                                       .text = &kText};

std::span<const Primitive* const> sharded_call_primitives() {
    static constexpr const Primitive* all[] = {&kShardedCall};
    return all;
}

}  // namespace jaxscope
