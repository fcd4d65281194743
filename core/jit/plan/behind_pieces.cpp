// SPDX-License-Identifier: Apache-2.0
#include "jit/plan/behind_pieces.h"

#include <algorithm>

namespace jaxscope::exec {

namespace {

/// Does each task of the kernel read of `buffer` what stands at its own place alone? Then its result may be there as far as the task goes.
bool reads_own_places(const Thunk& t, int buffer) {
    const std::int64_t elements = t.kernel->rows * t.kernel->cols;
    bool reads = false;
    for (std::size_t e = 0; e < t.kernel->externs.size(); ++e) {
        if (t.reads[e] != buffer) continue;
        if (!t.kernel->externs[e].own_index || t.kernel->externs[e].aval->size() != elements) return false;
        reads = true;
    }
    return reads;
}

bool overlap(const Computation& c, int a, int b) {
    const Buffer &x = c.buffers[static_cast<std::size_t>(a)], &y = c.buffers[static_cast<std::size_t>(b)];
    return a == b || (x.offset >= 0 && y.offset >= 0 && x.offset < y.offset + y.bytes && y.offset < x.offset + x.bytes);
}

/// Does the kernel write nothing that the product reads or works in, but for the result itself?
bool leaves_operands(const Computation& c, const Thunk& product, const Thunk& kernel) {
    const auto free = [&](int written) {
        if (written == product.writes[0]) return true;
        if (product.scratch >= 0 && overlap(c, written, product.scratch)) return false;
        return std::ranges::none_of(product.reads, [&](int read) { return overlap(c, written, read); });
    };
    return std::ranges::all_of(kernel.writes, free) && (kernel.scratch < 0 || free(kernel.scratch));
}

}  // namespace

void join_pieces(Computation& c) {
    constexpr std::int64_t kLeavesCache = 4 << 20;  // bytes; below nothing is won, measured
    if (c.guarded) return;
    for (std::size_t s = 0; s + 1 < c.thunks.size(); ++s) {
        Thunk& product = c.thunks[s];
        const Thunk& next = c.thunks[s + 1];
        if (!product.library || product.writes.size() != 1 || !next.kernel) continue;
        if (c.buffers[static_cast<std::size_t>(product.writes[0])].bytes < kLeavesCache) continue;
        const Kernel& k = *next.kernel;
        if (k.form != Kernel::Form::Flat && k.form != Kernel::Form::Row) continue;
        const std::int64_t granule = k.form == Kernel::Form::Row ? k.cols : 1;
        if (k.rows * k.cols == 0 || !reads_own_places(next, product.writes[0]) || !leaves_operands(c, product, next)) continue;
        if (product.library->has_pieces(granule)) product.granule = granule;
    }
}

}  // namespace jaxscope::exec
