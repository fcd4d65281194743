// SPDX-License-Identifier: Apache-2.0
#include "sharding/one_mesh.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <set>
#include <unordered_set>

#include "ir/builder.h"
#include "ir/interpret.h"
#include "ir/primitive.h"
#include "lax/collectives/collectives.h"

namespace jaxscope::sharding {

namespace {

void note_mesh(const Mesh& m, std::vector<Mesh>& out) {
    if (!m.axes.empty() && std::find(out.begin(), out.end(), m) == out.end()) out.push_back(m);
}
void meshes_of(const ParamsRef& params, std::vector<Mesh>& out) {
    for (const auto& [name, value] : params->entries()) {
        if (const Attr::Record* r = value.get_record()) {
            if (const auto s = named_sharding_from(value)) note_mesh(s->mesh, out);
            if (r->type == Sym("Mesh")) note_mesh(mesh_from(value), out);
        }
        if (const Attr::Seq* list = value.get_seq())
            for (const Attr& item : list->items)
                if (const auto s = named_sharding_from(item)) note_mesh(s->mesh, out);
    }
}

/// One jaxpr may stand in many equations, and these in one again: each is looked at once, and so are parameters.
void meshes_below(const Jaxpr& program, std::unordered_set<const void*>& seen, std::vector<Mesh>& out) {
    if (!seen.insert(&program).second) return;
    for (const Eqn& e : program.eqns) {
        if (e.params->entries().empty() || !seen.insert(&*e.params).second) continue;
        meshes_of(e.params, out);
        for (const JaxprPtr& inner : e.params->jaxprs()) meshes_below(*inner, seen, out);
    }
}

/// How many devices follow each other within one position of an axis, from the outermost axis in: `('x': 4, 'y': 2)` has 8, 2, 1.
std::vector<std::int64_t> runs_of(const Mesh& m) {
    std::vector<std::int64_t> out{m.devices()};
    for (const Mesh::Axis& a : m.axes) out.push_back(out.back() / a.size);
    return out;
}
bool has_axis(const Mesh& m, Sym name) {
    return std::any_of(m.axes.begin(), m.axes.end(), [&](const Mesh::Axis& a) { return a.name == name; });
}

}  // namespace

std::optional<MeshTranslation> MeshTranslation::over(const std::vector<Mesh>& meshes) {
    std::set<std::int64_t, std::greater<>> all;
    for (const Mesh& m : meshes) {
        if (m.devices() != meshes[0].devices()) return std::nullopt;
        for (const std::int64_t run : runs_of(m)) all.insert(run);
    }
    const std::vector<std::int64_t> runs(all.begin(), all.end());
    for (std::size_t i = 0; i + 1 < runs.size(); ++i)
        if (runs[i] % runs[i + 1] != 0) return std::nullopt;
    MeshTranslation out;
    for (const Mesh& m : meshes)
        if (const std::vector<std::int64_t> own = runs_of(m); std::set(own.begin(), own.end()).size() == runs.size()) {
            out.mesh_ = m;
            return out;
        }
    for (std::size_t i = 0; i + 1 < runs.size(); ++i) {
        Sym name(fmt::format("axis{}", i));  // of none of them by itself
        for (const Mesh& m : meshes) {
            const std::vector<std::int64_t> own = runs_of(m);
            for (std::size_t k = 0; k < m.axes.size(); ++k)
                if (own[k] == runs[i] && own[k + 1] == runs[i + 1] && !has_axis(out.mesh_, m.axes[k].name)) name = m.axes[k].name;
        }
        out.mesh_.axes.push_back({name, runs[i] / runs[i + 1]});
    }
    return out;
}

AxisNames MeshTranslation::axes(const Mesh& from, Sym axis) const {
    if (from == mesh_) return {axis};
    const std::vector<std::int64_t> theirs = runs_of(from), ours = runs_of(mesh_);
    AxisNames out;
    for (std::size_t k = 0; k < from.axes.size(); ++k)
        for (std::size_t i = 0; from.axes[k].name == axis && i < mesh_.axes.size(); ++i)
            if (ours[i] <= theirs[k] && ours[i + 1] >= theirs[k + 1] && ours[i] != ours[i + 1]) out.push_back(mesh_.axes[i].name);
    return out;
}
Spec MeshTranslation::spec(const Mesh& from, const Spec& spec) const {
    Spec out;
    for (const AxisNames& dim : spec.dims) {
        AxisNames& to = out.dims.emplace_back();
        for (const Sym name : dim)
            for (const Sym n : axes(from, name)) to.push_back(n);
    }
    return out;
}

AxisNames MeshTranslation::names(const Attr& a, const Mesh& from) const {
    if (const Sym* one = a.get<Sym>()) return axes(from, *one);
    AxisNames out;
    if (const Attr::Seq* several = a.get_seq())
        for (const Attr& item : several->items)
            if (const Sym* name = item.get<Sym>())
                for (const Sym n : axes(from, *name)) out.push_back(n);
    return out;
}

Attr MeshTranslation::translated(const Attr& a, const Mesh* scope) const {
    if (const auto s = named_sharding_from(a)) return to_attr(NamedSharding{mesh_, spec(s->mesh, s->spec)});
    if (const Attr::Record* r = a.get_record()) {
        if (r->type == Sym("Mesh")) return mesh_attr(mesh_);
        if (r->type == Sym("PartitionSpec") && scope) return spec_attr(spec(*scope, spec_from(a)));
    }
    if (const Attr::Seq* list = a.get_seq()) {
        Attrs items;
        for (const Attr& item : list->items) items.push_back(translated(item, scope));
        return Attr::seq(list->kind, std::move(items));
    }
    if (const auto* ref = a.get<Attr::JaxprRef>()) return Attr::JaxprRef{program(*ref->jaxpr, scope), ref->closed};
    return a;
}

ParamsRef MeshTranslation::translated(const Eqn& e, const Mesh* scope) const {
    const Attr *manual = e.params->find("newly_manual_axes"), *over = e.params->find("mesh");
    Mesh own;
    if (manual && over) own = mesh_from(*over);
    ParamsRef out = e.params;
    for (const auto& [name, value] : e.params->entries()) {
        const bool axis_names = scope && is_collective(*e.prim) && (name == Sym("axes") || name == Sym("axis_name"));
        Attr to;
        if (&value == manual || axis_names) {
            const AxisNames translated_names = names(value, axis_names ? *scope : own);
            Attrs items(translated_names.begin(), translated_names.end());
            const Attr::Seq* seq = value.get_seq();
            to = Attr::seq(seq ? seq->kind : Attr::SeqKind::Tuple, std::move(items));
        } else {
            to = translated(value, manual && over ? &own : scope);
        }
        if (!(to == value)) out = with_param(out, name, std::move(to));
    }
    return out;
}

JaxprPtr MeshTranslation::program(const Jaxpr& j, const Mesh* scope) const {
    JaxprBuilder b;
    Interpreter run(j, {.builder = &b}, LiteralAsValue(), Value());
    run.bind_all(b.add_signature(j));
    const Values out = run.forward(
        [&](const Eqn& e, const Values& in) { return b.append(*e.prim, in, translated(e, scope), make_op(j, e).out, e.effects); });
    return b.finish(out, j.name);
}

std::optional<Mesh> common_mesh(const std::vector<Mesh>& meshes) {
    if (meshes.empty()) return std::nullopt;
    const std::optional<MeshTranslation> t = MeshTranslation::over(meshes);
    return t ? t->mesh() : meshes[0];
}

PartitionRequest over_one_mesh(const PartitionRequest& request) {
    std::vector<Mesh> all = meshes_in(*request.program);
    if (std::all_of(all.begin(), all.end(), [&](const Mesh& m) { return m == request.mesh; })) return request;
    all.insert(all.begin(), request.mesh);
    const std::optional<MeshTranslation> t = MeshTranslation::over(all);
    if (!t) return request;
    PartitionRequest out{t->program(*request.program), t->mesh(), {}, {}};
    const auto specs = [&](const std::vector<std::optional<Spec>>& given) {
        std::vector<std::optional<Spec>> list;
        for (const auto& s : given) list.push_back(s ? std::optional(t->spec(request.mesh, *s)) : std::nullopt);
        return list;
    };
    out.in = specs(request.in);
    out.out = specs(request.out);
    return out;
}

std::vector<Mesh> meshes_in(const Jaxpr& program) {
    std::unordered_set<const void*> seen;
    std::vector<Mesh> out;
    meshes_below(program, seen, out);
    return out;
}
std::optional<Mesh> mesh_of(const Jaxpr& program) { return common_mesh(meshes_in(program)); }

}  // namespace jaxscope::sharding
