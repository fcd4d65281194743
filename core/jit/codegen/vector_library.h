// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>

namespace jaxscope::exec {

/// What computes a function of the C library for several numbers at a time.
struct VectorFunction {
    std::string scalar, name;
    unsigned lanes;
    void* address;
};
/// glibc's libmvec, for the vectors of this processor; none where there is no such library. At most 4 units in the last place off. And
/// fmodf, which is exact (vector_remainder.h).
std::span<const VectorFunction> vector_functions();

}  // namespace jaxscope::exec
