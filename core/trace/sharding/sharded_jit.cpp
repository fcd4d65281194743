// SPDX-License-Identifier: Apache-2.0
// sharded_jit: traces the function for all devices together, checks what JAX checks in its order, has the program cut and run.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>

#include "base/error.h"
#include "calls/sharding/sharded_call.h"
#include "pytree/prefix.h"
#include "trace/device_calls.h"
#include "trace/jit/jit_checks.h"
#include "trace/refusals.h"
#include "trace/sharding/sharded_state.h"

namespace jaxscope::jax::detail {

namespace {

bool given(const PartsTree& t) { return t.kind() != PartsTree::Kind::leaf || !t.leaf().replicated; }

}  // namespace

ShardedState::ShardedState(PartsTree in, PartsTree out, ShardedJitOptions o, const Where& w)
    : in_parts(std::move(in)), out_parts(std::move(out)), options(std::move(o)), where(w) {
    at_place(where, [&] {
        const auto count = [&](const PartsTree& a, const PartsTree& b) {
            return sharding::get_num_partitions(all_parts({a, b}), text_of(PartsTree::tuple({a, b})));
        };
        nparts = options.num_partitions ? std::optional(options.num_partitions) : count(in_parts, out_parts);
        local_nparts = options.local_num_partitions ? std::optional(options.local_num_partitions)
                                                    : count(options.local_in_parts, options.local_out_parts);
        return 0;
    });
}

PyTreeDef tree_of_arguments(const PyTreeDef& all, const std::function<bool(std::size_t)>& wanted) {
    auto* tuple = new TreeNode;
    tuple->kind = TreeNode::Kind::tuple;
    const std::vector<PyTreeDef> args = all.children();
    for (std::size_t i = 0; i < args.size(); ++i) {
        if (!wanted(i)) continue;
        retain_tree(args[i].node());
        tuple->keys.push_back({false, std::to_string(tuple->children.size())});
        tuple->children.push_back(args[i].node());
        tuple->leaves += args[i].num_leaves();
        tuple->nodes += args[i].num_nodes();
    }
    return PyTreeDef(tuple);
}

namespace {

/// The tree of the arguments that aren't static.
PyTreeDef dynamic_tree(const PyTreeDef& all, const std::vector<int>& fixed) {
    return tree_of_arguments(all, [&](std::size_t i) { return !contains(fixed, static_cast<int>(i), all.children().size()); });
}
[[noreturn]] void refuse(const ShardedState& s, const std::string& text) { detail::refuse_at(s.where, ErrorCode::BadUsage, text); }

/// JAX's checks of the call itself.
void check_call(const ShardedState& s, const Call& call) {
    for (const char* keyword : call.keywords)
        if (keyword) refuse(s, "sharded_jit over kwargs not yet supported");
    const std::vector<int>& fixed = s.options.static_argnums;
    const auto args = static_cast<int>(call.static_args.size());
    for (const int n : fixed)
        if (n < 0) refuse(s, fmt::format("expected static_argnums from 0 on, found {}", n));
    if (!fixed.empty() && *std::max_element(fixed.begin(), fixed.end()) >= args)
        refuse(s, fmt::format("jitted function has static_argnums=({}) but was called with only {} positional argument{}. All static "
                              "broadcasted arguments must be passed positionally.",
                              listed(fixed), args, args > 1 ? "s" : ""));
    for (int i = 0; i < args; ++i)
        if (call.static_args[static_cast<std::size_t>(i)] && !contains(fixed, i, call.static_args.size()))
            refuse(s, static_text(call, static_cast<std::size_t>(i)) + ".");
}

/// One per leaf, in the words of the seed where it doesn't fit.
std::vector<sharding::Parts> flattened(const ShardedState& s, const char* what, const PyTreeDef& tree, const PartsTree& spec) {
    if (!prefix_problem(what, tree, spec).empty())
        refuse(s, fmt::format("{} specification must be a tree prefix of the corresponding value, got specification {} for value tree {}.",
                              what, text_of(spec), tree.str()));
    std::vector<sharding::Parts> out;
    for (const Parts& p : spread_prefix(spec, tree)) out.push_back(parts_of(p));
    return out;
}

/// Which leaves of the call are arguments, and the values of those that aren't.
void sort_leaves(const ShardedState& s, const Call& call, ShardedEntry& e) {
    std::size_t leaf = 0;
    for (std::size_t a = 0; a < call.leaves_of_arg.size(); ++a) {
        const bool is_static = contains(s.options.static_argnums, static_cast<int>(a), call.leaves_of_arg.size());
        for (std::size_t k = 0; k < call.leaves_of_arg[a]; ++k, ++leaf) {
            if (!is_static)
                e.dynamic.push_back(leaf);
            else
                e.static_leaves.push_back(elements(*call.leaves[leaf].node()));
        }
    }
    for (const std::size_t i : e.dynamic) e.avals.push_back(call.leaves[i].node()->aval);
}
bool same_values(const std::vector<ArrayPtr>& a, const std::vector<ArrayPtr>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const ArrayPtr& x, const ArrayPtr& y) { return x->aval == y->aval && x->data == y->data; });
}

TracedCall traced(const ShardedState& s, Call& call, const ShardedEntry& e, const Avals& in) {
    Trace t("sharded_jit", s.options.name);
    std::vector<Array> leaves = call.leaves, out;
    for (std::size_t k = 0; k < e.dynamic.size(); ++k) leaves[e.dynamic[k]] = t.input(in[k]);
    call.run(leaves.data(), out);
    return {t.finish(out), make_tree(call.results())};
}

struct Counts {
    std::int64_t devices, local;
};
/// JAX's checks of the platform, in its order.
Counts check_devices(const ShardedState& s, const ::jaxscope::Jaxpr& jaxpr) {
    const Platform& p = Platform::current();
    if (p.devices == 0) refuse(s, "sharded_jit not supported for cpu");
    const std::int64_t n = sharding::reconcile_num_partitions(jaxpr, s.nparts);
    if (n > p.devices)
        refuse(s, fmt::format("sharded_jit computation requires {} devices, but only {} devices are available.", n, p.devices));
    if (p.local_devices < n && n < p.devices)
        refuse(s, fmt::format("sharded_jit across multiple hosts must use all available devices. Got {} out of {} requested devices (local "
                              "device count: {})",
                              n, p.devices, p.local_devices));
    if (!s.local_nparts && n > p.local_devices)
        refuse(s, "Specify 'local_nparts' when using cross-process sharded_jit and all inputs and outputs are replicated.");
    const std::int64_t local = s.local_nparts.value_or(n);
    if (local > p.local_devices)
        refuse(s, fmt::format("sharded_jit computation requires {} local devices, but only {} local devices are available.", local,
                              p.local_devices));
    return {n, local};
}

/// Cuts and compiles. Indivisible inputs and results are refused, as the seed does.
void compile(const ShardedState& s, ShardedEntry& e, const Avals& global_in, const Avals& local_out, const Counts& counts) {
    const Platform& p = Platform::current();
    if (p.log_compiles) {
        std::vector<std::string> avals;
        for (const AvalRef a : global_in) avals.push_back(shaped_array_text(a));
        std::fprintf(stderr, "Compiling %s for %lld devices with args [%s].\n", s.options.name, static_cast<long long>(counts.devices),
                     fmt::format("{}", fmt::join(avals, ", ")).c_str());
    }
    if (counts.devices > p.local_devices || counts.local != counts.devices)
        detail::refuse_at(
            s.where, ErrorCode::CannotRun,
            fmt::format("expected all {} devices in this process, found {} of them: programs over several processes aren't run yet",
                        counts.devices, counts.local));
    for (const auto* specs : {&e.in, &e.out})
        for (const sharding::Parts& parts : *specs)
            if (counts.devices % sharding::part_count(parts).value_or(1) != 0)
                refuse(s, fmt::format("expected specifications of {} parts, as num_partitions says, or of a divisor, found {}",
                                      counts.devices, sharding::to_text(parts)));
    for (std::size_t i = 0; i < e.in.size(); ++i) sharding::spec_to_indices(global_in[i]->shape, e.in[i], counts.devices);
    for (std::size_t k = 0; k < e.out.size(); ++k) sharding::spec_to_indices(local_out[k]->shape, e.out[k], counts.devices);
    sharding::NamedProgram named = sharding::named_program(e.traced.jaxpr, e.in, e.out, counts.devices);
    e.crossing = named.crossing;
    e.executable = compiled_for_devices(sharding::partition(named.request));
}

std::shared_ptr<ShardedEntry> make_entry(ShardedState& s, Call& call, std::shared_ptr<ShardedEntry> e) {
    const PyTreeDef args = dynamic_tree(e->tree, s.options.static_argnums);
    e->in = flattened(s, "sharded_jit in_parts", args, s.in_parts);
    const std::vector<sharding::Parts> local_in =
        given(s.options.local_in_parts) ? flattened(s, "sharded_jit local_in_parts", args, s.options.local_in_parts) : e->in;
    Avals global;
    for (std::size_t i = 0; i < e->avals.size(); ++i) global.push_back(sharding::get_global_aval(e->avals[i], e->in[i], local_in[i]));
    const TracedCall t = traced(s, call, *e, global);
    e->traced = t.traced;
    const Counts counts = check_devices(s, *t.traced.jaxpr);
    e->out = flattened(s, "sharded_jit out_parts", t.out_tree, s.out_parts);
    const PartsTree& local = s.options.local_out_parts;
    const bool has_local = given(local) && !(local.kind() != PartsTree::Kind::leaf && local.items().empty());
    const std::vector<sharding::Parts> local_parts = has_local ? flattened(s, "sharded_jit local_out_parts", t.out_tree, local) : e->out;
    Avals local_out;
    for (std::size_t k = 0; k < e->out.size(); ++k)
        local_out.push_back(sharding::get_local_aval(t.traced.jaxpr->aval(t.traced.jaxpr->outvars[k]), e->out[k], local_parts[k]));
    compile(s, *e, global, local_out, counts);
    e->prototype = call.take_results(&e->drop);
    return e;
}

std::shared_ptr<ShardedEntry> find_entry(ShardedState& s, Call& call) {
    check_call(s, call);
    auto made = std::make_shared<ShardedEntry>();
    made->type = call.type;
    made->tree = make_tree(call.arguments());
    sort_leaves(s, call, *made);
    const std::lock_guard lock(s.tracing);
    for (const auto& e : s.entries)
        if (e->type == made->type && e->tree == made->tree && e->avals == made->avals && same_values(e->static_leaves, made->static_leaves))
            return e;
    auto entry = at_place(s.where, [&] { return make_entry(s, call, made); });
    s.entries.push_back(entry);
    return entry;
}

/// A result: the whole array, which knows what each device has.
Array result(const ShardedEntry& e, std::size_t k, ArrayPtr whole, std::vector<ArrayPtr> of_devices, std::int64_t devices) {
    auto shards = std::make_shared<DeviceShards>();
    shards->sharding = sharding::to_text(e.out[k]);
    shards->index = sharding::spec_to_indices(whole->aval->shape, e.out[k], devices);
    const bool as_cut = std::find(e.crossing.begin(), e.crossing.end(), e.out[k]) == e.crossing.end();
    shards->data = std::move(of_devices);
    if (!as_cut)  // no axes name these parts: every device has made the whole
        for (std::size_t d = 0; d < shards->data.size(); ++d) shards->data[d] = part_of(*whole, shards->index[d]);
    Array out = concrete(std::move(whole));
    const_cast<Node*>(out.node())->shards = std::move(shards);
    return out;
}

std::vector<Array> run_entry(ShardedEntry& e, const Call& call) {
    std::vector<ArrayPtr> in;
    for (const std::size_t i : e.dynamic) in.push_back(elements(*call.leaves[i].node()));
    const std::lock_guard lock(e.running);
    const sharding::Partitioned& p = e.executable->program();
    DeviceArrays parts = e.executable->run_sharded(in);
    write_prints(*e.executable);
    std::vector<Array> out;
    for (std::size_t k = 0; k < e.out.size(); ++k) {
        std::vector<ArrayPtr> of_devices;
        for (auto& device : parts) of_devices.push_back(std::move(device[k]));
        ArrayPtr whole = assembled(p.out_avals[k], {p.mesh, p.out[k]}, of_devices);
        out.push_back(result(e, k, std::move(whole), std::move(of_devices), p.mesh.devices()));
    }
    return out;
}

Attr parts_attr(const std::vector<sharding::Parts>& parts) {
    Attrs items;
    for (const sharding::Parts& p : parts) items.push_back(sharding::to_attr(p));
    return Attr::tuple(std::move(items));
}

/// Inside of another traced function: one equation.
Called stage(ShardedState& s, Call& call) {
    check_call(s, call);
    auto e = std::make_shared<ShardedEntry>();
    e->tree = make_tree(call.arguments());
    sort_leaves(s, call, *e);
    const PyTreeDef args = dynamic_tree(e->tree, s.options.static_argnums);
    e->in = flattened(s, "sharded_jit in_parts", args, s.in_parts);
    Attr local_in;
    if (given(s.options.local_in_parts)) local_in = parts_attr(flattened(s, "sharded_jit local_in_parts", args, s.options.local_in_parts));
    const TracedCall t = traced(s, call, *e, e->avals);
    const Attr thunk = Attr::Object{"HashableFunction", "<lambda>", "<function <lambda>>"};
    ShardedCallParams params{.call_jaxpr = {t.traced.open(), true}, .in_parts = parts_attr(e->in), .local_in_parts = local_in};
    params.local_nparts = s.local_nparts;
    params.local_out_parts_thunk = params.out_parts_thunk = thunk;
    params.out_parts = parts_attr(flattened(s, "sharded_jit out_parts", t.out_tree, s.out_parts));
    params.name = s.options.name;
    params.nparts = s.nparts;
    std::vector<Array> in = t.traced.consts;
    for (const std::size_t i : e->dynamic) in.push_back(call.leaves[i]);
    Called r;
    r.leaves = bind_primitive(kShardedCall, in, make_params(params), call.where);
    e->prototype = call.take_results(&e->drop);
    r.prototype = e->prototype;
    s.entries.push_back(std::move(e));  // keeps the prototype
    return r;
}

}  // namespace

std::shared_ptr<ShardedEntry> sharded_entry(ShardedState& s, Call& call) { return find_entry(s, call); }

Called sharded_call(ShardedState& s, Call& call) {
    initialise();
    if (Trace::current()) return at_place(s.where, [&] { return stage(s, call); });
    const std::shared_ptr<ShardedEntry> e = find_entry(s, call);
    Called r;
    r.leaves = at_place(s.where, [&] { return run_entry(*e, call); });
    r.prototype = e->prototype;
    return r;
}

ShardedHandle::ShardedHandle(PartsTree in, PartsTree out, ShardedJitOptions options, const Where& where)
    : state_(new ShardedState(std::move(in), std::move(out), std::move(options), where)) {}
ShardedHandle::ShardedHandle(const ShardedHandle& o) noexcept : state_(o.state_) { state_->refs.fetch_add(1); }
ShardedHandle& ShardedHandle::operator=(const ShardedHandle& o) noexcept {
    ShardedHandle copy(o);
    std::swap(state_, copy.state_);
    return *this;
}
ShardedHandle::~ShardedHandle() {
    if (state_->refs.fetch_sub(1) == 1) delete state_;
}

}  // namespace jaxscope::jax::detail
