#include "trace/functions.h"

#include <fmt/core.h>

#include <jaxscope/autodiff.h>
#include <jaxscope/checkpoint.h>
#include <jaxscope/vmap.h>

#include <cstdio>
#include <ostream>

#include "base/error.h"
#include "calls/control_flow.h"
#include "calls/families.h"
#include "calls/remat.h"
#include "ir/interpret.h"
#include "ir/print/printer.h"
#include "ir/registry.h"
#include "lax/params/elementwise.h"
#include "lax/primitives.h"
#include "transforms/batch.h"
#include "transforms/jaxpr_util.h"
#include "transforms/jvp.h"
#include "transforms/policies.h"
#include "transforms/residuals.h"
#include "transforms/vjp.h"

namespace jaxscope::jax {

namespace detail {

ArgumentNames argument_names(const Call& call, const std::vector<std::string>& given) {
    ArgumentNames out;
    const std::vector<PyTreeDef> args = make_tree(call.arguments()).children();
    for (std::size_t i = 0; i < args.size(); ++i) {
        out.args.push_back(call.keywords[i] ? call.keywords[i] : i < given.size() ? given[i] : fmt::format("args[{}]", i));
        for (const std::string& path : args[i].paths()) {
            out.leaves.emplace_back(out.args.back() + path);
            out.arg_of_leaf.push_back(static_cast<int>(i));
        }
    }
    return out;
}

const std::vector<Array>& leaves_of(const Call& call) {
    for (const Array& a : call.leaves)
        if (!a.is_tracer()) elements(*a.node());
    return call.leaves;
}

Avals avals_of(const std::vector<Array>& arrays) {
    Avals out;
    for (const Array& a : arrays) out.push_back(a.node()->aval);
    return out;
}

TracedCall trace_call(Call& call, const Avals& in, const char* what, const std::string& function, const ArgumentNames* names) {
    Trace t(what, function);
    std::vector<Array> leaves, out;
    for (std::size_t i = 0; i < in.size(); ++i) leaves.push_back(t.input(in[i], names ? names->leaves[i] : Sym()));
    call.run(leaves.data(), out);
    return {t.finish(out), make_tree(call.results())};
}
TracedCall trace_call(Call& call, const char* what, const std::string& function, const ArgumentNames* names) {
    return trace_call(call, avals_of(call.leaves), what, function, names);
}

std::vector<Array> with_consts(const Traced& t, const std::vector<Array>& leaves) { return joined(t.consts, leaves); }

RegionRecorder*& RegionRecorder::current() {
    thread_local RegionRecorder* recorder = nullptr;
    return recorder;
}

namespace {

std::vector<bool> chosen_leaves(const Call& call, const std::vector<std::size_t>& argnums) {
    std::vector<bool> out;
    for (std::size_t a = 0; a < call.leaves_of_arg.size(); ++a) {
        bool chosen = false;
        for (const std::size_t i : argnums) chosen = chosen || i == a;
        out.insert(out.end(), call.leaves_of_arg[a], chosen);
    }
    return out;
}

/// The region of one differentiation, as a capture writes it.
::jaxscope::Region region_of(const Call& call, const TracedCall& t, const std::vector<std::size_t>& argnums, bool has_aux,
                             const char* kind) {
    ::jaxscope::Region r;
    const ArgumentNames names = argument_names(call, {});
    r.name = t.traced.jaxpr->name;
    r.kind = kind;
    auto open = std::make_shared<::jaxscope::Jaxpr>(*t.traced.jaxpr);
    open->consts.clear();
    r.jaxpr = open;
    r.in_paths = names.leaves;
    r.arg_of_input = names.arg_of_leaf;
    for (const std::string& a : names.args) r.arg_names.emplace_back(a);
    for (const std::string& p : t.out_tree.paths()) r.out_paths.emplace_back(p);
    for (const std::size_t i : argnums) r.wrt.push_back(static_cast<int>(i));
    r.wrt_inputs = chosen_leaves(call, argnums);
    r.has_aux = has_aux;
    r.source = source_of(call.where);
    return r;
}

JaxprPtr named(const JaxprPtr& j, const std::string& name) {
    auto out = std::make_shared<::jaxscope::Jaxpr>(*j);
    out->name = Sym(name);
    return out;
}
std::vector<Array> call_jit(const JaxprPtr& body, const std::vector<Array>& in, const Where& where) {
    const ParamsRef params = Params::make({{"jaxpr", Attr(Attr::JaxprRef{body, true})}, {"name", Attr(body->name)}});
    return bind_primitive(*emitted_calls().jit, in, params, where);
}

/// value_and_grad with the two halves as the calls that captures mark.
std::vector<Array> marked_value_and_grad(RegionRecorder& recorder, const JaxprPtr& open, const std::vector<bool>& wrt,
                                         const std::vector<Array>& in, bool has_aux, const Where& where) {
    const int mark = recorder.next++;
    const Vjp v = vjp(open, wrt, has_aux ? 1 : open->outvars.size());
    const JaxprPtr forward = named(v.forward, fmt::format("jaxscope_forward_{}", mark));
    const JaxprPtr backward = named(v.backward, fmt::format("jaxscope_backward_{}", mark));
    recorder.calls.push_back({mark, false, forward, {}});
    recorder.calls.push_back({mark, true, backward, {}});
    const std::vector<Array> all = call_jit(forward, in, where);
    const auto results = static_cast<std::ptrdiff_t>(all.size() - v.num_residuals);
    std::vector<Array> out(all.begin(), all.begin() + results), residuals(all.begin() + results, all.end());
    // A cotangent of one per value.
    const AvalRef type = out.front().node()->aval;
    residuals.push_back(apply1({}, where, [&](Builder&, const Values&) -> Value { return make_literal(strong(type), 1.0); }));
    for (Array& g : call_jit(backward, residuals, where)) out.push_back(std::move(g));
    return out;
}

}  // namespace

std::vector<Array> value_and_grad(Call& call, const std::vector<std::size_t>& argnums, bool has_aux, const char* what) {
    leaves_of(call);
    const TracedCall t = trace_call(call, what, call.name ? call.name : kUnnamed);
    std::vector<bool> wrt(t.traced.consts.size(), false);
    for (const bool w : chosen_leaves(call, argnums)) wrt.push_back(w);
    const JaxprPtr open = t.traced.open();
    const std::vector<Array> in = with_consts(t.traced, call.leaves);
    RegionRecorder* recorder = RegionRecorder::current();
    if (recorder && recorder->marking) return marked_value_and_grad(*recorder, open, wrt, in, has_aux, call.where);
    if (recorder) {
        recorder->regions.push_back(region_of(call, t, argnums, has_aux, what));
        recorder->regions.back().mark = static_cast<int>(recorder->regions.size()) - 1;
    }
    return detail::call(::jaxscope::value_and_grad(open, wrt, has_aux), in, call.where);
}

std::vector<Array> jvp(Call& call, const std::vector<Array>& tangents) {
    leaves_of(call);
    if (tangents.size() != call.leaves.size())
        throw Error(ErrorCode::BadUsage, "primal and tangent arguments to jax.jvp must have the same tree structure");
    const TracedCall t = trace_call(call, "jvp", kUnnamed);
    std::vector<bool> nonzero(t.traced.consts.size(), false);
    nonzero.insert(nonzero.end(), call.leaves.size(), true);
    std::vector<Array> in = with_consts(t.traced, call.leaves);
    in.insert(in.end(), tangents.begin(), tangents.end());
    return detail::call(::jaxscope::jvp(t.traced.open(), nonzero).jaxpr, in, call.where);
}

std::vector<Array> vmap(Call& call, const VmapOptions& options) {
    leaves_of(call);
    std::vector<int> dims;
    std::int64_t size = options.axis_size;
    std::size_t leaf = 0;
    if (options.in_axes.size() > 1 && options.in_axes.size() != call.leaves_of_arg.size())
        throw Error(ErrorCode::BadUsage,
                    fmt::format("vmap in_axes must be an int, None, or a tuple of entries corresponding to the positional "
                                "arguments passed to the function, but got {} entries for {} arguments",
                                options.in_axes.size(), call.leaves_of_arg.size()));
    for (std::size_t a = 0; a < call.leaves_of_arg.size(); ++a)
        for (std::size_t k = 0; k < call.leaves_of_arg[a]; ++k, ++leaf) {
            const Axis axis = options.in_axes.empty() ? Axis(0) : options.in_axes.size() == 1 ? options.in_axes[0] : options.in_axes[a];
            if (!axis.mapped) {
                dims.push_back(kNotMapped);
                continue;
            }
            const AvalRef aval = call.leaves[leaf].node()->aval;
            const int rank = aval->rank(), at = axis.axis < 0 ? axis.axis + rank : axis.axis;
            if (at < 0 || at >= rank)
                throw Error(ErrorCode::BadUsage,
                            fmt::format("vmap was requested to map its argument along axis {}, which implies that its rank "
                                        "should be at least {}, but is only {} (its shape is {})",
                                        axis.axis, at + 1, rank, Shape(aval->shape).str()));
            const std::int64_t n = aval->shape[static_cast<std::size_t>(at)];
            if (size && n != size)
                throw Error(ErrorCode::BadUsage,
                            fmt::format("vmap got inconsistent sizes for array axes to be mapped: {} and {}", size, n));
            size = n;
            dims.push_back(at);
        }
    if (!size) throw Error(ErrorCode::BadUsage, "vmap must have at least one non-None value in in_axes");
    // The function sees one element: arrays without the mapped axis.
    Avals elements = avals_of(call.leaves);
    for (std::size_t i = 0; i < elements.size(); ++i) {
        if (dims[i] == kNotMapped) continue;
        ::jaxscope::Dims shape = elements[i]->shape;
        shape.erase(shape.begin() + dims[i]);
        elements[i] = with_shape(elements[i], shape);
    }
    const TracedCall t = trace_call(call, elements, "vmap", kUnnamed);
    std::vector<int> in_dims(t.traced.consts.size(), kNotMapped);
    in_dims.insert(in_dims.end(), dims.begin(), dims.end());
    const std::vector<int> out_dims(t.traced.jaxpr->outvars.size(), options.out_axes);
    return detail::call(::jaxscope::vmap(t.traced.open(), size, in_dims, out_dims), with_consts(t.traced, call.leaves), call.where);
}

std::vector<Array> checkpoint(Call& call, const CheckpointOptions& options) {
    leaves_of(call);
    for (std::size_t i = 0; i < call.static_args.size(); ++i) {
        bool is_static = false;
        for (const int s : options.static_argnums)
            is_static = is_static || (s < 0 ? s + static_cast<int>(call.static_args.size()) : s) == static_cast<int>(i);
        if (call.static_args[i] && !is_static)
            throw Error(ErrorCode::BadUsage, fmt::format("Argument {} of the checkpointed function is not a valid JAX type", i))
                .at({call.where.file, call.where.line, 0})
                .advise(fmt::format("add it to static_argnums: {{.static_argnums = {{{}}}}}", i));
    }
    const TracedCall t = trace_call(call, "checkpoint / remat", options.name);
    RematParams p;
    p.jaxpr = {t.traced.open(), false};
    if (!options.policy.text.empty()) p.policy = parse_policy(options.policy.text);
    p.prevent_cse = Attr(options.prevent_cse);
    return bind_primitive(kRemat, with_consts(t.traced, call.leaves), make_params(p), call.where);
}

std::vector<SavedResidual> saved_residuals(Call& call, const std::vector<std::string>& arg_names) {
    leaves_of(call);
    const ArgumentNames names = argument_names(call, arg_names);
    const TracedCall t = trace_call(call, "saved_residuals", kUnnamed, &names);
    ResidualQuery q;
    q.in_paths = names.leaves;
    std::vector<SavedResidual> out;
    for (const ::jaxscope::SavedResidual& r : ::jaxscope::saved_residuals(t.traced.jaxpr, q).rows) out.push_back({to_text(r.aval), r.text});
    return out;
}
void print_residuals(const std::vector<SavedResidual>& rows) {
    for (const SavedResidual& r : rows) std::printf("%s %s\n", r.aval.c_str(), r.source.c_str());
    std::fflush(stdout);
}

Jaxpr make_jaxpr(Call& call, const MakeJaxprOptions& options) {
    leaves_of(call);
    const ArgumentNames names = argument_names(call, options.arg_names);
    auto* p = new TracedProgram;
    Jaxpr out(p);
    p->jaxpr = trace_call(call, "make_jaxpr", options.name, &names).traced.jaxpr;
    return out;
}

}  // namespace detail

Jaxpr::Jaxpr(const Jaxpr& o) noexcept : program_(o.program_) { program_->refs.fetch_add(1); }
Jaxpr& Jaxpr::operator=(const Jaxpr& o) noexcept {
    Jaxpr copy(o);
    std::swap(program_, copy.program_);
    return *this;
}
Jaxpr::~Jaxpr() {
    if (program_->refs.fetch_sub(1) == 1) delete program_;
}
std::string Jaxpr::str() const { return to_text(*program_->jaxpr); }
std::string Jaxpr::str_with_sources() const { return to_text(*program_->jaxpr, {.source = true}); }
std::size_t Jaxpr::num_equations() const { return program_->jaxpr->eqns.size(); }
std::ostream& operator<<(std::ostream& out, const Jaxpr& j) { return out << j.str(); }

Array checkpoint_name(const Operand& x, const char* name) {
    return detail::apply1(
        {x}, [&](::jaxscope::Builder& b, const ::jaxscope::Values& v) { return b.bind1(kName, v, make_params(NameParams{Sym(name)})); });
}

namespace policies {
namespace {
Policy of_names(const char* policy, const std::vector<std::string>& names) {
    std::string text = std::string(policy) + "(";
    for (std::size_t i = 0; i < names.size(); ++i) text += (i ? ", '" : "'") + names[i] + "'";
    return {text + ")"};
}
}  // namespace
Policy save_only_these_names(const std::vector<std::string>& names) { return of_names("save_only_these_names", names); }
Policy save_any_names_but_these(const std::vector<std::string>& names) { return of_names("save_any_names_but_these", names); }
Policy save_anything_except_these_names(const std::vector<std::string>& names) {
    return of_names("save_anything_except_these_names", names);
}
Policy save_from_both_policies(const Policy& a, const Policy& b) { return {"save_from_both_policies(" + a.text + ", " + b.text + ")"}; }
Policy offload_dot_with_no_batch_dims(const std::string& source, const std::string& destination) {
    return {"offload_dot_with_no_batch_dims('" + source + "', '" + destination + "')"};
}
}  // namespace policies

}  // namespace jaxscope::jax
