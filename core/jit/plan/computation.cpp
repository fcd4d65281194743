// SPDX-License-Identifier: Apache-2.0
#include "jit/plan/computation.h"

namespace jaxscope::exec {

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
