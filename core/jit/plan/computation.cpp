// SPDX-License-Identifier: Apache-2.0
#include "jit/plan/computation.h"

namespace jaxscope::exec {

void collect_kernels(const Computation& c, std::vector<std::shared_ptr<const Kernel>>& out) {
    for (const Thunk& t : c.thunks) {
        if (t.kernel) out.push_back(t.kernel);
        for (const ComputationPtr& b : t.bodies) collect_kernels(*b, out);
    }
}

void attach_code(Computation& c, const std::vector<KernelFunction>& code, std::size_t& next) {
    for (Thunk& t : c.thunks) {
        if (t.kernel) t.function = code[next++];
        for (const ComputationPtr& b : t.bodies) attach_code(const_cast<Computation&>(*b), code, next);
    }
}

}  // namespace jaxscope::exec
