// SPDX-License-Identifier: Apache-2.0
#include "report/sharding/sharding_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/inspection.h"
#include "analysis/sharding/distribution.h"
#include "base/units.h"
#include "ir/primitive.h"
#include "lax/collectives/collectives.h"
#include "report/memory_report.h"

namespace jaxscope {

namespace {

constexpr std::size_t kMostValues = 200, kMostOfAKind = 20;
constexpr std::int64_t kLarge = 1 << 20;  // a value that every device has whole is worth a word

class Rows {
public:
    Rows(const Inspection& inspection, const sharding::Partitioned& cut) : inspection_(inspection), step_(inspection.step()), cut_(cut) {}

    ShardingReport all() const {
        ShardingReport r;
        r.devices = cut_.mesh.devices();
        r.mesh = to_text(cut_.mesh);
        r.over = cut_.mesh;
        r.sent_bytes = sent_bytes(cut_);
        for (std::size_t i = 0; i < cut_.in.size(); ++i) r.inputs.push_back(row(path(step_.in_paths, i), cut_.in_avals[i], cut_.in[i]));
        for (std::size_t k = 0; k < cut_.out.size(); ++k)
            r.outputs.push_back(row(path(step_.out_paths, k), cut_.out_avals[k], cut_.out[k]));
        put_xla_specs(r.inputs, inspection_.program().xla.in_specs);
        put_xla_specs(r.outputs, inspection_.program().xla.out_specs);
        r.xla = xla_choice(inspection_.program().xla);
        r.values = largest_values();
        r.collectives = collectives();
        add_findings(r);
        return r;
    }

private:
    static std::string path(const std::vector<std::string>& paths, std::size_t i) {
        return i < paths.size() ? paths[i] : std::to_string(i);
    }
    ShardRow row(std::string path, AvalRef aval, const sharding::Spec& spec) const {
        const sharding::NamedSharding lies{cut_.mesh, spec};
        ShardRow r{std::move(path), to_text(aval), to_text(spec), local_text(aval, lies), bytes(aval, spec)};
        r.placed = spec;
        if (aval->is_array()) r.shape = aval->shape;
        r.copies = cut_.mesh.devices() / cut_.mesh.size_of(spec.axes());
        return r;
    }
    std::int64_t bytes(AvalRef aval, const sharding::Spec& spec) const {
        return aval->is_array() ? sharding::bytes_per_device(aval, {cut_.mesh, spec}) : 0;
    }
    ShardRow row(const sharding::PlacedValue& v) const {
        ShardRow r = row(v.maker->name.c_str(), v.aval, v.spec);
        r.said = v.fixed;
        r.source = v.source->summary().str();
        set_own_line(r, v.source);
        return r;
    }
    std::vector<ShardRow> largest_values() const {
        std::vector<std::pair<std::int64_t, const sharding::PlacedValue*>> order;
        for (const sharding::PlacedValue& v : cut_.values)
            if (!v.filled) order.emplace_back(bytes(v.aval, v.spec), &v);
        std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
        std::vector<ShardRow> out;
        for (std::size_t i = 0; i < std::min(kMostValues, order.size()); ++i) out.push_back(row(*order[i].second));
        return out;
    }
    std::vector<CollectiveRow> collectives() const {
        std::map<std::tuple<std::string, std::string, std::int64_t, std::int64_t, std::uint32_t, std::string>, std::size_t> known;
        std::vector<CollectiveRow> out;
        for (const sharding::CollectiveUse& c : cut_.collectives) {
            CollectiveRow r{c.kind->name.c_str()};
            std::string axes;
            for (const Sym a : c.axes) r.axes.push_back(a.str()), axes += a.str() + ",";
            r.members = c.members;
            r.bytes = c.bytes;
            r.steps = collective_steps(*c.kind, c.members);
            if (c.times > 0) r.times = c.times;
            r.asked_by = c.asked_by->name.c_str();
            r.source = c.source->summary().str();
            set_own_line(r, c.source);
            const auto [at, fresh] = known.emplace(std::tuple(r.kind, axes, c.bytes, c.times, c.source.id(), r.asked_by), out.size());
            if (fresh)
                out.push_back(std::move(r));
            else
                ++out[at->second].count;
        }
        for (CollectiveRow& r : out) r.total_bytes = r.bytes * r.count * r.times.value_or(1);
        std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.total_bytes > b.total_bytes; });
        return out;
    }

    static std::string sentence(const sharding::Finding& f) {
        const std::string what = fmt::format("{} as {}", to_text(f.aval), f.spec);
        switch (f.kind) {
            case sharding::Finding::Kind::ComputedWhole:
                return fmt::format("{} can't be cut here: {} is gathered ({} from the others), computed by every device, and cut again",
                                   f.primitive->name.c_str(), what, bytes_text(f.bytes));
            case sharding::Finding::Kind::Padded:
                return fmt::format("{} doesn't divide evenly: the devices' parts are padded, {} in all", what, bytes_text(f.bytes));
            case sharding::Finding::Kind::NotHonoured:
                return fmt::format("{} doesn't divide evenly: JAX returns it whole on every device, {} more on each", what,
                                   bytes_text(f.bytes));
        }
        return {};
    }
    void add_findings(ShardingReport& r) const {
        std::vector<ShardingFindingRow> rows;
        for (const sharding::Finding& f : cut_.findings) {
            rows.push_back({sharding::kind_name(f.kind), f.primitive->name.c_str(), to_text(f.aval), f.spec, f.bytes, sentence(f)});
            set_own_line(rows.back(), f.source);
        }
        const auto replicated = [&](const ShardRow& v, const char* primitive) {
            if (r.devices < 2 || v.copies < r.devices || v.bytes < kLarge) return;
            const std::string what = *primitive ? fmt::format("what {} makes", primitive) : v.path;
            rows.push_back({"replicated", primitive, v.aval, v.spec, v.bytes,
                            fmt::format("{} ({}) is whole on all {} devices: {} on each", what, v.aval, r.devices, bytes_text(v.bytes)),
                            v.file, v.line});
        };
        for (const ShardRow& v : r.inputs) replicated(v, "");
        for (const ShardRow& v : r.values) replicated(v, v.path.c_str());
        std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
        std::map<std::string, std::size_t> of_kind;
        for (ShardingFindingRow& f : rows) {
            const bool told = std::any_of(r.findings.begin(), r.findings.end(),
                                          [&](const auto& o) { return o.sentence == f.sentence && o.line == f.line && o.file == f.file; });
            if (!told && of_kind[f.kind]++ < kMostOfAKind) r.findings.push_back(std::move(f));
        }
    }

    /// XLA spoke of the program as it was captured: of a step with another number of inputs or results it said nothing.
    static void put_xla_specs(std::vector<ShardRow>& rows, const std::vector<std::string>& specs) {
        for (std::size_t i = 0; rows.size() == specs.size() && i < rows.size(); ++i) rows[i].xla_spec = specs[i];
    }

    const Inspection& inspection_;
    const Step& step_;
    const sharding::Partitioned& cut_;
};

void shard_table(Page& page, const char* heading, const std::vector<ShardRow>& rows, std::size_t limit) {
    if (rows.empty()) return;
    page.heading(heading);
    using Kind = Table::Kind;
    Table t({{"per device", Kind::Number},
             {"value", Kind::Code},
             {"aval", Kind::Code},
             {"spec", Kind::Code},
             {"local", Kind::Code},
             {"by XLA", Kind::Code},
             {"your line"}});
    for (const ShardRow& r : rows) t.add({size_cell(r.bytes), r.path, r.aval, r.spec, r.local, r.xla_spec, place(r.file, r.line)});
    t.drop_empty_columns();
    page.table(t, limit);
}

void xla_section(Page& page, const XlaChoice& xla) {
    using Kind = Table::Kind;
    page.heading("Collectives that XLA put in, when the program was captured");
    page.line(fmt::format("each device sends {} in {} collectives", bytes_text(xla.sent_bytes), xla.collectives.size()));
    Table t({{"sent", Kind::Number},
             {"kind", Kind::Code},
             {"devices", Kind::Number},
             {"times", Kind::Number},
             {"for", Kind::Code},
             {"your line"}});
    for (const XlaCollectiveRow& c : xla.collectives) {
        const std::string times = c.times ? count_text(*c.times * c.count) : "each round";
        t.add({size_cell(c.total_bytes), c.kind, count_text(c.members), times, c.op_name, place(c.file, c.line)});
    }
    if (!xla.collectives.empty()) page.table(t, 20);
}

}  // namespace

std::optional<ShardingReport> sharding_report(const Inspection& inspection) {
    const PerDevice& cut = inspection.per_device();
    if (cut) return Rows(inspection, *cut.program).all();
    if (cut.why_global.empty()) return {};
    ShardingReport r;
    if (const auto spread = distribution_of(inspection.program())) r.devices = spread->devices, r.mesh = spread->mesh;
    r.problem = cut.why_global;
    return r;
}

void sharding_section(Page& page, const ShardingReport& r) {
    using Kind = Table::Kind;
    page.heading(fmt::format("Sharding over {} device{}: {}", r.devices, r.devices == 1 ? "" : "s", r.mesh));
    if (!r.problem.empty()) return page.line("figures are those of whole arrays: " + r.problem);
    page.line(fmt::format("each device sends {} in {} collectives", bytes_text(r.sent_bytes), r.collectives.size()));
    shard_table(page, "Inputs on each device", r.inputs, 20);
    if (std::any_of(r.outputs.begin(), r.outputs.end(), [](const ShardRow& o) { return !o.xla_spec.empty(); }))
        shard_table(page, "Results on each device", r.outputs, 20);
    shard_table(page, "Largest values on each device", r.values, 12);
    if (!r.collectives.empty()) {
        page.heading("Collectives");
        Table t({{"sent", Kind::Number},
                 {"kind", Kind::Code},
                 {"over"},
                 {"steps", Kind::Number},
                 {"times", Kind::Number},
                 {"asked by", Kind::Code},
                 {"your line"}});
        for (const CollectiveRow& c : r.collectives) {
            std::string axes;
            for (const std::string& a : c.axes) axes += (axes.empty() ? "" : ", ") + a;
            const std::string times = c.times ? count_text(*c.times * c.count) : "each round";
            t.add({size_cell(c.total_bytes), c.kind, fmt::format("{} ({})", axes, c.members), count_text(c.steps), times, c.asked_by,
                   place(c.file, c.line)});
        }
        page.table(t, 20);
    }
    if (r.xla) xla_section(page, *r.xla);
    if (r.findings.empty()) return;
    page.heading("What sharding costs");
    for (const ShardingFindingRow& f : r.findings)
        page.line(f.sentence + (f.file.empty() ? "" : fmt::format(" ({})", place(f.file, f.line))));
}

}  // namespace jaxscope
