// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/products/dot_core.h"

namespace jaxscope::exec {

namespace {

std::int64_t turns(const std::vector<DotLoop>& loops) {
    std::int64_t n = 1;
    for (const DotLoop& l : loops) n *= l.size;
    return n;
}
DotLoop turn(const std::vector<DotLoop>& loops, std::int64_t index) {
    DotLoop at{1, 0, 0, 0};
    for (std::size_t l = loops.size(); l-- > 0;) {
        const DotLoop& loop = loops[l];
        const std::int64_t i = index % loop.size;
        index /= loop.size;
        at.lhs += i * loop.lhs, at.rhs += i * loop.rhs, at.out += i * loop.out;
    }
    return at;
}

}  // namespace

std::int64_t DotShape::count() const { return turns(loops); }
DotLoop DotShape::place(std::int64_t index) const { return turn(loops, index); }
std::int64_t DotShape::sum_count() const { return turns(sums); }
DotLoop DotShape::sum_place(std::int64_t index) const { return turn(sums, index); }

}  // namespace jaxscope::exec
