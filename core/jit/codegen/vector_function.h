// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace jaxscope::exec {

/// What computes a function of the C library for several numbers at a time.
struct VectorFunction {
    std::string scalar, name;
    unsigned lanes;
    void* address;
};

}  // namespace jaxscope::exec
