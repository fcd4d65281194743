// SPDX-License-Identifier: Apache-2.0
#include "transforms/vjp.h"

#include "ir/followed.h"
#include "lax/ops.h"
#include "transforms/dce.h"
#include "transforms/jaxpr_util.h"
#include "transforms/transpose.h"

namespace jaxscope {

LinearizedCall linearize_call(JaxprBuilder& b, const Jaxpr& j, const Values& in, const std::vector<bool>& wrt, std::size_t num_outputs,
                              bool literals) {
    JAXSCOPE_ASSERT(in.size() == j.num_invars && wrt.size() == j.num_invars);
    refuse_runaway(j);
    SplitBuilder split(b, true);
    if (literals) split.hold_numbers(SplitBuilder::Numbers::Folded);
    LinearizedCall out;
    Values dx;
    for (std::size_t i = 0; i < in.size(); ++i) {
        const AvalRef a = tangent_aval(b.aval(in[i]));
        out.wrt.push_back(wrt[i] && a->dtype != DType::Float0 && a->is_array());
        dx.push_back(out.wrt.back() ? split.add_unknown_input(a) : Value::zero());
    }
    const NameStack outer = b.source->name_stack;
    split.source = Source{{}, outer.transform(stack_names::kJvp)};
    const JaxprPtr needed = without_unused_of_bodies(j);
    PrimalsTangents done = linearize_into(split, needed ? *needed : j, in, dx);
    split.source = {};
    b.source = b.source.with(outer);
    out.outputs = std::move(done.primals);
    Values tangents;
    for (std::size_t k = 0; k < std::min(num_outputs, done.tangents.size()); ++k) {
        out.nonzero_out.push_back(!done.tangents[k].is_zero());
        if (out.nonzero_out.back()) tangents.push_back(done.tangents[k]);
    }
    SplitBuilder::Unknown linear = split.finish_unknown(tangents, true, j.name);
    out.linear = std::move(linear.jaxpr);
    out.residuals = std::move(linear.residuals);
    return out;
}

namespace {

/// Transposes `call.linear`; returns a cotangent per input of `wrt`.
struct LinearPart {
    const JaxprPtr& linear;
    const std::vector<bool>&wrt, &nonzero_out;
};
Values pull_back(JaxprBuilder& b, const LinearPart& call, const Values& residuals, const Values& ct, const std::vector<bool>& wrt,
                 const Avals& in_avals) {
    Values x = residuals;
    x.resize(call.linear->num_invars, Value::linear());
    const Values cts = backward_pass(b, *call.linear, x, select(ct, call.nonzero_out), {}, true);
    Values out;
    std::size_t next = residuals.size();
    for (std::size_t i = 0; i < wrt.size(); ++i) {
        const Value c = call.wrt[i] ? cts[next++] : Value::zero();
        if (wrt[i]) out.push_back(instantiate_zero(b, c, in_avals[i]));
    }
    return out;
}

struct Signature {
    Values in;  ///< constvars, then inputs
    std::vector<bool> wrt;
};
/// `only_read`: constants that nothing reads in the end, since a rule stands for the function that read them, are left out as JAX does.
Signature copy_signature(JaxprBuilder& b, const Jaxpr& j, const std::vector<bool>& wrt, bool only_read = false) {
    Signature s;
    if (only_read && j.consts.size() == j.num_constvars) {
        s.in = constants_of(b, j);
        for (std::uint32_t i = 0; i < j.num_invars; ++i)
            s.in.push_back(b.add_input(j.aval(j.invar(i)), j.arg_names.empty() ? Sym() : j.arg_names[i]));
    } else {
        s.in = b.add_signature(j);
    }
    s.wrt.assign(j.num_constvars, false);
    s.wrt.insert(s.wrt.end(), wrt.begin(), wrt.end());
    return s;
}

std::string shape_tuple(const Dims& shape) {
    std::string out = "(";
    for (std::size_t i = 0; i < shape.size(); ++i) out += (i ? ", " : "") + std::to_string(shape[i]);
    return out + (shape.size() == 1 ? ",)" : ")");
}

}  // namespace

void check_reverse_input(AvalRef a, const char* name, GradientTypes types) {
    if (!a->is_array()) return;
    const std::string dtype = info(a->dtype).name;
    if (types.holomorphic && !is_complex(a->dtype))
        throw Error(ErrorCode::NotDifferentiable,
                    std::string(name) + " with holomorphic=True requires inputs with complex dtype, but got " + dtype + ".");
    if (!is_inexact(a->dtype) && !types.allow_int)
        throw Error(ErrorCode::NotDifferentiable,
                    std::string(name) +
                        " requires real- or complex-valued inputs (input dtype that is a sub-dtype of np.inexact), but got " + dtype +
                        ". If you want to use Boolean- or integer-valued inputs, use vjp or set allow_int to True.");
}

void check_reverse_output(AvalRef a, const char* name, GradientTypes types) {
    const std::string dtype = info(a->dtype).name, head = std::string(name) +
                                                          " requires real-valued outputs (output dtype that is a "
                                                          "sub-dtype of np.floating), but got ";
    if (types.holomorphic) {
        if (!is_complex(a->dtype))
            throw Error(ErrorCode::NotDifferentiable,
                        std::string(name) + " with holomorphic=True requires outputs with complex dtype, but got " + dtype + ".");
    } else if (is_complex(a->dtype)) {
        throw Error(ErrorCode::NotDifferentiable,
                    head + dtype +
                        ". For holomorphic differentiation, pass holomorphic=True. For differentiation of non-holomorphic "
                        "functions involving complex outputs, use jax.vjp directly.");
    } else if (!is_float(a->dtype)) {
        throw Error(ErrorCode::NotDifferentiable,
                    head + dtype + ". For differentiation of functions with integer outputs, use jax.vjp directly.");
    }
}

namespace {

/// JAX's checks of grad: types of the inputs, then that there is one scalar, then its type.
void check_gradient_types(const Jaxpr& j, const std::vector<bool>& wrt, GradientTypes types) {
    for (std::uint32_t i = 0; i < j.num_invars; ++i)
        if (wrt[i]) check_reverse_input(j.aval(j.invar(i)), "grad", types);
    if (j.outvars.empty()) throw Error(ErrorCode::NotDifferentiable, "expected a function with a scalar result, found one without results");
    const AvalRef out = j.aval(j.outvars.front());
    if (out->rank() != 0)
        throw Error(ErrorCode::NotDifferentiable,
                    "Gradient only defined for scalar-output functions. Output had shape: " + shape_tuple(out->shape) + ".");
    check_reverse_output(out, "grad", types);
}

JaxprPtr gradient(const JaxprPtr& j, const std::vector<bool>& wrt, bool has_aux, bool with_value, GradientTypes types) {
    JAXSCOPE_ASSERT(wrt.size() == j->num_invars);
    check_gradient_types(*j, wrt, types);
    if (!has_aux && j->outvars.size() != 1)
        throw Error(ErrorCode::NotDifferentiable, "Gradient only defined for scalar-output functions. Output was a tree of " +
                                                      std::to_string(j->outvars.size()) + " results.");
    JaxprBuilder b;
    const Signature s = copy_signature(b, *j, wrt, true);
    const JaxprPtr open = convert_constvars(j);
    const LinearizedCall call = linearize_call(b, *open, s.in, s.wrt, 1);
    const AvalRef type = j->aval(j->outvars.front());
    const Value one = lax::on_mesh(b, is_complex(type->dtype) ? make_literal(type, std::complex<double>(1)) : make_literal(type, 1.0));
    const Values grads = pull_back(b, {call.linear, call.wrt, call.nonzero_out}, call.residuals, {one}, s.wrt, open->in_avals());
    Values outs;
    if (with_value) outs = call.outputs;
    outs.insert(outs.end(), grads.begin(), grads.end());
    if (!with_value) outs.insert(outs.end(), call.outputs.begin() + 1, call.outputs.end());  // aux
    return b.finish(outs, j->name);
}

}  // namespace

Linearized linearize(const JaxprPtr& j, const std::vector<bool>& wrt, std::size_t num_outputs, bool literals) {
    JAXSCOPE_ASSERT(wrt.size() == j->num_invars);
    JaxprBuilder b;
    const Signature s = copy_signature(b, *j, wrt);
    const JaxprPtr open = convert_constvars(j);
    LinearizedCall call = linearize_call(b, *open, s.in, s.wrt, std::min(num_outputs, j->outvars.size()), literals);
    Linearized out;
    out.num_residuals = call.residuals.size();
    out.linear = std::move(call.linear);
    out.nonzero_out = std::move(call.nonzero_out);
    out.wrt.assign(call.wrt.begin() + j->num_constvars, call.wrt.end());
    Values outs = std::move(call.outputs);
    outs.insert(outs.end(), call.residuals.begin(), call.residuals.end());
    out.forward = b.finish(outs, j->name);
    return out;
}

JaxprPtr pullback(const JaxprPtr& j, const Linearized& lin, const std::vector<bool>& wrt, std::size_t num_outputs) {
    num_outputs = std::min(num_outputs, j->outvars.size());
    JaxprBuilder b;
    Values residuals, ct;
    const Avals in = lin.linear->in_avals();
    for (std::size_t i = 0; i < lin.num_residuals; ++i) residuals.push_back(b.add_input(in[i]));
    for (std::size_t k = 0; k < num_outputs; ++k) ct.push_back(b.add_input(tangent_aval(j->aval(j->outvars[k]))));
    const LinearPart part{lin.linear, lin.wrt, lin.nonzero_out};
    return b.finish(pull_back(b, part, residuals, ct, wrt, j->in_avals()), j->name);
}
Vjp vjp(const JaxprPtr& j, const std::vector<bool>& wrt, std::size_t num_outputs) {
    const Linearized lin = linearize(j, wrt, num_outputs);
    return {lin.forward, pullback(j, lin, wrt, num_outputs), lin.num_residuals};
}

JaxprPtr value_and_pullback(const JaxprPtr& j, const std::vector<bool>& wrt) {
    JAXSCOPE_ASSERT(wrt.size() == j->num_invars);
    JaxprBuilder b;
    const Signature s = copy_signature(b, *j, wrt);
    Values ct;
    for (const Atom a : j->outvars) {
        const AvalRef t = tangent_aval(j->aval(a));
        ct.push_back(t->is_array() && t->dtype != DType::Float0 ? b.add_input(t) : Value::zero());
    }
    const JaxprPtr open = convert_constvars(j);
    const LinearizedCall call = linearize_call(b, *open, s.in, s.wrt, j->outvars.size());
    const Values grads = pull_back(b, {call.linear, call.wrt, call.nonzero_out}, call.residuals, ct, s.wrt, open->in_avals());
    Values outs = call.outputs;
    outs.insert(outs.end(), grads.begin(), grads.end());
    return b.finish(outs, j->name);
}

JaxprPtr value_and_grad(const JaxprPtr& j, const std::vector<bool>& wrt, bool has_aux, GradientTypes types) {
    return gradient(j, wrt, has_aux, true, types);
}
JaxprPtr grad(const JaxprPtr& j, const std::vector<bool>& wrt, bool has_aux) { return gradient(j, wrt, has_aux, false, {}); }

}  // namespace jaxscope
