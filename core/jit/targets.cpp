// SPDX-License-Identifier: Apache-2.0
#include "jit/targets.h"

#include <algorithm>
#include <string>

#include "base/checked.h"
#include "base/suggest.h"

namespace jaxscope {

namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30, kMiB = std::int64_t{1} << 20;

/// tests/bench/foresight/compare.py prints it, docs/foresight.md has the table; tests/cli/test_estimates.py holds it to the corpus.
constexpr const char* kV5p =
    "of 132 train steps measured, 109 were within 10 % of XLA's peak, 129 within 25 % (from -18 % to +35 %); of the 32 that were held out "
    "25 and 32; of 70 under derived policies of eight programs 64 and 69 (from -11 % to +27 %)";
constexpr const char* kV5e =
    "of 123 train steps measured, 102 were within 10 % of XLA's peak, 117 within 25 % (from -18 % to +45 %); of the 28 that were held out "
    "23 and 28";

constexpr const char* kShardedV5p =
    "of 23 steps measured (a transformer in eight layouts over 4 to 256 devices), 17 were within 10 % of XLA's peak, 19 within 25 % (from "
    "-43 % to +35 %)";

const TargetDevice kDevices[] = {
    {"tpu:v5p", "TPU v5", kGiB * 9574 / 100, 128, 8, 0, true, true, kV5p, kShardedV5p},
    {"tpu:v5e", "TPU v5 lite", kGiB * 1575 / 100, 128, 8, kMiB * 100, true, true, kV5e, nullptr},
};

}  // namespace

std::span<const TargetDevice> target_devices() { return kDevices; }

const TargetDevice& target_device(std::string_view name) {
    std::string known;
    std::vector<std::string_view> names;
    for (const TargetDevice& d : kDevices) {
        const std::string_view own = d.name;
        if (name == own || (name.starts_with(own) && name.substr(own.size()).starts_with(":"))) return d;
        known += (known.empty() ? "" : ", ") + std::string(own);
        names.push_back(own);
    }
    throw unknown_name(ErrorCode::NotFound, "expected a target that estimates were measured for (" + known + ")", name, names);
}

namespace {

std::int64_t up(std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; }

std::int64_t element_bytes(const Aval& aval) { return std::max<std::int64_t>(aval.bytes() / aval.size(), 1); }

/// With dimension `minor` in lanes and `second` in sublanes.
std::int64_t tiled_bytes(const Aval& aval, const TargetDevice& device, std::size_t minor, std::size_t second) {
    const Dims& shape = aval.shape;
    // Fewer rows than a tile has: XLA takes a smaller tile.
    const std::int64_t rows = shape[second] >= device.sublanes ? up(shape[second], device.sublanes)
                              : shape[second] <= 2             ? shape[second]
                                                               : std::min(device.sublanes, up(shape[second], 4));
    const std::int64_t others = aval.size() / (shape[minor] * shape[second]);
    return checked_mul(checked_mul(others, checked_mul(rows, up(shape[minor], device.lanes))), element_bytes(aval));
}

}  // namespace

std::int64_t padded_bytes(const Aval& aval, const TargetDevice& device) {
    if (aval.size() == 0 || aval.bytes() == 0) return aval.bytes();
    const Dims& shape = aval.shape;
    // Of one dimension, or scalars: whole rows of lanes.
    if (shape.size() < 2) return checked_mul(up(aval.size(), device.lanes), element_bytes(aval));
    std::int64_t least = 0;
    for (std::size_t minor = 0; minor < shape.size(); ++minor)
        for (std::size_t second = 0; second < shape.size(); ++second) {
            if (second == minor) continue;
            const std::int64_t all = tiled_bytes(aval, device, minor, second);
            least = least == 0 ? all : std::min(least, all);
        }
    return least;
}

std::int64_t padded_bytes(const Aval& aval, const TargetDevice& device, int minor, int second) {
    if (aval.size() == 0 || aval.bytes() == 0) return aval.bytes();
    return tiled_bytes(aval, device, static_cast<std::size_t>(minor), static_cast<std::size_t>(second));
}

}  // namespace jaxscope
