// SPDX-License-Identifier: Apache-2.0
#include "lax/rule_support.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <string_view>

#include "base/checked.h"
#include "lax/ops.h"

namespace jaxscope {

void type_mismatch(const Op& op, const std::string& expected, const std::string& found) {
    throw Error(ErrorCode::TypeMismatch, op.prim->name + ": expected " + expected + ", found " + found);
}

std::string shape_text(const Dims& dims) { return fmt::format("({}{})", fmt::join(dims, ", "), dims.size() == 1 ? "," : ""); }

void expect_inputs(const Op& op, std::size_t n) {
    if (op.in.size() != n) type_mismatch(op, std::to_string(n) + " operands", std::to_string(op.in.size()));
}
void expect_arrays_at_least(const Op& op, std::size_t n) {
    if (op.in.size() < n) type_mismatch(op, fmt::format("at least {} operands", n), std::to_string(op.in.size()));
    for (const AvalRef a : op.in)
        if (!a->is_array()) type_mismatch(op, "arrays", to_text(a));
}

void refuse_keys(const Op& op, std::size_t n) {
    for (std::size_t i = 0; i < std::min(n, op.in.size()); ++i)
        if (is_key(op.in[i]->dtype))
            throw Error(ErrorCode::TypeMismatch,
                        fmt::format("{} does not accept dtype {}{}.", op.prim->name.c_str(), info(op.in[i]->dtype).name,
                                    op.in.size() == 1 ? "" : fmt::format(" at position {}", i)));
}
void expect_arrays(const Op& op, std::size_t n) {
    if (op.in.size() != n) type_mismatch(op, fmt::format("{} operands", n), std::to_string(op.in.size()));
    expect_arrays_at_least(op, n);
}

void expect_same_dtype(const Op& op, std::size_t first, std::size_t n) {
    const DType wanted = op.in[first]->dtype;
    if (std::all_of(op.in.begin() + first, op.in.begin() + first + n, [&](AvalRef a) { return a->dtype == wanted; })) return;
    // What jax.numpy calls the function that promotes.
    static const std::map<std::string_view, const char*> promoting{{"add", "add"},
                                                                   {"atan2", "arctan2"},
                                                                   {"div", "divide"},
                                                                   {"eq", "equal"},
                                                                   {"max", "maximum"},
                                                                   {"min", "minimum"},
                                                                   {"mul", "multiply"},
                                                                   {"ne", "not_equal"},
                                                                   {"nextafter", "nextafter"},
                                                                   {"select", "where"},
                                                                   {"shift_left", "left_shift"},
                                                                   {"shift_right_arithmetic", "right_shift"},
                                                                   {"sub", "subtract"},
                                                                   {"shift_right_logical", "right_shift"}};
    const std::string_view prim = op.prim->name.c_str(), name = prim == "select_n" ? "select" : prim;
    std::string dtypes;
    for (std::size_t i = first; i < first + n; ++i) dtypes += (i > first ? ", " : "") + std::string(info(op.in[i]->dtype).name);
    const auto tip = promoting.find(name);
    throw Error(
        ErrorCode::TypeMismatch,
        fmt::format("lax.{} requires arguments to have the same dtypes, got {}.{}", name, dtypes,
                    tip == promoting.end() ? ""
                                           : fmt::format(" (Tip: jnp.{} is a similar function that does automatic type promotion on "
                                                         "inputs).",
                                                         tip->second)));
}

namespace {

MemorySpace common_space(const Op& op) {
    const Aval* first = nullptr;
    for (const AvalRef a : op.in) {
        if (a->shape.empty()) continue;
        if (first && first->space != a->space) type_mismatch(op, "operands in one memory space", to_text(*first) + " and " + to_text(a));
        first = &*a;
    }
    return first ? first->space : MemorySpace::Device;
}

AvalRef make_result(const Op& op, DType dtype, Dims shape, bool weak) {
    Aval a;
    a.dtype = dtype;
    a.shape = std::move(shape);
    a.weak_type = weak;
    a.space = common_space(op);
    element_count(a.shape);  // refuses what no buffer can hold
    return a;
}

}  // namespace

AvalRef standard_result(const Op& op, DType dtype, Dims shape) {
    const bool weak = !op.in.empty() && std::ranges::all_of(op.in, [](AvalRef a) { return a->weak_type; });
    return make_result(op, dtype, std::move(shape), weak);
}

AvalRef result_like_input(const Op& op, std::size_t input, DType dtype, Dims shape) {
    return make_result(op, dtype, std::move(shape), op.in[input]->weak_type);
}

Dims dims_param(const Op& op, const Attr* param, const char* what) {
    Dims out;
    if (!param) type_mismatch(op, what, "none");
    from_attr(*param, out);
    if (std::any_of(out.begin(), out.end(), [](std::int64_t d) { return d < 0; })) type_mismatch(op, what, shape_text(out));
    return out;
}

bool contains(const Dims& dims, std::int64_t d) { return std::ranges::find(dims, d) != dims.end(); }

bool distinct(const Dims& dims) {
    if (dims.size() <= 8) {  // nearly all: no memory is asked for
        for (auto d = dims.begin(); d != dims.end(); ++d)
            if (std::find(dims.begin(), d, *d) != d) return false;
        return true;
    }
    Dims sorted = dims;
    std::ranges::sort(sorted);
    return std::ranges::adjacent_find(sorted) == sorted.end();
}

bool in_range(const Dims& dims, std::int64_t rank) {
    return std::ranges::all_of(dims, [rank](std::int64_t d) { return 0 <= d && d < rank; });
}

bool sorted_distinct_in(const Dims& dims, std::int64_t rank) {
    return std::ranges::is_sorted(dims) && distinct(dims) && in_range(dims, rank);
}

bool disjoint(const Dims& a, const Dims& b) {
    return std::ranges::none_of(a, [&](std::int64_t d) { return contains(b, d); });
}

Dims iota_dims(std::int64_t n) {
    Dims dims(static_cast<std::size_t>(n));
    std::iota(dims.begin(), dims.end(), 0);
    return dims;
}

Dims remaining(std::int64_t rank, const Dims& a, const Dims& b) {
    Dims kept;
    kept.reserve(static_cast<std::size_t>(rank));
    for (std::int64_t d = 0; d < rank; ++d)
        if (!contains(a, d) && !contains(b, d)) kept.push_back(d);
    return kept;
}

Dims take(const Dims& values, const Dims& positions) {
    Dims taken;
    taken.reserve(positions.size());
    for (const std::int64_t p : positions) taken.push_back(values[static_cast<std::size_t>(p)]);
    return taken;
}

Dims argsort(const Dims& values) {
    Dims order = iota_dims(static_cast<std::int64_t>(values.size()));
    std::ranges::stable_sort(order, {}, [&](std::int64_t i) { return values[static_cast<std::size_t>(i)]; });
    return order;
}

Dims plus(Dims dims, std::int64_t n) {
    for (std::int64_t& d : dims) d += n;
    return dims;
}

Dims with_front(std::int64_t d, Dims dims) {
    dims.insert(dims.begin(), d);
    return dims;
}

Dims bump(Dims dims, std::int64_t axis) {
    for (std::int64_t& d : dims) d += d >= axis;
    return dims;
}

Dims erased(Dims dims, std::int64_t at) {
    dims.erase(dims.begin() + at);
    return dims;
}

Dims inserted(Dims dims, std::int64_t at, std::int64_t value) {
    dims.insert(dims.begin() + at, value);
    return dims;
}

std::vector<int> to_ints(const Dims& dims) { return {dims.begin(), dims.end()}; }

DType index_dtype_unsigned(const Dims& shape) {
    constexpr std::int64_t limit = std::numeric_limits<std::uint32_t>::max();
    return std::ranges::any_of(shape, [](std::int64_t d) { return d > limit; }) ? DType::U64 : DType::U32;
}

/// Zeros of a weakly typed operand are weakly typed, so that what only such operands enter stays so.
Value instantiate_tangent(Builder& b, Value dx, AvalRef primal) { return dx.is_zero() ? lax::full(b, tangent_aval(primal), 0.0) : dx; }

Values jvp_linear(Builder& b, const Op& op, const Values&, const Values&, const Values& dx) {
    Values in;
    for (std::size_t i = 0; i < dx.size(); ++i) in.push_back(instantiate_tangent(b, dx[i], op.in[i]));
    return b.bind(*op.prim, in, op.params);
}

Values jvp_bilinear(Builder& b, const Op& op, const Values& x, const Values&, const Values& dx) {
    Value sum = Value::zero();
    if (!dx[0].is_zero()) sum = b.bind1(*op.prim, {dx[0], x[1]}, op.params);
    if (!dx[1].is_zero()) {
        const Value right = b.bind1(*op.prim, {x[0], dx[1]}, op.params);
        sum = sum.is_zero() ? right : lax::add_any(b, sum, right);
    }
    return {sum};
}

Value moveaxis(Builder& b, Value x, int from, int to) {
    if (from == to) return x;
    Dims permutation = erased(iota_dims(b.aval(x)->rank()), from);
    permutation.insert(permutation.begin() + to, from);
    return lax::transpose(b, x, permutation);
}

Value batch_to_front(Builder& b, Value x, int dim, std::int64_t size) { return batch_to(b, x, dim, 0, size); }
Value batch_to(Builder& b, Value x, int dim, int axis, std::int64_t size) {
    if (dim != kNotMapped) return moveaxis(b, x, dim, axis);
    Dims shape = b.aval(x)->shape, kept;
    for (int d = 0; d < static_cast<int>(shape.size()); ++d) kept.push_back(d < axis ? d : d + 1);
    shape.insert(shape.begin() + axis, size);
    return lax::broadcast_in_dim(b, x, shape, kept);
}

BatchResult batch_unary(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t) {
    return {b.bind(*op.prim, x, op.params), {dims[0]}};
}

KScalar position(ElementBuilder& k, KScalar index) {
    if (index.dtype == DType::S64) return index;
    if (index.dtype == DType::U64) index = k.op(KOp::Min, index, k.constant_int(DType::U64, std::numeric_limits<std::int64_t>::max()));
    return k.convert(index, DType::S64);
}

KScalar load_same(ElementBuilder& k, int operand, const KIndex& i) { return k.load(operand, i); }

double total_bytes(const Op& op) {
    double sum = 0;
    for (const AvalRef a : op.in) sum += static_cast<double>(a->bytes());
    for (const AvalRef a : op.out) sum += static_cast<double>(a->bytes());
    return sum;
}

KernelSpec routine_kernel(const Op&) { return {RuntimeKernel{}}; }

Cost data_movement_cost(const Op& op) { return {.flops = 0, .bytes = total_bytes(op)}; }

}  // namespace jaxscope
