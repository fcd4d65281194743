// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <numeric>

#include "jit/graph/rewrite.h"
#include "jit/kernels/products/relaid_product.h"
#include "lax/params/elementwise.h"
#include "lax/params/shapes.h"
#include "lax/primitives.h"

namespace jaxscope::exec {

namespace {

constexpr std::int64_t kLongest = 4;   // of a sum
constexpr std::int64_t kSmall = 4096;  // elements: transposing them costs next to nothing
constexpr std::int64_t kSummed = -1;

/// What each dimension of an operand is: the result's of this number, or kSummed.
using Roles = std::vector<std::int64_t>;
std::array<Roles, 2> roles_of(const Op& op, const DotKernel& dot) {
    std::array<Roles, 2> out;
    auto free = static_cast<std::int64_t>(dot.lhs_batch.size());
    for (std::size_t s = 0; s < 2; ++s) {
        const auto &batch = s == 0 ? dot.lhs_batch : dot.rhs_batch, &contract = s == 0 ? dot.lhs_contract : dot.rhs_contract;
        for (int d = 0; d < static_cast<int>(op.in[s]->shape.size()); ++d) {
            const auto at = std::ranges::find(batch, d);
            out[s].push_back(d == contract[0] ? kSummed : at != batch.end() ? at - batch.begin() : free++);
        }
    }
    return out;
}
/// Where the dimensions of an operand stand among those of the domain.
Dims places(const Roles& operand, const Roles& domain) {
    Dims out;
    for (const std::int64_t r : operand) out.push_back(std::ranges::find(domain, r) - domain.begin());
    return out;
}
Dims order_of(const Dims& v) {
    Dims order(v.size());
    std::iota(order.begin(), order.end(), std::int64_t{0});
    std::ranges::sort(order, {}, [&](std::int64_t i) { return v[static_cast<std::size_t>(i)]; });
    return order;
}
Dims picked(const Dims& from, const Dims& order) {
    Dims out;
    for (const std::int64_t i : order) out.push_back(from[static_cast<std::size_t>(i)]);
    return out;
}
/// The dimensions of `leader` in their order, with those that `other` alone has behind them or before the summed one, wherever `other`
/// needs no transposition.
Roles domain_of(const Roles& leader, const Roles& other) {
    Roles own;
    for (const std::int64_t r : other)
        if (std::ranges::find(leader, r) == leader.end()) own.push_back(r);
    Roles behind = leader, before = leader;
    behind.insert(behind.end(), own.begin(), own.end());
    before.insert(std::ranges::find(before, kSummed), own.begin(), own.end());
    return !std::ranges::is_sorted(places(other, behind)) && std::ranges::is_sorted(places(other, before)) ? before : behind;
}
bool is_summed_as_stored(DType d) {
    return d == DType::F32 || d == DType::F64 || d == DType::C64 || d == DType::C128 || (is_integer(d) && byte_size(d) >= 4);
}

}  // namespace

std::optional<std::vector<ValueId>> GraphRewriter::add_short_sums(const Op& op, const std::vector<ValueId>& in, const DotKernel& dot) {
    constexpr double kTerm = 0.8, kCopied = 0.5, kPays = 1.3;  // nanoseconds of one thread; how much faster it has to be
    const AvalRef out = op.out[0];
    if (dot.lhs_contract.size() != 1 || out->size() == 0 || !is_summed_as_stored(out->dtype)) return std::nullopt;
    if (op.in[0]->dtype != out->dtype || op.in[1]->dtype != out->dtype) return std::nullopt;
    const std::int64_t length = op.in[0]->shape[static_cast<std::size_t>(dot.lhs_contract[0])];
    if (length < 2 || length > kLongest) return std::nullopt;

    const std::array<Roles, 2> roles = roles_of(op, dot);
    const std::size_t leader = op.in[1]->size() > op.in[0]->size() ? 1 : 0, other = 1 - leader;
    const Roles domain = domain_of(roles[leader], roles[other]);
    const bool turned = !std::ranges::is_sorted(places(roles[other], domain));
    if (turned && op.in[other]->size() > kSmall) return std::nullopt;
    Dims result = domain;  // the result's dimensions, as they come out
    std::erase(result, kSummed);
    const bool in_order = std::ranges::is_sorted(result);
    const double cost = static_cast<double>(out->size()) * (kTerm * static_cast<double>(length) + (in_order ? 0 : kCopied));
    if (cost * kPays > dot_plan(op, dot, {}).cost) return std::nullopt;

    Dims shape;
    for (const std::int64_t r : domain) shape.push_back(r == kSummed ? length : out->shape[static_cast<std::size_t>(r)]);
    std::vector<ValueId> factors;
    for (std::size_t s = 0; s < 2; ++s) {
        Dims place = places(roles[s], domain), own = op.in[s]->shape;
        ValueId v = in[s];
        if (const Dims order = order_of(place); !std::ranges::is_sorted(place)) {
            place = picked(place, order), own = picked(own, order);
            v = add_part(op, kTranspose, make_params(TransposeParams{order}), {v}, AvalRef(out->dtype, own));
        }
        if (own != shape)
            v = add_part(op, kBroadcastInDim, make_params(BroadcastInDimParams{shape, place}), {v}, AvalRef(out->dtype, shape));
        factors.push_back(v);
    }
    const ValueId products = add_part(op, kMul, {}, factors, AvalRef(out->dtype, shape));
    const std::int64_t axis = std::ranges::find(domain, kSummed) - domain.begin();
    shape.erase(shape.begin() + axis);
    const ValueId sums = add_part(op, kReduceSum, make_params(ReduceSumParams{{axis}}), {products}, AvalRef(out->dtype, shape));
    if (in_order) return std::vector{sums};
    return std::vector{add_part(op, kTranspose, make_params(TransposeParams{order_of(result)}), {sums}, out)};
}

std::optional<std::vector<ValueId>> GraphRewriter::add_joined_transpose(const Op& op, const std::vector<ValueId>& in) {
    if (op.prim != &kTranspose) return std::nullopt;
    const GraphValue& value = graph_.values[in[0]];
    if (value.kind != GraphValue::Kind::Result || value.root != in[0]) return std::nullopt;
    const Node& before = graph_.nodes[value.index];
    if (before.op.prim != &kTranspose) return std::nullopt;
    const ValueId source = before.in[0];
    const Dims order = picked(before.op.as<TransposeParams>().permutation, op.as<TransposeParams>().permutation);
    if (std::ranges::is_sorted(order)) return std::vector{source};
    return std::vector{add_part(op, kTranspose, make_params(TransposeParams{order}), {source}, op.out[0])};
}

}  // namespace jaxscope::exec
