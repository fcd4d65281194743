// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace jaxscope {

struct WriteOptions {
    bool compress = true;                ///< zstd
    std::int64_t inline_elements = 256;  ///< arrays of more stand in the archive
};

}  // namespace jaxscope
