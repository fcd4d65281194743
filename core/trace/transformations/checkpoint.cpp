// SPDX-License-Identifier: Apache-2.0
// checkpoint, its policies, and what they save.
#include <fmt/core.h>

#include <jaxscope/checkpoint.h>

#include <cstdio>
#include <mutex>

#include "base/error.h"
#include "calls/families.h"
#include "calls/remat/remat.h"
#include "lax/params/elementwise.h"
#include "lax/primitives.h"
#include "pytree/tree.h"
#include "trace/functions.h"
#include "trace/kept.h"
#include "trace/named_axes.h"
#include "trace/policy.h"
#include "trace/regions.h"
#include "transforms/residuals.h"

namespace jaxscope::jax {

namespace detail {

namespace {

/// Per leaf of the arguments: is it static? Such arrays are given to the function as they are.
std::vector<bool> static_leaves(const Call& call, const std::vector<int>& static_argnums) {
    std::vector<bool> out(call.leaves.size());
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
        std::fill_n(out.begin() + static_cast<std::ptrdiff_t>(call.first_leaf(at)), call.leaves_of_arg[at], is_static);
    }
    return out;
}

/// One for all, or one for each operand: false for what is closed over, as in JAX.
Attr prevent_cse_of(const PreventCse& given, const Call& call, const std::vector<bool>& fixed, std::size_t consts) {
    if (given.by_argument.empty()) return Attr(given.all);
    if (given.by_argument.size() != call.leaves_of_arg.size())
        throw Error(
            ErrorCode::BadUsage,
            fmt::format("pytree structure error: different lengths of tuple at key path\n"
                        "    broadcast_prefix prefix_tree\n"
                        "At that key path, the prefix pytree broadcast_prefix prefix_tree has a subtree of type tuple of length {}, but "
                        "the full pytree has a subtree of the same type but of length {}.",
                        given.by_argument.size(), call.leaves_of_arg.size()))
            .advise("prevent_cse is one bool, or one for each argument");
    Attrs out(consts, Attr(false));
    std::size_t leaf = 0;
    for (const std::size_t i : call.order)
        for (std::size_t k = 0; k < call.leaves_of_arg[i]; ++k, ++leaf)
            if (!fixed[leaf]) out.emplace_back(given.by_argument[i] != false);
    return Attr::tuple(std::move(out));
}

/// Traces of one checkpointed function. JAX finds them by the function object, the tree of the arguments, their types and static values;
/// arrays as static arguments count by identity. A trace that closes over a tracer is found while that tracer's trace lasts.
class TraceCache final : public Kept {
public:
    explicit TraceCache(CheckpointOptions of_function) : options(std::move(of_function)) {}
    const CheckpointOptions options;
    struct Entry {
        const void* type = nullptr;
        PyTreeDef tree;
        std::vector<std::string> keywords;
        Avals avals;  ///< of the leaves that aren't static
        std::vector<Array> statics;
        std::uint64_t axes = 0;
        TracedCall traced;
        void* prototype = nullptr;
        void (*drop)(void*) = nullptr;
        Entry() = default;
        Entry(const Entry&) = delete;
        Entry& operator=(const Entry&) = delete;
        ~Entry() {
            if (prototype) drop(prototype);
        }
    };
    std::shared_ptr<Entry> find(Call& call, const std::vector<bool>& fixed, const char* name) {
        const std::lock_guard lock(mutex_);
        auto made = std::make_shared<Entry>();
        made->type = call.type;
        made->tree = make_tree(call.arguments());
        for (const char* k : call.keywords) made->keywords.emplace_back(k ? k : "");
        bool traced_static = false;
        for (std::size_t i = 0; i < fixed.size(); ++i) {
            if (fixed[i])
                made->statics.push_back(call.leaves[i]), traced_static = traced_static || call.leaves[i].is_tracer();
            else
                made->avals.push_back(call.leaves[i].node()->aval);
        }
        made->axes = trace_context();
        // While a capture is made, differentiations inside of the function are to be seen each time.
        if (!traced_static && !RegionRecorder::current())
            for (const auto& e : entries_)
                if (same(*e, *made)) return e;
        made->traced = trace_call(call, fixed, "checkpoint / remat", name);
        made->prototype = call.take_results(&made->drop);
        // What isn't found again lives until its caller has taken the result.
        (traced_static ? passing_ : entries_).push_back(made);
        if (passing_.size() > kPassing) passing_.erase(passing_.begin());
        return made;
    }

private:
    static bool same(const Entry& a, const Entry& b) {
        if (a.type != b.type || a.avals != b.avals || a.axes != b.axes || a.keywords != b.keywords || !(a.tree == b.tree)) return false;
        for (std::size_t i = 0; i < a.statics.size(); ++i)
            if (a.statics[i].node() != b.statics[i].node()) return false;
        for (const Array& c : a.traced.traced.consts)
            if (c.is_tracer() && !Trace::find(c.node()->trace)) return false;
        return true;
    }
    static constexpr std::size_t kPassing = 64;
    std::recursive_mutex mutex_;  ///< a function may call itself
    std::vector<std::shared_ptr<Entry>> entries_, passing_;
};

}  // namespace

KeptHandle make_trace_cache(const CheckpointOptions& options, const Where& where) {
    if (options.concrete)
        throw Error(ErrorCode::BadUsage,
                    "The `concrete` option to `jax.checkpoint` was deprecated in JAX v0.8.2, and removed in JAX v0.10.0. In its place "
                    "please use `static_argnums`; for details refer to https://docs.jax.dev/en/latest/jep/11830-new-remat-checkpoint.html.")
            .at({where.file, where.line, 0});
    return KeptHandle(new TraceCache(options));
}

Called checkpoint(Call& call, Kept& kept) {
    auto& traces = static_cast<TraceCache&>(kept);
    const CheckpointOptions& options = traces.options;
    return at_place(call.where, [&] {
        leaves_of(call);
        const std::vector<bool> fixed = static_leaves(call, options.static_argnums);
        const std::shared_ptr<TraceCache::Entry> e = traces.find(call, fixed, options.name);
        RematParams p;
        p.jaxpr = {e->traced.traced.open(), false};
        p.policy = policy_spec(options.policy);
        p.prevent_cse = prevent_cse_of(options.prevent_cse, call, fixed, e->traced.traced.consts.size());
        std::vector<Array> in = e->traced.traced.consts;
        for (std::size_t i = 0; i < fixed.size(); ++i)
            if (!fixed[i]) in.push_back(call.leaves[i]);
        Called r{bind_primitive(kRemat, in, make_params(p), call.where), e->prototype};
        // Its equations were run one by one: an inner jit has taken what it was given.
        if (!Trace::current()) consume_donated(*p.jaxpr.jaxpr, in);
        return r;
    });
}

std::vector<SavedResidual> saved_residuals(Call& call, const std::vector<std::string>& arg_names) {
    leaves_of(call);
    const ArgumentNames names = argument_names(call, arg_names);
    Trace trace("saved_residuals", kUnnamed);
    trace.keep_numbers();
    const TracedCall t = trace_call_in(trace, call, avals_of(call.leaves), &names);
    ResidualQuery q;
    q.in_paths = names.leaves;
    q.numbers = trace.kept_numbers(t.traced);
    std::vector<SavedResidual> out;
    const Residuals found = ::jaxscope::saved_residuals(t.traced.jaxpr, q);
    for (const ::jaxscope::SavedResidual& r : found.rows) out.push_back({to_text(r.aval), r.text});
    return out;
}
void print_residuals(const std::vector<SavedResidual>& rows) {
    for (const SavedResidual& r : rows) std::printf("%s %s\n", r.aval.c_str(), r.source.c_str());
    std::fflush(stdout);
}

namespace {

/// The words of JAX's logger.
void log_split(const RematSplit& s) {
    std::string text = "remat-decorated function ";
    if (!s.inputs.empty()) text += "saving inputs with shapes:\n";
    for (const AvalRef a : s.inputs) text += "  " + long_aval(a) + "\n";
    const std::vector<::jaxscope::SavedResidual> made = residual_rows(s.known, s.num_residuals);
    if (!s.inputs.empty() && !made.empty()) text += "and ";
    if (!made.empty()) text += "saving these intermediates:\n";
    for (const ::jaxscope::SavedResidual& r : made) text += "  " + long_aval(r.aval) + " from " + r.text + "\n";
    std::fprintf(stderr, "%s\n", text.c_str());
}

}  // namespace

}  // namespace detail

bool config::log_checkpoint_residuals(bool on) {
    return std::exchange(remat_split_listener(), on ? detail::log_split : std::function<void(const RematSplit&)>()) != nullptr;
}

Array checkpoint_name(const Operand& x, const char* name) {
    // Outside of any trace there is nobody to read the name.
    if (x.kind == Operand::Kind::array && x.node && !x.node->is_tracer() && !detail::Trace::current()) return Array::of(x.node);
    return detail::apply1(
        {x}, [&](::jaxscope::Builder& b, const ::jaxscope::Values& v) { return b.bind1(kName, v, make_params(NameParams{Sym(name)})); });
}

}  // namespace jaxscope::jax
