// SPDX-License-Identifier: Apache-2.0
// scaled_dot (scaled_dot.py, JAX 0.10.2): a product of narrow numbers, whose blocks along what is contracted have scales.
#include "lax/families.h"
#include "lax/linalg/dot.h"
#include "lax/ops.h"
#include "lax/params/elementwise.h"
#include "lax/primitives.h"
#include "lax/rule_support.h"

namespace jaxscope {

namespace {

struct ScaledDotParams {
    DotDims dimension_numbers;
    std::optional<DType> preferred_element_type = {};
    static constexpr auto kFields = std::tuple(field("dimension_numbers", &ScaledDotParams::dimension_numbers),
                                               field("preferred_element_type", &ScaledDotParams::preferred_element_type));
};

/// Along each contracted dimension a scale has a divisor of the operand's size, along the others all of it.
void expect_scale(const Op& op, std::size_t operand, const Dims& contract) {
    const Dims &of = op.in[operand]->shape, &scale = op.in[operand + 2]->shape;
    bool fits = scale.size() == of.size();
    for (std::size_t d = 0; fits && d < of.size(); ++d) {
        const bool contracted = std::find(contract.begin(), contract.end(), static_cast<std::int64_t>(d)) != contract.end();
        fits = contracted ? scale[d] > 0 && of[d] % scale[d] == 0 : scale[d] == of[d];
    }
    if (!fits) type_mismatch(op, "scales of blocks of " + shape_text(of), shape_text(scale));
}

Avals scaled_dot_eval(const Op& op) {
    expect_arrays(op, 4);
    const auto& p = op.as<ScaledDotParams>();
    const DotDims& d = p.dimension_numbers;
    const Dims &lhs = op.in[0]->shape, &rhs = op.in[1]->shape;
    const auto used = [](Dims a, const Dims& b) { return a.insert(a.end(), b.begin(), b.end()), a; };
    const Dims left = used(d.lhs_contract, d.lhs_batch), right = used(d.rhs_contract, d.rhs_batch);
    if (!in_range(left, op.in[0]->rank()) || !distinct(left) || !in_range(right, op.in[1]->rank()) || !distinct(right))
        type_mismatch(op, "distinct dimensions of both operands", shape_text(left) + " and " + shape_text(right));
    if (take(lhs, d.lhs_contract) != take(rhs, d.rhs_contract) || take(lhs, d.lhs_batch) != take(rhs, d.rhs_batch))
        type_mismatch(op, "contracting and batch dimensions of one shape", shape_text(lhs) + " and " + shape_text(rhs));
    expect_scale(op, 0, d.lhs_contract);
    expect_scale(op, 1, d.rhs_contract);
    Dims shape = used(take(lhs, d.lhs_batch), take(lhs, remaining(op.in[0]->rank(), d.lhs_contract, d.lhs_batch)));
    shape = used(shape, take(rhs, remaining(op.in[1]->rank(), d.rhs_contract, d.rhs_batch)));
    return {standard_result(op, p.preferred_element_type.value_or(DType::BF16), shape)};
}

/// The operand times its scales, each as often as its block is long, in bfloat16.
Value scaled(Builder& b, Value x, Value scale, const Dims& contract) {
    const Dims& of = b.aval(x)->shape;
    for (const std::int64_t d : contract) {
        const Dims now = b.aval(scale)->shape;
        const auto at = static_cast<std::size_t>(d);
        if (now[at] == of[at]) continue;
        Dims wide = now, flat = now, from = iota_dims(std::ssize(now));
        wide.insert(wide.begin() + d + 1, of[at] / now[at]);
        flat[at] = of[at];
        for (std::size_t k = at + 1; k < from.size(); ++k) ++from[k];
        scale = lax::reshape(b, lax::broadcast_in_dim(b, scale, wide, from), flat);
    }
    const auto narrow = [&](Value v) { return b.aval(v)->dtype == DType::BF16 ? v : lax::convert_element_type(b, v, DType::BF16); };
    return lax::mul(b, narrow(x), narrow(scale));
}

JaxprPtr scaled_dot_expand(const Op& op) {
    const auto& p = op.as<ScaledDotParams>();
    JaxprBuilder b;
    Values x;
    for (const AvalRef a : op.in) x.push_back(b.add_input(a));
    DotGeneralParams q;
    q.dimension_numbers = p.dimension_numbers;
    q.preferred_element_type = p.preferred_element_type;
    const Value left = scaled(b, x[0], x[2], p.dimension_numbers.lhs_contract);
    const Value right = scaled(b, x[1], x[3], p.dimension_numbers.rhs_contract);
    return b.finish({b.bind1(kDotGeneral, {left, right}, make_params(q))});
}

/// Everything is mapped, in front.
BatchResult scaled_dot_batch(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size) {
    ScaledDotParams p = op.as<ScaledDotParams>();
    DotDims& d = p.dimension_numbers;
    for (Dims* of : {&d.lhs_contract, &d.rhs_contract, &d.lhs_batch, &d.rhs_batch}) *of = plus(*of, 1);
    d.lhs_batch.insert(d.lhs_batch.begin(), 0);
    d.rhs_batch.insert(d.rhs_batch.begin(), 0);
    Values front;
    for (std::size_t i = 0; i < x.size(); ++i) front.push_back(batch_to_front(b, x[i], dims[i], size));
    return {{b.bind1(*op.prim, front, make_params(p))}, {0}};
}

constexpr NoRule kNoDerivativeInJax{"JAX has none either"};

}  // namespace

static constexpr Primitive kScaledDotOfBlocks{.name = "scaled_dot",
                                              .abstract_eval = scaled_dot_eval,
                                              .jvp = kNoDerivativeInJax,
                                              .transpose = kNoDerivativeInJax,
                                              .batch = scaled_dot_batch,
                                              .lower = NoRule{"expands to a product of scaled operands"},
                                              .expand = scaled_dot_expand};

std::span<const Primitive* const> scaled_dot_primitives() {
    static constexpr const Primitive* all[] = {&kScaledDotOfBlocks};
    return all;
}

}  // namespace jaxscope
