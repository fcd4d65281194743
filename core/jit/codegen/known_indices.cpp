// SPDX-License-Identifier: Apache-2.0
// What ElementCodegen knows of indices: between which numbers they are, and the answers that follow.
#include <cstdlib>

#include "jit/codegen/element_codegen.h"
#include "jit/graph/index_map.h"
#include "jit/kernels/library.h"

namespace jaxscope::exec {

namespace {

constexpr std::int64_t kFar = std::int64_t{1} << 60;  ///< indices below can be added

}  // namespace

std::optional<ElementCodegen::Range> ElementCodegen::just(std::int64_t v) {
    if (std::abs(v) >= kFar) return std::nullopt;
    return Range{v, v};
}

std::optional<ElementCodegen::Range> ElementCodegen::range_of(const Scalar& s) const {
    if (!s.set) return s.range;
    const Dims& shape = s.set->shape;
    Range range{0, shape[static_cast<std::size_t>(s.dim)] - 1};
    const int rank = static_cast<int>(shape.size()), columns = s.set->row_only ? rank : s.set->first_column;
    if (!s.set->aligned || s.dim >= columns || run_length(shape, 0, s.dim - 1) != 1) return range;
    range.rows = run_length(shape, s.dim + 1, columns - 1);
    if (range.rows == 0) return range;  // nothing is computed
    range.least = first_row_ / range.rows, range.most = (end_row_ - 1) / range.rows;
    return range;
}

/// Of x + y or x - y.
std::optional<ElementCodegen::Range> ElementCodegen::sum_of(KOp o, const std::optional<Range>& x, const std::optional<Range>& y) {
    if (!x || !y || y->least != y->most || (o != KOp::Add && o != KOp::Sub)) return std::nullopt;
    const std::int64_t by = o == KOp::Add ? y->least : -y->least;
    if (std::abs(x->least + by) >= kFar || std::abs(x->most + by) >= kFar) return std::nullopt;
    return Range{x->least + by, x->most + by, x->rows, x->offset + by};
}
/// The answer where it is the same wherever the code is for, or one of the operands: an index that is compared with a bound, a condition
/// joined with one that holds.
std::optional<KScalar> ElementCodegen::decided(KOp o, Scalar& a, Scalar& b) {
    if (o == KOp::And && a.n.dtype == DType::Bool)
        for (const auto& [one, other] : {std::pair(&a, &b), std::pair(&b, &a)})
            if (const std::optional<bool> holds = known(handle(one))) return handle(*holds ? other : one);
    const std::optional<Range> x = range_of(a), y = x ? range_of(b) : std::nullopt;
    if (!y) return std::nullopt;
    const auto answer = [this](bool v) { return constant_int(DType::Bool, v); };
    switch (o) {
        case KOp::Lt:
            if (x->most < y->least) return answer(true);
            if (x->least >= y->most) return answer(false);
            break;
        case KOp::Ge:
            if (x->least >= y->most) return answer(true);
            if (x->most < y->least) return answer(false);
            break;
        default:
            return std::nullopt;
    }
    if (y->least == y->most) ask_rows(*x, y->least);
    return std::nullopt;
}
/// Notes the row at which an index comes up to `bound`, where a join of many operands asks.
void ElementCodegen::ask_rows(const Range& index, std::int64_t bound) {
    if (index.rows != 0 && node_ && joins_in_rows(node_->op())) rows_asked_.insert((bound - index.offset) * index.rows);
}
std::optional<bool> ElementCodegen::known(KScalar condition) const {
    // One that is constant because its column is (rows that are written out) holds there only, and what is made of it belongs there.
    if (of(condition)->set || of(condition)->level != Level::Entry) return std::nullopt;
    const auto* c = llvm::dyn_cast<llvm::ConstantInt>(of(condition)->n.re);
    if (c == nullptr) return std::nullopt;
    return !c->isZero();
}

}  // namespace jaxscope::exec
