// SPDX-License-Identifier: Apache-2.0
#include "lax/elementwise/support.h"

#include <fmt/format.h>

#include <algorithm>

#include "lax/ops.h"
#include "lax/rule_support.h"

namespace jaxscope {

bool in_class(DType d, unsigned classes) {
    return ((classes & kBoolClass) && d == DType::Bool) || ((classes & kIntClass) && is_integer(d)) ||
           ((classes & kFloatClass) && is_float(d)) || ((classes & kComplexClass) && is_complex(d)) || ((classes & kKeyClass) && is_key(d));
}

namespace {

std::string classes_text(unsigned classes) {
    std::string out;
    const auto add = [&](unsigned c, const char* name) {
        if (classes & c) out += (out.empty() ? "" : ", ") + std::string(name);
    };
    add(kIntClass, "integer");
    add(kBoolClass, "bool");
    add(kFloatClass, "floating");
    add(kComplexClass, "complexfloating");
    return out;
}

/// Equal ranks with equal or unit dimensions; scalars go with everything.
Dims stretched_shape(const Op& op) {
    Dims shape;
    for (const AvalRef a : op.in)
        if (!a->shape.empty()) {
            if (shape.empty())
                shape = a->shape;
            else if (const auto [low, high] = std::minmax({shape.size(), a->shape.size()}); low != high)
                throw Error(ErrorCode::TypeMismatch, fmt::format("{}: arrays must have the same number of dimensions, got {{{}, {}}}",
                                                                 op.prim->name.c_str(), low, high));
        }
    for (const AvalRef a : op.in)
        for (std::size_t d = 0; d < a->shape.size(); ++d) {
            if (shape[d] == 1)
                shape[d] = a->shape[d];
            else if (a->shape[d] != 1 && a->shape[d] != shape[d])
                throw Error(ErrorCode::TypeMismatch, fmt::format("{} got incompatible shapes for broadcasting: {}, {}.",
                                                                 op.prim->name.c_str(), shape_text(op.in[0]->shape), shape_text(a->shape)));
        }
    return shape;
}

}  // namespace

Dims check_nary(const Op& op, std::size_t n, unsigned classes) {
    expect_arrays(op, n);
    Dims shape = stretched_shape(op);
    for (std::size_t i = 0; i < n; ++i) {
        if (in_class(op.in[i]->dtype, classes)) continue;
        const std::string where = n == 1 ? "" : fmt::format(" at position {}", i);
        throw Error(ErrorCode::TypeMismatch,
                    fmt::format("{} does not accept dtype {}{}. Accepted dtypes{} are subtypes of {}.", op.prim->name.c_str(),
                                info(op.in[i]->dtype).name, where, where, classes_text(classes)));
    }
    return shape;
}

namespace {
/// Arrays of one type, or one and scalars of its dtype: most operations have the type of an operand, which needs no look-up.
const AvalRef* type_of_operand(const Op& op, std::size_t n, unsigned classes) {
    if (op.in.size() != n) return nullptr;
    const Aval &first = *op.in[0], &last = *op.in[n - 1];
    const bool lead = last.shape.empty();
    const Aval &wide = lead ? first : last, &narrow = lead ? last : first;
    const auto plain = [](const Aval& a) { return a.is_array() && a.sharding.str().empty() && a.space == MemorySpace::Device; };
    if (!plain(wide) || !in_class(wide.dtype, classes)) return nullptr;
    const AvalRef* result = &op.in[lead ? 0 : n - 1];
    if (op.in[0] == op.in[n - 1]) return result;
    const bool scalar = narrow.shape.empty() && narrow.dtype == wide.dtype && (narrow.weak_type || !wide.weak_type) && plain(narrow);
    return scalar ? result : nullptr;
}
}  // namespace

Avals eval_unary_in(const Op& op, unsigned classes) {
    if (const AvalRef* known = type_of_operand(op, 1, classes)) return {*known};
    const Dims shape = check_nary(op, 1, classes);
    return {standard_result(op, op.in[0]->dtype, shape)};
}
Avals eval_binary_in(const Op& op, unsigned classes) {
    if (const AvalRef* known = type_of_operand(op, 2, classes)) return {*known};
    const Dims shape = check_nary(op, 2, classes);
    expect_same_dtype(op, 0, 2);
    return {standard_result(op, op.in[0]->dtype, shape)};
}

BatchResult batch_nary(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t) {
    const auto shape_of = [&](std::size_t i) { return b.aval(x[i])->shape; };
    std::size_t first = 0;
    while (dims[first] == kNotMapped) ++first;
    bool agree = true;
    for (std::size_t i = 0; i < x.size(); ++i)
        if (!shape_of(i).empty()) agree = agree && dims[i] == dims[first] && shape_of(i) == shape_of(first);
    if (agree) {
        const Values out = b.bind(*op.prim, x, op.params);
        return {out, std::vector<int>(out.size(), dims[first])};
    }
    Values args;
    std::size_t rank = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        args.push_back(shape_of(i).empty() ? x[i] : batch_to_front(b, x[i], dims[i], 1));
        rank = std::max(rank, b.aval(args[i])->shape.size());
    }
    for (std::size_t i = 0; i < args.size(); ++i) {
        // a batched scalar beside arrays: its axis stays in front, unit axes follow
        const std::size_t have = b.aval(args[i])->shape.size();
        if (dims[i] == kNotMapped || have == 0 || have == rank) continue;
        Dims extra;
        for (std::size_t d = have; d < rank; ++d) extra.push_back(static_cast<std::int64_t>(d));
        args[i] = lax::expand_dims(b, args[i], extra);
    }
    const Values out = b.bind(*op.prim, args, op.params);
    return {out, std::vector<int>(out.size(), 0)};
}

Values jvp_zero(Builder&, const Op& op, const Values&, const Values&, const Values&) { return Values(op.out.size(), Value::zero()); }

KScalar load_stretched(ElementBuilder& k, const Op& op, int operand, const KIndex& i) {
    const Dims& shape = op.in[static_cast<std::size_t>(operand)]->shape;
    KIndex at;
    for (std::size_t d = 0; d < shape.size(); ++d) at.at.push_back(shape[d] == 1 ? k.index(0) : i.at[d]);
    return k.load(operand, at);
}

Value sum_tangents(Builder& b, std::initializer_list<Value> parts) {
    Value sum = Value::zero();
    for (const Value p : parts) {
        if (p.is_zero()) continue;
        sum = sum.is_zero() ? p : lax::add_any(b, sum, p);
    }
    return sum;
}

}  // namespace jaxscope
