// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>

#include <jaxscope/kept.h>

namespace jaxscope::jax::detail {

class Kept {
public:
    std::atomic<int> refs{1};
    virtual ~Kept() = default;
};

}  // namespace jaxscope::jax::detail
