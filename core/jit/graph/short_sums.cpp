// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "jit/graph/rewrite.h"
#include "jit/kernels/products/relaid_product.h"
#include "lax/params/elementwise.h"
#include "lax/params/shapes.h"
#include "lax/primitives.h"
#include "lax/rule_support.h"

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
            out[s].push_back(std::ranges::find(contract, d) != contract.end() ? kSummed : at != batch.end() ? at - batch.begin() : free++);
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
}  // namespace

ValueId GraphRewriter::spread(const Op& op, ValueId v, const Dims& place, const Dims& shape) {
    const Aval& own = graph_.aval(v);
    if (own.shape == shape) return v;
    return add_part(op, kBroadcastInDim, make_params(BroadcastInDimParams{shape, place}), {v}, AvalRef(own.dtype, shape));
}

ValueId GraphRewriter::spread_in_order(const Op& op, ValueId v, Dims place, const Dims& shape) {
    if (const Dims order = argsort(place); !std::ranges::is_sorted(place)) {
        place = take(place, order);
        const Aval& own = graph_.aval(v);
        v = add_part(op, kTranspose, make_params(TransposeParams{order}), {v}, AvalRef(own.dtype, take(own.shape, order)));
    }
    return spread(op, v, place, shape);
}

std::optional<std::vector<ValueId>> GraphRewriter::add_multiplication(const Op& op, const std::vector<ValueId>& in, const DotKernel& dot) {
    const AvalRef out = op.out[0];
    const std::array<Roles, 2> roles = roles_of(op, dot);
    std::array<Dims, 2> kept, place;  // without the summed dimensions
    for (std::size_t s = 0; s < 2; ++s) {
        const DType d = op.in[s]->dtype;
        if (!is_integer(d) && !is_complex(d) && byte_size(d) == 1) return std::nullopt;
        for (std::size_t dim = 0; dim < roles[s].size(); ++dim) {
            const std::int64_t length = op.in[s]->shape[dim];
            if (roles[s][dim] != kSummed)
                kept[s].push_back(length), place[s].push_back(roles[s][dim]);
            else if (length != 1)
                return std::nullopt;
        }
        if (elements_only_ && !std::ranges::is_sorted(place[s])) return std::nullopt;
    }
    std::vector<ValueId> factors;
    for (std::size_t s = 0; s < 2; ++s) {
        ValueId v = view(in[s], AvalRef(op.in[s]->dtype, kept[s]));
        if (op.in[s]->dtype != out->dtype)
            v = add_part(op, kConvertElementType, make_params(ConvertParams{out->dtype}), {v}, AvalRef(out->dtype, kept[s]));
        factors.push_back(spread_in_order(op, v, place[s], out->shape));
    }
    return std::vector{add_part(op, kMul, {}, factors, out)};
}

std::optional<std::vector<ValueId>> GraphRewriter::add_short_sums(const Op& op, const std::vector<ValueId>& in, const DotKernel& dot) {
    constexpr double kCopied = 0.5, kPays = 1.3;  // nanoseconds of one thread; how much faster it has to be
    const AvalRef out = op.out[0];
    const double term = is_complex(out->dtype) ? 3.5 : 0.8;  // nanoseconds, too: complex numbers go one by one
    if (dot.lhs_contract.size() != 1 || out->size() == 0 || !sums_are_exact_enough(out->dtype)) return std::nullopt;
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
    const double cost = static_cast<double>(out->size()) * (term * static_cast<double>(length) + (in_order ? 0 : kCopied));
    if (cost * kPays > dot_plan(op, dot, {}).cost) return std::nullopt;

    Dims shape;
    for (const std::int64_t r : domain) shape.push_back(r == kSummed ? length : out->shape[static_cast<std::size_t>(r)]);
    std::vector<ValueId> factors;
    for (std::size_t s = 0; s < 2; ++s) {
        factors.push_back(spread_in_order(op, in[s], places(roles[s], domain), shape));
    }
    const ValueId products = add_part(op, kMul, {}, factors, AvalRef(out->dtype, shape));
    const std::int64_t axis = std::ranges::find(domain, kSummed) - domain.begin();
    shape.erase(shape.begin() + axis);
    const ValueId sums = add_part(op, kReduceSum, make_params(ReduceSumParams{{axis}}), {products}, AvalRef(out->dtype, shape));
    if (in_order) return std::vector{sums};
    return std::vector{add_part(op, kTranspose, make_params(TransposeParams{argsort(result)}), {sums}, out)};
}

std::optional<std::vector<ValueId>> GraphRewriter::add_joined_transpose(const Op& op, const std::vector<ValueId>& in) {
    if (op.prim != &kTranspose) return std::nullopt;
    const GraphValue& value = graph_.values[in[0]];
    if (value.kind != GraphValue::Kind::Result || value.root != in[0]) return std::nullopt;
    const Node& before = graph_.nodes[value.index];
    if (before.op().prim != &kTranspose) return std::nullopt;
    const ValueId source = before.in[0];
    const Dims order = take(before.op().as<TransposeParams>().permutation, op.as<TransposeParams>().permutation);
    if (std::ranges::is_sorted(order)) return std::vector{source};
    return std::vector{add_part(op, kTranspose, make_params(TransposeParams{order}), {source}, op.out[0])};
}

}  // namespace jaxscope::exec
