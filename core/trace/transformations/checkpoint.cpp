// checkpoint, its policies, and what they save.
#include <fmt/core.h>

#include <jaxscope/checkpoint.h>

#include <cstdio>

#include "base/error.h"
#include "calls/families.h"
#include "calls/remat.h"
#include "lax/params/elementwise.h"
#include "lax/primitives.h"
#include "trace/functions.h"
#include "transforms/policies.h"
#include "transforms/residuals.h"

namespace jaxscope::jax {

namespace detail {

namespace {

void check_static_arguments(const Call& call, const std::vector<int>& static_argnums) {
    const auto n = static_cast<int>(call.static_args.size());
    std::string all;
    for (const int s : static_argnums) all += (all.empty() ? "" : ", ") + std::to_string(s);
    for (const int s : static_argnums)
        if (s < -n || s >= n)
            throw Error(ErrorCode::BadUsage,
                        fmt::format("the `static_argnums` argument to `jax.checkpoint` / `jax.remat` can only take integer values greater "
                                    "than or equal to `-len(args)` and less than `len(args)`, but got ({}{}), while `len(args)` = {}",
                                    all, static_argnums.size() == 1 ? "," : "", n));
    for (int i = 0; i < n; ++i) {
        bool is_static = false;
        for (const int s : static_argnums) is_static = is_static || (s < 0 ? s + n : s) == i;
        const auto at = static_cast<std::size_t>(i);
        if (call.static_args[at] && !is_static)
            throw Error(ErrorCode::BadUsage, static_text(call, at)).advise(fmt::format("make it static: {{.static_argnums = {{{}}}}}", i));
        // An array's value would belong to the trace: JAX compares such arguments by identity, and a tracer has none that lasts.
        std::size_t first = 0;
        for (std::size_t k = 0; k < at; ++k) first += call.leaves_of_arg[k];
        for (std::size_t k = first; is_static && k < first + call.leaves_of_arg[at]; ++k)
            if (const Array& a = call.leaves[k]; a.is_tracer())
                throw Error(ErrorCode::BadUsage,
                            fmt::format("expected a value known while tracing as static argument {} of a checkpointed function, found a "
                                        "tracer of type {}",
                                        i, long_aval(a.node()->aval)));
    }
}

/// One for all, or one for each operand: false for what is closed over, as in JAX.
Attr prevent_cse_of(const PreventCse& given, const Call& call, std::size_t consts) {
    if (given.by_argument.empty()) return Attr(given.all);
    if (given.by_argument.size() != call.leaves_of_arg.size())
        throw Error(
            ErrorCode::BadUsage,
            fmt::format("pytree structure error: different lengths of tuple: prevent_cse has {} entries, but the function was called "
                        "with {} arguments",
                        given.by_argument.size(), call.leaves_of_arg.size()));
    Attrs out(consts, Attr(false));
    for (std::size_t i = 0; i < call.leaves_of_arg.size(); ++i)
        out.insert(out.end(), call.leaves_of_arg[i], Attr(given.by_argument[i] != false));
    return Attr::tuple(std::move(out));
}

}  // namespace

std::vector<Array> checkpoint(Call& call, const CheckpointOptions& options) {
    return at_place(call.where, [&] {
        if (options.concrete)
            throw Error(
                ErrorCode::BadUsage,
                "The `concrete` option to `jax.checkpoint` was deprecated in JAX v0.8.2, and removed in JAX v0.10.0. In its place "
                "please use `static_argnums`; for details refer to https://docs.jax.dev/en/latest/jep/11830-new-remat-checkpoint.html.");
        leaves_of(call);
        check_static_arguments(call, options.static_argnums);
        const TracedCall t = trace_call(call, "checkpoint / remat", options.name);
        RematParams p;
        p.jaxpr = {t.traced.open(), false};
        if (!options.policy.text.empty()) p.policy = parse_policy(options.policy.text);
        p.prevent_cse = prevent_cse_of(options.prevent_cse, call, t.traced.consts.size());
        return bind_primitive(kRemat, with_consts(t.traced, call.leaves), make_params(p), call.where);
    });
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

}  // namespace detail

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
Policy save_and_offload_only_these_names(const std::vector<std::string>& saved, const std::vector<std::string>& offloaded,
                                         const std::string& source, const std::string& destination) {
    const auto list = [](const std::vector<std::string>& names) {
        std::string out;
        for (const std::string& n : names) out += (out.empty() ? "'" : ", '") + n + "'";
        return "[" + out + "]";
    };
    return {"save_and_offload_only_these_names(" + list(saved) + ", " + list(offloaded) + ", '" + source + "', '" + destination + "')"};
}
Policy offload_dot_with_no_batch_dims(const std::string& source, const std::string& destination) {
    return {"offload_dot_with_no_batch_dims('" + source + "', '" + destination + "')"};
}
}  // namespace policies

}  // namespace jaxscope::jax
