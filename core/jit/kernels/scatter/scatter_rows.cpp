// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/scatter/scatter_rows.h"

#include <algorithm>
#include <limits>

#include "jit/kernels/wide_code.h"

namespace jaxscope::exec {

namespace {

/// Adds to each offset what its index says; `inside` becomes 0 where that is outside of the operand.
template <class Index>
JAXSCOPE_INLINED void add_each_offset(const Index* index, std::int64_t depth, std::int64_t count, Given g, bool clip, std::int64_t* offset,
                                      std::int64_t* inside) {
    const std::int64_t most = clip ? std::max<std::int64_t>(g.last, 0) : std::numeric_limits<std::int64_t>::max();
    const std::int64_t least = clip ? 0 : std::numeric_limits<std::int64_t>::min();
    for (std::int64_t r = 0; r < count; ++r) {
        const std::int64_t at = std::clamp<std::int64_t>(index[r * depth], least, most);
        const std::int64_t fits = at >= 0 && at <= g.last ? 1 : 0;
        inside[r] &= fits;
        offset[r] += fits != 0 ? at * g.stride : 0;
    }
}
/// Adds [begin, end) of each line of the updates to the operand's; the two are different memory.
template <class T>
JAXSCOPE_INLINED void add_each_line(T* __restrict target, const T* __restrict updates, const std::int64_t* operand,
                                    const std::int64_t* update, std::int64_t count, std::int64_t begin, std::int64_t end) {
    if (end - begin == 1) {
        for (std::int64_t w = 0; w < count; ++w) {
            T& a = target[operand[w] + begin];
            a = static_cast<T>(a + updates[update[w] + begin]);
        }
        return;
    }
    constexpr std::int64_t kAhead = 8;
    for (std::int64_t w = 0; w < count; ++w) {
        if (w + kAhead < count) __builtin_prefetch(target + operand[w + kAhead] + begin, 1);
        T* a = target + operand[w];
        const T* b = updates + update[w];
        for (std::int64_t i = begin; i < end; ++i) a[i] = static_cast<T>(a[i] + b[i]);
    }
}
}  // namespace

#define JAXSCOPE_ADD_OFFSETS(T)                                                                                                      \
    JAXSCOPE_WIDE void add_offsets(const T* index, std::int64_t depth, std::int64_t count, Given g, bool clip, std::int64_t* offset, \
                                   std::int64_t* inside) {                                                                           \
        add_each_offset(index, depth, count, g, clip, offset, inside);                                                               \
    }
JAXSCOPE_ADD_OFFSETS(std::int32_t)
JAXSCOPE_ADD_OFFSETS(std::uint32_t)
JAXSCOPE_ADD_OFFSETS(std::int64_t)
#undef JAXSCOPE_ADD_OFFSETS

// Without a branch: which they are may be random.
std::int64_t keep_between(std::int64_t count, const std::int64_t* __restrict inside, std::int64_t first, std::int64_t last,
                          const std::int64_t* __restrict operand, const std::int64_t* __restrict update,
                          std::int64_t* __restrict kept_operand, std::int64_t* __restrict kept_update) {
    std::int64_t kept = 0;
    const auto length = static_cast<std::uint64_t>(last - first);
    for (std::int64_t i = 0; i < count; ++i) {
        kept_operand[kept] = operand[i], kept_update[kept] = update[i];
        kept += inside[i] & static_cast<std::int64_t>(static_cast<std::uint64_t>(operand[i] - first) < length);
    }
    return kept;
}

#define JAXSCOPE_ADD_LINES(T)                                                                                           \
    JAXSCOPE_WIDE void add_lines(T target[], const T* updates, const std::int64_t* operand, const std::int64_t* update, \
                                 std::int64_t count, std::int64_t begin, std::int64_t end) {                            \
        add_each_line(target, updates, operand, update, count, begin, end);                                             \
    }
JAXSCOPE_EACH_ADDED_TYPE(JAXSCOPE_ADD_LINES)
#undef JAXSCOPE_ADD_LINES

}  // namespace jaxscope::exec
