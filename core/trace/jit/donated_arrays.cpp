// SPDX-License-Identifier: Apache-2.0
// Calls of jitted functions that donate, where they are met outside of a jit of their own.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "calls/call_params.h"
#include "ir/print/printer.h"
#include "ir/registry.h"
#include "trace/jit/jit_state.h"
#include "trace/warnings.h"
#include "transforms/dce.h"

namespace jaxscope::jax::detail {

LiteralRef filter_marker(bool warns) { return Literal{.aval = AvalRef(DType::S32, {}), .text = warns ? Sym("0") : Sym()}; }

namespace {

/// A call of a jitted function that donates arrays which are at hand.
struct DonatingCall {
    std::string name;
    std::vector<const Node*> gone;     ///< by donated leaf that is used, in order; null: none of the arrays at hand
    const Node* read_later = nullptr;  ///< one of them that an equation behind the call reads
    std::optional<std::string> warning;
    std::string body;  ///< tells functions apart whose names are the same, where there is a warning
};
bool is_read_behind(const ::jaxscope::Jaxpr& open, std::size_t eqn, Atom v) {
    for (std::size_t i = eqn + 1; i < open.eqns.size(); ++i)
        for (const Atom in : open.inputs(open.eqns[i]))
            if (in == v) return true;
    return false;
}
std::vector<DonatingCall> donating_calls(const ::jaxscope::Jaxpr& open, const std::vector<Array>& in) {
    std::vector<DonatingCall> out;
    for (std::size_t at = 0; at < open.eqns.size(); ++at) {
        const Eqn& e = open.eqns[at];
        if (e.prim != emitted_calls().jit) continue;
        const std::vector<bool> donated = donated_inputs(*e.params);
        if (std::find(donated.begin(), donated.end(), true) == donated.end()) continue;
        ::jaxscope::Program p;
        p.jaxpr = e.params->find("jaxpr")->get<Attr::JaxprRef>()->jaxpr;
        p.kept = dce_jaxpr(p.jaxpr, std::vector<bool>(p.jaxpr->outvars.size(), true)).used_inputs;
        p.in_paths.resize(p.kept.size());
        const DonationReport report = pair_donations(p, donated);
        DonatingCall& call = out.emplace_back(DonatingCall{p.jaxpr->name.str(), {}, nullptr, report.warning, {}});
        for (const DonatedLeaf& d : report.donated) {
            const Atom a = open.inputs(e)[static_cast<std::size_t>(d.input)];
            const bool at_hand =
                d.used && a.is_var() && a.var().index >= open.num_constvars && a.var().index < open.num_constvars + open.num_invars;
            const Node* n = at_hand ? in[a.var().index - open.num_constvars].node() : nullptr;
            call.gone.push_back(n && !n->is_tracer() ? n : nullptr);
            if (!call.read_later && call.gone.back() && is_read_behind(open, at, a)) call.read_later = n;
        }
        const Atom first = p.jaxpr->outvars.empty() ? Atom() : p.jaxpr->outvars.front();
        if (first.is_literal() && first.literal() == filter_marker(false)) call.warning.reset();
        if (call.warning) call.body = to_text(*p.jaxpr);
    }
    return out;
}

}  // namespace

DonatedArrays::DonatedArrays(const ::jaxscope::Jaxpr& open, const std::vector<Array>& in, const Where& where) {
    for (const DonatingCall& call : donating_calls(open, in)) {
        for (std::size_t i = 0; i < call.gone.size(); ++i) {
            if (!call.gone[i]) continue;
            const auto first = std::find(call.gone.begin(), call.gone.begin() + static_cast<std::ptrdiff_t>(i), call.gone[i]);
            if (const auto k = first - call.gone.begin(); k < static_cast<std::ptrdiff_t>(i))
                throw Error(ErrorCode::BadUsage,
                            fmt::format("INVALID_ARGUMENT: Attempt to donate the same buffer twice in Execute() (flattened argument {}, "
                                        "replica 0, partition 0, first use: {}). Toy example for this bug: `f(donate(a), donate(a))`.",
                                        i, k));
            arrays_.push_back(Array::of(call.gone[i]));
        }
        if (call.warning && is_news(call.name + "\n" + *call.warning + "\n" + call.body))
            std::fprintf(stderr, "UserWarning: %s\n", call.warning->c_str());
        // A backward pass needs what its forward pass gave away: JAX has run the call by then.
        if (call.read_later) {
            consume(where);
            refuse_deleted(*call.read_later);
        }
    }
}
void DonatedArrays::consume(const Where& where) const {
    for (const Array& a : arrays_) give_away(*a.node(), where);
}

}  // namespace jaxscope::jax::detail
