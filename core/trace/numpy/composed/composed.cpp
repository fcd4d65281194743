// SPDX-License-Identifier: Apache-2.0
#include "trace/numpy/composed/composed.h"

#include <jaxscope/numpy.h>

#include "base/error.h"
#include "lax/jitted.h"
#include "trace/promote.h"
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

std::vector<Array> arrays_of_one_type(const std::vector<Array>& in, bool to_inexact) {
    const std::vector<Operand> operands(in.begin(), in.end());
    return apply(operands, Where("", 0, ""), [&](Builder& b, const Values& v) { return of_one_type(b, v, to_inexact); });
}
std::vector<Array> promoted_arrays(const std::vector<Array>& in, bool to_inexact) {
    const std::vector<Operand> operands(in.begin(), in.end());
    return apply(operands, Where("", 0, ""), [&](Builder& b, const Values& v) { return promoted(b, v, to_inexact); });
}
Array inexact_of(const Array& a) {
    return apply1({Operand(a)}, [](Builder& b, const Values& v) { return inexact_operand(b, v[0]); });
}
Array with_rank(const Array& x, int rank) {
    std::vector<std::int64_t> lead;
    for (int d = x.ndim(); d < rank; ++d) lead.push_back(d - x.ndim());
    return lead.empty() ? x : numpy::expand_dims(x, lead);
}

}  // namespace jaxscope::jax::detail
