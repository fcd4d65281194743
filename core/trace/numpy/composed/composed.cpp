// SPDX-License-Identifier: Apache-2.0
#include "trace/numpy/composed/composed.h"

#include "base/error.h"
#include "lax/jitted.h"
#include "trace/trace.h"

namespace jaxscope::jax::detail {

std::vector<Array> composed(const char* name, const std::string& key, const std::vector<Operand>& in, const Body& body) {
    const Where where = in.front().where;
    return apply(in, where, [&](Builder& b, const Values& v) {
        const std::function<JaxprPtr(const Avals&)> trace = [&](const Avals& avals) {
            const InUsersLine line(where);
            Trace t("jit", name);
            std::vector<Array> operands;
            for (const AvalRef a : avals) operands.push_back(t.input(a));
            return t.finish(body(operands)).jaxpr;
        };
        return ::jaxscope::jitted(b, name, key, v, trace);
    });
}
Array composed_one(const char* name, const std::string& key, const std::vector<Operand>& in,
                   const std::function<Array(const std::vector<Array>&)>& body) {
    return composed(name, key, in, [&](const std::vector<Array>& v) { return std::vector<Array>{body(v)}; }).front();
}
std::vector<Array> in_line(const std::vector<Operand>& in, const Body& body) {
    const InUsersLine line(in.front().where);
    const std::vector<Array> operands = apply(in, in.front().where, [](Builder&, const Values& v) { return v; });
    try {
        const std::vector<Array> out = body(operands);
        for (const Array& a : out)
            for (const Operand& o : in) belongs_to(a, o);
        return out;
    } catch (Error& e) {
        e.at({in.front().where.file, in.front().where.line, 0});
        throw;
    }
}

}  // namespace jaxscope::jax::detail
