// SPDX-License-Identifier: Apache-2.0
#include "calls/sharding/shard_map.h"

#include <algorithm>

#include "base/error.h"

namespace jaxscope {

namespace {

using sharding::AxisNames;
using sharding::Spec;

std::vector<Attr> specs_in(const Attr& list, const char* name) {
    const Attr::Seq* s = list.get_seq();
    if (!s) wrong_attr(list, name);
    for (const Attr& item : s->items)
        if (const Attr::Record* r = item.get_record(); r && r->text.str().find("reduced=") != std::string::npos)
            throw Error(ErrorCode::NoRule, "expected specs of shard_map that split, found " + r->text.str());
    return {s->items.begin(), s->items.end()};
}
AxisNames names_in(const Attr& set) {
    AxisNames out;
    const Attr::Seq* s = set.get_seq();
    if (!s) wrong_attr(set, "a set of axes");
    for (const Attr& item : s->items)
        if (const Sym* name = item.get<Sym>()) out.push_back(*name);
    return out;
}
AxisNames outer_manual() { return ManualScope::current() ? ManualScope::current()->manual : AxisNames(); }
/// Those of the mesh, in its order, of which `wanted` holds.
template <class Wanted>
AxisNames axes_of_mesh(const sharding::Mesh& mesh, Wanted wanted) {
    AxisNames out;
    for (const auto& axis : mesh.axes)
        if (wanted(axis.name)) out.push_back(axis.name);
    return out;
}
bool has(const AxisNames& names, Sym name) { return std::find(names.begin(), names.end(), name) != names.end(); }

}  // namespace

ShardedRegion::ShardedRegion(const Op& op) : outer_manual_(outer_manual()) {
    if (!op.params->find("in_specs") || !op.params->find("newly_manual_axes"))
        throw Error(ErrorCode::NoRule, "expected shard_map as JAX 0.10 writes it (in_specs, newly_manual_axes), found an older one")
            .at(op.source.loc());
    params_ = op.as<ShardMapParams>();
    body = params_.jaxpr.jaxpr;
    check = params_.check_vma;
    mesh_ = sharding::mesh_from(params_.mesh);
    in_specs = specs_in(params_.in_specs, "the specs of inputs");
    out_specs = specs_in(params_.out_specs, "the specs of results");
    const AxisNames newly = names_in(params_.newly_manual_axes);
    manual_ = axes_of_mesh(mesh_, [&](Sym n) { return has(newly, n); });
    if (in_specs.size() != body->num_invars || out_specs.size() != body->outvars.size() || body->num_constvars != 0)
        throw Error(ErrorCode::BadInput, "expected a spec for each operand and result of shard_map").at(op.source.loc());
}

ManualAxes ShardedRegion::inside() const {
    ManualAxes out{{}, {}, axes_joined(outer_manual_, manual_), check};
    for (const auto& axis : mesh_.axes) {
        out.mesh.push_back(axis.name);
        out.sizes.push_back(axis.size);
    }
    return out;
}

AvalRef ShardedRegion::local(AvalRef of_all, const Attr& attr) const {
    if (!of_all->is_array()) return of_all;
    const Spec spec = sharding::spec_from(attr);
    Dims shape = of_all->shape;
    if (spec.dims.size() > shape.size()) wrong_attr(attr, "a spec of no more dimensions than the array has");
    for (std::size_t d = 0; d < spec.dims.size(); ++d) shape[d] /= mesh_.size_of(spec.dims[d]);
    const AvalRef cut = with_shape(of_all, std::move(shape));
    return check ? with_varying(cut, axes_joined(varying_axes(*of_all), spec.axes())) : cut;
}
AvalRef ShardedRegion::whole(AvalRef of_one, const Attr& attr) const {
    if (!of_one->is_array()) return of_one;
    const Spec spec = sharding::spec_from(attr);
    Dims shape = of_one->shape;
    if (spec.dims.size() > shape.size()) wrong_attr(attr, "a spec of no more dimensions than the array has");
    for (std::size_t d = 0; d < spec.dims.size(); ++d) shape[d] *= mesh_.size_of(spec.dims[d]);
    return with_varying(with_shape(of_one, std::move(shape)), axes_without(varying_axes(*of_one), axes_without(manual_, outer_manual_)));
}
Attr ShardedRegion::residual_spec(AvalRef of_one) const {
    const AxisNames varying = varying_axes(*of_one);
    const AxisNames names = axes_of_mesh(mesh_, [&](Sym n) { return check ? has(varying, n) : has(manual_, n) && !has(outer_manual_, n); });
    return sharding::spec_attr(names.empty() ? Spec{} : Spec{{names}});
}
std::vector<Sym> ShardedRegion::unmentioned(const Attr& spec) const { return axes_without(manual_, sharding::spec_from(spec).axes()); }

ParamsRef ShardedRegion::with(JaxprPtr other, std::vector<Attr> in, std::vector<Attr> out) const {
    ShardMapParams p = params_;
    p.jaxpr = {std::move(other), false};
    p.in_specs = Attr::tuple(std::move(in));
    p.out_specs = Attr::tuple(std::move(out));
    return make_params(p);
}

}  // namespace jaxscope
