// SPDX-License-Identifier: Apache-2.0
#include "report/caveats.h"

#include <fmt/format.h>

#include "analysis/inspection.h"
#include "analysis/sharding/distribution.h"
#include "analysis/sharding/per_device.h"
#include "jit/targets.h"
#include "report/dumps/equations_page.h"
#include "sharding/one_mesh.h"

namespace jaxscope {

namespace {

/// The first result with an explicit sharding in its type: 'f32[8@a,4] of sin at FILE:LINE'. Empty: there is none.
std::string explicit_type(const Jaxpr& program) {
    const auto is_explicit = [](AvalRef a) { return a->sharding.str().starts_with("P("); };
    for (const Jaxpr* j : all_jaxprs(program)) {
        for (const AvalRef a : j->in_avals())
            if (is_explicit(a)) return to_text(a) + " of an argument";
        for (const Eqn& e : j->eqns)
            for (const AvalRef a : j->out_avals(e))
                if (is_explicit(a)) {
                    const SourceLoc at = e.source.loc();
                    return to_text(a) + " of " + e.prim->name + (at.file.empty() ? "" : fmt::format(" at {}:{}", at.file, at.line));
                }
    }
    return {};
}

/// The first equation that asks for a sum in parts: 'dot_general at FILE:LINE'. Empty: there is none.
std::string unreduced(const Jaxpr& program) {
    for (const Jaxpr* j : all_jaxprs(program))
        for (const Eqn& e : j->eqns)
            for (const char* name : {"out_sharding", "dst_sharding", "sharding"}) {
                const Attr* given = e.params->find(name);
                const Attr::Record* r = given ? given->get_record() : nullptr;
                if (!r || r->text.str().find("unreduced={") == std::string::npos) continue;
                const SourceLoc at = e.source.loc();
                return "" + e.prim->name + (at.file.empty() ? "" : fmt::format(" at {}:{}", at.file, at.line));
            }
    return {};
}

}  // namespace

std::vector<std::string> derivation_caveats(const Program& program, bool text) {
    if (const std::string type = explicit_type(*program.jaxpr); !type.empty())
        return {
            "types of this program have explicit shardings (" + type +
            "): what is derived from it (gradients, vmap, residuals) has the same values and bytes, its types lack the shardings where no "
            "dimension of an operand carries them on" +
            (type_mesh(program).is_none() ? ", and reshards of numbers" : " (split, gather, scatter and sort among them)")};
    if (!text || (!distribution_of(program) && !sharding::mesh_of(*program.jaxpr))) return {};
    return {
        "values of this program lie on a mesh: JAX's derivatives have reshards of numbers and shardings of reshape and reduce_sum besides, "
        "which change no value and aren't written here"};
}

std::vector<std::string> merged_by_xla(const Inspection& inspection) {
    std::vector<std::string> out;
    for (const EquationsInXla& in_xla : inspection.summary().compiled_equations)
        for (std::string& sentence : recomputation_undone(in_xla)) out.push_back(std::move(sentence));
    return out;
}

std::vector<std::string> caveats(const Inspection& inspection) {
    const auto spread = distribution_of(inspection.program());
    if (!spread) return {};
    const PerDevice& cut = inspection.per_device();
    const std::string program = fmt::format("this program is sharded over {} ({})",
                                            spread->devices == 1 ? "1 device"
                                            : spread->devices    ? std::to_string(spread->devices) + " devices"
                                                                 : "several devices",
                                            spread->mesh.empty() ? "a mesh" : spread->mesh);
    std::vector<std::string> out;
    if (cut)
        out.push_back(program +
                      ": plan, run, residuals on each device, donation and policies are one device's; work, and the sizes of whole "
                      "arrays that `inspect` and the split show, are the whole program's");
    else
        out.push_back(program + ": every size and time is that of whole arrays, not of one device's share: " + cut.why_global);
    if (const TargetDevice* target = inspection.choices().jit.target; cut && target && target->sharded)
        out.push_back(fmt::format("estimates of one device of several, for {}: {}", target->name, target->sharded));
    if (const std::string at = unreduced(*inspection.program().jaxpr); !at.empty())
        out.push_back(
            "this program leaves sums unreduced (" + at +
            "): here the devices' parts are put together where they are made, which changes no value; what is sent, and when, may differ");
    const std::vector<std::string> derived = derivation_caveats(inspection.program(), false);
    out.insert(out.end(), derived.begin(), derived.end());
    return out;
}

}  // namespace jaxscope
