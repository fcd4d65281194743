// SPDX-License-Identifier: Apache-2.0
#pragma once
// Programs that name several meshes over the same devices, as one over a mesh that all of them are coarser than: ('x': 8) beside
// ('rows': 4, 'cols': 2) is the latter, whose axes together are 'x'. In: meshes, specs, a jaxpr. Out: the same over one mesh. Never here:
// how values lie.
#include <optional>
#include <vector>

#include "sharding/partition.h"

namespace jaxscope::sharding {

class MeshTranslation {
public:
    /// None where their devices aren't as many, or where no axes name the cuts of all ((2, 3) beside (3, 2)).
    static std::optional<MeshTranslation> over(const std::vector<Mesh>& meshes);
    /// One of the given, where one is as fine as all.
    const Mesh& mesh() const { return mesh_; }
    /// The axes that stand for one of `from`, from the outside in.
    AxisNames axes(const Mesh& from, Sym axis) const;
    Spec spec(const Mesh& from, const Spec& spec) const;
    /// `scope`: the mesh whose axes its collectives name, where it is a shard_map's body; else null.
    JaxprPtr program(const Jaxpr& j, const Mesh* scope = nullptr) const;

private:
    Attr translated(const Attr& a, const Mesh* scope) const;
    ParamsRef translated(const Eqn& e, const Mesh* scope) const;
    AxisNames names(const Attr& a, const Mesh& from) const;
    Mesh mesh_;
};

/// The meshes that a program's own equations name (shard_map, sharding_constraint, shardings of jit), each once, as they are met.
std::vector<Mesh> meshes_in(const Jaxpr& program);
/// The mesh of a translation over all of them; the first one where there is none; none of none.
std::optional<Mesh> common_mesh(const std::vector<Mesh>& meshes);
/// The one over which all that a program names are expressed; the first one where there is none. None: nothing in it names a mesh.
std::optional<Mesh> mesh_of(const Jaxpr& program);
/// The request over one mesh; as it is where it names only its own, or where there is none.
PartitionRequest over_one_mesh(const PartitionRequest& request);

}  // namespace jaxscope::sharding
