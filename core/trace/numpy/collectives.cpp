// SPDX-License-Identifier: Apache-2.0
// Collectives over axes that vmap named.
#include <jaxscope/collectives.h>

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "base/intern.h"
#include "lax/collectives/collectives.h"
#include "lax/jitted_scope.h"
#include "lax/ops.h"
#include "lax/primitives.h"
#include "trace/named_axes.h"
#include "trace/promote.h"
#include "trace/refusals.h"
#include "trace/trace.h"

namespace jaxscope::jax {

namespace cl = ::jaxscope::lax;
using ::jaxscope::AvalRef;
using ::jaxscope::Builder;
using ::jaxscope::DType;
using ::jaxscope::Value;
using ::jaxscope::Values;

namespace detail {

namespace {

using lax::AxisNames;

struct Axis {
    std::string name;
    std::int64_t size;
};
std::vector<Axis>& axes() {
    thread_local std::vector<Axis> stack;
    return stack;
}

std::int64_t total_size(const AxisNames& names, const char* what, const Where& where) {
    std::int64_t size = 1;
    for (const std::string& name : names.names) {
        const std::int64_t n = size_of_axis(name);
        if (n < 0)
            detail::refuse_at(
                where, ErrorCode::BadUsage,
                Trace::current()
                    ? fmt::format("Found an unbound axis name: {}. To fix this, please call {} under `jax.shard_map`.", name, what)
                    : fmt::format("unbound axis name: {}", name),
                "name the mapped axis: jax::vmap(f, {.axis_name = \"" + name + "\"})");
        size *= n;
    }
    return size;
}
Attr names_attr(const AxisNames& names) {
    Attrs out;
    for (const std::string& n : names.names) out.emplace_back(Sym(n));
    return Attr::tuple(std::move(out));
}
/// A number as a value of the trace, which needs no equation.
Array literal(LiteralRef l, const Where& where) {
    return apply({}, where, [&](Builder&, const Values&) { return Values{Value(l)}; }).front();
}

Array reduced(const Operand& x, const AxisNames& names, const char* what, const ::jaxscope::Primitive& prim) {
    total_size(names, what, x.where);
    return apply1({x}, [&](Builder& b, const Values& v) {
        return b.bind1(prim, v, ::jaxscope::Params::make({{"axes", names_attr(names)}, {"axis_index_groups", Attr()}}));
    });
}

}  // namespace

NamedAxisScope::NamedAxisScope(std::string name, std::int64_t size) : outer_(jitted_scope()) {
    axes().push_back({std::move(name), size});
    context_changed();
}
NamedAxisScope::~NamedAxisScope() {
    axes().pop_back();
    jitted_scope() = outer_;
}
std::int64_t size_of_axis(const std::string& name) {
    for (std::size_t i = axes().size(); i-- > 0;)
        if (axes()[i].name == name) return axes()[i].size;
    return -1;
}
std::string& default_precision() {
    thread_local std::string name;
    return name;
}
std::uint64_t trace_context() { return jitted_scope(); }
void context_changed() {
    std::size_t h = default_precision().empty() ? 0 : std::hash<std::string>{}(default_precision());
    if (jit_disabled()) h = hash_mix(h, 1);
    for (const Axis& a : axes())  // one without a name, nobody can ask for
        if (!a.name.empty()) h = hash_mix(hash_mix(h, std::hash<std::string>{}(a.name)), static_cast<std::size_t>(a.size));
    jitted_scope() = h;
}

}  // namespace detail

namespace lax {

AxisNames::AxisNames(const char* name) : names{name} {}
AxisNames::AxisNames(std::string name) : names{std::move(name)} {}
AxisNames::AxisNames(std::initializer_list<const char*> list) : names(list.begin(), list.end()) {}

Array psum(const Operand& x, const AxisNames& axis_name) {
    const std::int64_t size = detail::total_size(axis_name, "psum", x.where);
    // A number is the same everywhere: its sum is known.
    if (x.kind == Operand::Kind::real) return detail::literal(detail::literal_of(Operand(x.real * static_cast<double>(size))), x.where);
    if (x.kind == Operand::Kind::integer || x.kind == Operand::Kind::boolean)
        return detail::literal(detail::literal_of(Operand((x.kind == Operand::Kind::boolean ? std::int64_t{x.boolean} : x.integer) * size)),
                               x.where);
    return detail::reduced(x, axis_name, "psum", kPsum);
}
Array pmean(const Operand& x, const AxisNames& axis_name) {
    const Array sum = psum(x, axis_name);
    return detail::apply1({Operand(sum)}, x.where, [&](Builder& b, const Values& v) {
        Value total = v[0];
        if (!is_inexact(b.aval(total)->dtype)) total = cl::convert_element_type(b, total, DType::F32);
        return cl::div(b, total, cl::constant(b, total, static_cast<double>(detail::total_size(axis_name, "pmean", x.where))));
    });
}
Array pmax(const Operand& x, const AxisNames& axis_name) { return detail::reduced(x, axis_name, "pmax", kPmax); }
Array pmin(const Operand& x, const AxisNames& axis_name) { return detail::reduced(x, axis_name, "pmin", kPmin); }

Array axis_size(const AxisNames& axis_name, Where where) {
    return detail::literal(make_literal(AvalRef(DType::S32, {}, true), detail::total_size(axis_name, "axis_size", where)), where);
}
Array axis_index(const AxisNames& axis_name, Where where) {
    detail::total_size(axis_name, "axis_index", where);
    return detail::apply({}, where,
                         [&](Builder& b, const Values&) {
                             const auto one = [&](const std::string& name) {
                                 return b.bind1(kAxisIndex, {}, ::jaxscope::Params::make({{"axis_name", Attr(Sym(name))}}));
                             };
                             if (axis_name.names.size() == 1) return Values{one(axis_name.names[0])};
                             // The last name counts fastest.
                             const AvalRef index(DType::S32, {});
                             Value at = make_literal(index, std::int64_t{0});
                             std::int64_t inner = 1;
                             for (std::size_t i = axis_name.names.size(); i-- > 0;) {
                                 at = cl::add(b, at, cl::mul(b, one(axis_name.names[i]), make_literal(index, inner)));
                                 inner *= detail::size_of_axis(axis_name.names[i]);
                             }
                             return Values{at};
                         })
        .front();
}

Array all_gather(const Operand& x, const AxisNames& axis_name, const GatherOptions& options) {
    const std::int64_t size = detail::total_size(axis_name, "all_gather", x.where);
    return detail::apply1({x}, [&](Builder& b, const Values& v) {
        const int rank = b.aval(v[0])->rank() + (options.tiled ? 0 : 1);
        return b.bind1(kAllGather, v,
                       ::jaxscope::Params::make({{"all_gather_dimension", Attr(detail::axis_in(options.axis, rank))},
                                                 {"axis_index_groups", Attr()},
                                                 {"axis_name", detail::names_attr(axis_name)},
                                                 {"axis_size", Attr(size)},
                                                 {"tiled", Attr(options.tiled)}}));
    });
}
Array ppermute(const Operand& x, const AxisNames& axis_name, const Permutation& perm) {
    detail::total_size(axis_name, "ppermute", x.where);
    Attrs pairs;
    for (const auto& [from, to] : perm) pairs.push_back(Attr::tuple({Attr(from), Attr(to)}));
    return detail::apply1({x}, [&](Builder& b, const Values& v) {
        return b.bind1(kPpermute, v,
                       ::jaxscope::Params::make({{"axis_name", detail::names_attr(axis_name)}, {"perm", Attr::tuple(std::move(pairs))}}));
    });
}
Array pshuffle(const Operand& x, const AxisNames& axis_name, const std::vector<std::int64_t>& perm) {
    const auto size = static_cast<std::size_t>(detail::total_size(axis_name, "pshuffle", x.where));
    std::vector<std::int64_t> sorted = perm;
    std::sort(sorted.begin(), sorted.end());
    Permutation pairs;
    for (std::size_t i = 0; i < perm.size(); ++i) pairs.emplace_back(perm[i], static_cast<std::int64_t>(i));
    for (std::size_t i = 0; i < sorted.size(); ++i)
        if (sorted.size() != size || sorted[i] != static_cast<std::int64_t>(i))
            detail::refuse_at(x.where, ErrorCode::BadUsage, "`perm` does not represent a permutation: " + detail::list_text(perm),
                              "each source and each destination stands once in it");
    return ppermute(x, axis_name, pairs);
}
Array all_to_all(const Operand& x, const AxisNames& axis_name, std::int64_t split_axis, std::int64_t concat_axis,
                 const ExchangeOptions& options) {
    const std::int64_t size = detail::total_size(axis_name, "all_to_all", x.where);
    return detail::apply1({x}, [&](Builder& b, const Values& v) {
        const std::int64_t rank = b.aval(v[0])->rank();
        std::int64_t split = detail::axis_in(split_axis, rank), concat = detail::axis_in(concat_axis, rank);
        const std::int64_t n = b.aval(v[0])->shape[static_cast<std::size_t>(split)];
        if (options.tiled && n % size != 0)
            detail::refuse(fmt::format("The size of all_to_all split_axis ({}) has to be divisible by the size of the named axis {} ({})",
                                       n, axis_name.names.front(), size));
        if (!options.tiled && n != size)
            detail::refuse(
                fmt::format("all_to_all requires the size of the mapped axis axis_name to equal x.shape[split_axis], but they are "
                            "{} and {} respectively.",
                            size, n));
        Value from = v[0];
        if (!options.tiled && split != concat) {
            // The new dimension stands where the mapped axis is put; `concat_axis` counts without the split one.
            concat += split < concat;
            from = cl::expand_dims(b, from, {concat});
            split += concat <= split;
        }
        ::jaxscope::Dims shape = b.aval(from)->shape;
        if (split != concat) shape[static_cast<std::size_t>(split)] /= size, shape[static_cast<std::size_t>(concat)] *= size;
        const ::jaxscope::ParamsRef params = ::jaxscope::Params::make({{"axis_index_groups", Attr()},
                                                                       {"axis_name", detail::names_attr(axis_name)},
                                                                       {"concat_axis", Attr(concat)},
                                                                       {"split_axis", Attr(split)},
                                                                       {"tiled", Attr(options.tiled)}});
        const Value out = b.emit(kAllToAll, {from}, params, {with_shape(b.aval(from), shape)}).front();
        return options.tiled || split == concat ? out : cl::squeeze(b, out, {split});
    });
}
Array pswapaxes(const Operand& x, const AxisNames& axis_name, std::int64_t axis) { return all_to_all(x, axis_name, axis, axis); }
Array psum_scatter(const Operand& x, const AxisNames& axis_name, const ScatterOptions& options) {
    const std::int64_t size = detail::total_size(axis_name, "psum_scatter", x.where);
    return detail::apply1({x}, [&](Builder& b, const Values& v) {
        return b.bind1(kReduceScatter, v,
                       ::jaxscope::Params::make({{"scatter_dimension", Attr(options.scatter_dimension)},
                                                 {"axis_index_groups", Attr()},
                                                 {"axis_name", detail::names_attr(axis_name)},
                                                 {"axis_size", Attr(size)},
                                                 {"tiled", Attr(options.tiled)}}));
    });
}

}  // namespace lax

}  // namespace jaxscope::jax
