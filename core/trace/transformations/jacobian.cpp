// SPDX-License-Identifier: Apache-2.0
// jacfwd and jacrev: a pushforward or a pullback under vmap, on the vectors of the standard basis.
#include <fmt/core.h>

#include <jaxscope/jacobian.h>
#include <jaxscope/numpy.h>

#include "lax/ops.h"
#include "lax/params/elementwise.h"
#include "lax/params/shapes.h"
#include "lax/primitives.h"
#include "trace/functions.h"
#include "trace/named_axes.h"
#include "trace/promote.h"
#include "trace/regions.h"
#include "transforms/batch.h"
#include "transforms/jaxpr_util.h"
#include "transforms/jvp.h"
#include "transforms/vjp.h"

namespace jaxscope::jax::detail {

namespace {

/// An array cut along `axis` into one piece per leaf, of its shape in that axis' place. `type`, where given: what all become; else each
/// becomes its leaf's, by an equation even where nothing changes, as JAX's basis has it.
std::vector<Array> unravel(const Array& whole, std::int64_t axis, const Avals& leaves, const AvalRef* type, const Where& where) {
    ::jaxscope::Dims sizes;
    for (const AvalRef a : leaves) sizes.push_back(a->size());
    const Operand in(whole, where.file, where.line, where.function);
    return apply({&in, 1}, where, [&](Builder& b, const Values& v) {
        const ::jaxscope::Dims shape = b.aval(v[0])->shape;
        Values parts = b.bind(kSplit, v, make_params(SplitParams{sizes, axis}));
        for (std::size_t i = 0; i < parts.size(); ++i) {
            ::jaxscope::Dims to(shape.begin(), shape.begin() + axis);
            to.insert(to.end(), leaves[i]->shape.begin(), leaves[i]->shape.end());
            to.insert(to.end(), shape.begin() + axis + 1, shape.end());
            Value part = ::jaxscope::lax::reshape(b, parts[i], to);
            const Aval& wanted = type ? **type : *leaves[i];
            if (is_complex(b.aval(part)->dtype) && !is_complex(wanted.dtype)) part = ::jaxscope::lax::real(b, part);
            parts[i] = type ? ::jaxscope::lax::convert_element_type(b, part, wanted.dtype, wanted.weak_type)
                            : b.bind1(kConvertElementType, {part}, make_params(ConvertParams{wanted.dtype, wanted.weak_type}));
        }
        return parts;
    });
}

std::int64_t total_size(const Avals& leaves) {
    std::int64_t n = 0;
    for (const AvalRef a : leaves) n += a->size();
    return n;
}
std::vector<Array> standard_basis(const Avals& leaves, const Where& where) {
    const Array rows = numpy::eye(total_size(leaves), static_cast<dtype>(promoted_type(leaves).type), where);
    return unravel(rows, 1, leaves, nullptr, where);
}

/// The chosen ones among the leaves.
struct Chosen {
    std::vector<bool> leaf;
    Avals avals;
};
Chosen chosen_of(const Call& call, const std::vector<std::size_t>& argnums) {
    Chosen c;
    c.leaf.assign(call.leaves.size(), false);
    for (const std::size_t a : argnums)
        for (std::size_t k = 0; k < call.leaves_of_arg[a]; ++k) {
            c.leaf[call.first_leaf(a) + k] = true;
            c.avals.push_back(call.leaves[call.first_leaf(a) + k].node()->aval);
        }
    return c;
}
std::size_t outputs_of(const TracedCall& t, bool aux) { return aux ? t.out_tree.children().front().num_leaves() : t.out_tree.num_leaves(); }

void check_forward_input(AvalRef a, bool holomorphic) {
    if (holomorphic && !is_complex(a->dtype))
        throw Error(ErrorCode::NotDifferentiable,
                    std::string("jacfwd with holomorphic=True requires inputs with complex dtype, but got ") + info(a->dtype).name + ".");
    if (!holomorphic && !is_float(a->dtype))
        throw Error(ErrorCode::NotDifferentiable,
                    std::string("jacfwd requires real-valued inputs (input dtype that is a sub-dtype of np.floating), but got ") +
                        info(a->dtype).name +
                        ". For holomorphic differentiation, pass holomorphic=True. For differentiation of non-holomorphic functions "
                        "involving complex inputs or integer inputs, use jax.jvp directly.");
}

/// Tangents stand in the order of the arguments; basis vectors in the order of `argnums`.
std::vector<std::size_t> positions(const Call& call, const std::vector<std::size_t>& argnums) {
    std::vector<std::size_t> order;
    for (const std::size_t a : call.order) {
        std::size_t before = 0;
        for (const std::size_t n : argnums) {
            if (n == a)
                for (std::size_t k = 0; k < call.leaves_of_arg[a]; ++k) order.push_back(before + k);
            before += call.leaves_of_arg[n];
        }
    }
    return order;
}

}  // namespace

std::vector<Array> jacfwd(Call& call, const std::vector<std::size_t>& argnums, const JacobianOptions& o) {
    return at_place(call.where, [&] {
        refuse_statics(call, argnums);
        leaves_of(call);
        const Chosen by = chosen_of(call, argnums);
        for (const AvalRef a : by.avals) check_forward_input(a, o.holomorphic);
        const std::vector<Array> basis = standard_basis(by.avals, call.where);
        const DifferentiatedFurther further;
        // JAX maps the forward derivative over the basis, and traces the function meanwhile.
        const TracedCall t = [&] {
            const NamedAxisScope mapped("", total_size(by.avals));
            return trace_known(call, "jacfwd", call.name ? call.name : kUnnamed);
        }();
        const std::size_t n = outputs_of(t, o.aux), all = t.out_tree.num_leaves();
        std::vector<bool> nonzero(t.traced.consts.size(), false);
        nonzero.insert(nonzero.end(), by.leaf.begin(), by.leaf.end());
        const JaxprPtr push = ::jaxscope::jvp(t.traced.open(), nonzero, n).jaxpr;
        std::vector<Array> in = with_consts(t.traced, call.leaves);
        std::vector<int> dims(in.size(), kNotMapped), out_dims(all, kNotMapped);
        for (const std::size_t p : positions(call, argnums)) in.push_back(basis[p]), dims.push_back(0);
        for (std::size_t k = 0; k < n; ++k) out_dims.push_back(push->aval(push->outvars[k])->rank());
        std::vector<Array> found = detail::call(::jaxscope::vmap(push, total_size(by.avals), dims, out_dims), in, call.where);
        std::vector<Array> out;
        for (std::size_t k = 0; k < n; ++k) {
            const AvalRef y = found[k].node()->aval;
            if (o.holomorphic && !is_complex(y->dtype))
                throw Error(
                    ErrorCode::NotDifferentiable,
                    std::string("jacfwd with holomorphic=True requires outputs with complex dtype, but got ") + info(y->dtype).name + ".");
            for (Array& block : unravel(found[all + k], y->rank(), by.avals, &y, call.where)) out.push_back(std::move(block));
        }
        out.insert(out.end(), found.begin() + static_cast<std::ptrdiff_t>(n), found.begin() + static_cast<std::ptrdiff_t>(all));
        return out;
    });
}

std::vector<Array> jacrev(Call& call, const std::vector<std::size_t>& argnums, const JacobianOptions& o) {
    return at_place(call.where, [&] {
        refuse_statics(call, argnums);
        leaves_of(call);
        const Chosen by = chosen_of(call, argnums);
        const GradientTypes types{o.holomorphic, o.allow_int};
        for (const AvalRef a : by.avals) check_reverse_input(a, "jacrev", types);
        RecordedRegion region("jacrev");
        const TracedCall t = trace_known(call, "jacrev", call.name ? call.name : kUnnamed);
        const std::size_t n = outputs_of(t, o.aux), all = t.out_tree.num_leaves();
        region.traced(call, t, argnums, n, o.aux);
        std::vector<bool> wrt(t.traced.consts.size(), false);
        wrt.insert(wrt.end(), by.leaf.begin(), by.leaf.end());
        const Vjp v = ::jaxscope::vjp(t.traced.open(), wrt, n);
        const std::vector<Array> forward =
            detail::call(region.half(v.forward, false, call.where), with_consts(t.traced, call.leaves), call.where);
        Avals outputs;
        for (std::size_t k = 0; k < n; ++k) {
            outputs.push_back(forward[k].node()->aval);
            check_reverse_output(outputs.back(), "jacrev", types);
        }
        std::vector<Array> in(forward.begin() + static_cast<std::ptrdiff_t>(all), forward.end());
        std::vector<int> dims(in.size(), kNotMapped);
        for (Array& row : standard_basis(outputs, call.where)) in.push_back(std::move(row)), dims.push_back(0);
        const std::vector<int> out_dims(by.avals.size(), 0);
        const MappedRegions mapped;
        const JaxprPtr pullback = ::jaxscope::vmap(region.half(v.backward, true, call.where), total_size(outputs), dims, out_dims);
        const std::vector<Array> rows = detail::call(pullback, in, call.where);
        // Blocks by argument leaf, then by result: turned around.
        const std::vector<std::size_t> order = positions(call, argnums);
        std::vector<std::vector<Array>> blocks(by.avals.size());
        std::vector<std::size_t> at(order.size());
        for (std::size_t i = 0; i < order.size(); ++i) at[order[i]] = i;
        for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i] = unravel(rows[at[i]], 0, outputs, &by.avals[i], call.where);
        std::vector<Array> out;
        for (std::size_t k = 0; k < n; ++k)
            for (const auto& of_leaf : blocks) out.push_back(of_leaf[k]);
        out.insert(out.end(), forward.begin() + static_cast<std::ptrdiff_t>(n), forward.begin() + static_cast<std::ptrdiff_t>(all));
        return out;
    });
}

}  // namespace jaxscope::jax::detail
