// SPDX-License-Identifier: Apache-2.0
// jax.numpy: elements that one of several functions or arrays gives, as a condition or a number chooses.
#include <fmt/core.h>

#include <functional>
#include <string_view>

#include <jaxscope/control_flow.h>
#include <jaxscope/jit.h>
#include <jaxscope/vectorize.h>

#include "trace/functions.h"
#include "trace/numpy/composed/composed.h"
#include "trace/numpy/indexer.h"
#include "trace/refusals.h"
#include "trace/trace.h"

namespace jaxscope::jax::numpy {

namespace {

/// What holds where no condition does stands first: for it JAX gives the choice 0.
std::vector<Piece> from_otherwise(const std::vector<Piece>& pieces, std::size_t conditions) {
    if (pieces.size() != conditions && pieces.size() != conditions + 1)
        detail::refuse(fmt::format("with {} condition(s), either {} or {} functions are expected; got {}", conditions, conditions,
                                   conditions + 1, pieces.size()));
    std::vector<Piece> out;
    out.push_back(pieces.size() == conditions ? Piece(0) : pieces.back());
    out.insert(out.end(), pieces.begin(), pieces.begin() + static_cast<std::ptrdiff_t>(conditions));
    return out;
}

}  // namespace

Array piecewise(const Operand& x, const Arrays& condlist, const std::vector<Piece>& funclist) {
    const auto body = [&](const Arrays& v) {
        const std::vector<Piece> pieces = from_otherwise(funclist, condlist.size());
        const auto chosen = [&](const Array& at, const Array& conditions, const Arrays& constants) {
            const Array none_holds = zeros_like(Operand(conditions[{slice(1)}]));
            const Array counts = cumsum(concatenate({none_holds, conditions}), {.axis = 0});
            std::vector<std::function<Array(const Array&)>> branches;
            std::size_t constant = 0;
            for (const Piece& p : pieces) {
                if (p.call)
                    branches.emplace_back([&p, &at](const Array& e) { return p.call(p.function, e).astype(at.dtype()); });
                else
                    branches.emplace_back([c = constants[constant++], &at](const Array&) { return array(c, at.dtype()); });
            }
            const auto one = [&](const Array& index, const Array& e) { return jax::lax::switch_(index, branches, e); };
            return vectorize(one)(argmax(counts, 0), at);
        };
        Arrays constants;
        for (const Piece& p : pieces)
            if (!p.call) constants.push_back(p.constant);
        return Arrays{jit(chosen, {.name = "_piecewise"}, x.where)(v[0], detail::of_rows(condlist, x.where).astype(bool_), constants)};
    };
    return detail::in_line({x}, body).front();
}

Array choose(const Operand& a, const Arrays& choices, const char* mode) {
    const auto body = [&](const Arrays& v) {
        const std::string_view m = mode;
        const auto n = static_cast<std::int64_t>(choices.size());
        if (!::jaxscope::is_integer(static_cast<::jaxscope::DType>(v[0].dtype()))) detail::refuse("`a` array must be integer typed");
        Array which = v[0];
        if (m == "wrap")
            which = which % n;
        else if (m == "clip")
            which = clip(which, 0, n - 1);
        else if (m != "raise")
            detail::refuse(fmt::format("mode='{}' not understood. Must be 'raise', 'wrap', or 'clip'", m));
        else if (static_cast<bool>(any((which < 0) | (which >= n))))
            detail::refuse("invalid entry in choice array");
        Arrays all{which};
        const Arrays typed = detail::promoted_arrays(choices, false);
        all.insert(all.end(), typed.begin(), typed.end());
        all = broadcast_arrays(all);
        const Array table = detail::of_rows(Arrays(all.begin() + 1, all.end()), a.where);
        std::vector<Index> at{all[0]};
        for (int d = 0; d < all[0].ndim(); ++d) {
            std::vector<std::int64_t> shape(static_cast<std::size_t>(all[0].ndim()), 1);
            shape[static_cast<std::size_t>(d)] = all[0].shape(d);
            const Array row = jax::lax::iota(int32, all[0].shape(d));
            at.emplace_back(all[0].ndim() == 1 ? row : jax::lax::broadcast_in_dim(row, shape, d));
        }
        return Arrays{detail::at_indices(table, at)};
    };
    return detail::in_line({a}, body).front();
}

}  // namespace jaxscope::jax::numpy
