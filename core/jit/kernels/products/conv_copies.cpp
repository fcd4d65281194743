// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/products/conv_copies.h"

#include <cstdlib>
#include <cstring>
#include <numeric>

#include "jit/kernels/products/converted_lines.h"

namespace jaxscope::exec {

namespace {

/// Dimensions from the outermost in memory to the innermost.
std::vector<std::size_t> order_in_memory(const ConvSide& s) {
    std::vector<std::size_t> order(s.size.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return std::abs(s.stride[a]) > std::abs(s.stride[b]); });
    return order;
}

struct Loop {
    std::int64_t size, from, to;
};
/// Loops over all elements, the innermost last; dimensions that lie in one piece on both sides are one.
std::vector<Loop> loops_of(const ConvSide& from, const ConvSide& to) {
    std::vector<Loop> out;
    for (const std::size_t d : order_in_memory(to)) {
        if (to.size[d] == 1) continue;
        const Loop loop{to.size[d], from.stride[d], to.stride[d]};
        Loop* outer = out.empty() ? nullptr : &out.back();
        if (outer != nullptr && outer->from == loop.size * loop.from && outer->to == loop.size * loop.to)
            *outer = {outer->size * loop.size, loop.from, loop.to};
        else
            out.push_back(loop);
    }
    if (out.empty()) out.push_back({1, 1, 1});
    return out;
}

void copy_line(const std::byte* from, DType from_type, std::byte* to, DType to_type, const Loop& line) {
    const std::int64_t width = byte_size(from_type), to_width = byte_size(to_type);
    if (from_type == to_type && line.from == 1 && line.to == 1)
        std::memcpy(to, from, static_cast<std::size_t>(line.size * width));
    else if (from_type == to_type)
        for (std::int64_t i = 0; i < line.size; ++i)
            std::memcpy(to + i * line.to * width, from + i * line.from * width, static_cast<std::size_t>(width));
    else if (to_type == DType::F32 && line.to == 1)
        widen_line(from, from_type, line.size, line.from, reinterpret_cast<float*>(to));
    else if (to_type == DType::F32)
        for (std::int64_t i = 0; i < line.size; ++i)
            widen_line(from + i * line.from * width, from_type, 1, 1, reinterpret_cast<float*>(to + i * line.to * to_width));
    else if (line.from == 1)
        narrow_line(reinterpret_cast<const float*>(from), to_type, line.size, line.to, to);
    else
        for (std::int64_t i = 0; i < line.size; ++i)
            narrow_line(reinterpret_cast<const float*>(from + i * line.from * width), to_type, 1, 1, to + i * line.to * to_width);
}

}  // namespace

ConvSide ConvSide::without_gaps() const {
    ConvSide s;
    s.size = size, s.stride = Dims(size.size(), 1);
    std::int64_t stride_here = 1;
    const std::vector<std::size_t> order = order_in_memory(*this);
    for (std::size_t i = order.size(); i-- > 0;) s.stride[order[i]] = stride_here, stride_here *= size[order[i]];
    return s;
}

void copy_side(const ConvSide& from, DType from_type, const void* from_base, const ConvSide& to, DType to_type, void* to_base) {
    if (from.elements() == 0) return;
    const std::vector<Loop> loops = loops_of(from, to);
    const Loop& line = loops.back();
    Dims at(loops.size() - 1, 0);
    for (;;) {
        std::int64_t source = from.first, target = to.first;
        for (std::size_t d = 0; d < at.size(); ++d) source += at[d] * loops[d].from, target += at[d] * loops[d].to;
        copy_line(static_cast<const std::byte*>(from_base) + source * byte_size(from_type), from_type,
                  static_cast<std::byte*>(to_base) + target * byte_size(to_type), to_type, line);
        std::size_t d = at.size();
        while (d-- > 0) {
            if (++at[d] < loops[d].size) break;
            at[d] = 0;
        }
        if (d == SIZE_MAX) return;
    }
}

}  // namespace jaxscope::exec
