// SPDX-License-Identifier: Apache-2.0
// checkpoint, its policies, and what they save.
#include <fmt/core.h>

#include <jaxscope/checkpoint.h>

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "base/error.h"
#include "calls/families.h"
#include "calls/remat/remat.h"
#include "lax/params/elementwise.h"
#include "lax/primitives.h"
#include "pytree/prefix.h"
#include "pytree/tree.h"
#include "trace/functions.h"
#include "trace/kept.h"
#include "trace/named_axes.h"
#include "trace/policy.h"
#include "trace/refusals.h"
#include "trace/regions.h"
#include "transforms/residuals.h"

namespace jaxscope::jax {

namespace detail {

namespace {

/// Per leaf of the arguments: is it static? Such arrays are given to the function as they are.
std::vector<bool> static_leaves(const Call& call, const std::vector<int>& static_argnums) {
    std::vector<bool> out(call.leaves.size());
    // Numbers count the arguments that come by position.
    const auto n = static_cast<int>(std::count(call.keywords.begin(), call.keywords.end(), nullptr));
    std::string all;
    for (const int s : static_argnums) all += (all.empty() ? "" : ", ") + std::to_string(s);
    for (const int s : static_argnums)
        if (s < -n)
            throw Error(ErrorCode::BadUsage,
                        fmt::format("Positional argument indices, e.g. for `static_argnums`, must have value greater than or equal to "
                                    "-len(args) and less than len(args), but got value {} for len(args) == {}.",
                                    s, n));
    for (const int s : static_argnums)
        if (s >= n)
            throw Error(ErrorCode::BadUsage,
                        fmt::format("the `static_argnums` argument to `jax.checkpoint` / `jax.remat` can only take integer values greater "
                                    "than or equal to `-len(args)` and less than `len(args)`, but got ({}{}), while `len(args)` = {}",
                                    all, static_argnums.size() == 1 ? "," : "", n));
    int position = 0;
    for (std::size_t at = 0; at < call.static_args.size(); ++at) {
        const bool is_static = !call.keywords[at] && std::any_of(static_argnums.begin(), static_argnums.end(),
                                                                 [&](int s) { return (s < 0 ? s + n : s) == position; });
        if (!call.keywords[at]) ++position;
        if (call.static_args[at] && !is_static)
            throw Error(ErrorCode::BadUsage, static_text(call, at))
                .advise(call.keywords[at] ? std::string("pass it by position, and make that one of static_argnums")
                                          : fmt::format("make it static: {{.static_argnums = {{{}}}}}", position - 1));
        std::fill_n(out.begin() + static_cast<std::ptrdiff_t>(call.first_leaf(at)), call.leaves_of_arg[at], is_static);
    }
    return out;
}

AxisTree as_prefix(const PreventCse& p) {
    if (p.kind == PreventCse::Kind::leaf) return AxisTree(Axis(p.all ? 1 : 0));
    std::vector<AxisTree> items;
    for (const PreventCse& i : p.items) items.push_back(as_prefix(i));
    if (p.kind == PreventCse::Kind::tuple) return AxisTree::tuple(std::move(items));
    std::vector<std::pair<std::string, AxisTree>> entries;
    for (std::size_t i = 0; i < items.size(); ++i) entries.emplace_back(p.keys[i], std::move(items[i]));
    return AxisTree::dict(std::move(entries));
}
/// One for all, or one for each operand: false for what is closed over, as in JAX.
Attr prevent_cse_of(const PreventCse& given, const Call& call, const std::vector<bool>& fixed, std::size_t consts) {
    if (given.kind == PreventCse::Kind::leaf) return Attr(given.all);
    std::vector<bool> static_args;
    for (std::size_t i = 0; i < call.leaves_of_arg.size(); ++i)
        static_args.push_back(call.leaves_of_arg[i] > 0 && fixed[call.first_leaf(i)]);
    const bool by_name = std::any_of(call.keywords.begin(), call.keywords.end(), [](const char* k) { return k != nullptr; });
    const PyTreeDef pair = pair_of_trees(call, static_args), tree = by_name ? pair : pair.children().front();
    const AxisTree prefix = as_prefix(given);
    if (const std::string problem = prefix_problem("broadcast_prefix prefix_tree", tree, prefix); !problem.empty())
        throw Error(ErrorCode::BadUsage, problem)
            .advise(
                "prevent_cse is one bool, or one for each argument that isn't static; with arguments by name a pair: those by position, "
                "those by name");
    Attrs out(consts, Attr(false));
    for (const Axis& of_leaf : spread_prefix(prefix, tree)) out.emplace_back(of_leaf.axis == 1);
    return Attr::tuple(std::move(out));
}

/// Traces of one function that is checkpointed. JAX finds them by the function object, the tree of the arguments, their types and static
/// values; arrays as static arguments count by identity. A trace that closes over a tracer is found while that tracer's trace lasts.
class Traces {
public:
    struct Entry {
        const void* type = nullptr;
        PyTreeDef tree;
        std::vector<std::string> keywords;
        std::vector<bool> fixed;
        std::string name;
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
        std::shared_ptr<Entry> made = key_of(call, fixed, name);
        const bool traced_static = std::any_of(made->statics.begin(), made->statics.end(), [](const Array& a) { return a.is_tracer(); });
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
    /// Those of a function that holds nothing, for as long as the program runs; of others new ones.
    static std::shared_ptr<Traces> of(const void* function) {
        if (!function) return std::make_shared<Traces>();
        static std::mutex mutex;
        static auto& all = *new std::unordered_map<const void*, std::shared_ptr<Traces>>();
        const std::lock_guard lock(mutex);
        std::shared_ptr<Traces>& t = all[function];
        if (!t) t = std::make_shared<Traces>();
        return t;
    }

private:
    static std::shared_ptr<Entry> key_of(const Call& call, const std::vector<bool>& fixed, const char* name) {
        auto made = std::make_shared<Entry>();
        made->type = call.type;
        made->tree = make_tree(call.arguments());
        for (const char* k : call.keywords) made->keywords.emplace_back(k ? k : "");
        made->fixed = fixed;
        made->name = name;
        for (std::size_t i = 0; i < fixed.size(); ++i) {
            if (fixed[i])
                made->statics.push_back(call.leaves[i]);
            else
                made->avals.push_back(call.leaves[i].node()->aval);
        }
        made->axes = trace_context();
        return made;
    }
    static bool same(const Entry& a, const Entry& b) {
        if (a.type != b.type || a.avals != b.avals || a.axes != b.axes || a.fixed != b.fixed || a.name != b.name ||
            a.keywords != b.keywords || !(a.tree == b.tree))
            return false;
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

/// One checkpointed function.
struct CheckpointState final : Kept {
    CheckpointState(CheckpointOptions o, const void* function) : options(std::move(o)), traces(Traces::of(function)) {}
    const CheckpointOptions options;
    const std::shared_ptr<Traces> traces;
};

}  // namespace

KeptHandle make_trace_cache(const CheckpointOptions& options, const Where& where, const void* function) {
    if (options.concrete.given)
        detail::refuse_at(
            where, ErrorCode::BadUsage,
            "The `concrete` option to `jax.checkpoint` was deprecated in JAX v0.8.2, and removed in JAX v0.10.0. In its place "
            "please use `static_argnums`; for details refer to https://docs.jax.dev/en/latest/jep/11830-new-remat-checkpoint.html.");
    return KeptHandle(new CheckpointState(options, function));
}

Called checkpoint(Call& call, Kept& kept) {
    const auto& state = static_cast<CheckpointState&>(kept);
    const CheckpointOptions& options = state.options;
    return at_place(call.where, [&] {
        leaves_of(call);
        const std::vector<bool> fixed = static_leaves(call, options.static_argnums);
        const std::shared_ptr<Traces::Entry> e = state.traces->find(call, fixed, options.name);
        RematParams p;
        p.jaxpr = {e->traced.traced.open(), false};
        p.policy = policy_spec(options.policy);
        p.prevent_cse = prevent_cse_of(options.prevent_cse, call, fixed, e->traced.traced.consts.size());
        std::vector<Array> in = e->traced.traced.consts;
        for (std::size_t i = 0; i < fixed.size(); ++i)
            if (!fixed[i]) in.push_back(call.leaves[i]);
        // Its equations are run one by one: an inner jit takes what it is given.
        std::optional<DonatedArrays> donated;
        if (!Trace::current()) donated.emplace(*p.jaxpr.jaxpr, in, call.where);
        Called r;
        r.leaves = bind_primitive(kRemat, in, make_params(p), call.where);
        r.prototype = e->prototype;
        if (donated) donated->consume(call.where);
        return r;
    });
}

std::vector<SavedResidual> saved_residuals(Call& call, const std::vector<std::string>& arg_names, bool checkpointed) {
    const ArgumentNames names = argument_names(call, arg_names);
    Trace trace("saved_residuals", kUnnamed);
    trace.keep_numbers();
    const TracedCall t = trace_call_in(trace, call, avals_of(call.leaves), &names);
    ResidualQuery q;
    q.in_paths = names.leaves;
    q.literals = true;
    q.numbers = trace.kept_numbers(t.traced);
    std::vector<SavedResidual> out;
    JaxprPtr j = t.traced.jaxpr;
    if (checkpointed && !j->eqns.empty()) {
        auto outermost = std::make_shared<::jaxscope::Jaxpr>(*j);
        outermost->eqns.back().source = SourceRef();
        j = outermost;
    }
    const Residuals found = ::jaxscope::saved_residuals(j, q);
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

PreventCse PreventCse::dict(std::vector<std::pair<std::string, PreventCse>> entries) {
    PreventCse out(true);
    out.kind = Kind::dict;
    for (auto& entry : entries) out.keys.push_back(std::move(entry.first)), out.items.push_back(std::move(entry.second));
    return out;
}
PreventCse::PreventCse(bool all_leaves) : all(all_leaves) {}
PreventCse::PreventCse(std::initializer_list<PreventCse> list) : kind(Kind::tuple), items(list) {}
PreventCse::PreventCse(const PreventCse&) = default;
PreventCse::PreventCse(PreventCse&&) noexcept = default;
PreventCse& PreventCse::operator=(const PreventCse&) = default;
PreventCse& PreventCse::operator=(PreventCse&&) noexcept = default;
PreventCse::~PreventCse() = default;

Array checkpoint_name(const Operand& x, const std::string& name) {
    if (x.kind == Operand::Kind::array && !x.node) return {};  // as None has none
    // Outside of any trace there is nobody to read the name.
    if (x.kind == Operand::Kind::array && x.node && !x.node->is_tracer() && !detail::Trace::current()) return Array::of(x.node);
    return detail::apply1(
        {x}, [&](::jaxscope::Builder& b, const ::jaxscope::Values& v) { return b.bind1(kName, v, make_params(NameParams{Sym(name)})); });
}

}  // namespace jaxscope::jax
