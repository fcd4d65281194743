// SPDX-License-Identifier: Apache-2.0
#include "calls/control_flow.h"
#include "calls/families.h"
#include "calls/reductions/window_fold.h"
#include "lax/ops.h"
#include "lax/reductions/windows.h"
#include "lax/rule_support.h"
#include "transforms/jaxpr_util.h"
#include "transforms/jvp.h"

// reduce_window (windowed_reductions.py of JAX 0.10.2): windows with a function of the user's own; sums and extrema are primitives of their
// own.
namespace jaxscope {

namespace {

/// Inputs: operands, then as many initial scalars.
struct GeneralWindowParams {
    Dims base_dilation;
    Attr consts;           ///< empty: JAX refuses functions that hold arrays of their own
    Attr::JaxprRef jaxpr;  ///< scalars (accumulators, elements) -> accumulators
    PadPairs padding;
    Dims window_dilation, window_dimensions, window_strides;
    static constexpr auto kFields = std::tuple(
        field("base_dilation", &GeneralWindowParams::base_dilation), field("consts", &GeneralWindowParams::consts),
        field("jaxpr", &GeneralWindowParams::jaxpr), field("padding", &GeneralWindowParams::padding),
        field("window_dilation", &GeneralWindowParams::window_dilation),
        field("window_dimensions", &GeneralWindowParams::window_dimensions), field("window_strides", &GeneralWindowParams::window_strides));
    ReduceWindowParams windows() const { return {base_dilation, padding, window_dilation, window_dimensions, window_strides}; }
};

Avals general_window_eval(const Op& op) {
    if (op.in.empty() || op.in.size() % 2 != 0)
        type_mismatch(op, "as many initial values as operands", std::to_string(op.in.size()) + " inputs");
    const std::size_t n = op.in.size() / 2;
    const Jaxpr& function = *op.as<GeneralWindowParams>().jaxpr.jaxpr;
    if (function.num_invars != 2 * n || function.outvars.size() != n)
        type_mismatch(op, "a function of two scalars for each operand", std::to_string(function.num_invars) + " inputs");
    Avals out;
    for (std::size_t i = 0; i < n; ++i) {
        if (!op.in[i]->is_array() || op.in[i]->shape != op.in[0]->shape) type_mismatch(op, "operands of one shape", to_text(op.in[i]));
        if (!op.in[n + i]->shape.empty() || op.in[n + i]->dtype != op.in[i]->dtype)
            type_mismatch(op, "initial scalars of the operands' dtypes", to_text(op.in[n + i]));
        out.push_back(with_shape(op.in[i], window_shape(op, op.in[i]->shape, op.as<GeneralWindowParams>().windows())));
    }
    return out;
}

const JaxprPtr& function_of(const Op& op) {
    const JaxprPtr& j = op.as<GeneralWindowParams>().jaxpr.jaxpr;
    if (j->num_constvars != 0)
        throw Error(ErrorCode::NoRule,
                    "reduce_window: expected a function without arrays of its own, as JAX does, found " + std::to_string(j->num_constvars))
            .at(op.source.loc());
    return j;
}

/// The same windows over operands and tangents together, with a function that carries both on.
PrimalsTangents general_window_jvp(Builder& b, const Op& op, const Values& x, const Values& dx) {
    const std::size_t n = x.size() / 2;
    const auto refuse = [&](const char* why) { throw Error(ErrorCode::NotDifferentiable, why).at(op.source.loc()); };
    for (std::size_t i = n; i < dx.size(); ++i)
        if (!dx[i].is_zero()) refuse("reduce_window jvp does not support non-zero init_value_tangent.");
    Values in = part(x, 0, n);
    for (std::size_t i = 0; i < n; ++i) in.push_back(instantiate_zero(b, dx[i], op.in[i]));
    in = joined(in, rest(x, n));
    for (std::size_t i = n; i < 2 * n; ++i) in.push_back(instantiate_zero(b, dx[i], op.in[i]));
    const JvpJaxpr& both = jvp_jaxpr(function_of(op), Flags(2 * n, true));
    if (count_true(both.nonzero_out) != n) refuse("reduce_window output must have the same tree structure as the operands");
    // Accumulators and their tangents stand in front of the elements and theirs.
    const std::vector<int> order = joined(positions(0, n), positions(2 * n, n), positions(n, n), positions(3 * n, n));
    auto p = op.as<GeneralWindowParams>();
    p.jaxpr.jaxpr = rearrange(both.jaxpr, order, positions(0, 2 * n));
    const Values out = b.bind(*op.prim, in, make_params(p));
    return {part(out, 0, n), rest(out, n)};
}

BatchResult general_window_batch(Builder& b, const Op& op, const Values& x, const std::vector<int>& dims, std::int64_t size) {
    const std::size_t n = x.size() / 2;
    Values in;
    for (std::size_t i = 0; i < n; ++i) in.push_back(batch_to_front(b, x[i], dims[i], size));
    for (std::size_t i = n; i < x.size(); ++i)
        if (dims[i] != kNotMapped) throw Error(ErrorCode::NoRule, "reduce_window batching is not implemented for initial values");
    auto p = op.as<GeneralWindowParams>();
    for (Dims* list : {&p.window_dimensions, &p.window_strides, &p.base_dilation, &p.window_dilation}) *list = with_front(1, *list);
    p.padding.insert(p.padding.begin(), LowHigh{});
    return {b.bind(*op.prim, joined(in, rest(x, n)), make_params(p)), std::vector<int>(n, 0)};
}

JaxprPtr general_window_expand(const Op& op) {
    JaxprBuilder b;
    Values in;
    for (const AvalRef a : op.in) in.push_back(b.add_input(a));
    const std::size_t n = in.size() / 2;
    if (const PlainReduction* r = plain_reduction(*function_of(op))) {
        const Value of_each = b.bind1(r->windows, {in[0]}, make_params(op.as<GeneralWindowParams>().windows()));
        return b.finish({b.bind1(r->combine, {lax::broadcast_in_dim(b, in[1], op.out[0]->shape, {}), of_each})});
    }
    return b.finish(fold_windows(b, function_of(op), part(in, 0, n), rest(in, n), op.as<GeneralWindowParams>().windows()));
}

Cost general_window_cost(const Op& op) {
    const auto& p = op.as<GeneralWindowParams>();
    return {static_cast<double>(op.out.front()->size()) * static_cast<double>(element_count(p.window_dimensions)) *
                static_cast<double>(count_equations(*p.jaxpr.jaxpr)),
            total_bytes(op)};
}

}  // namespace

constinit const Primitive kGeneralWindow{
    .name = "reduce_window",
    .abstract_eval = general_window_eval,
    .jvp = NoRule{"its jvp_call rule gives primals and tangents together"},
    .jvp_call = general_window_jvp,
    .transpose = NoRule{"JAX has none either: its derivative is another reduce_window, over primals and tangents together"},
    .batch = general_window_batch,
    .lower = NoRule{"expands to a scan over the positions of a window"},
    .kernel = NoRule{"expands to a scan over the positions of a window"},
    .expand = general_window_expand,
    .cost = general_window_cost,
};

std::span<const Primitive* const> general_window_primitives() {
    static constexpr const Primitive* all[] = {&kGeneralWindow};
    return all;
}

}  // namespace jaxscope
