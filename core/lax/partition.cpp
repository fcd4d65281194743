// SPDX-License-Identifier: Apache-2.0
#include "lax/partition.h"

#include "lax/rule_support.h"

namespace jaxscope {

std::vector<int> new_factors(PartitionRule& rule, std::size_t n) {
    std::vector<int> out;
    for (std::size_t i = 0; i < n; ++i) out.push_back(rule.new_factor());
    return out;
}

std::vector<int> whole_dims(const Op& op, std::size_t input) { return std::vector<int>(op.in[input]->shape.size(), PartitionRule::kWhole); }

namespace {

/// Factors of a value whose dimensions are those of `shape`, where they have their size.
std::vector<int> matching(const std::vector<int>& factors, const Dims& shape, const Dims& own) {
    std::vector<int> out(own.size(), PartitionRule::kWhole);
    if (own.size() == shape.size())
        for (std::size_t d = 0; d < own.size(); ++d)
            if (own[d] == shape[d]) out[d] = factors[d];
    return out;
}

PartitionRule same_dims(const Op& op, const Dims& shape, const Dims& whole) {
    PartitionRule rule;
    std::vector<int> factors = new_factors(rule, shape.size());
    for (const std::int64_t d : whole) factors[static_cast<std::size_t>(d)] = PartitionRule::kWhole;
    for (const AvalRef a : op.in) rule.in.push_back(matching(factors, shape, a->shape));
    for (const AvalRef a : op.out) rule.out.push_back(matching(factors, shape, a->shape));
    return rule;
}

}  // namespace

PartitionRule partition_elementwise(const Op& op) { return same_dims(op, op.out.at(0)->shape, {}); }

PartitionRule partition_all_but(const Op& op, const Dims& whole) { return same_dims(op, op.in.at(0)->shape, whole); }

PartitionRule partition_one_to_one(const Op& op) {
    PartitionRule rule;
    for (const AvalRef a : op.in) {
        rule.in.push_back(new_factors(rule, a->shape.size()));
        rule.out.push_back(rule.in.back());
    }
    rule.apart = true;
    return rule;
}

PartitionRule partition_reduction(const Op& op, const Dims& axes, Combine combine) {
    PartitionRule rule;
    rule.combine = combine;
    const std::vector<int> factors = new_factors(rule, op.in[0]->shape.size());
    rule.in.push_back(factors);
    for (std::size_t i = 1; i < op.in.size(); ++i) rule.in.push_back(whole_dims(op, i));
    std::vector<int> kept;
    for (const std::int64_t d : remaining(op.in[0]->rank(), axes)) kept.push_back(factors[static_cast<std::size_t>(d)]);
    rule.out.assign(op.out.size(), kept);
    return rule;
}

ParamsRef with_result_shape(const Op& op, const char* name, const std::vector<Dims>& out) {
    return with_param(op.params, name, to_attr(out.at(0)));
}

}  // namespace jaxscope
