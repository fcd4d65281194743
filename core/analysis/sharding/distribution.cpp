// SPDX-License-Identifier: Apache-2.0
#include "analysis/sharding/distribution.h"

#include <unordered_set>

namespace jaxscope {

namespace {

/// Product of the sizes of a mesh's axes.
std::int64_t devices_of(const Attr::Record& mesh) {
    std::int64_t n = 1;
    for (const auto& [field, axes] : mesh.fields)
        if (const auto* list = axes.get_seq())
            for (const Attr& axis : list->items)
                if (const auto* pair = axis.get_seq(); pair && pair->items.size() == 2)
                    if (const auto* size = pair->items[1].get<std::int64_t>()) n *= *size;
    return n;
}

/// The largest mesh met so far.
class MeshFinder {
public:
    void look(const Attr& a) {
        if (const auto* seq = a.get_seq()) {
            for (const Attr& item : seq->items) look(item);
        } else if (const auto* record = a.get_record()) {
            if (record->type == kMesh)
                take(*record);
            else
                for (const auto& [field, value] : record->fields) look(value);
        }
    }
    void look_at_argument(const Attr& sharding) {
        spread_ = spread_ || !sharding.get<Attr::None>();
        look(sharding);
    }
    void look(const Jaxpr& root) {
        // Every program that is opened comes through here: parameters and types that were looked at are not looked at again.
        std::unordered_set<const Params*> seen;
        std::vector<bool> seen_avals;
        for (const Jaxpr* j : all_jaxprs(root)) {
            for (const Eqn& e : j->eqns) {
                if (e.params->entries().empty() || !seen.insert(&*e.params).second) continue;
                spread_ = spread_ || e.params->find("in_specs");  // a device's program, though it be one device
                for (const auto& [name, value] : e.params->entries()) look(value);
            }
            for (std::uint32_t v = 0; v < j->num_vars() && !spread_; ++v) {
                const AvalRef a = j->aval(Var{v});
                if (a.id() >= seen_avals.size()) seen_avals.resize(a.id() + 1, false);
                if (seen_avals[a.id()]) continue;
                seen_avals[a.id()] = true;
                spread_ = !a->sharding.empty();
            }
        }
    }
    std::optional<Distribution> found() const { return spread_ || best_.devices > 1 ? std::optional(best_) : std::nullopt; }

private:
    void take(const Attr::Record& mesh) {
        if (const std::int64_t n = devices_of(mesh); n > best_.devices) best_ = {n, mesh.text.str()};
    }
    inline static const Sym kMesh{"Mesh"};
    Distribution best_;
    bool spread_ = false;  ///< over devices, whose number maybe nothing says
};

}  // namespace

std::optional<Distribution> distribution_of(const Program& program) {
    MeshFinder finder;
    for (const Attr& s : program.in_shardings) finder.look_at_argument(s);
    finder.look(*program.jaxpr);
    return finder.found();
}

Attr type_mesh(const Program& program) {
    for (const auto& [name, value] : program.flags)
        if (name == Sym("type_mesh")) return value;
    return {};
}

}  // namespace jaxscope
