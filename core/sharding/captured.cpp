// SPDX-License-Identifier: Apache-2.0
#include "sharding/captured.h"

#include <algorithm>

#include "base/error.h"
#include "ir/primitive.h"
#include "sharding/one_mesh.h"

namespace jaxscope::sharding {

namespace {

Spec on_mesh(const NamedSharding& s, const Mesh& mesh, const std::string& whose) {
    if (s.mesh == mesh) return s.spec;
    const std::optional<MeshTranslation> finer = MeshTranslation::over({mesh, s.mesh});
    if (!finer || !(finer->mesh() == mesh))
        throw Error(ErrorCode::NoRule, "expected all values over " + to_text(mesh) + ", found " + whose + " over " + to_text(s.mesh));
    return finer->spec(s.mesh, s.spec);
}
/// An entry of jit's parameter `name`.
std::optional<NamedSharding> said_by_jit(const Eqn& call, const char* name, std::size_t i) {
    const Attr* given = call.params->find(name);
    const Attr::Seq* list = given ? given->get_seq() : nullptr;
    return list && i < list->items.size() ? named_sharding_from(list->items[i]) : std::nullopt;
}

}  // namespace

const Eqn* only_call(const Jaxpr& j) { return j.eqns.size() == 1 && j.eqns[0].prim->flow == Flow::Call ? &j.eqns[0] : nullptr; }

std::optional<Mesh> mesh_of(const Program& program) {
    std::vector<Mesh> all;
    for (const Attr& a : program.in_shardings)
        if (const auto s = named_sharding_from(a); s && std::find(all.begin(), all.end(), s->mesh) == all.end()) all.push_back(s->mesh);
    const std::vector<Mesh> inside = meshes_in(*program.jaxpr);
    all.insert(all.end(), inside.begin(), inside.end());
    return common_mesh(all);
}

SaidSpecs said_specs(const Program& program, const Mesh& mesh) {
    const Jaxpr& j = *program.jaxpr;
    SaidSpecs out;
    out.in.resize(j.num_invars);
    out.out.resize(j.outvars.size());
    if (const Eqn* call = only_call(j)) {
        const auto in = j.inputs(*call);
        for (std::size_t i = 0; i < in.size(); ++i)
            if (in[i].is_var() && in[i].var().index >= j.num_constvars)
                if (const auto s = said_by_jit(*call, "in_shardings", i))
                    out.in[in[i].var().index - j.num_constvars] = on_mesh(*s, mesh, "an input of jit");
        for (std::size_t k = 0; k < j.outvars.size(); ++k)
            if (j.outvars[k].is_var() && j.outvars[k].var().index >= call->first_out)
                if (const auto s = said_by_jit(*call, "out_shardings", j.outvars[k].var().index - call->first_out))
                    out.out[k] = on_mesh(*s, mesh, "a result of jit");
    }
    for (std::size_t i = 0; i < program.in_shardings.size() && i < out.in.size(); ++i)
        if (const auto s = named_sharding_from(program.in_shardings[i]); s && !out.in[i])
            out.in[i] = on_mesh(*s, mesh, program.in_paths[i].str());
    return out;
}

Partitioned partition(const Program& program, const JaxprPtr& jaxpr, bool own_results) {
    const std::optional<Mesh> mesh = mesh_of(program);
    if (!mesh)
        throw Error(ErrorCode::CannotRun, "expected a program over several devices, found one in which nothing names a mesh")
            .at({program.path, 0, 0});
    SaidSpecs said = said_specs(program, *mesh);
    said.in.resize(jaxpr->num_invars);
    if (!own_results) said.out.clear();
    return partition(PartitionRequest{jaxpr, *mesh, std::move(said.in), std::move(said.out)});
}

Partitioned partition(const Program& program) { return partition(program, program.jaxpr, true); }

}  // namespace jaxscope::sharding
