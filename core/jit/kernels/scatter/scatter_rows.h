// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <complex>
#include <cstdint>

#include "jit/kernels/narrow_floats.h"

namespace jaxscope::exec {

/// A dimension of the operand of which an index says where the window begins.
struct Given {
    std::int64_t last, stride;
};
/// Adds to each of `count` offsets what its index says, which stand `depth` apart; `inside` becomes 0 where that is outside of the operand.
void add_offsets(const std::int32_t* index, std::int64_t depth, std::int64_t count, Given g, bool clip, std::int64_t* offset,
                 std::int64_t* inside);
void add_offsets(const std::uint32_t* index, std::int64_t depth, std::int64_t count, Given g, bool clip, std::int64_t* offset,
                 std::int64_t* inside);
void add_offsets(const std::int64_t* index, std::int64_t depth, std::int64_t count, Given g, bool clip, std::int64_t* offset,
                 std::int64_t* inside);
/// Copies the places of windows that lie inside and begin in [first, last), and returns how many these are.
std::int64_t keep_between(std::int64_t count, const std::int64_t* inside, std::int64_t first, std::int64_t last,
                          const std::int64_t* operand, const std::int64_t* update, std::int64_t* kept_operand, std::int64_t* kept_update);

/// The types whose lines are added by the function below.
#define JAXSCOPE_EACH_ADDED_TYPE(made_for)                                                                                               \
    made_for(float) made_for(double) made_for(Bf16) made_for(F16) made_for(std::uint8_t) made_for(std::uint16_t) made_for(std::uint32_t) \
        made_for(std::uint64_t) made_for(std::complex<float>) made_for(std::complex<double>)

/// Adds [begin, end) of each line of the updates to the operand's; the two are different memory.
#define JAXSCOPE_ADD_LINES(T)                                                                                                 \
    void add_lines(T target[], const T* updates, const std::int64_t* operand, const std::int64_t* update, std::int64_t count, \
                   std::int64_t begin, std::int64_t end);
JAXSCOPE_EACH_ADDED_TYPE(JAXSCOPE_ADD_LINES)
#undef JAXSCOPE_ADD_LINES

}  // namespace jaxscope::exec
