// SPDX-License-Identifier: Apache-2.0

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include <jaxscope/array.h>

#include "base/error.h"
#include "lax/ops.h"
#include "lax/routine_primitives.h"
#include "trace/node.h"
#include "trace/promote.h"
#include "trace/refusals.h"

namespace jaxscope::jax::detail {

using ::jaxscope::Dims;
using D = ::jaxscope::DType;

namespace {

std::string text(const Dims& d) { return Shape(d).str(); }
Dims take(const Dims& shape, const Dims& at) {
    Dims out;
    for (const std::int64_t d : at) out.push_back(shape[static_cast<std::size_t>(d)]);
    return out;
}
bool distinct(Dims d) {
    std::sort(d.begin(), d.end());
    return std::adjacent_find(d.begin(), d.end()) == d.end();
}
std::string types_of(const Builder& b, const Values& v) {
    std::string out;
    for (const Value x : v) out += (out.empty() ? "" : ", ") + std::string(info(b.aval(x)->dtype).name);
    return out;
}

}  // namespace

void refuse(const std::string& text) { throw Error(ErrorCode::TypeMismatch, text); }
void refuse_at(const Where& where, ErrorCode code, const std::string& text, const std::string& advice) {
    Error e(code, text);
    if (!advice.empty()) e.advise(advice);
    throw e.at({where.file, where.line, 0});
}

std::string shaped_array_text(AvalRef a) { return fmt::format("ShapedArray({}{})", long_aval(a), a->weak_type ? ", weak_type=True" : ""); }
std::string shape_list(const std::vector<Dims>& shapes) {
    std::string out;
    for (const Dims& s : shapes) out += (out.empty() ? "" : ", ") + text(s);
    return out;
}
std::string list_text(const Dims& numbers) { return fmt::format("[{}]", fmt::join(numbers, ", ")); }
std::vector<Dims> shapes_of(const Builder& b, const Values& v) {
    std::vector<Dims> out;
    for (const Value x : v) out.push_back(b.aval(x)->shape);
    return out;
}

namespace {
void check_dot_side(const char* side, const Dims& shape, const Dims& batch, const Dims& contract) {
    for (const Dims* dims : {&batch, &contract})
        for (const std::int64_t d : *dims)
            if (d < 0 || d >= static_cast<std::int64_t>(shape.size()))
                refuse(
                    fmt::format("dot_general requires {0} dimension numbers to be nonnegative and less than the number of axes of the {0} "
                                "value, got {0}_batch of {1} and {0}_contracting of {2} for {0} of rank {3}",
                                side, text(batch), text(contract), shape.size()));
}
}  // namespace
void check_dot(const Builder& b, Value x, Value y, const DotDims& d) {
    const Dims l = b.aval(x)->shape, r = b.aval(y)->shape;
    check_dot_side("lhs", l, d.lhs_batch, d.lhs_contract);
    check_dot_side("rhs", r, d.rhs_batch, d.rhs_contract);
    if (take(l, d.lhs_batch) != take(r, d.rhs_batch))
        refuse(fmt::format("dot_general requires lhs batch dimensions and rhs batch dimensions to have the same shape, got {} and {}.",
                           text(take(l, d.lhs_batch)), text(take(r, d.rhs_batch))));
    if (take(l, d.lhs_contract) != take(r, d.rhs_contract))
        refuse(fmt::format("dot_general requires contracting dimensions to have the same shape, got {} and {}.",
                           text(take(l, d.lhs_contract)), text(take(r, d.rhs_contract))));
}

void check_concatenate(const Builder& b, const Values& v, std::int64_t dimension) {
    if (v.empty()) refuse("concatenate requires a non-empty sequences of arrays");
    const std::vector<Dims> shapes = shapes_of(b, v);
    for (const Dims& s : shapes)
        if (s.size() != shapes[0].size())
            refuse("Cannot concatenate arrays with different numbers of dimensions: got " + shape_list(shapes) + ".");
    if (dimension < 0 || dimension >= static_cast<std::int64_t>(shapes[0].size()))
        refuse(fmt::format("concatenate dimension out of bounds: dimension {} for shapes {}.", dimension, shape_list(shapes)));
    for (Dims s : shapes) {
        s[static_cast<std::size_t>(dimension)] = shapes[0][static_cast<std::size_t>(dimension)];
        if (s != shapes[0])
            refuse(
                fmt::format("Cannot concatenate arrays with shapes that differ in dimensions other than the one being concatenated: "
                            "concatenating along dimension {} for shapes {}.",
                            dimension, shape_list(shapes)));
    }
    for (const Value x : v)
        if (b.aval(x)->dtype != b.aval(v[0])->dtype)
            refuse("lax.concatenate requires arguments to have the same dtypes, got " + types_of(b, v) +
                   ". (Tip: jnp.concatenate is a similar function that does automatic type promotion on inputs).");
}

void check_transpose(const Dims& shape, const Dims& permutation) {
    Dims sorted = permutation, all;
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t d = 0; d < shape.size(); ++d) all.push_back(static_cast<std::int64_t>(d));
    if (sorted != all)
        refuse(fmt::format("transpose permutation isn't a permutation of operand dimensions, got permutation {} for operand shape {}.",
                           text(permutation), text(shape)));
}

Dims squeezed_dims(const Dims& shape, const Dims& dimensions) {
    Dims out;
    for (const std::int64_t d : dimensions) out.push_back(axis_in(d, static_cast<std::int64_t>(shape.size())));
    if (!distinct(out)) refuse("dimensions are not unique: " + text(dimensions));
    for (const std::int64_t d : out)
        if (shape[static_cast<std::size_t>(d)] != 1)
            refuse(fmt::format("cannot select an axis to squeeze out which has size not equal to one, got shape={} and dimensions={}",
                               text(shape), text(dimensions)));
    std::sort(out.begin(), out.end());
    return out;
}
Dims expanded_dims(std::int64_t rank, const Dims& dimensions) {
    Dims out;
    for (const std::int64_t d : dimensions) out.push_back(axis_in(d, rank + static_cast<std::int64_t>(dimensions.size())));
    if (!distinct(out)) refuse("repeated axis in lax.expand_dims: " + text(dimensions));
    std::sort(out.begin(), out.end());
    return out;
}

void check_nonnegative(const char* what, const Dims& shape) {
    if (std::any_of(shape.begin(), shape.end(), [](std::int64_t n) { return n < 0; }))
        refuse(fmt::format("{} must have every element be nonnegative, got {}.", what, text(shape)));
}
void check_broadcast_in_dim(const Dims& from, const Dims& shape, const Dims& dims) {
    check_nonnegative("broadcast_in_dim shape", shape);
    if (dims.size() != from.size())
        refuse(
            fmt::format("broadcast_in_dim broadcast_dimensions must have length equal to operand ndim; got broadcast_dimensions {} for "
                        "operand ndim {}.",
                        text(dims), from.size()));
    if (shape.size() < from.size())
        refuse(
            fmt::format("broadcast_in_dim target broadcast shape must have equal or higher rank to the operand shape; got operand ndim "
                        "{} and target broadcast ndim {}.",
                        from.size(), shape.size()));
    for (const std::int64_t d : dims)
        if (d < 0 || d >= static_cast<std::int64_t>(shape.size()))
            refuse(fmt::format(
                "broadcast_in_dim broadcast_dimensions must be a subset of output dimensions, got {} for operand ndim {} and shape {}.",
                text(dims), from.size(), text(shape)));
    for (std::size_t i = 0; i < dims.size(); ++i)
        if (from[i] != 1 && from[i] != shape[static_cast<std::size_t>(dims[i])])
            refuse(
                fmt::format("broadcast_in_dim operand dimension sizes must either be 1, or be equal to their corresponding dimensions in "
                            "the target broadcast shape; got operand of shape {}, target broadcast shape {}, broadcast_dimensions {} ",
                            text(from), text(shape), text(dims)));
}
void check_broadcast_to(AvalRef from, const Dims& shape) {
    const Dims& s = from->shape;
    if (s.size() > shape.size())
        refuse(fmt::format("Cannot broadcast to shape with fewer dimensions: arr_shape={} shape={}", text(s), text(shape)));
    for (std::size_t i = 0; i < s.size(); ++i)
        if (s[i] != 1 && s[i] != shape[shape.size() - s.size() + i])
            refuse(fmt::format("Incompatible types for broadcasting: input type={} and requested type={}", long_aval(from),
                               long_aval(AvalRef(from->dtype, shape))));
    check_nonnegative("broadcast_in_dim shape", shape);
}

void check_starts(const Builder& b, const char* name, const char* got, const Values& starts) {
    for (const Value s : starts)
        if (!b.aval(s)->shape.empty()) {
            std::string avals;
            for (const Value t : starts) avals += (avals.empty() ? "" : ", ") + ("ShapedArray(" + long_aval(b.aval(t)) + ")");
            refuse(fmt::format("start_indices arguments to {} must be scalars,  got indices ({}{})", name, avals,
                               starts.size() == 1 ? "," : ""));
        }
    for (const Value s : starts)
        if (!is_integer(b.aval(s)->dtype) || b.aval(s)->dtype != b.aval(starts[0])->dtype)
            refuse(fmt::format("index arguments to {} must be integers of the same type, {} {}", name, got, types_of(b, starts)));
}
void check_slice_sizes(const Dims& shape, const Dims& sizes) {
    if (sizes.size() != shape.size())
        refuse(fmt::format("dynamic_slice slice_sizes must have length equal to operand ndim; got slice_sizes {} for operand shape {}.",
                           text(sizes), text(shape)));
    for (std::size_t d = 0; d < sizes.size(); ++d)
        if (sizes[d] > shape[d])
            refuse(fmt::format("slice slice_sizes must be less than or equal to operand shape, got slice_sizes {} for operand shape {}.",
                               text(sizes), text(shape)));
    if (std::any_of(sizes.begin(), sizes.end(), [](std::int64_t n) { return n < 0; }))
        refuse(fmt::format("slice slice_sizes must be greater than or equal to zero, got slice_sizes of {}.", text(sizes)));
}
void check_update(AvalRef operand, AvalRef update) {
    const auto shapes = [&] { return fmt::format("got update shape {} for operand shape {}.", text(update->shape), text(operand->shape)); };
    if (update->shape.size() != operand->shape.size())
        refuse("dynamic_update_slice update must have the same rank as operand, " + shapes());
    for (std::size_t d = 0; d < update->shape.size(); ++d)
        if (update->shape[d] > operand->shape[d])
            refuse("dynamic_update_slice update shape must be smaller than operand shape, " + shapes());
    if (update->dtype != operand->dtype)
        refuse(fmt::format("lax.dynamic_update_slice requires arguments to have the same dtypes, got {}, {}.", info(operand->dtype).name,
                           info(update->dtype).name));
}

Dims reshaped(const Dims& from, const Dims& sizes) {
    const std::int64_t size = element_count(from);
    if (std::count(sizes.begin(), sizes.end(), -1) > 1)
        refuse("can only specify one unknown axis size with a `-1` value, got " + text(sizes));
    Dims to = sizes;
    std::int64_t known = 1;
    for (const std::int64_t n : sizes) known *= n == -1 ? 1 : n;
    const auto hole = std::find(to.begin(), to.end(), -1);
    if (hole != to.end()) {
        if (known == 0 || size % known != 0)
            refuse(
                fmt::format("cannot reshape array of shape {} (size {}) into shape {} because the product of specified axis sizes ({}) "
                            "does not evenly divide {}",
                            text(from), size, text(sizes), known, size));
        *hole = size / known;
        known = size;
    }
    if (known != size)
        refuse(fmt::format("cannot reshape array of shape {} (size {}) into shape {} (size {})", text(from), size, text(sizes), known));
    return to;
}
void check_distinct_axes(const Dims& axes, const char* what) {
    if (!distinct(axes)) refuse(fmt::format("duplicate value in {}: {}", what, text(axes)));
}

Value key_operand(Builder& b, const char* name, Value key, bool batched) {
    const AvalRef given = b.aval(key);
    if (!is_key(given->dtype)) {
        const auto wrong = [&](const std::string& what) {
            throw Error(ErrorCode::TypeMismatch, "JAX encountered invalid PRNG key data: expected " + what)
                .advise("make keys by jax::random::key(seed), and more of them by jax::random::split");
        };
        if (given->shape.empty()) wrong("key_data.ndim >= 1; got ndim=0");
        if (given->shape.back() != 2)
            wrong("key_data.shape to end with (2,); got shape=" + text(given->shape) +
                  " for impl=PRNGImpl(key_shape=(2,), name='threefry2x32', tag='fry')");
        if (given->dtype != D::U32) wrong(std::string("key_data.dtype = uint32; got dtype=") + info(given->dtype).name);
        key = b.bind1(kRandomWrap, {key}, Params::make({{"impl", Attr(Attr::Object{"PRNGImpl", "fry", "fry"})}}));
    }
    if (!batched && !b.aval(key)->shape.empty())
        refuse(fmt::format("{} accepts a single key, but was given a key array of shape {} != (). Use jax.vmap for batching.", name,
                           text(given->shape)));
    return key;
}

}  // namespace jaxscope::jax::detail
