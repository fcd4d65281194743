// SPDX-License-Identifier: Apache-2.0
#include "base/zero_bytes.h"

#include "base/error.h"

namespace jaxscope {

void refuse_zero_bytes(std::string_view chunk, std::int64_t before, const std::string& name) {
    const std::size_t zero = chunk.find('\0');
    if (zero == std::string_view::npos) return;
    throw Error(ErrorCode::BadInput,
                "expected JSON, found a zero byte at byte " + std::to_string(before + static_cast<std::int64_t>(zero) + 1))
        .at({name, 0, 0});
}

}  // namespace jaxscope
