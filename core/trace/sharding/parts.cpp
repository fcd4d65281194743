// SPDX-License-Identifier: Apache-2.0
// Specs of sharded_jit as the user writes them, and what says where a result lies.
#include <fmt/core.h>

#include <jaxscope/numpy.h>

#include <algorithm>
#include <ostream>

#include "base/error.h"
#include "calls/families.h"
#include "lax/primitives.h"
#include "trace/refusals.h"
#include "trace/sharding/sharded_state.h"

namespace jaxscope::jax {

std::ostream& operator<<(std::ostream& out, const PartitionSpec& p) { return out << p.str(); }
PartitionSpec::PartitionSpec(const std::vector<std::int64_t>& parts) : parts_(parts) {}
std::string PartitionSpec::str() const { return sharding::to_text(sharding::Parts(parts())); }

namespace detail {

Platform& Platform::current() {
    static Platform platform;
    return platform;
}

sharding::Parts parts_of(const Parts& p) {
    if (p.replicated) return std::nullopt;
    for (const std::int64_t n : p.spec.parts())
        if (n < 1) throw Error(ErrorCode::BadUsage, fmt::format("expected parts of 1 and more, found {}", p.spec.str()));
    return p.spec.parts();
}

std::string text_of(const PartsTree& t) {
    if (t.kind() == PartsTree::Kind::leaf) return sharding::to_text(parts_of(t.leaf()));
    std::string items;
    for (std::size_t i = 0; i < t.items().size(); ++i)
        items += (i ? ", " : "") + (t.kind() == PartsTree::Kind::dict ? t.keys()[i] + ": " : "") + text_of(t.items()[i]);
    if (t.kind() == PartsTree::Kind::dict) return "{" + items + "}";
    if (t.kind() == PartsTree::Kind::list) return "[" + items + "]";
    return "(" + items + (t.items().size() == 1 ? ",)" : ")");
}

std::vector<sharding::Parts> all_parts(const std::vector<PartsTree>& trees) {
    std::vector<sharding::Parts> out;
    for (const PartsTree& t : trees) {
        if (t.kind() == PartsTree::Kind::leaf) out.push_back(parts_of(t.leaf()));
        const std::vector<sharding::Parts> below = all_parts(t.items());
        out.insert(out.end(), below.begin(), below.end());
    }
    return out;
}

void refuse_constraints(const ::jaxscope::Jaxpr& open) {
    for (const Eqn& e : open.eqns)
        if (e.prim == &kShardingConstraint && e.params->find("partitions"))
            throw Error(ErrorCode::BadUsage, "with_sharding_constraint() should only be called inside sharded_jit()").at(e.source.loc());
        else if (e.prim == &kRemat)  // evaluated equation by equation; jit and loops are compiled as one
            for (const JaxprPtr& body : e.params->jaxprs()) refuse_constraints(*body);
}

}  // namespace detail

void set_virtual_devices(int devices, int local_devices) {
    const int local = local_devices < 0 ? devices : local_devices;
    if (devices < 0 || devices > 4096 || local > devices)
        throw Error(ErrorCode::BadUsage,
                    fmt::format("expected up to 4096 devices, and no more of this process, found {} and {}", devices, local));
    detail::Platform& p = detail::Platform::current();
    p.devices = devices;
    p.local_devices = local;
}
int device_count() { return std::max(1, detail::Platform::current().devices); }
int local_device_count() {
    const detail::Platform& p = detail::Platform::current();
    return p.devices ? p.local_devices : 1;
}
void log_compiles(bool on) { detail::Platform::current().log_compiles = on; }

std::int64_t get_num_partitions(const std::vector<PartsTree>& parts) {
    return sharding::get_num_partitions(detail::all_parts(parts), detail::text_of(PartsTree::tuple(parts))).value_or(0);
}

Array get_global_aval(const Array& local_aval, const Parts& global_parts, const Parts& local_parts, Where where) {
    const AvalRef local = local_aval.node()->aval;
    return detail::abstract_array(sharding::get_global_aval(local, detail::parts_of(global_parts), detail::parts_of(local_parts)), where);
}
Array get_local_aval(const Array& global_aval, const Parts& global_parts, const Parts& local_parts, Where where) {
    const AvalRef global = global_aval.node()->aval;
    return detail::abstract_array(sharding::get_local_aval(global, detail::parts_of(global_parts), detail::parts_of(local_parts)), where);
}
namespace {
ShardIndex index_of(const sharding::ShardIndex& index) {
    ShardIndex out;
    for (const sharding::Range& r : index) out.emplace_back(r.start, r.stop);
    return out;
}
}  // namespace
std::vector<ShardIndex> spec_to_indices(const Shape& shape, const Parts& parts, std::int64_t devices) {
    std::vector<ShardIndex> out;
    for (const sharding::ShardIndex& i : sharding::spec_to_indices(shape.vector(), detail::parts_of(parts), devices))
        out.push_back(index_of(i));
    return out;
}

Array with_sharding_constraint(const Operand& x, const Parts& partitions) {
    detail::initialise();
    const Array a = numpy::asarray(x);
    if (!detail::Trace::current())
        detail::refuse_at(x.where, ErrorCode::BadUsage, "with_sharding_constraint() should only be called inside sharded_jit()",
                          "call it in a function that sharded_jit runs");
    return detail::bind_primitive(kShardingConstraint, {a}, Params::make({{"partitions", sharding::to_attr(detail::parts_of(partitions))}}),
                                  x.where)[0];
}

std::vector<Shard> addressable_shards(const Array& a) {
    const detail::Node& n = *a.node();
    detail::elements(n);
    if (!n.shards) {
        Shard one;
        for (const std::int64_t size : n.aval->shape) one.index.emplace_back(0, size);
        one.data = a;
        return {one};
    }
    std::vector<Shard> out;
    for (std::size_t d = 0; d < n.shards->data.size(); ++d) {
        Shard& s = out.emplace_back();
        s.device = static_cast<int>(d);
        s.index = index_of(n.shards->index[d]);
        s.data = detail::concrete(n.shards->data[d]);
    }
    return out;
}
std::string sharding_of(const Array& a) { return a.node()->shards ? a.node()->shards->sharding : ""; }

}  // namespace jaxscope::jax
