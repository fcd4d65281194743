#include "trace/jit_state.h"

#include <fmt/core.h>

#include <cstdio>
#include <cstring>

#include "base/error.h"
#include "base/intern.h"
#include "ir/registry.h"
#include "transforms/dce.h"

namespace jaxscope::jax::detail {

JitEntry::~JitEntry() {
    if (prototype) drop(prototype);
}

namespace {

bool contains(const std::vector<int>& list, int i, std::size_t count) {
    for (const int n : list)
        if ((n < 0 ? n + static_cast<int>(count) : n) == i) return true;
    return false;
}
bool contains(const std::vector<std::string>& list, const std::string& name) {
    for (const std::string& n : list)
        if (n == name) return true;
    return false;
}

/// JAX's checks of argument numbers against the call.
void check_arguments(const JitOptions& o, const Call& call, const std::vector<std::string>& names, const Where& where) {
    const auto n = static_cast<int>(call.static_args.size());
    const auto in_range = [&](const char* what, const std::vector<int>& list) {
        for (const int i : list)
            if (i >= n || i < -n) {
                std::string text;
                for (const int k : list) text += (text.empty() ? "" : ", ") + std::to_string(k);
                throw Error(ErrorCode::BadUsage, fmt::format("Jitted function has {}=({}{}), but only accepts {} positional arguments.",
                                                             what, text, list.size() == 1 ? "," : "", n))
                    .at({where.file, where.line, 0});
            }
    };
    in_range("static_argnums", o.static_argnums);
    in_range("donate_argnums", o.donate_argnums);
    for (int i = 0; i < n; ++i) {
        const std::string& name = names[static_cast<std::size_t>(i)];
        const bool fixed = contains(o.static_argnums, i, call.static_args.size()) || contains(o.static_argnames, name);
        const bool donated = contains(o.donate_argnums, i, call.static_args.size()) || contains(o.donate_argnames, name);
        if (fixed && donated)
            throw Error(ErrorCode::BadUsage,
                        fmt::format("static_argnames and donate_argnames cannot intersect. Argument names {{'{}'}} appear in "
                                    "both static_argnames and donate_argnames",
                                    name))
                .at({where.file, where.line, 0});
        if (call.static_args[static_cast<std::size_t>(i)] && !fixed)
            throw Error(ErrorCode::BadUsage,
                        fmt::format("Error interpreting argument to the jitted function as an abstract array. The problematic "
                                    "value was passed at path {}: it holds no array",
                                    name))
                .at({where.file, where.line, 0})
                .advise(fmt::format("make it static: {{.static_argnums = {{{}}}}}", i));
        if (fixed && call.leaves_of_arg[static_cast<std::size_t>(i)] > 0)
            throw Error(ErrorCode::BadUsage, fmt::format("Non-hashable static arguments are not supported: argument {} holds arrays", name))
                .at({where.file, where.line, 0});
    }
}

bool same_key(const JitEntry& e, const Call& call, const PyTreeDef& tree, const Avals& avals) {
    return e.type == call.type && e.avals == avals && e.tree == tree;
}

std::string reason_for(const JitState& s, const Call& call, const PyTreeDef& tree, const Avals& avals) {
    if (s.entries.empty()) return "first call";
    const JitEntry& last = *s.entries.back();
    if (last.type != call.type) return "arguments of other C++ types";
    if (!(last.tree == tree)) return "another tree of arguments, or another static value: " + tree.str() + " after " + last.tree.str();
    for (std::size_t i = 0; i < avals.size(); ++i)
        if (!(avals[i] == last.avals[i]))
            return fmt::format("{}: {} after {}", last.program->in_paths[i].str(), long_aval(avals[i]), long_aval(last.avals[i])) +
                   (avals[i]->weak_type != last.avals[i]->weak_type ? " (weak type differs)" : "");
    return "an earlier trace was dropped";
}

std::shared_ptr<JitEntry> trace_entry(JitState& s, Call& call, PyTreeDef tree, Avals avals) {
    const ArgumentNames names = argument_names(call, s.options.arg_names);
    check_arguments(s.options, call, names.args, s.where);
    auto e = std::make_shared<JitEntry>();
    e->type = call.type;
    e->tree = std::move(tree);
    e->avals = std::move(avals);
    const TracedCall t = trace_call(call, "jit", s.options.name, &names);
    e->traced = t.traced;
    auto p = std::make_shared<::jaxscope::Program>();
    p->name = s.options.name;
    p->jax_version = "0.10.2";
    p->producer = "C++";
    p->jaxpr = t.traced.jaxpr;
    p->in_paths = names.leaves;
    p->arg_of_input = names.arg_of_leaf;
    for (const std::string& a : names.args) p->arg_names.emplace_back(a);
    for (const std::string& path : t.out_tree.paths()) p->out_paths.emplace_back(path);
    for (const int a : names.arg_of_leaf)
        p->donated.push_back(contains(s.options.donate_argnums, a, names.args.size()) ||
                             contains(s.options.donate_argnames, names.args[static_cast<std::size_t>(a)]));
    const std::vector<bool> all_used(t.traced.jaxpr->outvars.size(), true);
    p->kept = s.options.keep_unused ? std::vector<bool>(names.leaves.size(), true) : dce_jaxpr(t.traced.jaxpr, all_used).used_inputs;
    e->program = p;
    e->donation = pair_donations(*p);
    e->prototype = call.take_results(&e->drop);
    return e;
}

/// In the memory of a donated input where it has that to itself.
ArrayPtr into_donated(ArrayPtr output, Node& donated) {
    ArrayPtr memory = std::move(donated.array);
    donated.array.reset();
    if (memory.use_count() != 1 || memory->data.size() != output->data.size()) return output;
    auto& target = const_cast<ArrayConst&>(*memory);
    std::memcpy(target.data.data(), output->data.data(), output->data.size());
    target.aval = output->aval;
    return memory;
}

std::vector<Array> run_entry(JitState& s, JitEntry& e, const Call& call) {
    std::vector<ArrayPtr> in;
    std::vector<const Node*> donated;
    for (std::size_t i = 0; i < call.leaves.size(); ++i) {
        const Node* n = call.leaves[i].node();
        in.push_back(elements(*n));
        if (!e.program->donated[i]) continue;
        for (std::size_t k = 0; k < call.leaves.size(); ++k)
            if (k != i && call.leaves[k].node() == n && e.program->kept[i] && e.program->kept[k])
                throw Error(ErrorCode::BadUsage,
                            fmt::format("Attempt to donate the same buffer twice: arguments {} and {}",
                                        e.program->in_paths[std::min(i, k)].str(), e.program->in_paths[std::max(i, k)].str()));
    }
    const std::lock_guard lock(e.running);
    if (!e.executable) {
        e.executable = Executable::compile(e.traced.jaxpr, e.donation.alias_of_output, e.program->kept);
        if (e.donation.warning) std::fprintf(stderr, "UserWarning: %s\n", e.donation.warning->c_str());
        s.warnings += e.donation.warning ? *e.donation.warning + "\n" : "";
    }
    std::vector<ArrayPtr> results = e.executable->run(in).outputs;
    in.clear();
    std::vector<Array> out;
    for (std::size_t k = 0; k < results.size(); ++k) {
        const auto& from = e.donation.alias_of_output;
        if (k < from.size() && from[k])
            results[k] = into_donated(std::move(results[k]), const_cast<Node&>(*call.leaves[static_cast<std::size_t>(*from[k])].node()));
        out.push_back(concrete(std::move(results[k])));
    }
    return out;
}

std::vector<Array> stage_entry(const JitState& s, const JitEntry& e, const Call& call) {
    std::vector<bool> donated(e.traced.captures_tracers() ? e.traced.consts.size() : 0, false);
    donated.insert(donated.end(), e.program->donated.begin(), e.program->donated.end());
    const bool open = e.traced.captures_tracers();
    const JitOptions& o = s.options;
    const ParamsRef params = Params::make({{"jaxpr", Attr(Attr::JaxprRef{open ? e.traced.open() : e.traced.jaxpr, true})},
                                           {"name", Attr(Sym(o.name))},
                                           {"donated_invars", to_attr(donated)},
                                           {"inline", Attr(o.inline_)},
                                           {"keep_unused", Attr(o.keep_unused)}});
    return bind_primitive(*emitted_calls().jit, open ? with_consts(e.traced, call.leaves) : call.leaves, params, call.where);
}

}  // namespace

std::shared_ptr<JitEntry> find_entry(JitState& s, Call& call) {
    PyTreeDef tree = make_tree(call.arguments());
    Avals avals = avals_of(leaves_of(call));
    const std::lock_guard lock(s.mutex);
    for (const auto& e : s.entries)
        if (same_key(*e, call, tree, avals) && !e->traced.captures_tracers()) return e;
    const std::string why = reason_for(s, call, tree, avals);
    std::shared_ptr<JitEntry> e = trace_entry(s, call, std::move(tree), std::move(avals));
    s.reasons.push_back(why);
    s.entries.push_back(e);
    return e;
}

Called jit_call(JitState& s, Call& call) {
    initialise();
    const std::shared_ptr<JitEntry> e = find_entry(s, call);
    Called r;
    r.leaves = Trace::current() ? stage_entry(s, *e, call) : run_entry(s, *e, call);
    r.prototype = e->prototype;
    return r;
}

Jaxpr jit_program(JitState& s, Call& call) {
    initialise();
    auto* p = new TracedProgram;
    Jaxpr out(p);
    p->jaxpr = find_entry(s, call)->traced.jaxpr;
    return out;
}

MemoryAnalysis memory_analysis(JitState& s, Call& call) {
    initialise();
    const std::shared_ptr<JitEntry> e = find_entry(s, call);
    const MemoryPlan plan = plan_only(e->traced.jaxpr, e->donation.alias_of_output, e->program->kept);
    return {plan.arguments, plan.outputs, plan.aliased, plan.temporaries, plan.planned_peak};
}

std::string donation_report(JitState& s) {
    const std::lock_guard lock(s.mutex);
    std::string out;
    for (const auto& e : s.entries) {
        for (const DonatedLeaf& d : e->donation.donated)
            out += fmt::format("{} {}: {}\n", d.path, d.aval, d.used ? "memory taken by output " + d.output_path : "not used: " + d.reason);
        for (const std::string& f : e->donation.findings) out += f + "\n";
    }
    return out;
}

std::vector<std::string> retraces(JitState& s) {
    const std::lock_guard lock(s.mutex);
    return s.reasons;
}

JitHandle::JitHandle(JitOptions options, const Where& where) : state_(new JitState) {
    state_->options = std::move(options);
    state_->where = where;
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

}  // namespace jaxscope::jax::detail
