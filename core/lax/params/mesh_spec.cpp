// SPDX-License-Identifier: Apache-2.0
#include "lax/params/mesh_spec.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "ir/params.h"

namespace jaxscope::sharding {

std::int64_t Mesh::devices() const {
    Dims sizes;
    for (const Axis& a : axes) sizes.push_back(a.size);
    return element_count(sizes);
}

std::int64_t Mesh::size_of(Sym axis) const {
    for (const Axis& a : axes)
        if (a.name == axis) return a.size;
    throw Error(ErrorCode::BadInput, fmt::format("expected an axis of {}, found '{}'", to_text(*this), axis.str()));
}

std::int64_t Mesh::size_of(const AxisNames& names) const {
    std::int64_t n = 1;
    for (const Sym name : names) n *= size_of(name);
    return n;
}

std::int64_t Mesh::position(std::int64_t device, const AxisNames& names) const {
    std::int64_t out = 0;
    for (const Sym name : names) {
        std::int64_t stride = 1, at = 0;
        for (std::size_t i = axes.size(); i-- > 0; stride *= axes[i].size)
            if (axes[i].name == name) at = device / stride % axes[i].size;
        out = out * size_of(name) + at;
    }
    return out;
}

std::int64_t Mesh::moved(std::int64_t device, const AxisNames& names, std::int64_t at) const {
    for (std::size_t k = names.size(); k-- > 0;) {
        const std::int64_t size = size_of(names[k]), wanted = at % size;
        at /= size;
        std::int64_t stride = 1;
        for (std::size_t i = axes.size(); i-- > 0; stride *= axes[i].size)
            if (axes[i].name == names[k]) device += (wanted - device / stride % size) * stride;
    }
    return device;
}

const AxisNames& Spec::at(std::size_t dim) const {
    static const AxisNames none;
    return dim < dims.size() ? dims[dim] : none;
}
bool Spec::replicated() const {
    return std::all_of(dims.begin(), dims.end(), [](const AxisNames& d) { return d.empty(); });
}
AxisNames Spec::axes() const {
    AxisNames out;
    for (const AxisNames& d : dims) out.insert(out.end(), d.begin(), d.end());
    return out;
}
bool Spec::same(const Spec& other) const {
    for (std::size_t d = 0; d < std::max(dims.size(), other.dims.size()); ++d)
        if (at(d) != other.at(d)) return false;
    return true;
}

std::string to_text(const Mesh& mesh) {
    std::vector<std::string> axes;
    for (const Mesh::Axis& a : mesh.axes) axes.push_back(fmt::format("'{}': {}", a.name.str(), a.size));
    return fmt::format("Mesh({})", fmt::join(axes, ", "));
}

std::string to_text(const Spec& spec) {
    std::vector<std::string> dims;
    for (const AxisNames& d : spec.dims) {
        std::vector<std::string> names;
        for (const Sym n : d) names.push_back("'" + n.str() + "'");
        dims.push_back(names.empty() ? "None" : names.size() == 1 ? names[0] : fmt::format("({})", fmt::join(names, ", ")));
    }
    return fmt::format("P({})", fmt::join(dims, ", "));
}

Mesh mesh_from(const Attr& attr) {
    const Attr::Record* r = attr.get_record();
    const Attr::Seq* axes = r && r->type == Sym("Mesh") && !r->fields.empty() ? r->fields[0].second.get_seq() : nullptr;
    if (!axes) wrong_attr(attr, "a Mesh with its axes");
    Mesh out;
    for (const Attr& item : axes->items) {
        const Attr::Seq* pair = item.get_seq();
        const Sym* name = pair && pair->items.size() == 2 ? pair->items[0].get<Sym>() : nullptr;
        const auto* size = name ? pair->items[1].get<std::int64_t>() : nullptr;
        if (!size || *size < 1) wrong_attr(item, "the name of an axis and its size");
        for (const Mesh::Axis& before : out.axes)
            if (before.name == *name) wrong_attr(attr, "axes with names of their own");
        out.axes.push_back({*name, *size});
    }
    constexpr std::int64_t kMostDevices = 1 << 24;
    if (out.devices() > kMostDevices) wrong_attr(attr, "at most 16 million devices");
    return out;
}

Spec spec_from(const Attr& attr) {
    const Attr::Record* r = attr.get_record();
    const Attr::Seq* dims = r ? (r->fields.empty() ? nullptr : r->fields[0].second.get_seq()) : attr.get_seq();
    if (!dims) wrong_attr(attr, "a PartitionSpec");
    Spec out;
    std::set<Sym> seen;
    for (const Attr& d : dims->items) {
        AxisNames names;
        if (const Sym* one = d.get<Sym>()) names.push_back(*one);
        if (const Attr::Seq* several = d.get_seq())
            for (const Attr& n : several->items) {
                const Sym* name = n.get<Sym>();
                if (!name) wrong_attr(n, "the name of an axis");
                names.push_back(*name);
            }
        for (const Sym n : names)
            if (!seen.insert(n).second) wrong_attr(attr, "each axis at most once");
        out.dims.push_back(std::move(names));
    }
    return out;
}

Attr mesh_attr(const Mesh& mesh) {
    Attr::Record out;
    Attrs axes;
    std::vector<std::string> names, types;
    for (const Mesh::Axis& a : mesh.axes) {
        axes.push_back(Attr::tuple({Attr(a.name), Attr(a.size)}));
        names.push_back(fmt::format("'{}': {}", a.name.str(), a.size));
        types.emplace_back("Auto");
    }
    out.type = "Mesh";
    out.fields.emplace_back("axes", Attr::tuple(std::move(axes)));
    out.text =
        Sym(fmt::format("Mesh({}, axis_types=({}{}))", fmt::join(names, ", "), fmt::join(types, ", "), types.size() == 1 ? "," : ""));
    return std::make_shared<const Attr::Record>(std::move(out));
}

Attr spec_attr(const Spec& spec) {
    Attr::Record out;
    Attrs dims;
    std::string text = "P(";
    for (std::size_t d = 0; d < spec.dims.size(); ++d) {
        const AxisNames& names = spec.dims[d];
        Attrs items(names.begin(), names.end());
        std::vector<std::string> quoted;
        for (const Sym n : names) quoted.push_back("'" + n.str() + "'");
        if (names.size() == 1) dims.push_back(items[0]);
        if (names.size() != 1) dims.push_back(names.empty() ? Attr() : Attr::tuple(std::move(items)));
        text += d ? ", " : "";
        text += names.empty() ? "None" : names.size() == 1 ? quoted[0] : fmt::format("({})", fmt::join(quoted, ", "));
    }
    out.type = "PartitionSpec";
    out.fields.emplace_back("dims", Attr::tuple(std::move(dims)));
    out.text = Sym(text + (spec.dims.size() == 1 ? ",)" : ")"));
    return std::make_shared<const Attr::Record>(std::move(out));
}

}  // namespace jaxscope::sharding
