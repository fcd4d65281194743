// SPDX-License-Identifier: Apache-2.0
#include "analysis/sharding/per_device.h"

#include <algorithm>

#include "analysis/sharding/distribution.h"
#include "base/error.h"
#include "sharding/captured.h"
#include "sharding/flatten.h"
#include "sharding/one_mesh.h"
#include "sharding/propagate.h"

namespace jaxscope {

PerDevice per_device(const Program& program, const JaxprPtr& step, bool own_results) {
    const std::optional<Distribution> spread = distribution_of(program);
    if (!spread) return {};
    if (!sharding::mesh_of(program)) return {nullptr, "the capture doesn't say over which mesh"};
    try {
        return {std::make_shared<const sharding::Partitioned>(sharding::partition(program, step, own_results)), ""};
    } catch (const Error& e) {
        if (e.code == ErrorCode::Cancelled) throw;
        return {nullptr, full_text(e)};
    }
}

std::int64_t sent_bytes(const sharding::Partitioned& cut) {
    std::int64_t sum = 0;
    for (const sharding::CollectiveUse& c : cut.collectives) sum += c.bytes * std::max<std::int64_t>(c.times, 1);
    return sum;
}

std::string local_text(AvalRef whole, const sharding::NamedSharding& s) {
    return whole->is_array() ? to_text(with_shape(whole, sharding::shard_shape(whole->shape, s))) : to_text(whole);
}

std::vector<sharding::Spec> specs_of_values(const Jaxpr& forward, const sharding::Mesh& mesh, std::vector<std::optional<sharding::Spec>> in,
                                            const std::vector<Atom>& values) {
    Jaxpr asked = forward;
    asked.outvars.insert(asked.outvars.end(), values.begin(), values.end());
    in.resize(forward.num_invars);
    const sharding::PartitionRequest over = sharding::over_one_mesh({std::make_shared<const Jaxpr>(std::move(asked)), mesh, in, {}});
    const JaxprPtr flat = sharding::flattened(*over.program);
    const std::vector<sharding::Placed> at = sharding::propagate(*flat, over.mesh, over.in, {});
    std::vector<sharding::Spec> out;
    for (std::size_t k = forward.outvars.size(); k < flat->outvars.size(); ++k)
        out.push_back(flat->outvars[k].is_var() ? at[flat->outvars[k].var().index].spec : sharding::Spec{});
    return out;
}

}  // namespace jaxscope
