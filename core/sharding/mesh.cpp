// SPDX-License-Identifier: Apache-2.0
#include "sharding/mesh.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "ir/params.h"

namespace jaxscope::sharding {

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
