// SPDX-License-Identifier: Apache-2.0
// jax.numpy.einsum, as JAX contracts: pair after pair.
#include <fmt/core.h>

#include <jaxscope/numpy.h>

#include <algorithm>

#include "base/error.h"
#include "lax/ops.h"
#include "lax/params/elementwise.h"
#include "lax/params/products.h"
#include "lax/params/shapes.h"
#include "lax/primitives.h"
#include "trace/numpy/contractions.h"
#include "trace/numpy/einsum_path.h"
#include "trace/promote.h"
#include "trace/refusals.h"
#include "trace/trace.h"

namespace jaxscope::jax::numpy {

namespace cl = ::jaxscope::lax;
using ::jaxscope::Builder;
using ::jaxscope::Dims;
using ::jaxscope::Value;
using ::jaxscope::Values;
using D = ::jaxscope::DType;

namespace {

/// An operand or a partial result, and the name of each of its dimensions.
struct Term {
    Value value;
    std::string names;
};
struct Subscripts {
    std::vector<std::string> in;
    std::string out;
};

bool has(const std::string& names, char c) { return names.find(c) != std::string::npos; }
std::int64_t position(const std::string& names, char c) { return static_cast<std::int64_t>(names.find(c)); }
std::string without(const std::string& names, const std::string& gone) {
    std::string out;
    for (const char c : names)
        if (!has(gone, c)) out += c;
    return out;
}

/// Dots become names that nobody wrote, the last of as many as the longest of them needs.
void name_dots(Subscripts& s, bool arrow, const std::vector<Dims>& shapes) {
    std::string used = s.out, free;
    for (const std::string& n : s.in) used += n;
    for (const char c : std::string("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"))
        if (!has(used, c)) free += c;
    std::size_t longest = 0;
    for (std::size_t i = 0; i < s.in.size(); ++i)
        if (has(s.in[i], '.') && shapes[i].size() + 3 >= s.in[i].size()) longest = std::max(longest, shapes[i].size() + 3 - s.in[i].size());
    const std::string names = free.substr(0, longest);
    const auto put = [&](std::string& n, std::size_t count) {
        if (const std::size_t at = n.find("..."); at != std::string::npos) n.replace(at, 3, names.substr(longest - count));
    };
    for (std::size_t i = 0; i < s.in.size(); ++i) put(s.in[i], shapes[i].size() + 3 - std::min(shapes[i].size() + 3, s.in[i].size()));
    if (arrow)
        put(s.out, longest);
    else
        s.out = names + without(s.out, names);
}

Subscripts parsed(const std::string& text, const std::vector<Dims>& shapes) {
    Subscripts s;
    std::string dense;
    for (const char c : text)
        if (c != ' ') dense += c;
    const std::size_t arrow = dense.find("->");
    const std::string in = dense.substr(0, arrow);
    for (std::size_t at = 0; at <= in.size();) {
        const std::size_t comma = std::min(in.find(',', at), in.size());
        s.in.push_back(in.substr(at, comma - at));
        at = comma + 1;
    }
    if (s.in.size() != shapes.size())
        detail::refuse(
            fmt::format("Number of einsum subscripts, {}, must be equal to the number of operands, {}.", s.in.size(), shapes.size()));
    std::string all;
    for (const std::string& n : s.in) all += n;
    if (arrow != std::string::npos) {
        s.out = dense.substr(arrow + 2);
    } else {
        for (const char c : all)
            if (c != '.' && std::count(all.begin(), all.end(), c) == 1) s.out += c;
        std::sort(s.out.begin(), s.out.end());
    }
    if (has(dense, '.')) name_dots(s, arrow != std::string::npos, shapes);
    all.clear();
    for (const std::string& n : s.in) all += n;
    for (const char c : s.out) {
        if (std::count(s.out.begin(), s.out.end(), c) > 1)
            detail::refuse(fmt::format("Output character '{}' appeared more than once in the output.", c));
        if (!has(all, c)) detail::refuse(fmt::format("Output character '{}' did not appear in the input", c));
    }
    return s;
}

detail::SizesOfNames sizes_of(const Subscripts& s, const std::vector<Dims>& shapes) {
    detail::SizesOfNames sizes;
    sizes.fill(-1);
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        if (s.in[i].size() != shapes[i].size())
            detail::refuse(
                fmt::format("Einstein sum subscript '{}' does not contain the correct number of indices for operand {}.", s.in[i], i));
        for (std::size_t d = 0; d < shapes[i].size(); ++d) {
            std::int64_t& size = sizes[static_cast<unsigned char>(s.in[i][d]) & 127U];
            if (size >= 0 && size != 1 && shapes[i][d] != 1 && size != shapes[i][d])
                detail::refuse(fmt::format("Size of label '{}' for operand {} ({}) does not match previous terms ({}).", s.in[i][d], i,
                                           size, shapes[i][d]));
            if (size < 0 || size == 1) size = shapes[i][d];
        }
    }
    return sizes;
}

/// How a whole product is summed.
struct Sums {
    D type;
    Attr precision;
};

/// In the type of the whole product; of truth values: is any of them true?
Value summed(Builder& b, Value x, const Dims& axes, D type) {
    if (axes.empty()) return x;
    const detail::Promoted to = detail::promoted_type({b.aval(x), AvalRef(type, {})});
    if (to.type != b.aval(x)->dtype) x = cl::convert_element_type(b, x, to.type);
    const Value sum = to.type == D::Bool ? b.bind1(kReduceOr, {x}, make_params(ReduceParams{axes})) : cl::reduce_sum(b, x, axes);
    return cl::convert_element_type(b, sum, to.type);
}

/// Sums over these names, each once in the term.
void sum_names(Builder& b, Term& t, const std::string& names, D type) {
    Dims axes;
    for (const char c : names) axes.push_back(position(t.names, c));
    t.value = summed(b, t.value, axes, type);
    t.names = without(t.names, names);
}

/// True where the positions along all these axes are equal.
Value on_diagonal(Builder& b, const Dims& shape, const Dims& axes) {
    Dims base;
    for (const std::int64_t a : axes) base.push_back(shape[static_cast<std::size_t>(a)]);
    Values at;
    for (std::size_t d = 0; d < axes.size(); ++d)
        at.push_back(b.bind1(kIota, {}, make_params(IotaParams{D::U32, base, static_cast<std::int64_t>(d)})));
    Value out;
    for (std::size_t d = 0; d + 1 < at.size(); ++d) {
        const Value same = cl::eq(b, at[d], at[d + 1]);
        out = d == 0 ? same : b.bind1(kAnd, {out, same});
    }
    return cl::broadcast_in_dim(b, out, shape, axes);
}
/// Names that stand several times in a term: its diagonals, summed where nothing else has the name.
void take_diagonals(Builder& b, Term& t, const std::string& kept, D type) {
    for (std::size_t i = 0; i < t.names.size(); ++i) {
        const char c = t.names[i];
        Dims axes;
        for (std::size_t d = 0; d < t.names.size(); ++d)
            if (t.names[d] == c) axes.push_back(static_cast<std::int64_t>(d));
        if (axes.size() < 2) continue;
        const AvalRef a = b.aval(t.value);
        const Value diagonal = on_diagonal(b, a->shape, axes);
        t.value = cl::select(b, diagonal, t.value, cl::full(b, a, 0.0));
        if (has(kept, c)) axes.pop_back();
        t.value = summed(b, t.value, axes, type);
        for (std::size_t d = axes.size(); d-- > 0;) t.names.erase(t.names.begin() + axes[d]);
        --i;  // what follows has moved here
    }
}
/// Dimensions of size one that the other term has longer broadcast by being left out.
void drop_ones(Builder& b, Term& t, const Term& other) {
    Dims ones;
    const Dims &shape = b.aval(t.value)->shape, &longer = b.aval(other.value)->shape;
    std::string kept;
    for (std::size_t d = 0; d < t.names.size(); ++d) {
        const std::size_t at = other.names.find(t.names[d]);
        if (shape[d] == 1 && at != std::string::npos && longer[at] != 1)
            ones.push_back(static_cast<std::int64_t>(d));
        else
            kept += t.names[d];
    }
    t.value = cl::squeeze(b, t.value, ones);
    t.names = kept;
}
Value arranged(Builder& b, const Term& t, const std::string& wanted) {
    if (t.names == wanted) return t.value;
    Dims order;
    for (const char c : wanted) order.push_back(position(t.names, c));
    return cl::transpose(b, t.value, order);
}
/// Names of the terms that the result hasn't, sorted: those that stand once in `of`, and not in `other`, where that is asked.
std::string summed_names(const std::string& all, const std::string& out) {
    std::string names;
    for (const char c : all)
        if (!has(out, c) && !has(names, c)) names += c;
    std::sort(names.begin(), names.end());
    return names;
}
std::string own_names(const std::string& candidates, const std::string& of, const std::string& other) {
    std::string names;
    for (const char c : candidates)
        if (std::count(of.begin(), of.end(), c) == 1 && !has(other, c)) names += c;
    return names;
}

Term contracted(Builder& b, const Term& l, const Term& r, const std::string& batch, const std::string& sums, const Sums& in) {
    DotGeneralParams p;
    p.precision = in.precision;
    for (const char c : sums) {
        p.dimension_numbers.lhs_contract.push_back(position(l.names, c));
        p.dimension_numbers.rhs_contract.push_back(position(r.names, c));
    }
    for (const char c : batch) {
        p.dimension_numbers.lhs_batch.push_back(position(l.names, c));
        p.dimension_numbers.rhs_batch.push_back(position(r.names, c));
    }
    p.preferred_element_type = in.type;
    return {b.bind1(kDotGeneral, {l.value, r.value}, make_params(p)),
            batch + without(l.names, batch + sums) + without(r.names, batch + sums)};
}
/// The path that JAX takes goes from the last operand to the first.
Value product_of_terms(Builder& b, Term x, Term y, const std::string& out, const Sums& in) {
    const D type = in.type;
    std::string sums = summed_names(x.names + y.names, out);
    drop_ones(b, y, x), drop_ones(b, x, y);
    const std::string nx = x.names, ny = y.names;
    sum_names(b, y, own_names(sums, ny, nx), type);
    sum_names(b, x, own_names(sums, nx, ny), type);
    take_diagonals(b, y, out + x.names, type);
    take_diagonals(b, x, out + y.names, type);
    std::string batch, common;
    for (const char c : out)
        if (has(x.names, c) && has(y.names, c)) batch += c;
    for (const char c : sums)
        if (has(x.names, c) && has(y.names, c)) common += c;
    const std::string rest_x = without(x.names, batch + common), rest_y = without(y.names, batch + common);
    const bool in_order = batch + rest_x + rest_y == out;
    return arranged(b, in_order ? contracted(b, x, y, batch, common, in) : contracted(b, y, x, batch, common, in), out);
}

Value einsum_in(Builder& b, const Values& v, const char* subscripts, const ProductOptions& how) {
    const std::vector<Dims> shapes = detail::shapes_of(b, v);
    const Subscripts s = parsed(subscripts, shapes);
    const detail::SizesOfNames sizes = sizes_of(s, shapes);
    // JAX leaves the operands as they are.
    const detail::Promoted to = detail::product_type(b, v, how);
    const Sums in{to.type, detail::precision_of(how.precision)};
    std::vector<Term> terms;
    for (std::size_t i = 0; i < v.size(); ++i) terms.push_back({v[i], s.in[i]});
    if (terms.size() == 1) {
        Term& t = terms.front();
        sum_names(b, t, own_names(summed_names(t.names, s.out), t.names, ""), to.type);
        take_diagonals(b, t, s.out, to.type);
        return cl::convert_element_type(b, arranged(b, t, s.out), to.type, to.weak);
    }
    for (const detail::EinsumStep& step : detail::einsum_path(s.in, s.out, sizes)) {
        const Value out = product_of_terms(b, terms[step.x], terms[step.y], step.out, in);
        terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(step.y));
        terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(step.x));
        terms.push_back({out, step.out});
    }
    return cl::convert_element_type(b, terms.front().value, to.type, to.weak);
}
Array einsum_of(const char* subscripts, const std::vector<Operand>& operands, const ProductOptions& how, const Where& where) {
    return detail::apply(operands, where, [&](Builder& b, const Values& v) { return Values{einsum_in(b, v, subscripts, how)}; }).front();
}

}  // namespace

Array einsum(const char* subscripts, const Operand& x, const ProductOptions& how) { return einsum_of(subscripts, {x}, how, x.where); }
Array einsum(const char* subscripts, const Operand& x, const Operand& y, const ProductOptions& how) {
    return einsum_of(subscripts, {x, y}, how, x.where);
}
Array einsum(const char* subscripts, const Operand& x, const Operand& y, const Operand& z, const ProductOptions& how) {
    return einsum_of(subscripts, {x, y, z}, how, x.where);
}
Array einsum(const char* subscripts, const Operand& x, const Operand& y, const Operand& z, const Operand& w, const ProductOptions& how) {
    return einsum_of(subscripts, {x, y, z, w}, how, x.where);
}
Array einsum(const char* subscripts, const Arrays& operands, const ProductOptions& how, Where where) {
    if (operands.empty())
        detail::refuse_at(where, ErrorCode::BadUsage, "einsum needs at least one array", "give the arrays behind the subscripts");
    std::vector<Operand> in;
    for (const Array& a : operands) in.emplace_back(a, where.file, where.line, where.function);
    return einsum_of(subscripts, in, how, where);
}

}  // namespace jaxscope::jax::numpy
