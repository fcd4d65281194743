// SPDX-License-Identifier: Apache-2.0
#include "jit/codegen/checked_index.h"

#include <mutex>
#include <utility>

namespace jaxscope::exec {

namespace {

std::mutex mutex;
std::optional<BadIndex> first;

}  // namespace

std::int64_t checked_index(std::int64_t index, std::int64_t size) {
    if (static_cast<std::uint64_t>(index) < static_cast<std::uint64_t>(size)) return index;
    const std::lock_guard lock(mutex);
    if (!first) first = BadIndex{index, size};
    return 0;
}

std::optional<BadIndex> take_bad_index() {
    const std::lock_guard lock(mutex);
    return std::exchange(first, std::nullopt);
}

}  // namespace jaxscope::exec
