// SPDX-License-Identifier: Apache-2.0
// ragged_dot_general (lax.py, JAX 0.10.2): a product whose rows belong to groups, each with a matrix of its own (mixture of experts).
#include <algorithm>

#include "lax/families.h"
#include "lax/linalg/dot.h"
#include "lax/ops.h"
#include "lax/params/elementwise.h"
#include "lax/params/shapes.h"
#include "lax/primitives.h"
#include "lax/routine_primitives.h"
#include "lax/rule_support.h"

namespace jaxscope {

/// One dimension of the left operand is ragged: groups of its rows follow each other, of the sizes that the third operand gives.
struct RaggedDims {
    DotDims dot;
    Dims lhs_ragged, rhs_group;
};
static Attr to_attr(const RaggedDims& v) {
    Attr::Record r;
    r.type = "RaggedDotDimensionNumbers";
    r.fields = {{"dot_dimension_numbers", to_attr(v.dot)},
                {"lhs_ragged_dimensions", to_attr(v.lhs_ragged)},
                {"rhs_group_dimensions", to_attr(v.rhs_group)}};
    return Attr(std::make_shared<const Attr::Record>(std::move(r)));
}
static void from_attr(const Attr& a, RaggedDims& v) {
    const Attr::Record* r = a.get_record();
    if (!r || r->fields.size() != 3) wrong_attr(a, "RaggedDotDimensionNumbers");
    from_attr(r->fields[0].second, v.dot);
    from_attr(r->fields[1].second, v.lhs_ragged);
    from_attr(r->fields[2].second, v.rhs_group);
}

namespace {

struct RaggedDotParams {
    RaggedDims dims;
    Attr precision = {};
    std::optional<DType> preferred_element_type = {};
    Attr group_offset = {}, out_sharding = {};
    static constexpr auto kFields = std::tuple(
        field("group_offset", &RaggedDotParams::group_offset), optional_field("out_sharding", &RaggedDotParams::out_sharding),
        field("precision", &RaggedDotParams::precision), field("preferred_element_type", &RaggedDotParams::preferred_element_type),
        field("ragged_dot_dimension_numbers", &RaggedDotParams::dims));
};

/// Which kind of dimension of the left operand is ragged: a free one gives rows of the result, a contracted one a result for each group.
enum class Mode : std::uint8_t { Free, Contracting, Batch };
bool holds(const Dims& dims, std::int64_t d) { return std::find(dims.begin(), dims.end(), d) != dims.end(); }
Mode mode_of(const RaggedDims& d) {
    return holds(d.dot.lhs_contract, d.lhs_ragged.at(0)) ? Mode::Contracting
           : holds(d.dot.lhs_batch, d.lhs_ragged.at(0))  ? Mode::Batch
                                                         : Mode::Free;
}
Dims joined(Dims a, const Dims& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}
/// Dimensions of an operand that sizes of its own may be given for: those of the batch, and those of the ragged one's kind before it.
Dims before_ragged(Mode mode, std::int64_t rank, std::int64_t ragged, const Dims& contract, const Dims& batch) {
    const Dims kind = mode == Mode::Contracting ? contract : mode == Mode::Batch ? batch : remaining(rank, contract, batch);
    const Dims before(kind.begin(), std::find(kind.begin(), kind.end(), ragged));
    return mode == Mode::Batch ? before : joined(batch, before);
}

Avals ragged_dot_eval(const Op& op) {
    expect_arrays(op, 3);
    const auto& p = op.as<RaggedDotParams>();
    const DotDims& d = p.dims.dot;
    const Dims &lhs = op.in[0]->shape, &rhs = op.in[1]->shape, &sizes = op.in[2]->shape;
    if (p.dims.lhs_ragged.size() != 1 || !in_range(p.dims.lhs_ragged, op.in[0]->rank()))
        type_mismatch(op, "one ragged dimension of lhs " + shape_text(lhs), shape_text(p.dims.lhs_ragged));
    if (sizes.empty() || !is_integer(op.in[2]->dtype)) type_mismatch(op, "integer sizes of groups", to_text(op.in[2]));
    const Mode mode = mode_of(p.dims);
    const Dims rhs_used = joined(joined(d.rhs_contract, d.rhs_batch), p.dims.rhs_group), lhs_used = joined(d.lhs_contract, d.lhs_batch);
    if (!in_range(lhs_used, op.in[0]->rank()) || !distinct(lhs_used) || !in_range(rhs_used, op.in[1]->rank()) || !distinct(rhs_used))
        type_mismatch(op, "distinct contracting, batch and group dimensions of " + shape_text(lhs) + " and " + shape_text(rhs),
                      shape_text(lhs_used) + " and " + shape_text(rhs_used));
    if (p.dims.rhs_group.size() != (mode == Mode::Free ? 1U : 0U))
        type_mismatch(op, "a group dimension of rhs where rows are ragged, else none", shape_text(p.dims.rhs_group));
    if (take(lhs, d.lhs_contract) != take(rhs, d.rhs_contract) || take(lhs, d.lhs_batch) != take(rhs, d.rhs_batch))
        type_mismatch(op, "contracting and batch dimensions of one shape", shape_text(lhs) + " and " + shape_text(rhs));
    if (mode == Mode::Free && rhs[static_cast<std::size_t>(p.dims.rhs_group[0])] != sizes.back())
        type_mismatch(op, "a size for each of the groups in " + shape_text(rhs), shape_text(sizes));
    Dims sized = take(lhs, before_ragged(mode, op.in[0]->rank(), p.dims.lhs_ragged[0], d.lhs_contract, d.lhs_batch));
    sized.push_back(sizes.back());
    if (sizes.size() > 1 && sizes != sized) type_mismatch(op, "group_sizes of shape " + shape_text(sized), shape_text(sizes));
    Dims shape = take(lhs, d.lhs_batch);
    if (mode == Mode::Contracting) shape.insert(shape.begin(), sizes.back());
    shape = joined(shape, take(lhs, remaining(op.in[0]->rank(), d.lhs_contract, d.lhs_batch)));
    shape = joined(shape, take(rhs, remaining(op.in[1]->rank(), joined(d.rhs_contract, p.dims.rhs_group), d.rhs_batch)));
    DotGeneralParams q;
    q.precision = p.precision;
    q.preferred_element_type = p.preferred_element_type;
    return {standard_result(op, product_dtype(op, q), shape)};
}

/// Both products, a zero one as zeros, and their sum.
Values ragged_dot_jvp(Builder& b, const Op& op, const Values& x, const Values&, const Values& dx) {
    const auto side = [&](std::size_t k) {
        if (dx[k].is_zero()) return lax::zeros_like(b, op.out[0]);
        Values in = x;
        in[k] = dx[k];
        return b.bind1(*op.prim, in, op.params);
    };
    if (dx[0].is_zero() && dx[1].is_zero()) return {Value::zero()};
    const Value left = side(0), right = side(1);
    return {lax::add(b, left, right)};
}

void ragged_dot_transpose(Builder& b, const Op& op, const Values& ct, const Values& x, TransposeSink& sink) {
    if (ct[0].is_zero()) return;
    const auto& p = op.as<RaggedDotParams>();
    const DotDims& d = p.dims.dot;
    if (mode_of(p.dims) != Mode::Free)
        throw Error(ErrorCode::NoRule, "Unimplemented transpose for ragged dot general whose ragged dimension is not a free one.")
            .at(op.source.loc());
    const std::size_t side = x[0].is_linear() ? 0 : 1;
    if (!sink.wanted(side)) return;
    const Dims lhs_kept = remaining(op.in[0]->rank(), d.lhs_contract, d.lhs_batch);
    const Dims rhs_kept = remaining(op.in[1]->rank(), joined(d.rhs_contract, p.dims.rhs_group), d.rhs_batch);
    const auto batch = std::ssize(d.lhs_batch), rows = std::ssize(lhs_kept);
    RaggedDotParams q = p;
    Dims order;
    if (side == 0) {
        const auto at = std::find(lhs_kept.begin(), lhs_kept.end(), p.dims.lhs_ragged[0]) - lhs_kept.begin();
        q.dims = {
            {plus(iota_dims(std::ssize(rhs_kept)), batch + rows), rhs_kept, iota_dims(batch), d.rhs_batch}, {batch + at}, p.dims.rhs_group};
        order = joined(joined(d.lhs_batch, lhs_kept), take(d.lhs_contract, argsort(d.rhs_contract)));
    } else {
        q.dims = {{lhs_kept, plus(iota_dims(rows), batch), d.lhs_batch, iota_dims(batch)}, p.dims.lhs_ragged, {}};
        order = joined(joined(joined(p.dims.rhs_group, d.rhs_batch), take(d.rhs_contract, argsort(d.lhs_contract))), rhs_kept);
    }
    const Values in = side == 0 ? Values{ct[0], x[1], x[2]} : Values{x[0], ct[0], x[2]};
    const Value product = lax::transpose(b, b.bind1(*op.prim, in, make_params(q)), argsort(order));
    const AvalRef wanted = op.in[side];
    sink.add(side,
             b.aval(product)->dtype == wanted->dtype ? product : lax::convert_element_type(b, product, wanted->dtype, wanted->weak_type));
}

/// `x` once for each group, in front, with zeros where dimension `ragged` isn't in the group. Sizes of rank above one are given for each
/// element of the dimensions `own`.
Value by_group(Builder& b, Value x, Value sizes, std::int64_t ragged, const Dims& own) {
    const AvalRef of = b.aval(x), s = b.aval(sizes);
    const std::int64_t last = s->rank() - 1;
    Dims shape = of->shape;
    shape.insert(shape.begin(), s->shape.back());
    const Value ends = b.bind1(kCumSum, {sizes}, make_params(CumulativeParams{last, false})), begins = lax::sub(b, ends, sizes);
    Dims order{last}, to{0};  // the groups in front, then dimensions as they follow each other in x
    if (last > 0)
        for (const std::int64_t k : argsort(own)) order.push_back(k), to.push_back(own[static_cast<std::size_t>(k)] + 1);
    const auto spread = [&](Value v) { return lax::broadcast_in_dim(b, last > 0 ? lax::transpose(b, v, order) : v, shape, to); };
    const Value row = b.bind1(kIota, {}, make_params(IotaParams{.dtype = s->dtype, .shape = shape, .dimension = ragged + 1}));
    const Value inside = b.bind1(kAnd, {lax::le(b, spread(begins), row), lax::lt(b, row, spread(ends))}, {});
    const Value all = lax::broadcast_in_dim(b, x, shape, plus(iota_dims(of->rank()), 1));
    return lax::select(b, inside, all, lax::zeros_like(b, b.aval(all)));
}

JaxprPtr ragged_dot_expand(const Op& op) {
    const auto& p = op.as<RaggedDotParams>();
    const DotDims& d = p.dims.dot;
    const Mode mode = mode_of(p.dims);
    if (!p.group_offset.is_none()) throw Error(ErrorCode::CannotRun, "Unimplemented group_offset support.").at(op.source.loc());
    JaxprBuilder b;
    const Value x = b.add_input(op.in[0]), y = b.add_input(op.in[1]), sizes = b.add_input(op.in[2]);
    DotGeneralParams q;
    q.precision = p.precision;
    q.preferred_element_type = p.preferred_element_type;
    q.dimension_numbers = d;
    if (mode == Mode::Batch) return b.finish({b.bind1(kDotGeneral, {x, y}, make_params(q))});
    const std::int64_t ragged = p.dims.lhs_ragged[0];
    const Dims contract = plus(d.lhs_contract, 1), batch = plus(d.lhs_batch, 1);
    const auto own = [&](AvalRef of, std::int64_t at, const Dims& contracting, const Dims& batching) {
        return before_ragged(mode, of->rank(), at, contracting, batching);
    };
    const Value left = by_group(b, x, sizes, ragged, own(op.in[0], ragged, d.lhs_contract, d.lhs_batch));
    if (mode == Mode::Free) {
        q.dimension_numbers = {joined(contract, {0}), joined(d.rhs_contract, p.dims.rhs_group), batch, d.rhs_batch};
        return b.finish({b.bind1(kDotGeneral, {left, y}, make_params(q))});
    }
    const auto at = std::find(d.lhs_contract.begin(), d.lhs_contract.end(), ragged) - d.lhs_contract.begin();
    const std::int64_t beside = d.rhs_contract[static_cast<std::size_t>(at)];
    const Value right = by_group(b, y, sizes, beside, own(op.in[1], beside, d.rhs_contract, d.rhs_batch));
    q.dimension_numbers = {contract, plus(d.rhs_contract, 1), joined({0}, batch), joined({0}, plus(d.rhs_batch, 1))};
    return b.finish({b.bind1(kDotGeneral, {left, right}, make_params(q))});
}

}  // namespace

constinit const Primitive kRaggedDotGeneral{
    .name = "ragged_dot_general",
    .abstract_eval = ragged_dot_eval,
    .jvp = ragged_dot_jvp,
    .transpose = ragged_dot_transpose,
    .batch = NoRule{"its expansion is mapped: JAX maps it over leading dimensions alone, and all of its operands"},
    .lower = NoRule{"expands to a product of rows masked by group"},
    .expand = ragged_dot_expand,
};

std::span<const Primitive* const> ragged_dot_primitives() {
    static constexpr const Primitive* all[] = {&kRaggedDotGeneral};
    return all;
}

}  // namespace jaxscope
