// SPDX-License-Identifier: Apache-2.0
#include "api/file_bytes.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "base/error.h"

namespace jaxscope::jax::detail {

std::string file_bytes(const std::string& path, const char* what) {
    std::ifstream in(path, std::ios::binary);
    if (!in) throw Error(ErrorCode::NotFound, fmt::format("expected {}, found no file '{}'", what, path));
    try {
        return {std::istreambuf_iterator<char>(in), {}};
    } catch (const std::ios_base::failure&) {
        throw Error(ErrorCode::BadInput, fmt::format("expected {}, found '{}', which can't be read as a file", what, path));
    }
}

}  // namespace jaxscope::jax::detail
