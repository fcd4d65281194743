// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>

namespace jaxscope::exec {

/// What generated code calls in debug mode before it reads or writes element `index` of a buffer of `size` elements. Returns an index
/// inside, and notes the first one that was not: code that is generated can't throw.
std::int64_t checked_index(std::int64_t index, std::int64_t size);

struct BadIndex {
    std::int64_t index = 0, size = 0;
};
/// The one that was noted since the last call, on any thread.
std::optional<BadIndex> take_bad_index();

}  // namespace jaxscope::exec
