// SPDX-License-Identifier: Apache-2.0
#include "lax/linalg/dot.h"

#include <algorithm>
#include <tuple>

#include "base/checked.h"
#include "ir/kernel_builder.h"
#include "ir/print/attr_text.h"
#include "ir/print/text_form.h"
#include "ir/types/element.h"
#include "ir/types/manual_axes.h"
#include "ir/types/type_mesh.h"
#include "lax/families.h"
#include "lax/ops.h"
#include "lax/partition.h"
#include "lax/primitives.h"
#include "lax/rule_support.h"

namespace jaxscope {
namespace {

/// complex, exponent bits, mantissa bits, width, not unsigned
using Order = std::tuple<bool, int, int, int, bool>;

/// Which of two operand dtypes the product has: complex before real, then by exponent, mantissa, width, sign.
Order precedence(DType d) {
    const bool complex = is_complex(d);
    const DType real = d == DType::C64 ? DType::F32 : d == DType::C128 ? DType::F64 : d;
    const bool floating = is_float(real);
    const auto& facts = info(real);
    return {complex, floating ? facts.exponent_bits : -1, floating ? facts.mantissa_bits : -1, bit_width(d), !is_unsigned_int(real)};
}

}  // namespace

DType product_dtype(const Op& op, const DotGeneralParams& p) {
    const DType l = op.in[0]->dtype, r = op.in[1]->dtype;
    const Order left = precedence(l), right = precedence(r);
    if (left == right && l != r) type_mismatch(op, "operands of dtypes that combine", std::string(info(l).name) + " and " + info(r).name);
    const DType result = left < right ? r : l;
    if (!p.preferred_element_type || *p.preferred_element_type == result) return result;
    const DType preferred = *p.preferred_element_type;
    const bool algorithm = !p.precision.is_none() && !p.precision.get_seq() && !p.precision.get<Attr::Enum>();
    if (!algorithm && !is_float(result) && bit_width(preferred) < bit_width(result))
        type_mismatch(op, std::string("a preferred_element_type no narrower than ") + info(result).name, info(preferred).name);
    return preferred;
}

namespace {

void check_side(const Op& op, const Aval& aval, const Dims& contract, const Dims& batch, const char* side) {
    const bool fits = in_range(contract, aval.rank()) && in_range(batch, aval.rank()) && distinct(contract) && distinct(batch);
    if (!fits || !disjoint(contract, batch))
        type_mismatch(op, std::string("distinct contracting and batch dimensions of ") + side + " " + shape_text(aval.shape),
                      shape_text(contract) + " and " + shape_text(batch));
}

Dims product_shape(const Op& op, const DotDims& d) {
    const Dims &lhs = op.in[0]->shape, &rhs = op.in[1]->shape;
    check_side(op, *op.in[0], d.lhs_contract, d.lhs_batch, "lhs");
    check_side(op, *op.in[1], d.rhs_contract, d.rhs_batch, "rhs");
    const auto agree = [&](const Dims& l, const Dims& r, const char* what) {
        bool same = l.size() == r.size();
        for (std::size_t i = 0; same && i < l.size(); ++i)
            same = lhs[static_cast<std::size_t>(l[i])] == rhs[static_cast<std::size_t>(r[i])];
        if (!same)
            type_mismatch(op, std::string(what) + " dimensions of one shape",
                          shape_text(take(lhs, l)) + " and " + shape_text(take(rhs, r)));
    };
    agree(d.lhs_batch, d.rhs_batch, "batch");
    agree(d.lhs_contract, d.rhs_contract, "contracting");
    Dims shape;
    shape.reserve(lhs.size() + rhs.size());
    for (const std::int64_t b : d.lhs_batch) shape.push_back(lhs[static_cast<std::size_t>(b)]);
    const auto add_free = [&](const Dims& side, const Dims& contract, const Dims& batch) {
        for (std::size_t i = 0; i < side.size(); ++i)
            if (const auto n = static_cast<std::int64_t>(i); !contains(contract, n) && !contains(batch, n)) shape.push_back(side[i]);
    };
    add_free(lhs, d.lhs_contract, d.lhs_batch);
    add_free(rhs, d.rhs_contract, d.rhs_batch);
    return shape;
}

Avals dot_general_eval(const Op& op) {
    expect_arrays(op, 2);
    refuse_keys(op);
    const auto& p = op.as<DotGeneralParams>();
    Dims shape;
    try {
        shape = product_shape(op, p.dimension_numbers);
    } catch (Error& e) {
        e.in("parameter dimension_numbers");
        throw;
    }
    return {standard_result(op, product_dtype(op, p), shape)};
}

/// The sharding of a type with its dimensions in another order.
Attr in_order(const Aval& aval, const Dims& order) {
    if (!types_have_mesh()) return {};
    auto spec = explicit_spec(aval);
    spec.resize(aval.shape.size());
    std::vector<std::vector<Sym>> moved;
    for (const std::int64_t d : order) moved.push_back(spec[static_cast<std::size_t>(d)]);
    return explicit_sharding(*with_explicit_spec(with_shape(aval, take(aval.shape, order)), moved));
}

/// Cotangent of operand `x` (side 0 or 1) from that of the product `g` and the other operand `y`: the product of g and y over y's
/// free dimensions, permuted into x's order.
Value transpose_side(Builder& b, const Op& op, Value g, Value y, int side) {
    const auto& p = op.as<DotGeneralParams>();
    const DotDims& d = p.dimension_numbers;
    const bool left = side == 0;
    const Dims &x_contract = left ? d.lhs_contract : d.rhs_contract, &y_contract = left ? d.rhs_contract : d.lhs_contract;
    const Dims &x_batch = left ? d.lhs_batch : d.rhs_batch, &y_batch = left ? d.rhs_batch : d.lhs_batch;
    const AvalRef x_aval = op.in[static_cast<std::size_t>(side)];
    const Dims x_kept = remaining(x_aval->rank(), x_contract, x_batch);
    const Dims y_kept = remaining(b.aval(y)->rank(), y_contract, y_batch);
    const auto n_batch = std::ssize(x_batch), before = n_batch + (left ? std::ssize(x_kept) : 0);
    DotGeneralParams q = p;
    q.dimension_numbers = {.lhs_contract = plus(iota_dims(std::ssize(y_kept)), before),
                           .rhs_contract = y_kept,
                           .lhs_batch = iota_dims(n_batch),
                           .rhs_batch = y_batch};
    Dims order = x_batch;
    order.insert(order.end(), x_kept.begin(), x_kept.end());
    const Dims contracted = take(x_contract, argsort(y_contract));
    order.insert(order.end(), contracted.begin(), contracted.end());
    q.out_sharding = in_order(*x_aval, order);
    const Value product = b.bind1(kDotGeneral, {g, y}, make_params(q));
    const Value x_bar = lax::transpose(b, product, argsort(order));
    if (b.aval(x_bar)->dtype == x_aval->dtype) return x_bar;
    return lax::convert_element_type(b, x_bar, x_aval->dtype, x_aval->weak_type);
}

void dot_general_transpose(Builder& b, const Op& op, const Values& ct, const Values& x, TransposeSink& sink) {
    if (ct[0].is_zero()) return;
    const std::size_t side = x[0].is_linear() ? 0 : 1;
    if (sink.wanted(side)) sink.add(side, transpose_side(b, op, ct[0], x[1 - side], static_cast<int>(side)));
}

/// Both mapped: one more batch dimension. One mapped: one more free dimension of that operand.
BatchResult dot_general_batch(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t) {
    DotGeneralParams p = op.as<DotGeneralParams>();
    DotDims& d = p.dimension_numbers;
    const DotDims old = d;
    const auto unbatched_rank = [&](std::size_t n) { return b.aval(x[n])->rank() - (dims[n] != kNotMapped); };
    const auto free_before = [&](std::size_t n, const Dims& contract, const Dims& batch) {
        const Dims free = remaining(unbatched_rank(n), contract, batch);
        return static_cast<int>(std::ranges::count_if(free, [&](std::int64_t f) { return f < dims[n]; }));
    };
    int out = 0;
    if (dims[0] != kNotMapped) {
        d.lhs_batch = bump(d.lhs_batch, dims[0]);
        d.lhs_contract = bump(d.lhs_contract, dims[0]);
    }
    if (dims[1] != kNotMapped) {
        d.rhs_batch = bump(d.rhs_batch, dims[1]);
        d.rhs_contract = bump(d.rhs_contract, dims[1]);
    }
    if (dims[0] != kNotMapped && dims[1] != kNotMapped) {
        d.lhs_batch = with_front(dims[0], d.lhs_batch);
        d.rhs_batch = with_front(dims[1], d.rhs_batch);
    } else if (dims[0] != kNotMapped) {
        out = static_cast<int>(old.lhs_batch.size()) + free_before(0, old.lhs_contract, old.lhs_batch);
    } else {
        out = unbatched_rank(0) - static_cast<int>(old.lhs_contract.size()) + free_before(1, old.rhs_contract, old.rhs_batch);
    }
    return {{b.bind1(kDotGeneral, x, make_params(p))}, {out}};
}

KernelSpec dot_general_kernel(const Op& op) {
    const DotDims& d = op.as<DotGeneralParams>().dimension_numbers;
    return {DotKernel{to_ints(d.lhs_contract), to_ints(d.rhs_contract), to_ints(d.lhs_batch), to_ints(d.rhs_batch)}};
}

/// A multiplication and an addition for each element of the result and of the contracted dimensions; complex products are four each.
Cost dot_general_cost(const Op& op) {
    double flops = 2;
    for (const std::int64_t d : op.out[0]->shape) flops *= static_cast<double>(d);
    for (const std::int64_t d : take(op.in[0]->shape, op.as<DotGeneralParams>().dimension_numbers.lhs_contract))
        flops *= static_cast<double>(d);
    return {.flops = is_complex(op.out[0]->dtype) ? 4 * flops : flops, .bytes = total_bytes(op)};
}

// ---- Its text: lists inside of dimension_numbers, which are shorter than tuples of one

/// Batch and free dimensions are the result's, in order; what is contracted is summed over.
PartitionRule partition_dot_general(const Op& op) {
    const DotDims& n = op.as<DotGeneralParams>().dimension_numbers;
    PartitionRule rule;
    rule.combine = Combine::Sum;
    rule.in = {whole_dims(op, 0), whole_dims(op, 1)};
    rule.out.emplace_back();
    const auto tie = [&](const Dims& lhs, const Dims& rhs, bool result) {
        for (std::size_t i = 0; i < lhs.size(); ++i) {
            const int f = rule.new_factor();
            rule.in[0][static_cast<std::size_t>(lhs[i])] = rule.in[1][static_cast<std::size_t>(rhs[i])] = f;
            if (result) rule.out[0].push_back(f);
        }
    };
    tie(n.lhs_batch, n.rhs_batch, true);
    tie(n.lhs_contract, n.rhs_contract, false);
    for (std::vector<int>& factors : rule.in)
        for (int& f : factors)
            if (f == PartitionRule::kWhole) rule.out[0].push_back(f = rule.new_factor());
    return rule;
}

std::string list_pair(const Attr& pair) {
    const Attr::Seq* s = pair.get_seq();
    if (!s || s->items.size() != 2) return repr_text(pair);
    std::string out = "(";
    for (std::size_t i = 0; i < 2; ++i) {
        const Attr::Seq* inner = s->items[i].get_seq();
        out += (i ? ", " : "") + (inner ? repr_text(Attr::list(inner->items)) : repr_text(s->items[i]));
    }
    return out + ")";
}
std::string numbers_text(const Attr& numbers) {
    const Attr::Seq* s = numbers.get_seq();
    if (!s || s->items.size() != 2) return str_text(numbers);
    return "(" + list_pair(s->items[0]) + ", " + list_pair(s->items[1]) + ")";
}
Attr numbers_of_tuples(const Attr& numbers) {
    const Attr::Seq* pair = numbers.get_seq();
    if (!pair) return numbers;
    Attrs outer;
    for (const Attr& half : pair->items) {
        Attrs inner;
        if (half.get_seq())
            for (const Attr& dims : half.get_seq()->items) inner.push_back(dims.get_seq() ? Attr::tuple(dims.get_seq()->items) : dims);
        outer.push_back(Attr::tuple(std::move(inner)));
    }
    return Attr::tuple(std::move(outer));
}
constexpr HiddenParam kDotHidden[] = {{"out_sharding", text_form::always, text_form::none},
                                      {"out_type", text_form::if_none},  // of JAX before 0.5
                                      {"precision", text_form::if_none, text_form::none},
                                      {"preferred_element_type", text_form::if_none, text_form::none}};
constexpr SpelledParam kDotSpelled[] = {{"dimension_numbers", "dimension_numbers", numbers_text, numbers_of_tuples}};
constexpr TextForm kDotText{.hidden = kDotHidden, .spelled = kDotSpelled};

}  // namespace

// Rules of lax.py, JAX 0.10.2: bilinear, each side's transpose a product again.
constinit const Primitive kDotGeneral{
    .name = "dot_general",
    .abstract_eval = dot_general_eval,
    .jvp = jvp_bilinear,
    .transpose = dot_general_transpose,
    .batch = dot_general_batch,
    .lower = NoRule{"runs as a kernel"},
    .kernel = dot_general_kernel,
    .cost = dot_general_cost,
    .partition = partition_dot_general,
    .product = Product::Dot,
    .text = &kDotText,
};

std::span<const Primitive* const> dot_primitives() {
    static constexpr const Primitive* all[] = {&kDotGeneral};
    return all;
}

}  // namespace jaxscope
