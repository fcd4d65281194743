// SPDX-License-Identifier: Apache-2.0
#include "trace/jit/jit_state.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "base/error.h"
#include "base/intern.h"
#include "calls/call_params.h"
#include "ir/registry.h"
#include "lax/jitted_scope.h"
#include "pytree/tree.h"
#include "trace/debug_nans.h"
#include "trace/device_calls.h"
#include "trace/jit/jit_checks.h"
#include "trace/jit/shared_traces.h"
#include "trace/named_axes.h"
#include "trace/warnings.h"
#include "trace/within_memory.h"
#include "transforms/dce.h"
#include "transforms/jaxpr_util.h"

namespace jaxscope::jax {

disable_jit::disable_jit(Flag disable) : before_(std::exchange(jit_disabled(), static_cast<bool>(disable))) { detail::context_changed(); }
disable_jit::~disable_jit() {
    jit_disabled() = before_;
    detail::context_changed();
}

namespace detail {

namespace {

std::vector<std::string> keywords_of(const Call& call) {
    std::vector<std::string> out;
    for (const char* k : call.keywords) out.emplace_back(k ? k : "");
    return out;
}
std::string reason_for(const JitState& s, const TraceKey& now) {
    if (s.entries.empty()) return "first call";
    const JitEntry& entry = *s.entries.back();
    const TraceKey& last = entry.trace->key;
    if (last.type != now.type) return "arguments of other C++ types";
    if (last.keywords != now.keywords) return "other arguments are passed by name";
    if (!(last.tree == now.tree))
        return "another tree of arguments, or another static value: " + now.tree.str() + " after " + last.tree.str();
    for (std::size_t i = 0; i < now.avals.size(); ++i) {
        const AvalRef is = now.avals[i], was = last.avals[i];
        if (!(is == was))
            return fmt::format("{}: {} after {}", entry.program->in_paths[i].str(), long_aval(is), long_aval(was)) +
                   (is->weak_type != was->weak_type ? " (weak type differs)" : "");
    }
    return same_key(last, now) ? "an earlier trace was dropped" : "another static value";
}

bool is_donated(const JitState& s, const Call& call, const ArgumentNames& names, int arg) {
    const auto a = static_cast<std::size_t>(arg);
    const DonationRules& r = s.rules;
    if (!r.filter) {
        std::vector<int> numbers = s.options.donate_argnums;
        std::erase_if(numbers, [](int n) { return n < 0; });  // JAX checks their range, and then finds none of them
        return chooses(numbers, s.options.donate_argnames, call, a, names.args[a]);
    }
    if (r.own_function && a == 0) return r.function;
    if (call.keywords[a])
        for (const auto& [name, donated] : r.kwargs)
            if (name == call.keywords[a]) return donated;
    const std::size_t position = a - (r.own_function ? 1 : 0);
    return position < r.args.size() ? r.args[position] : r.fallback;
}

/// Calls have no place of their own: where the function was made is the nearest one.
const Where& place_of(const JitState& s, const Call& call) { return call.where.line ? call.where : s.where; }

/// The function's, which another jit of it may have made before.
std::shared_ptr<const JitTrace> trace_of(const JitState& s, Call& call, TraceKey key, const ArgumentNames& names) {
    auto t = std::make_shared<JitTrace>();
    t->key = std::move(key);
    t->name = s.options.name;
    t->arguments = names.args;
    if (auto made = SharedTraces::get().find(s.function, *t)) return made;
    t->call = at_place(place_of(s, call), [&] { return trace_call(call, "jit", s.options.name, &names); });
    t->prototype = call.take_results(&t->drop);
    SharedTraces::get().add(s.function, t);
    return t;
}

std::shared_ptr<JitEntry> trace_entry(JitState& s, Call& call, TraceKey key) {
    const ArgumentNames names = argument_names(call, s.options.arg_names);
    check_arguments(s, call, names.args);
    auto e = std::make_shared<JitEntry>();
    e->leaves_as_taken = call.leaves_as_taken();
    if (std::is_sorted(e->leaves_as_taken.begin(), e->leaves_as_taken.end())) e->leaves_as_taken.clear();
    e->trace = trace_of(s, call, std::move(key), names);
    const TracedCall& t = e->trace->call;
    auto p = std::make_shared<::jaxscope::Program>();
    p->name = s.options.name;
    p->jax_version = "0.10.2";
    p->producer = "C++";
    p->jaxpr = t.traced.jaxpr;
    p->in_paths = names.leaves;
    p->arg_of_input = names.arg_of_leaf;
    for (const std::string& a : names.args) p->arg_names.emplace_back(a);
    for (const std::string& path : t.out_tree.paths()) p->out_paths.emplace_back(path);
    for (const int a : names.arg_of_leaf) p->donated.push_back(is_donated(s, call, names, a));
    if (s.rules.marker) p->jit = "eqx";
    const std::vector<bool> all_used(t.traced.jaxpr->outvars.size(), true);
    p->kept = s.options.keep_unused ? std::vector<bool>(names.leaves.size(), true) : dce_jaxpr(t.traced.jaxpr, all_used).used_inputs;
    e->program = p;
    e->donation = pair_donations(*p);
    e->warn = s.rules.warn;
    e->function = s.function;
    e->remat_lowering = parse_remat_lowering(s.options.remat_lowering);
    std::vector<bool> gone(names.leaves.size(), false);
    for (const DonatedLeaf& d : e->donation.donated) gone[static_cast<std::size_t>(d.input)] = d.used;
    for (std::uint32_t i = 0; i < gone.size(); ++i)
        if (p->kept[i]) (gone[i] ? e->consumed : e->plain).push_back(i);
    e->inputs.assign(gone.size(), nullptr);
    e->given.assign(gone.size(), nullptr);
    return e;
}

/// Number of leaf `i` among those that the compiled function takes, as XLA counts.
std::size_t flattened(const JitEntry& e, std::size_t i) {
    return static_cast<std::size_t>(std::count(e.program->kept.begin(), e.program->kept.begin() + static_cast<std::ptrdiff_t>(i), true));
}

/// Static numbers are given to the function as they are, where it takes an Array, too.
void fix_numbers(const JitState& s, Call& call) {
    const JitOptions& o = s.options;
    if (s.rules.filter || (o.static_argnums.empty() && o.static_argnames.empty())) return;
    const ArgumentNames names = argument_names(call, o.arg_names);
    for (std::size_t i = 0; i < call.numbers.size(); ++i)
        if (call.numbers[i] && call.leaves_of_arg[i] > 0 && chooses(o.static_argnums, o.static_argnames, call, i, names.args[i]))
            call.fix(i);
}

/// Leaf `i` has no elements: it was deleted before, or this call gave it away.
[[noreturn]] void refuse_gone(const JitEntry& e, std::span<const Node* const> leaves, std::size_t i, bool donated) {
    for (const std::uint32_t k : e.consumed) {
        if (k == i || leaves[k] != leaves[i] || !e.given[k]) continue;
        throw Error(
            ErrorCode::BadUsage,
            fmt::format("INVALID_ARGUMENT: Attempt to {} Execute() (flattened argument {}, replica 0, partition 0, first use: {}). "
                        "Toy example for this bug: `{}`.",
                        donated ? "donate the same buffer twice in" : "use a buffer that was previously donated in the same call to",
                        flattened(e, i), flattened(e, k), donated ? "f(donate(a), donate(a))" : "f(donate(a), a)"))
            .advise(fmt::format("{} and {} are one array: pass a copy of it, or donate neither", e.program->in_paths[k].str(),
                                e.program->in_paths[i].str()));
    }
    // A call that JAX knows already goes to XLA unseen, which has words of its own.
    if (donated && e.runs > 0)
        throw Error(ErrorCode::BadUsage, fmt::format("INVALID_ARGUMENT: Invalid buffer passed to Execute() as argument {} to replica 0: "
                                                     "INVALID_ARGUMENT: Buffer has been deleted or donated.",
                                                     flattened(e, i)))
            .advise(e.program->in_paths[i].str() + " was donated before this call: pass the array that the call before it gave back");
    refuse_deleted(*leaves[i]);
}

/// Takes the elements of the leaves; those of donated ones are given away. Throws with everything as it was.
void take_inputs(JitEntry& e, std::span<const Node* const> leaves, const Where& where) {
    try {
        for (const std::uint32_t i : e.consumed) {
            e.inputs[i] = leaves[i]->array.get();
            if (!e.inputs[i]) refuse_gone(e, leaves, i, true);
            e.given[i] = std::move(const_cast<Node*>(leaves[i])->array);
        }
        for (const std::uint32_t i : e.plain)
            if (!(e.inputs[i] = leaves[i]->array.get())) refuse_gone(e, leaves, i, false);
        for (const std::uint32_t i : e.consumed) const_cast<Node*>(leaves[i])->where = where;
    } catch (...) {
        for (const std::uint32_t i : e.consumed)
            if (e.given[i]) const_cast<Node*>(leaves[i])->array = std::move(e.given[i]);
        throw;
    }
}

/// What is compiled. An input that isn't kept isn't passed either, so nothing may read it: not for a scan's outputs that nobody needs.
JaxprPtr without_pruned_reads(const JaxprPtr& j, const std::vector<bool>& kept) {
    std::vector<int> position;
    for (std::size_t i = 0; i < kept.size(); ++i)
        if (kept[i]) position.push_back(static_cast<int>(i));
    if (position.size() == kept.size()) return j;
    return widen_inputs(dce_jaxpr(j, std::vector<bool>(j->outvars.size(), true)).jaxpr, j->in_avals(), position);
}

/// Once, where it is lowered or runs first. Another jit of a function that holds nothing, with the same options, is what JAX compiled
/// before.
void tell_warning(JitEntry& e) {
    if (!std::exchange(e.untold, false)) return;
    if (const auto text = captured_constants_warning(e.traced())) std::fprintf(stderr, "UserWarning: %s\n", text->c_str());
    if (!e.donation.warning || !e.warn) return;
    if (e.function && !is_news(fmt::format("{} {} {}", e.function, fmt::join(e.program->donated, ""), *e.donation.warning))) return;
    std::fprintf(stderr, "UserWarning: %s\n", e.donation.warning->c_str());
}

/// What it closes over is looked at when it is lowered.
void refuse_deleted_captures(const Traced& t) {
    for (const Array& c : t.consts)
        if (c.node()->deleted()) refuse_deleted(*c.node());
    refuse_deleted_constants(*t.jaxpr);
}

void compile_entry(JitEntry& e) {
    refuse_deleted_captures(e.traced());
    ::jaxscope::JitOptions options;
    options.remat_lowering = e.remat_lowering;
    e.executable =
        compile_here(without_pruned_reads(e.traced().jaxpr, e.program->kept), e.donation.alias_of_output, e.program->kept, options);
    tell_warning(e);
}

/// `where`: the function was made there, which is the nearest place to a call that has none of its own.
std::vector<Array> run_entry(JitEntry& e, std::span<const Node* const> leaves, const Where& where) {
    std::vector<ArrayPtr> results;
    at_place(where, [&] {
        const std::lock_guard lock(e.running);
        if (!e.executable) compile_entry(e);
        take_inputs(e, leaves, where);
        const auto drop = [&] {
            for (const std::uint32_t i : e.consumed) e.given[i].reset();
        };
        try {
            const bool checks = checks_values();
            // What is looked at may have to be computed again, of the same arrays.
            const std::span<ArrayPtr> given = checks ? std::span<ArrayPtr>() : std::span<ArrayPtr>(e.given);
            within_memory(e.executable->plan().planned_peak, [&] { e.executable->run_in_place(e.inputs, given, results); });
            ++e.runs;
            if (checks) {
                std::vector<ArrayPtr> in;
                for (std::size_t i = 0; i < leaves.size(); ++i)
                    in.push_back(i < e.given.size() && e.given[i] ? e.given[i] : leaves[i]->array);
                check_results(e.traced().jaxpr, in, results, std::string(e.traced().jaxpr->name.str()));
            }
        } catch (...) {
            drop();
            throw;
        }
        drop();
    });
    std::vector<Array> out;
    out.reserve(results.size());
    for (ArrayPtr& a : results) out.push_back(concrete(std::move(a), where));
    return out;
}

/// With the result that filter_jit puts in front.
JaxprPtr marked(const JaxprPtr& j, bool warns) {
    auto out = std::make_shared<::jaxscope::Jaxpr>(*j);
    out->outvars.insert(out->outvars.begin(), Atom(filter_marker(warns)));
    return out;
}

ParamsRef jit_params(const JitOptions& o, const JaxprPtr& body, const std::vector<bool>& donated) {
    return Params::make({{"jaxpr", Attr(Attr::JaxprRef{body, true})},
                         {"name", Attr(Sym(o.name))},
                         {"donated_invars", to_attr(donated)},
                         {"inline", Attr(o.inline_)},
                         {"keep_unused", Attr(o.keep_unused)}});
}

std::vector<Array> stage_entry(const JitState& s, const JitEntry& e, const Call& call) {
    std::vector<bool> donated(e.traced().captures_tracers() ? e.traced().consts.size() : 0, false);
    donated.insert(donated.end(), e.program->donated.begin(), e.program->donated.end());
    const bool open = e.traced().captures_tracers();
    const JitOptions& o = s.options;
    JaxprPtr body = open ? e.traced().open() : e.traced().jaxpr;
    if (s.rules.marker) body = marked(body, s.rules.warn);
    const std::vector<Array> inputs = open ? with_consts(e.traced(), call.leaves) : call.leaves;
    const Where& where = place_of(s, call);
    std::vector<Array> out;
    if (o.inline_ && Trace::current())
        out = detail::call(body, inputs, where);
    else
        out = bind_primitive(*emitted_calls().jit, inputs, jit_params(o, body, donated), where);
    // Under grad and vmap alone JAX runs the call here: what it donates is gone for the rest of the function.
    if (Trace* t = Trace::current(); t && t->eager() && !o.inline_)
        for (const std::uint32_t i : e.consumed) t->take(call.leaves[i]);
    if (s.rules.marker) out.erase(out.begin());
    return out;
}

}  // namespace

namespace {

std::size_t hash_of(const CallKey& key) {
    std::size_t h = hash_mix(reinterpret_cast<std::size_t>(key.type),
                             std::hash<std::string_view>{}({reinterpret_cast<const char*>(key.bytes), key.num_bytes}));
    for (std::size_t i = 0; i < key.num_nodes; ++i) h = (h ^ (key.nodes[i] ? key.nodes[i]->aval.id() : ~0u)) * 0x9E3779B97F4A7C15ull;
    return h;
}
bool same(const JitState::Known& known, const CallKey& key) {
    if (known.type != key.type || known.avals.size() != key.num_nodes || known.bytes.size() != key.num_bytes) return false;
    for (std::size_t i = 0; i < key.num_nodes; ++i)
        if (known.avals[i] != (key.nodes[i] ? key.nodes[i]->aval.id() : ~0u)) return false;
    return std::memcmp(known.bytes.data(), key.bytes, key.num_bytes) == 0;
}

/// From now on this call is found by its bytes.
void remember(JitState& s, const CallKey& key, JitEntry& e) {
    // A static number has no bytes there: it is an Array as any other number.
    const bool by_numbers =
        std::any_of(e.trace->key.fixed.begin(), e.trace->key.fixed.end(), [](const auto& fixed) { return !fixed.empty(); });
    if (!key.exact || by_numbers || Trace::current() || trace_context() != 0 || e.traced().captures_tracers()) return;
    JitState::Known known{{reinterpret_cast<const char*>(key.bytes), key.num_bytes}, {}, key.type, &e};
    for (std::size_t i = 0; i < key.num_nodes; ++i) {
        if (key.nodes[i] && key.nodes[i]->is_tracer()) return;
        known.avals.push_back(key.nodes[i] ? key.nodes[i]->aval.id() : ~0u);
    }
    const std::unique_lock lock(s.lists);
    s.known.emplace(hash_of(key), std::move(known));
}

std::shared_ptr<JitEntry> look_up(const JitState& s, const TraceKey& key) {
    const std::shared_lock lock(s.lists);
    for (const auto& e : s.entries)
        if (same_key(e->trace->key, key) && !e->traced().captures_tracers()) return e;
    return nullptr;
}

std::vector<const Node*> nodes_of(const std::vector<Array>& leaves) {
    std::vector<const Node*> out;
    for (const Array& a : leaves) out.push_back(a.node());
    return out;
}

/// Equinox binds names to parameters, and lists the first argument, then the arrays of the function object itself, then the rest. (Where
/// the first one alone isn't donated it comes last there, which changes nothing but the numbers of inputs: captures keep it in front.)
void arrange_as_equinox(Call& call, const DonationRules& r) {
    call.arrange_as_taken();
    if (!r.own_function || call.order.size() < 2) return;
    std::vector<std::size_t> order = call.order;
    std::swap(order[0], order[1]);
    call.arrange(std::move(order));
}

}  // namespace

std::shared_ptr<JitEntry> find_entry(JitState& s, Call& call) {
    if (s.rules.marker) arrange_as_equinox(call, s.rules);
    fix_numbers(s, call);
    TraceKey key{call.type, make_tree(call.arguments()), keywords_of(call), avals_of(call.leaves), call.fixed, trace_context()};
    if (auto e = look_up(s, key)) return e;
    const std::lock_guard tracing(s.tracing);
    if (auto e = look_up(s, key)) return e;  // another thread was tracing it
    std::string why;
    {
        const std::shared_lock lock(s.lists);
        why = reason_for(s, key);
    }
    std::shared_ptr<JitEntry> e = trace_entry(s, call, std::move(key));
    const std::unique_lock lock(s.lists);
    s.reasons.push_back(std::move(why));
    s.entries.push_back(e);
    return e;
}

bool jit_again(JitState& s, const CallKey& key, Called& out) {
    if (!key.exact || Trace::current() || Trace::any_waits() || trace_context() != 0) return false;  // disable_jit is a context, too
    JitEntry* e = nullptr;
    {
        const std::size_t h = hash_of(key);
        const std::shared_lock lock(s.lists);
        const auto [first, last] = s.known.equal_range(h);
        for (auto i = first; i != last && !e; ++i)
            if (same(i->second, key)) e = i->second.entry;
    }
    if (!e) return false;
    std::span<const Node*> leaves(key.nodes, key.num_nodes);
    std::vector<const Node*> present;
    if (std::find(leaves.begin(), leaves.end(), nullptr) != leaves.end()) {
        for (const Node* n : leaves)
            if (n) present.push_back(n);
        leaves = present;
    }
    for (const Node* n : leaves)
        if (n->is_tracer()) return false;
    if (!e->leaves_as_taken.empty()) {
        std::vector<const Node*> arranged;
        for (const std::size_t i : e->leaves_as_taken) arranged.push_back(leaves[i]);
        present = std::move(arranged);
        leaves = present;
    }
    out.leaves = run_entry(*e, leaves, s.where);
    out.prototype = e->prototype();
    return true;
}

namespace {
/// The function as it is, which jax.disable_jit asks for.
Called plain_call(const JitState& s, Call& call) {
    return at_place(place_of(s, call), [&] {
        Called r;
        call.run(call.leaves.data(), r.leaves);
        r.prototype = call.results().value;
        return r;
    });
}
}  // namespace

Called jit_call(JitState& s, Call& call, const CallKey& key) {
    initialise();
    const Trace::Resumed now(Trace::waiting_for(call.leaves));
    if (jit_disabled()) return plain_call(s, call);
    const std::shared_ptr<JitEntry> e = find_entry(s, call);
    remember(s, key, *e);
    Called r;
    if (Trace::current()) {
        r.leaves = stage_entry(s, *e, call);
    } else {
        const Where& where = place_of(s, call);
        at_place(where, [&] {
            for (const Array& a : call.leaves)
                if (a.is_tracer()) elements(*a.node());
        });
        r.leaves = run_entry(*e, nodes_of(call.leaves), where);
    }
    r.prototype = e->prototype();
    return r;
}

Jaxpr jit_program(JitState& s, Call& call) {
    initialise();
    return public_jaxpr(find_entry(s, call)->traced().jaxpr);
}

void lower(JitState& s, Call& call, bool told) {
    initialise();
    const std::shared_ptr<JitEntry> e = find_entry(s, call);
    if (told && !Trace::current()) {
        refuse_deleted_captures(e->traced());
        const std::lock_guard lock(e->running);
        tell_warning(*e);
    }
}

void check_compiled(JitState& s, Call& compiled, Call& given) {
    initialise();
    for (const Array& a : given.leaves)
        if (a.is_tracer())
            throw Error(ErrorCode::BadUsage,
                        "Cannot apply JAX transformations to a function lowered and compiled for a particular signature. "
                        "Detected argument of Tracer type: " +
                            long_aval(a.node()->aval) + ".");
    fix_numbers(s, compiled);
    fix_numbers(s, given);
    check_same_types(s, compiled, given);
}

MemoryAnalysis memory_analysis(JitState& s, Call& call) {
    initialise();
    const std::shared_ptr<JitEntry> e = find_entry(s, call);
    const MemoryPlan plan = plan_here(e->traced().jaxpr, e->donation.alias_of_output, e->program->kept);
    return {plan.arguments, plan.outputs, plan.aliased, plan.temporaries, plan.planned_peak};
}

std::vector<std::string> retraces(JitState& s) {
    const std::shared_lock lock(s.lists);
    return s.reasons;
}

JitHandle::JitHandle(const JitOptions& options, const Where& where, int arity, const void* function) : state_(new JitState) {
    state_->options = options;
    state_->where = where;
    state_->arity = arity;
    state_->function = function;
    if (arity < 0) return;
    try {
        check_options(*state_, arity, state_->options.arg_names);
    } catch (...) {
        delete state_;
        throw;
    }
}
JitHandle::JitHandle(const JitHandle& o) noexcept : state_(o.state_) { state_->refs.fetch_add(1); }
JitHandle& JitHandle::operator=(const JitHandle& o) noexcept {
    JitHandle copy(o);
    std::swap(state_, copy.state_);
    return *this;
}
JitHandle::~JitHandle() {
    if (state_->refs.fetch_sub(1) == 1) delete state_;
}

}  // namespace detail
}  // namespace jaxscope::jax
