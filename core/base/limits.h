// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace jaxscope {

/// Every limit that files are held to; `jaxscope --limits` prints them, each is tested one below and one above.
struct Limit {
    const char* name;
    std::size_t value;
    const char* what;
};

constexpr Limit kMaxNesting{"nesting", 256, "jaxprs inside jaxprs, counted through references"};
constexpr Limit kMaxRank{"rank", 64, "dimensions of an array"};
constexpr Limit kMaxExpansion{"expansion", 200, "uncompressed size of a compressed capture, in multiples of the compressed size"};
constexpr Limit kMaxFileBytes{"file-bytes", std::size_t{4} << 30, "uncompressed bytes of a capture"};
constexpr Limit kMaxJsonDepth{"json-depth", 1000, "JSON values inside each other"};
constexpr Limit kMaxFollowedEqns{
    "followed-equations", 4'000'000,
    "equations to differentiate, plan or run, every call of a shared jaxpr counted (or 8 times those that are there)"};
constexpr Limit kMaxEmbeddedText{"embedded-text", std::size_t{32} << 20,
                                 "bytes of the programs printed inside equations (custom_linear_solve)"};

std::string limits_text();

/// Bytes of this machine's memory.
std::int64_t machine_memory();

}  // namespace jaxscope
