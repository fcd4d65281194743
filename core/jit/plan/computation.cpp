// SPDX-License-Identifier: Apache-2.0
#include "jit/plan/computation.h"

namespace jaxscope::exec {

void collect_kernels(const Computation& c, std::vector<std::shared_ptr<const Kernel>>& out) {
    for (const Thunk& t : c.thunks) {
        if (t.kernel) out.push_back(t.kernel);
        for (const ComputationPtr& b : t.bodies) collect_kernels(*b, out);
    }
}

std::vector<const Computation::PoolEntry*> constants_of_bodies(const Thunk& loop) {
    std::vector<const Computation::PoolEntry*> out;
    for (const ComputationPtr& b : loop.bodies) {
        for (const Computation::PoolEntry& e : b->pool) out.push_back(&e);
        for (const Thunk& t : b->thunks) {
            const auto inner = constants_of_bodies(t);
            out.insert(out.end(), inner.begin(), inner.end());
        }
    }
    return out;
}

}  // namespace jaxscope::exec
