// SPDX-License-Identifier: Apache-2.0
#include "sharding/mesh.h"

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

std::optional<NamedSharding> named_sharding_from(const Attr& attr) {
    const Attr::Record* r = attr.get_record();
    if (!r || r->type != Sym("NamedSharding") || r->fields.size() != 2) return std::nullopt;
    NamedSharding out{mesh_from(r->fields[0].second), spec_from(r->fields[1].second)};
    for (const Sym name : out.spec.axes()) out.mesh.size_of(name);
    return out;
}

Attr to_attr(const NamedSharding& s) {
    Attr::Record mesh, spec, out;
    Attrs axes, dims;
    for (const Mesh::Axis& a : s.mesh.axes) axes.push_back(Attr::tuple({Attr(a.name), Attr(a.size)}));
    for (const AxisNames& names : s.spec.dims) {
        Attrs items;
        for (const Sym n : names) items.emplace_back(n);
        dims.push_back(items.empty() ? Attr() : Attr::tuple(std::move(items)));
    }
    mesh.type = "Mesh";
    mesh.fields.emplace_back("axes", Attr::tuple(std::move(axes)));
    mesh.text = Sym(to_text(s.mesh));
    spec.type = "PartitionSpec";
    spec.fields.emplace_back("dims", Attr::tuple(std::move(dims)));
    spec.text = Sym(to_text(s.spec));
    out.type = "NamedSharding";
    out.fields.emplace_back("mesh", std::make_shared<const Attr::Record>(std::move(mesh)));
    out.fields.emplace_back("spec", std::make_shared<const Attr::Record>(std::move(spec)));
    out.text = Sym("NamedSharding(mesh=" + to_text(s.mesh) + ", spec=" + to_text(s.spec) + ")");
    return std::make_shared<const Attr::Record>(std::move(out));
}

std::vector<std::size_t> uneven_dims(const Dims& shape, const NamedSharding& s) {
    std::vector<std::size_t> out;
    for (std::size_t d = 0; d < shape.size(); ++d)
        if (shape[d] % s.mesh.size_of(s.spec.at(d)) != 0) out.push_back(d);
    return out;
}

namespace {
void expect_rank(const Dims& shape, const NamedSharding& s) {
    if (s.spec.dims.size() > shape.size())
        throw Error(ErrorCode::BadInput, fmt::format("Sharding {} is only valid for values of rank at least {}, but was applied to a value "
                                                     "of rank {}.",
                                                     to_text(s.spec), s.spec.dims.size(), shape.size()));
}
}  // namespace

Dims shard_shape(const Dims& shape, const NamedSharding& s) {
    expect_rank(shape, s);
    Dims out = shape;
    for (std::size_t d = 0; d < shape.size(); ++d) {
        const std::int64_t n = s.mesh.size_of(s.spec.at(d));
        out[d] = (shape[d] + n - 1) / n;
    }
    return out;
}

std::int64_t bytes_per_device(AvalRef aval, const NamedSharding& s) { return with_shape(aval, shard_shape(aval->shape, s))->bytes(); }

ShardIndex shard_index(const Dims& shape, const NamedSharding& s, std::int64_t device) {
    const Dims local = shard_shape(shape, s);
    ShardIndex out;
    for (std::size_t d = 0; d < shape.size(); ++d) {
        const std::int64_t start = s.mesh.position(device, s.spec.at(d)) * local[d];
        out.push_back({std::min(start, shape[d]), std::min(start + local[d], shape[d])});
    }
    return out;
}

std::string indivisible_text(const Dims& shape, const NamedSharding& s) {
    std::vector<std::int64_t> factors;
    for (std::size_t d = 0; d < s.spec.dims.size(); ++d) factors.push_back(s.mesh.size_of(s.spec.at(d)));
    for (const std::size_t d : uneven_dims(shape, s))
        return fmt::format(
            "implies that array axis {} is partitioned {} times, but the dimension size is {} (full shape: ({}{}), "
            "per-dimension tiling factors: [{}] should evenly divide the shape)",
            d, s.mesh.size_of(s.spec.at(d)), shape[d], fmt::join(shape, ", "), shape.size() == 1 ? "," : "", fmt::join(factors, ", "));
    return {};
}

std::optional<NamedParts> named_parts(std::span<const Parts> parts, std::int64_t devices) {
    // Where a spec cuts the row of devices: after each of its dimensions, a run of so many devices belongs to one part.
    std::set<std::int64_t, std::greater<>> runs{devices, 1};
    for (const Parts& p : parts) {
        if (!p) continue;
        std::int64_t run = element_count(*p);
        if (run != devices) return std::nullopt;
        for (const std::int64_t n : *p) runs.insert(run /= n);
    }
    NamedParts out;
    const std::vector<std::int64_t> cuts(runs.begin(), runs.end());
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
        if (cuts[i] % cuts[i + 1] != 0) return std::nullopt;
        out.mesh.axes.push_back({Sym(fmt::format("d{}", i)), cuts[i] / cuts[i + 1]});
    }
    for (const Parts& p : parts) {
        Spec& spec = out.specs.emplace_back();
        std::int64_t run = devices;
        if (p)
            for (const std::int64_t n : *p) {
                AxisNames& names = spec.dims.emplace_back();
                for (std::size_t i = 0; i + 1 < cuts.size(); ++i)
                    if (cuts[i] <= run && cuts[i] > run / n) names.push_back(out.mesh.axes[i].name);
                run /= n;
            }
    }
    return out;
}

}  // namespace jaxscope::sharding
