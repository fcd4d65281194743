// SPDX-License-Identifier: Apache-2.0
#include "jit/codegen/row_form.h"

#include <algorithm>

namespace jaxscope::exec {

namespace {

constexpr std::int64_t kMostColumns = 20;

/// A loop over ten columns is scalar code for the most part, six times as slow where it has an exponential.
bool can_be_written_out(const Kernel& k) {
    constexpr std::int64_t kMostNodes = 320;
    const auto complex = [](const KernelNode& n) { return is_complex(n.op().out[0]->dtype); };
    return k.cols > 0 && k.cols <= kMostColumns && k.cols * std::ssize(k.nodes) <= kMostNodes && std::ranges::none_of(k.nodes, complex);
}

/// Vectors over rows gather and scatter every column where there are many: six times as slow as a row at a time, twice where there is an
/// exponential in between. Rows with sums have to fill their vector: else adding up its lanes costs more than gathers do. Narrow numbers
/// are gathered several at a time, by whole words.
bool can_be_vectors(const Kernel& k) {
    constexpr std::int64_t kLeastColumns = 8, kLanes = 16;
    if (k.form != Kernel::Form::Row || k.cols < kLeastColumns || k.cols > kMostColumns) return false;
    const auto wide = [&k](const AvalRef& a) { return a->size() < k.rows * k.cols || (byte_size(a->dtype) >= 4 && !is_complex(a->dtype)); };
    const auto reduces = [](const KernelNode& n) { return n.kind == NodeKind::Reduction; };
    return std::ranges::all_of(k.externs, wide, &KernelExtern::aval) && std::ranges::all_of(k.stores, wide, &KernelStore::aval) &&
           (k.cols == kLanes || std::ranges::none_of(k.nodes, reduces));
}

}  // namespace

RowForm row_form(const Kernel& kernel, bool masks, bool all) {
    constexpr std::int64_t kFewColumns = 4;
    if (kernel.form == Kernel::Form::Flat)
        return all && kernel.cols <= kFewColumns && can_be_written_out(kernel) ? RowForm::WrittenOut : RowForm::Loop;
    if (masks && can_be_vectors(kernel)) return RowForm::Vectors;
    return can_be_written_out(kernel) ? RowForm::WrittenOut : RowForm::Loop;
}

std::int64_t inner_rows(const Kernel& k) {
    constexpr std::int64_t kWorthALoop = 32;
    for (const KernelNode& n : k.nodes) {
        const bool full = n.kind == NodeKind::Element && !n.row_level && !n.on_demand;
        if (n.kind != NodeKind::Reduction && !full) continue;
        const Dims shape = without_ones(n.kind == NodeKind::Reduction ? n.op().in[0]->shape : n.shape());
        std::int64_t columns = 1;
        std::size_t d = shape.size();
        while (d > 0 && columns < k.cols) columns *= shape[--d];
        if (columns != k.cols || d == 0 || element_count(shape) != k.rows * k.cols) return 0;
        return shape[d - 1] >= kWorthALoop && shape[d - 1] < k.rows ? shape[d - 1] : 0;
    }
    return 0;
}

}  // namespace jaxscope::exec
