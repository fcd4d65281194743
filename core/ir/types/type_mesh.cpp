// SPDX-License-Identifier: Apache-2.0
#include "ir/types/type_mesh.h"

#include <algorithm>

#include "ir/types/manual_axes.h"

namespace jaxscope {

namespace {

thread_local const Attr* of_this_thread = nullptr;

/// `P('x', None)` as captures write it.
Attr spec_of(const Aval& aval) {
    auto spec = explicit_spec(aval);
    spec.resize(aval.shape.size());
    Attrs dims;
    std::string text = "P(";
    for (std::size_t d = 0; d < spec.size(); ++d) {
        std::string names;
        for (const Sym n : spec[d]) names += (names.empty() ? "'" : ", '") + n.str() + "'";
        text += (d ? ", " : "") + (names.empty() ? "None" : spec[d].size() == 1 ? names : "(" + names + ")");
        if (spec[d].size() == 1)
            dims.emplace_back(spec[d].front());
        else
            dims.push_back(names.empty() ? Attr() : Attr::tuple(Attrs(spec[d].begin(), spec[d].end())));
    }
    Attr::Record out;
    out.type = "PartitionSpec";
    out.fields.emplace_back("dims", Attr::tuple(std::move(dims)));
    out.text = Sym(text + (spec.size() == 1 ? ",)" : ")"));
    return std::make_shared<const Attr::Record>(std::move(out));
}

}  // namespace

TypeMeshScope::TypeMeshScope(const Attr& mesh) : outer_(of_this_thread) { of_this_thread = mesh.get_record() ? &mesh : nullptr; }
TypeMeshScope::~TypeMeshScope() { of_this_thread = outer_; }

bool types_have_mesh() { return of_this_thread != nullptr; }

Attr explicit_sharding(const Aval& aval) {
    if (!of_this_thread || !aval.is_array()) return {};
    Attr::Record out;
    const Attr spec = spec_of(aval);
    out.type = "NamedSharding";
    out.text = Sym("NamedSharding(mesh=" + of_this_thread->get_record()->text.str() + ", spec=" + spec.get_record()->text.str() + ")");
    out.fields.emplace_back("mesh", *of_this_thread);
    out.fields.emplace_back("spec", spec);
    return std::make_shared<const Attr::Record>(std::move(out));
}

std::vector<Sym> explicit_axes(const Attr& mesh) {
    std::vector<Sym> out;
    const Attr::Record* r = mesh.get_record();
    const Attr::Seq* axes = r && !r->fields.empty() ? r->fields[0].second.get_seq() : nullptr;
    const std::string& text = r ? r->text.str() : std::string();
    std::size_t at = text.find("axis_types=(");
    if (at == std::string::npos || !axes) return out;
    for (const Attr& axis : axes->items) {
        at = text.find_first_not_of("(, ", text.find_first_of("(,", at));
        if (at == std::string::npos) break;
        const Attr::Seq* name_and_size = axis.get_seq();
        const Sym* name = name_and_size && !name_and_size->items.empty() ? name_and_size->items[0].get<Sym>() : nullptr;
        if (name && text.compare(at, 8, "Explicit") == 0) out.push_back(*name);
    }
    return out;
}

AvalRef cut_by(AvalRef aval, const Attr& sharding) {
    const Attr::Record* r = sharding.get_record();
    if (!r || r->type != Sym("NamedSharding") || r->fields.size() != 2 || !aval->is_array()) return aval;
    const Attr::Record* spec = r->fields[1].second.get_record();
    const Attr::Seq* dims = spec && !spec->fields.empty() ? spec->fields[0].second.get_seq() : nullptr;
    if (!dims) return aval;
    const std::vector<Sym> said = explicit_axes(r->fields[0].second);
    std::vector<std::vector<Sym>> cut(aval->shape.size());
    for (std::size_t d = 0; d < std::min(dims->items.size(), cut.size()); ++d) {
        if (const auto* one = dims->items[d].get<Sym>()) cut[d].push_back(*one);
        if (const Attr::Seq* several = dims->items[d].get_seq())
            for (const Attr& name : several->items)
                if (const auto* axis = name.get<Sym>()) cut[d].push_back(*axis);
        cut[d] = axes_without(cut[d], axes_without(cut[d], said));
    }
    return with_explicit_spec(aval, cut);
}

}  // namespace jaxscope
