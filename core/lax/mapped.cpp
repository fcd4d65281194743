// SPDX-License-Identifier: Apache-2.0
#include "lax/mapped.h"

#include "ir/interpret.h"
#include "lax/rule_support.h"

namespace jaxscope {

namespace {

Values one_level(Builder& b, const Jaxpr& body, std::int64_t size, const Values& in) {
    Interpreter run(body, {.builder = &b, .doing = "batching"}, LiteralAsValue(), Value(), kNotMapped);
    run.bind_inputs(in, std::vector<int>(in.size(), 0));
    BatchResult r = run.forward([&](const Eqn& e, const Values& x, const std::vector<int>& dims) -> BatchResult {
        const Op op = make_op(body, e, b.source);
        if (std::all_of(dims.begin(), dims.end(), [](int d) { return d == kNotMapped; }))
            return {b.emit(*op.prim, x, op.params, op.out), std::vector<int>(op.out.size(), kNotMapped)};
        JAXSCOPE_ASSERT(op.prim->batch);
        return op.prim->batch.fn(b, op, x, dims, size);
    });
    for (std::size_t k = 0; k < r.out.size(); ++k) r.out[k] = batch_to_front(b, r.out[k], r.out_dims[k], size);
    return r.out;
}

}  // namespace

Values vmapped(Builder& b, const JaxprPtr& body, const Dims& batch, const Values& in) {
    JaxprPtr j = body;
    for (std::size_t d = batch.size(); d-- > 1;) {
        JaxprBuilder level;
        Values x;
        for (const AvalRef a : j->in_avals()) x.push_back(level.add_input(with_shape(a, with_front(batch[d], a->shape))));
        const Values out = one_level(level, *j, batch[d], x);
        j = level.finish(out, body->name);
    }
    return one_level(b, *j, batch[0], in);
}

}  // namespace jaxscope
