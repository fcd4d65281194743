// SPDX-License-Identifier: Apache-2.0
// jax.numpy.einsum of one and two operands, as JAX contracts them.
#include <fmt/core.h>

#include <jaxscope/numpy.h>

#include <algorithm>

#include "base/error.h"
#include "lax/ops.h"
#include "lax/params/products.h"
#include "lax/primitives.h"
#include "trace/promote.h"
#include "trace/trace.h"

namespace jaxscope::jax::numpy {

namespace cl = ::jaxscope::lax;
using ::jaxscope::Builder;
using ::jaxscope::Dims;
using ::jaxscope::Value;
using ::jaxscope::Values;

namespace {

struct Names {
    std::vector<std::string> in;
    std::string out;
};

bool has(const std::string& names, char c) { return names.find(c) != std::string::npos; }
std::int64_t position(const std::string& names, char c) { return static_cast<std::int64_t>(names.find(c)); }

Names parsed(const std::string& subscripts, std::size_t operands, const Where& where) {
    const auto refuse = [&](const std::string& text) {
        throw Error(ErrorCode::BadUsage, fmt::format("einsum: {} in '{}'", text, subscripts)).at({where.file, where.line, 0});
    };
    Names n;
    std::string text;
    for (const char c : subscripts)
        if (c != ' ') text += c;
    const std::size_t arrow = text.find("->");
    std::string in = text.substr(0, arrow), all;
    for (std::size_t at = 0; at <= in.size();) {
        const std::size_t comma = std::min(in.find(',', at), in.size());
        n.in.push_back(in.substr(at, comma - at));
        at = comma + 1;
    }
    if (n.in.size() != operands) refuse(fmt::format("expected subscripts of {} operands, found {}", operands, n.in.size()));
    for (const std::string& s : n.in) {
        for (const char c : s) {
            if (!std::isalpha(static_cast<unsigned char>(c))) refuse(fmt::format("expected letters, found '{}'", c));
            if (std::count(s.begin(), s.end(), c) > 1) refuse(fmt::format("a diagonal ('{}' twice in one operand) is not supported", c));
        }
        all += s;
    }
    if (arrow != std::string::npos) {
        n.out = text.substr(arrow + 2);
    } else {
        for (const char c : all)
            if (std::count(all.begin(), all.end(), c) == 1) n.out += c;
        std::sort(n.out.begin(), n.out.end());
    }
    for (const char c : n.out)
        if (!has(all, c) || std::count(n.out.begin(), n.out.end(), c) > 1)
            refuse(fmt::format("expected each name of the result once among the operands', found '{}'", c));
    return n;
}

/// Sums over names that stand in this operand alone and not in the result.
Value without_own_names(Builder& b, Value x, std::string& names, const std::string& others) {
    Dims axes;
    std::string own, kept;
    for (const char c : names) (has(others, c) ? kept : own) += c;
    std::sort(own.begin(), own.end());
    for (const char c : own) axes.push_back(position(names, c));
    names = kept;
    return axes.empty() ? x : cl::reduce_sum(b, x, axes);
}
Value arranged(Builder& b, Value x, const std::string& names, const std::string& wanted) {
    if (names == wanted) return x;
    Dims order;
    for (const char c : wanted) order.push_back(position(names, c));
    return cl::transpose(b, x, order);
}
void expect_rank(Builder& b, Value x, const std::string& names, const Where& where) {
    if (b.aval(x)->rank() != static_cast<int>(names.size()))
        throw Error(ErrorCode::BadUsage, fmt::format("einsum: expected an operand of {} dimensions for '{}', found one of {}", names.size(),
                                                     names, b.aval(x)->rank()))
            .at({where.file, where.line, 0});
}
std::string rest_of(const std::string& names, const std::string& gone) {
    std::string out;
    for (const char c : names)
        if (!has(gone, c)) out += c;
    return out;
}
Value contracted(Builder& b, Value x, const std::string& nx, Value y, const std::string& ny, const std::string& batch,
                 const std::string& summed, ::jaxscope::DType type) {
    DotDims d;
    for (const char c : summed) d.lhs_contract.push_back(position(nx, c)), d.rhs_contract.push_back(position(ny, c));
    for (const char c : batch) d.lhs_batch.push_back(position(nx, c)), d.rhs_batch.push_back(position(ny, c));
    DotGeneralParams p{std::move(d)};
    p.preferred_element_type = type;
    return b.bind1(kDotGeneral, {x, y}, make_params(p));
}

}  // namespace

Array einsum(const char* subscripts, const Operand& x) {
    Names n = parsed(subscripts, 1, x.where);
    return detail::apply1({x}, [&](Builder& b, const Values& v) {
        expect_rank(b, v[0], n.in[0], x.where);
        const Value summed = without_own_names(b, v[0], n.in[0], n.out);
        return arranged(b, summed, n.in[0], n.out);
    });
}
Array einsum(const char* subscripts, const Operand& x, const Operand& y) {
    Names n = parsed(subscripts, 2, x.where);
    return detail::apply1({x, y}, [&](Builder& b, const Values& in) {
        // JAX leaves the operands as they are; the product has the type that they promote to.
        const Values& v = in;
        const ::jaxscope::DType type = detail::promoted_type({b.aval(v[0]), b.aval(v[1])}).type;
        expect_rank(b, v[0], n.in[0], x.where);
        expect_rank(b, v[1], n.in[1], x.where);
        for (const char c : n.in[0])
            if (has(n.in[1], c) && b.aval(v[0])->shape[n.in[0].find(c)] != b.aval(v[1])->shape[n.in[1].find(c)])
                throw Error(ErrorCode::TypeMismatch,
                            fmt::format("einsum: '{}' has the sizes {} and {}", c, b.aval(v[0])->shape[n.in[0].find(c)],
                                        b.aval(v[1])->shape[n.in[1].find(c)]))
                    .at({x.where.file, x.where.line, 0});
        // From the last operand to the first, as the path that JAX takes goes.
        const std::string nx = n.in[0], ny = n.in[1];
        const Value r = without_own_names(b, v[1], n.in[1], nx + n.out), l = without_own_names(b, v[0], n.in[0], ny + n.out);
        std::string batch, summed;
        for (const char c : n.out)
            if (has(n.in[0], c) && has(n.in[1], c)) batch += c;
        for (const char c : n.in[0])
            if (has(n.in[1], c) && !has(n.out, c)) summed += c;
        std::sort(summed.begin(), summed.end());
        const std::string own_x = rest_of(n.in[0], batch + summed), own_y = rest_of(n.in[1], batch + summed);
        if (batch + own_x + own_y == n.out) return contracted(b, l, n.in[0], r, n.in[1], batch, summed, type);
        return arranged(b, contracted(b, r, n.in[1], l, n.in[0], batch, summed, type), batch + own_y + own_x, n.out);
    });
}

}  // namespace jaxscope::jax::numpy
