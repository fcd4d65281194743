// SPDX-License-Identifier: Apache-2.0
// pmap: traces the function for one element, as a shard_map in a jit (JAX 0.10.2's pmap.py), cuts that into the program of one device, and
// runs it where the arrays lie already.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "base/error.h"
#include "calls/call_params.h"
#include "calls/sharding/shard_map.h"
#include "ir/registry.h"
#include "lax/ops.h"
#include "sharding/one_mesh.h"
#include "trace/device_calls.h"
#include "trace/named_axes.h"
#include "trace/refusals.h"
#include "trace/sharding/pmap_state.h"
#include "trace/sharding/sharded_state.h"
#include "transforms/dce.h"

namespace jaxscope::jax::detail {

namespace {

using sharding::Mesh;
using sharding::Spec;

/// While the function of a pmap is traced.
class InsidePmap {
public:
    explicit InsidePmap(const MappedCall& m) : manual_(manual_axes(m)), named_(m.axis.name.str(), m.axis.size) {
        pmaps_around().push_back(m.axis);
    }
    ~InsidePmap() { pmaps_around().pop_back(); }
    InsidePmap(const InsidePmap&) = delete;
    InsidePmap& operator=(const InsidePmap&) = delete;

private:
    static ManualAxes manual_axes(const MappedCall& m) {
        ManualAxes out{{}, {}, {}, false};
        for (const Mesh::Axis& a : m.mesh().axes) {
            out.mesh.push_back(a.name);
            out.sizes.push_back(a.size);
            out.manual.push_back(a.name);
        }
        return out;
    }
    ManualScope manual_;
    NamedAxisScope named_;
};

Array reshaped(const Array& x, const std::function<Value(Builder&, Value)>& with) {
    return apply1({x}, [&](Builder& b, const Values& v) { return with(b, v[0]); });
}
/// A result with the mapped axis. Throws NumPy's error for an axis that it can't have.
Array with_axis(const Array& x, std::optional<int> axis) {
    if (!axis) return x;
    const int rank = x.node()->aval->rank() + 1, at = *axis < 0 ? *axis + rank : *axis;
    if (at < 0 || at >= rank)
        throw Error(ErrorCode::BadUsage, fmt::format("axis {} is out of bounds for array of dimension {}", *axis, rank));
    return reshaped(x, [&](Builder& b, Value v) { return ::jaxscope::lax::expand_dims(b, v, {at}); });
}

/// What the function of one device is traced to.
struct Body {
    Traced traced;
    PyTreeDef results;
    std::vector<std::optional<int>> out_axes;  ///< in the order of its results
    std::vector<std::size_t> result_of_leaf;
};

/// filter_pmap groups results by their axes, from -n up, and those that have none come last.
std::vector<std::size_t> order_of_results(const PmapState& s, const std::vector<std::optional<int>>& axes) {
    std::vector<std::size_t> order(axes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (s.rules.filter)
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
            if (!axes[a] || !axes[b]) return axes[a].has_value() && !axes[b].has_value();
            return *axes[a] < *axes[b];
        });
    return order;
}

Body trace_body(const PmapState& s, Call& call, const MappedCall& m) {
    const InsidePmap inside(m);
    Trace t("pmap", s.options.name);
    std::vector<Array> local, out;
    for (std::size_t i = 0; i < m.leaves.size(); ++i) {
        const AvalRef whole = m.leaves[i].node()->aval;
        const Spec spec = mapped_spec(m.axes[i], m.axis.name);
        local.push_back(t.input(m.axes[i] ? with_shape(whole, sharding::shard_shape(whole->shape, {Mesh{{m.axis}}, spec})) : whole));
    }
    for (std::size_t i = 0; i < m.leaves.size(); ++i) {
        if (!m.axes[i]) continue;
        const int rank = local[i].node()->aval->rank(), at = *m.axes[i] < 0 ? *m.axes[i] + rank : *m.axes[i];
        local[i] = reshaped(local[i], [&](Builder& b, Value v) { return ::jaxscope::lax::squeeze(b, v, {at}); });
    }
    call.run(local.data(), out);
    Body body;
    body.results = make_tree(call.results());
    const std::vector<std::optional<int>> axes = result_axes(s, body.results);
    check_result_axes(s, axes, avals_of(out));
    const std::vector<std::size_t> order = order_of_results(s, axes);
    std::vector<Array> ordered;
    body.result_of_leaf.resize(order.size());
    for (std::size_t k = 0; k < order.size(); ++k) {
        body.result_of_leaf[order[k]] = k;
        body.out_axes.push_back(axes[order[k]]);
        ordered.push_back(with_axis(out[order[k]], axes[order[k]]));
    }
    body.traced = t.finish(ordered);
    return body;
}

/// The mesh of this pmap and of those in its function, which all have the axes of those around them.
Mesh mesh_of_all(const MappedCall& m, const ::jaxscope::Jaxpr& body) {
    Mesh out = m.mesh();
    for (const Mesh& inner : sharding::meshes_in(body)) {
        if (out.axes.size() == m.outer.size() + 1) out = inner;
        if (inner.devices() != out.devices())
            throw Error(ErrorCode::BadUsage, fmt::format("expected the pmaps in one function over equally many devices, found {} and {}",
                                                         to_text(out), to_text(inner)));
    }
    return out;
}

/// The shard_map, as jit holds it.
void trace_map(PmapState& s, Call& call, const MappedCall& m, PmapEntry& e) {
    Trace outer("jit", "_fun");
    std::vector<Array> whole;
    for (std::size_t i = 0; i < m.leaves.size(); ++i) whole.push_back(outer.input(m.leaves[i].node()->aval, m.names[i]));
    const Body body = trace_body(s, call, m);
    const JaxprPtr open = body.traced.open();
    e.mesh = mesh_of_all(m, *open);
    e.result_of_leaf = body.result_of_leaf;
    Attrs in(body.traced.consts.size(), sharding::spec_attr({})), out;
    for (const std::optional<int> a : m.axes) in.push_back(sharding::spec_attr(e.in.emplace_back(mapped_spec(a, m.axis.name))));
    for (const std::optional<int> a : body.out_axes) out.push_back(sharding::spec_attr(e.out.emplace_back(mapped_spec(a, m.axis.name))));
    ShardMapParams p;
    p.check_vma = false;
    p.in_specs = Attr::tuple(std::move(in));
    p.out_specs = Attr::tuple(std::move(out));
    p.jaxpr = {open, false};
    p.mesh = sharding::mesh_attr(e.mesh);
    p.newly_manual_axes = Attr::seq(Attr::SeqKind::Set, {Attr(m.axis.name)});
    std::vector<Array> operands = body.traced.consts;
    operands.insert(operands.end(), whole.begin(), whole.end());
    e.traced = outer.finish(bind_primitive(kShardMap, operands, make_params(p), call.where.line ? call.where : s.where));
}

ShareTypes shares(const PmapEntry& e) {
    const ::jaxscope::Jaxpr& j = *e.traced.jaxpr;
    ShareTypes out;
    const auto share = [&](AvalRef a, const Spec& spec) {
        return a->is_array() ? with_shape(a, sharding::shard_shape(a->shape, {e.mesh, spec})) : a;
    };
    for (std::size_t i = 0; i < e.in.size(); ++i) out.in.push_back(share(e.avals[i], e.in[i]));
    for (std::size_t k = 0; k < e.out.size(); ++k) out.out.push_back(share(j.aval(j.outvars[k]), e.out[k]));
    out.in_said.assign(e.in.size(), true);
    out.out_said.assign(e.out.size(), true);
    return out;
}

std::vector<std::string> keywords_of(const Call& call) {
    std::vector<std::string> out;
    for (const char* k : call.keywords) out.emplace_back(k ? k : "");
    return out;
}

std::shared_ptr<PmapEntry> trace_entry(PmapState& s, Call& call, const MappedCall& m) {
    auto e = std::make_shared<PmapEntry>();
    e->type = call.type;
    e->keywords = keywords_of(call);
    e->tree = make_tree(call.arguments());
    e->avals = avals_of(m.leaves);
    e->axes = trace_context();
    trace_map(s, call, m, *e);
    auto p = std::make_shared<::jaxscope::Program>();
    p->name = s.options.name;
    p->jaxpr = e->traced.jaxpr;
    p->in_paths = m.names;
    p->donated = m.donated;
    p->kept = dce_jaxpr(e->traced.jaxpr, std::vector<bool>(e->traced.jaxpr->outvars.size(), true)).used_inputs;
    for (std::size_t k = 0; k < e->out.size(); ++k) p->out_paths.emplace_back(fmt::format("[{}]", k));
    e->program = p;
    e->donation = pair_donations(*p, {}, shares(*e));
    e->prototype = call.take_results(&e->drop);
    return e;
}

std::shared_ptr<PmapEntry> find_entry(PmapState& s, Call& call, const MappedCall& m) {
    const PyTreeDef tree = make_tree(call.arguments());
    const Avals avals = avals_of(m.leaves);
    const std::lock_guard lock(s.tracing);
    for (const auto& e : s.entries)
        if (e->type == call.type && e->axes == trace_context() && e->avals == avals && e->tree == tree &&
            e->keywords == keywords_of(call) && e->mesh.size_of(m.axis.name) == m.axis.size && !e->traced.captures_tracers())
            return e;
    auto e = trace_entry(s, call, m);
    s.entries.push_back(e);
    return e;
}

// ---- Runs

void compile(const PmapState& s, PmapEntry& e) {
    if (e.mesh.devices() > device_count())
        throw Error(ErrorCode::BadUsage, fmt::format("compiling computation that requires {} logical devices, but only {} XLA devices are "
                                                     "available (num_replicas={})",
                                                     e.mesh.devices(), device_count(), e.mesh.devices()));
    sharding::PartitionRequest request{e.traced.jaxpr, e.mesh, {}, {}};
    request.in.assign(e.in.begin(), e.in.end());
    request.out.assign(e.out.begin(), e.out.end());
    e.executable = compiled_for_devices(sharding::partition(request));
    if (e.donation.warning && s.rules.warn) std::fprintf(stderr, "UserWarning: %s\n", e.donation.warning->c_str());
}

std::vector<sharding::ShardIndex> index_of(AvalRef a, const Mesh& mesh, const Spec& spec) {
    std::vector<sharding::ShardIndex> out;
    for (std::int64_t d = 0; d < mesh.devices(); ++d) out.push_back(sharding::shard_index(a->shape, {mesh, spec}, d));
    return out;
}

/// What each device has of an argument: what lies there already, or is cut for it. A result of pmap that lies otherwise is refused, as
/// JAX does.
struct Placed {
    std::vector<ArrayPtr> parts;
    bool as_it_lay = false;  ///< no copy
};
Placed placed(const PmapEntry& e, const Node& n, std::size_t i) {
    const std::vector<sharding::ShardIndex> wanted = index_of(e.avals[i], e.mesh, e.in[i]);
    if (n.shards && n.shards->index == wanted) return {n.shards->data, true};
    if (n.shards && n.shards->sharding.starts_with("NamedSharding"))
        throw Error(ErrorCode::BadUsage,
                    fmt::format("Sharding passed to jit does not match the sharding on the respective arg. Got jit sharding: {},\narg "
                                "sharding: {} for arg type: {}",
                                sharding_text(e.mesh, e.in[i]), n.shards->sharding, long_aval(n.aval)));
    Placed out;
    out.as_it_lay = wanted.size() == 1 && !n.shards;
    for (std::int64_t d = 0; d < e.mesh.devices(); ++d)
        out.parts.push_back(e.in[i].replicated() ? n.array : shard_of(*n.array, {e.mesh, e.in[i]}, d));
    return out;
}

/// JAX's error for one array in two places of which one gives it away.
void refuse_twice(const PmapEntry& e, const std::vector<Array>& leaves, const std::vector<bool>& consumed) {
    const auto number = [&](std::size_t i) {
        return std::count(e.program->kept.begin(), e.program->kept.begin() + static_cast<std::ptrdiff_t>(i), true);
    };
    for (std::size_t i = 0; i < leaves.size(); ++i)
        for (std::size_t k = i + 1; k < leaves.size(); ++k) {
            if (leaves[i].node() != leaves[k].node() || !(consumed[i] || consumed[k]) || !e.program->kept[i] || !e.program->kept[k])
                continue;
            const bool both = consumed[i] && consumed[k];
            throw Error(ErrorCode::BadUsage,
                        fmt::format("INVALID_ARGUMENT: Attempt to {} Execute() (flattened argument {}, replica 0, partition 0, first use: "
                                    "{}). Toy example for this bug: `{}`.",
                                    both          ? "donate the same buffer twice in"
                                    : consumed[i] ? "use a buffer that was previously donated in the same call to"
                                                  : "donate a buffer that is also used by the same call to",
                                    number(k), number(i),
                                    both          ? "f(donate(a), donate(a))"
                                    : consumed[i] ? "f(donate(a), a)"
                                                  : "f(a, donate(a))"));
        }
}

Array result(const PmapEntry& e, std::size_t k, ArrayPtr whole, std::vector<ArrayPtr> parts) {
    auto shards = std::make_shared<DeviceShards>();
    shards->sharding = sharding_text(e.mesh, e.out[k]);
    shards->index = index_of(whole->aval, e.mesh, e.out[k]);
    shards->data = std::move(parts);
    Array out = concrete(std::move(whole));
    const_cast<Node*>(out.node())->shards = std::move(shards);
    return out;
}

std::vector<Array> run_entry(const PmapState& s, PmapEntry& e, const std::vector<Array>& leaves) {
    const std::lock_guard lock(e.running);
    if (!e.executable) compile(s, e);
    std::vector<bool> used(leaves.size(), false), consumed(leaves.size(), false);
    for (const DonatedLeaf& d : e.donation.donated) used[static_cast<std::size_t>(d.input)] = d.used;
    const auto devices = static_cast<std::size_t>(e.mesh.devices());
    DeviceArrays in(devices);
    for (std::size_t i = 0; i < leaves.size(); ++i) {
        elements(*leaves[i].node());
        Placed p = placed(e, *leaves[i].node(), i);
        consumed[i] = used[i] && p.as_it_lay;  // else a copy was given away
        for (std::size_t d = 0; d < devices; ++d) in[d].push_back(std::move(p.parts[d]));
    }
    refuse_twice(e, leaves, consumed);
    for (std::size_t i = 0; i < leaves.size(); ++i) {
        if (!consumed[i]) continue;
        give_away(*leaves[i].node(), s.where);
    }
    DeviceArrays parts = e.executable->run_sharded(in, used);
    write_prints(*e.executable);
    const sharding::Partitioned& p = e.executable->program();
    std::vector<Array> out;
    for (std::size_t k = 0; k < e.out.size(); ++k) {
        std::vector<ArrayPtr> of_devices;
        for (auto& device : parts) of_devices.push_back(std::move(device[k]));
        ArrayPtr whole = assembled(p.out_avals[k], {p.mesh, p.out[k]}, of_devices);
        out.push_back(result(e, k, std::move(whole), std::move(of_devices)));
    }
    return out;
}

/// Inside of another traced function: the jit.
std::vector<Array> stage_entry(const PmapState& s, const PmapEntry& e, const MappedCall& m, const Call& call) {
    const bool open = e.traced.captures_tracers();
    std::vector<bool> donated(open ? e.traced.consts.size() : 0, false);
    donated.insert(donated.end(), m.donated.begin(), m.donated.end());
    const ParamsRef params = Params::make({{"jaxpr", Attr(Attr::JaxprRef{open ? e.traced.open() : e.traced.jaxpr, true})},
                                           {"name", Attr(Sym("_fun"))},
                                           {"donated_invars", to_attr(donated)},
                                           {"inline", Attr(false)},
                                           {"keep_unused", Attr(false)}});
    return bind_primitive(*emitted_calls().jit, open ? with_consts(e.traced, m.leaves) : m.leaves, params,
                          call.where.line ? call.where : s.where);
}

}  // namespace

Called pmap_call(PmapState& s, Call& call) {
    initialise();
    return at_place(s.where, [&] {
        const MappedCall m = mapped_call(s, call);
        const std::shared_ptr<PmapEntry> e = find_entry(s, call, m);
        const std::vector<Array> results = Trace::current() ? stage_entry(s, *e, m, call) : run_entry(s, *e, m.leaves);
        Called r;
        for (const std::size_t k : e->result_of_leaf) r.leaves.push_back(results[k]);
        r.prototype = e->prototype;
        return r;
    });
}

ShardingReport pmap_report(PmapState& s, Call& call) {
    initialise();
    return at_place(s.where, [&] {
        const std::shared_ptr<PmapEntry> e = find_entry(s, call, mapped_call(s, call));
        const std::lock_guard lock(e->running);
        if (!e->executable) compile(s, *e);
        return report_of(*e->executable);
    });
}

std::string pmap_donations(PmapState& s, Call& call) {
    initialise();
    return at_place(s.where, [&] {
        const std::shared_ptr<PmapEntry> e = find_entry(s, call, mapped_call(s, call));
        std::string out;
        for (const DonatedLeaf& d : e->donation.donated)
            out += fmt::format("{} {}: {}{}\n", d.path, d.aval, d.used ? "memory " : "not used: ", d.reason);
        for (const std::string& f : e->donation.findings) out += f + "\n";
        return out;
    });
}

PmapHandle::PmapHandle(const PmapOptions& options, const Where& where) : state_(new PmapState) {
    state_->options = options;
    state_->where = where;
    try {
        at_place(where,
                 [&] { return state_->donated = rebase_donate_argnums(options.donate_argnums, options.static_broadcasted_argnums); });
    } catch (...) {
        delete state_;
        throw;
    }
}
PmapHandle::PmapHandle(const FilterPmapOptions& o, bool function_is_argument, const Where& where) : state_(nullptr) {
    if (o.donate != "all" && o.donate != "warn" && o.donate != "none")
        detail::refuse_at(where, ErrorCode::BadUsage, "`filter_jit(..., donate=...)` must be one of 'all', 'warn', or 'none'",
                          "donate = \"none\" keeps all arrays");
    state_ = new PmapState;
    state_->options = {.axis_name = o.axis_name,
                       .in_axes = o.in_axes,
                       .out_axes = o.out_axes,
                       .axis_size = o.axis_size,
                       .arg_names = o.arg_names,
                       .name = o.name};
    state_->where = where;
    state_->rules = {.filter = true, .own_function = function_is_argument, .donate = o.donate != "none", .warn = o.donate == "warn"};
}
PmapHandle::PmapHandle(const PmapHandle& o) noexcept : state_(o.state_) { state_->refs.fetch_add(1); }
PmapHandle& PmapHandle::operator=(const PmapHandle& o) noexcept {
    PmapHandle copy(o);
    std::swap(state_, copy.state_);
    return *this;
}
PmapHandle::~PmapHandle() {
    if (state_->refs.fetch_sub(1) == 1) delete state_;
}

}  // namespace jaxscope::jax::detail
