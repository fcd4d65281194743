// SPDX-License-Identifier: Apache-2.0
#include "jit/kernels/products/relaid_product.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/checked.h"
#include "jit/kernels/products/dot_routine.h"
#include "jit/kernels/products/relay.h"

namespace jaxscope::exec {

namespace {

/// An operand's dimensions in groups: batch, free, contracted; and the result's dimension that each of the first two is.
struct Side {
    std::vector<std::size_t> batch, free, contract;
    std::vector<std::int64_t> out_stride;  ///< per dimension
};
Side side_of(const Op& op, const DotKernel& spec, const Layouts& layouts, std::size_t operand) {
    const std::vector<int>&batch = operand == 0 ? spec.lhs_batch : spec.rhs_batch,
          &contract = operand == 0 ? spec.lhs_contract : spec.rhs_contract;
    Side s;
    s.batch.assign(batch.begin(), batch.end()), s.contract.assign(contract.begin(), contract.end());
    const std::size_t rank = op.in[operand]->shape.size(),
                      lhs_free = op.in[0]->shape.size() - spec.lhs_batch.size() - spec.lhs_contract.size();
    s.out_stride.assign(rank, 0);
    std::size_t at = 0;
    for (const std::size_t d : s.batch) s.out_stride[d] = layouts[2][at++];
    if (operand == 1) at += lhs_free;
    for (std::size_t d = 0; d < rank; ++d) {
        if (std::ranges::find(s.batch, d) != s.batch.end() || std::ranges::find(s.contract, d) != s.contract.end()) continue;
        s.free.push_back(d);
        s.out_stride[d] = layouts[2][at++];
    }
    return s;
}

enum class Copied : std::uint8_t { Not, SumsInside, SumsOutside };

/// Dense strides of operand `operand`: batch dimensions outermost, then free and contracted ones. Free ones lie as in the result,
/// contracted ones as `order` says (their positions in the spec, outermost first).
Dims dense_layout(const Op& op, const Side& s, std::size_t operand, const std::vector<std::size_t>& order, Copied copied) {
    const auto by_result = [&](std::vector<std::size_t> dims) {
        std::stable_sort(dims.begin(), dims.end(), [&](std::size_t a, std::size_t b) { return s.out_stride[a] > s.out_stride[b]; });
        return dims;
    };
    std::vector<std::size_t> dims = by_result(s.batch), sums;
    const std::vector<std::size_t> free = by_result(s.free);
    for (const std::size_t c : order) sums.push_back(s.contract[c]);
    const auto &first = copied == Copied::SumsInside ? free : sums, &second = copied == Copied::SumsInside ? sums : free;
    dims.insert(dims.end(), first.begin(), first.end());
    dims.insert(dims.end(), second.begin(), second.end());
    Dims strides(dims.size());
    std::int64_t stride = 1;
    for (std::size_t i = dims.size(); i-- > 0;) {
        strides[dims[i]] = stride;
        stride = checked_mul(stride, op.in[operand]->shape[dims[i]]);
    }
    return strides;
}

/// Contracted dimensions, outermost first in the memory of an operand.
std::vector<std::size_t> order_of_sums(const Side& s, const Dims& strides) {
    std::vector<std::size_t> order(s.contract.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return strides[s.contract[a]] > strides[s.contract[b]]; });
    return order;
}

class RelaidProduct final : public LibraryCall {
public:
    RelaidProduct(const Op& op, const Layouts& layouts, const DotPlan& plan, LibraryCallPtr product) : product_(std::move(product)) {
        for (std::size_t i = 0; i < 2; ++i) {
            if (!plan.copied[i]) continue;
            const std::int64_t width = byte_size(op.in[i]->dtype);
            std::vector<RelayLoop> loops;
            for (std::size_t d = 0; d < op.in[i]->shape.size(); ++d)
                loops.push_back({op.in[i]->shape[d], layouts[i][d], plan.layouts[i][d]});
            copies_.push_back({i, bytes_, Relay(std::move(loops), width)});
            bytes_ = checked_add(bytes_, checked_align(checked_mul(op.in[i]->size(), width), 64));
        }
    }
    std::int64_t scratch_bytes() const override { return checked_add(bytes_, product_->scratch_bytes()); }
    bool in_place(std::size_t in, std::size_t out) const override { return in == 2 && product_->in_place(in, out); }
    void run(void* const* in, void* const* out, void* scratch) const override {
        const Operands operands = dense(in, scratch);
        product_->run(operands.data(), out, static_cast<char*>(scratch) + bytes_);
    }
    bool multiplies_by_library() const override { return product_->multiplies_by_library(); }
    bool has_pieces(std::int64_t granule) const override { return product_->has_pieces(granule); }
    void run_in_pieces(void* const* in, void* const* out, void* scratch, std::int64_t granule, const BehindPieces& behind) const override {
        const Operands operands = dense(in, scratch);
        product_->run_in_pieces(operands.data(), out, static_cast<char*>(scratch) + bytes_, granule, behind);
    }

private:
    using Operands = std::array<void*, 3>;
    Operands dense(void* const* in, void* scratch) const {
        Operands operands = {in[0], in[1], product_->in_place(2, 0) ? in[2] : nullptr};
        for (const Copy& c : copies_) {
            operands[c.operand] = static_cast<char*>(scratch) + c.at;
            c.relay.run(in[c.operand], operands[c.operand], threads);
        }
        return operands;
    }
    struct Copy {
        std::size_t operand;
        std::int64_t at;
        Relay relay;
    };
    LibraryCallPtr product_;
    std::vector<Copy> copies_;
    std::int64_t bytes_ = 0;
};

}  // namespace

double relay_cost(std::int64_t elements) { return 500 + 0.5 * static_cast<double>(elements); }

Layouts complete_layouts(const Op& op, const Layouts& layouts) {
    Layouts out(3);
    for (std::size_t i = 0; i < 3; ++i)
        out[i] = i < layouts.size() && !layouts[i].empty() ? layouts[i] : row_major_strides((i < 2 ? op.in[i] : op.out[0])->shape);
    return out;
}

DotPlan dot_plan(const Op& op, const DotKernel& spec, const Layouts& given) {
    constexpr double kWorthCopying = 1.5;  // less isn't worth the memory
    const Layouts layouts = complete_layouts(op, given);
    DotPlan best{layouts, {false, false}, dot_cost(dot_shape(op, spec, layouts), op)};
    if (op.in[0]->size() == 0 || op.in[1]->size() == 0) return best;
    const double as_it_is = best.cost;
    const Side sides[] = {side_of(op, spec, layouts, 0), side_of(op, spec, layouts, 1)};
    for (const Copied l : {Copied::Not, Copied::SumsInside, Copied::SumsOutside})
        for (const Copied r : {Copied::Not, Copied::SumsInside, Copied::SumsOutside}) {
            if (l == Copied::Not && r == Copied::Not) continue;
            // Sums in the order of an operand that stays where it is; of both copied ones in that of the larger.
            const bool by_lhs = l == Copied::Not || (r != Copied::Not && op.in[0]->size() >= op.in[1]->size());
            const std::vector<std::size_t> order = order_of_sums(sides[by_lhs ? 0 : 1], layouts[by_lhs ? 0 : 1]);
            DotPlan plan{layouts, {l != Copied::Not, r != Copied::Not}, 0};
            if (plan.copied[0]) plan.layouts[0] = dense_layout(op, sides[0], 0, order, l), plan.cost += relay_cost(op.in[0]->size());
            if (plan.copied[1]) plan.layouts[1] = dense_layout(op, sides[1], 1, order, r), plan.cost += relay_cost(op.in[1]->size());
            plan.cost += dot_cost(dot_shape(op, spec, plan.layouts), op);
            if (plan.cost < best.cost && plan.cost * kWorthCopying < as_it_is) best = std::move(plan);
        }
    return best;
}

LibraryCallPtr make_relaid_product(const Op& op, const Layouts& layouts, const DotPlan& plan, LibraryCallPtr product) {
    return std::make_shared<RelaidProduct>(op, complete_layouts(op, layouts), plan, std::move(product));
}

}  // namespace jaxscope::exec
