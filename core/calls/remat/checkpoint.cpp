// SPDX-License-Identifier: Apache-2.0
#include "calls/remat/remat.h"

#include "calls/families.h"
#include "transforms/jaxpr_util.h"

namespace jaxscope {

JaxprPtr checkpoint(const JaxprPtr& j, const PolicyPtr& policy, SourceRef source) {
    JaxprBuilder b;
    const Values in = b.add_signature(*j);
    const JaxprPtr body = convert_constvars(j);
    RematParams p;
    p.jaxpr = {body, false};
    p.policy = policy;
    p.prevent_cse = Attr(true);
    b.source = source;
    const Values out = b.emit(kRemat, in, make_params(p), body->out_avals(), body->effects);
    return b.finish(out, j->name);
}

JaxprPtr replace_policy(const JaxprPtr& j, const std::function<bool(const Eqn&)>& chosen, const PolicyPtr& policy, int* found) {
    int picked = 0;
    DoneJaxprs done;
    JaxprPtr out = map_params(
        j,
        [&](const Eqn& e, ParamsRef inside) {
            if (e.prim->flow != Flow::Remat || e.params->as<RematParams>().differentiated || !chosen(e)) return inside;
            ++picked;
            return with_param(inside, "policy", to_attr(policy));
        },
        done);
    if (found) *found = picked;
    return out;
}

}  // namespace jaxscope
