// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ir/params.h"

namespace jaxscope {

/// Inputs: keys, and the parameter of each sample. Samples are logarithms with `log_space`.
struct RandomGammaParams {
    bool log_space = false;
    static constexpr auto kFields = std::tuple(field("log_space", &RandomGammaParams::log_space));
};

}  // namespace jaxscope
